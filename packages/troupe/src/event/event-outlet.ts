import type { AgentEvent, EventBody, EventType } from './agent-event.ts';
import type { RunListener } from './reply-stream.ts';

/** The listeners of one agent. They see events, and no run waits for them. */
export interface EventObservers {
  /** Whether a listener wants events of this type, of the agent itself or of agents called inside. */
  wants(type: EventType, isNested: boolean): boolean;
  /** Whether a listener wants events about the blocks of printed messages. */
  wantsBlocks(isNested: boolean): boolean;
  notify(event: AgentEvent, isNested: boolean): void;
}

export interface EventOutletOptions {
  /** The consumer of the agent call's stream. */
  readonly listener?: RunListener | undefined;
  /** The listeners of the agent. */
  readonly observers?: EventObservers | undefined;
  /** The outlet of the agent call around this one. */
  readonly outer?: EventOutlet | undefined;
  /** Adds where and when an event happened. Called for each event that somebody sees, and for no other. */
  readonly locate: (body: EventBody) => AgentEvent;
}

/**
 * Where the events of one agent call go: to its own stream and listeners, and to those around it who want nested ones.
 * Nothing gets out after `run_end`, or once it is closed.
 */
export class EventOutlet {
  readonly #listener: RunListener | undefined;
  readonly #observers: EventObservers | undefined;
  /** This outlet, then those around it from the innermost on. */
  readonly #chain: readonly EventOutlet[];
  readonly #locate: (body: EventBody) => AgentEvent;
  #isClosed = false;

  constructor({ listener, observers, outer, locate }: EventOutletOptions) {
    this.#listener = listener;
    this.#observers = observers;
    this.#chain = outer === undefined ? [this] : [this, ...outer.#chain];
    this.#locate = locate;
  }

  /** Whether events get out no longer. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether anybody would see events about the blocks of printed messages. */
  get wantsBlocks(): boolean {
    for (const outlet of this.#chain) {
      const isNested = outlet !== this;
      if (isNested && outlet.#isClosed) continue;
      if (outlet.#isStreamed(isNested) || outlet.#observers?.wantsBlocks(isNested)) return true;
    }
    return false;
  }

  /** Returns a promise only when the consumer of a stream is slow. */
  emit(body: EventBody): void | Promise<unknown> {
    if (this.#isClosed) return;
    this.#isClosed = body.type === 'run_end';
    let event: AgentEvent | undefined;
    let waits: void | Promise<unknown> = undefined;
    for (const outlet of this.#chain) {
      const isNested = outlet !== this;
      if (isNested && outlet.#isClosed) continue;
      if (outlet.#isStreamed(isNested)) {
        event ??= this.#locate(body);
        waits = both(waits, outlet.#listener?.emit(event));
      }
      if (outlet.#observers?.wants(body.type, isNested)) {
        event ??= this.#locate(body);
        outlet.#observers.notify(event, isNested);
      }
    }
    return waits;
  }

  close(): void {
    this.#isClosed = true;
  }

  #isStreamed(isNested: boolean): boolean {
    return this.#listener !== undefined && (!isNested || this.#listener.nested);
  }
}

/** Waits for two things, if there is something to wait for. */
export function both(a: void | Promise<unknown>, b: void | Promise<unknown>): void | Promise<unknown> {
  return a && b ? Promise.all([a, b]) : (a ?? b);
}
