import type { EventBody, EventOrigin } from './agent-event.ts';
import type { RunListener } from './reply-stream.ts';

interface EventOutletOptions {
  /** Consumer of the events of this agent call. */
  readonly listener: RunListener | undefined;
  /** Outlet of the agent call around this one. */
  readonly outer: EventOutlet | undefined;
  /** Whether the agent call was made in a tool call of the agent around, which then asks the same questions. */
  readonly isAskedThrough: boolean;
}

/**
 * Sends the events of one agent call to the listener of the agent call, and to listeners of outer agent calls with `nested`.
 * Drops events after `run_end` and after `close`.
 */
export class EventOutlet {
  readonly #origin: () => EventOrigin;
  readonly #options: EventOutletOptions;
  #isClosed = false;
  #held: EventBody | undefined;

  /** @param origin called once for each event with a listener */
  constructor(origin: () => EventOrigin, options: EventOutletOptions) {
    this.#origin = origin;
    this.#options = options;
  }

  /** True if an event would reach a listener. */
  get hasListener(): boolean {
    return this.#listeners(true).length > 0;
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
    return both(this.#options.outer?.release(), held && this.#emit(held));
  }

  /** Sends an event; returns a promise only if a listener is slow. */
  emit(body: EventBody): void | Promise<unknown> {
    return both(this.release(), this.#emit(body));
  }

  #emit(body: EventBody): void | Promise<unknown> {
    if (this.#isClosed) return;
    this.#isClosed = body.type === 'run_end';
    const listeners = this.#listeners(this.#isForOthers(body));
    if (listeners.length === 0) return;
    const event = { ...body, ...this.#origin() };
    let waits: void | Promise<unknown> = undefined;
    for (const { emit } of listeners) waits = both(waits, emit(event));
    return waits;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** A stream has one `run_end`, its own. A question of an agent in a tool is passed on by the agent that made the tool call. */
  #isForOthers({ type }: EventBody): boolean {
    return type !== 'run_end' && !(type === 'approval_needed' && this.#options.isAskedThrough);
  }

  #listeners(withOuter: boolean): readonly RunListener[] {
    const { listener } = this.#options;
    const found = listener === undefined ? [] : [listener];
    if (!withOuter) return found;
    for (let { outer } = this.#options; outer !== undefined; outer = outer.#options.outer) {
      const { listener: outerListener } = outer.#options;
      if (!outer.#isClosed && outerListener?.nested) found.push(outerListener);
    }
    return found;
  }
}

/** Joins two optional promises into one; undefined if there is none. */
export function both(a: void | Promise<unknown>, b: void | Promise<unknown>): void | Promise<unknown> {
  return a && b ? Promise.all([a, b]) : (a ?? b);
}
