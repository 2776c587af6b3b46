import type { EventBody, EventOrigin } from './agent-event.ts';
import type { RunListener } from './reply-stream.ts';

/**
 * Where the events of one call of an agent go: to its own consumer, and to those around it who want nested ones.
 * Nothing gets out after `run_end`, or once it is closed.
 */
export class EventOutlet {
  readonly #listener: RunListener | undefined;
  readonly #outer: EventOutlet | undefined;
  readonly #origin: () => EventOrigin;
  #isClosed = false;
  #held: EventBody | undefined;

  /** @param origin asked for each event that somebody sees, and for no other */
  constructor(listener: RunListener | undefined, outer: EventOutlet | undefined, origin: () => EventOrigin) {
    this.#listener = listener;
    this.#outer = outer;
    this.#origin = origin;
  }

  /** Whether anybody would see an event. */
  get hasListener(): boolean {
    return this.#listeners().length > 0;
  }

  /** Keeps an event back until `release`, or until another event, of a call nested in this one too. */
  hold(body: EventBody): void {
    this.#held = body;
  }

  /** Whether an event is kept back. */
  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  /** Emits the event that was kept back, if any. */
  release(): void | Promise<unknown> {
    const held = this.#held;
    this.#held = undefined;
    return both(this.#outer?.release(), held && this.#emit(held));
  }

  /** Returns a promise only when a consumer is slow. */
  emit(body: EventBody): void | Promise<unknown> {
    return both(this.release(), this.#emit(body));
  }

  #emit(body: EventBody): void | Promise<unknown> {
    if (this.#isClosed) return;
    this.#isClosed = body.type === 'run_end';
    const listeners = this.#listeners();
    if (listeners.length === 0) return;
    const event = { ...body, ...this.#origin() };
    let waits: void | Promise<unknown> = undefined;
    for (const { emit } of listeners) waits = both(waits, emit(event));
    return waits;
  }

  close(): void {
    this.#isClosed = true;
  }

  #listeners(): readonly RunListener[] {
    const found = this.#listener === undefined ? [] : [this.#listener];
    for (let outer = this.#outer; outer !== undefined; outer = outer.#outer) {
      if (!outer.#isClosed && outer.#listener?.nested) found.push(outer.#listener);
    }
    return found;
  }
}

/** Waits for two things, if there is something to wait for. */
export function both(a: void | Promise<unknown>, b: void | Promise<unknown>): void | Promise<unknown> {
  return a && b ? Promise.all([a, b]) : (a ?? b);
}
