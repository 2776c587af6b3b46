import type { EventBody, EventOrigin } from './agent-event.ts';
import type { RunListener } from './reply-stream.ts';

/**
 * Sends the events of one agent call to the listener of the agent call, and to listeners of outer agent calls with `nested`.
 * Drops events after `run_end` and after `close`.
 */
export class EventOutlet {
  readonly #listener: RunListener | undefined;
  readonly #outer: EventOutlet | undefined;
  readonly #origin: () => EventOrigin;
  #isClosed = false;

  /** @param origin called once for each event with a listener */
  constructor(listener: RunListener | undefined, outer: EventOutlet | undefined, origin: () => EventOrigin) {
    this.#listener = listener;
    this.#outer = outer;
    this.#origin = origin;
  }

  /** True if an event would reach a listener. */
  get hasListener(): boolean {
    return this.#listeners().length > 0;
  }

  /** Sends an event; returns a promise only if a listener is slow. */
  emit(body: EventBody): void | Promise<unknown> {
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

/** Joins two optional promises into one; undefined if there is none. */
export function both(a: void | Promise<unknown>, b: void | Promise<unknown>): void | Promise<unknown> {
  return a && b ? Promise.all([a, b]) : (a ?? b);
}
