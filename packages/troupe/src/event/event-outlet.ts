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
 * Where the events of one call of an agent go: to its own consumer, and to those around it who want nested ones.
 * Nothing gets out after `run_end`, or once it is closed.
 */
export class EventOutlet {
  readonly #origin: () => EventOrigin;
  readonly #options: EventOutletOptions;
  #isClosed = false;

  /** @param origin asked for each event that somebody sees, and for no other */
  constructor(origin: () => EventOrigin, options: EventOutletOptions) {
    this.#origin = origin;
    this.#options = options;
  }

  /** Whether anybody would see an event. */
  get hasListener(): boolean {
    return this.#listeners(true).length > 0;
  }

  /** Returns a promise only when a consumer is slow. */
  emit(body: EventBody): void | Promise<unknown> {
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

/** Waits for two things, if there is something to wait for. */
export function both(a: void | Promise<unknown>, b: void | Promise<unknown>): void | Promise<unknown> {
  return a && b ? Promise.all([a, b]) : (a ?? b);
}
