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
  /** Whether the agent call was made in a tool call of the agent around, which then asks the same questions. */
  readonly isInToolCall?: boolean | undefined;
  /** Adds where and when an event happened. Called for each event that somebody sees, and for no other. */
  readonly locate: (body: EventBody) => AgentEvent;
}

/**
 * Sends the events of one agent call to its stream and listeners, and to those of outer agent calls with `nested`. Drops events
 * after `run_end` and after `close`.
 */
export class EventOutlet {
  readonly #listener: RunListener | undefined;
  readonly #observers: EventObservers | undefined;
  /** This outlet, then the outlets of the agent calls around, the innermost first. */
  readonly #chain: readonly EventOutlet[];
  readonly #outer: EventOutlet | undefined;
  readonly #isInToolCall: boolean;
  readonly #locate: (body: EventBody) => AgentEvent;
  #isClosed = false;
  #held: readonly EventBody[] = [];

  constructor({ listener, observers, outer, isInToolCall = false, locate }: EventOutletOptions) {
    this.#listener = listener;
    this.#observers = observers;
    this.#chain = outer === undefined ? [this] : [this, ...outer.#chain];
    this.#outer = outer;
    this.#isInToolCall = isInToolCall;
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

  /** Keeps an event back until `emitHeld`, or until another event, of a call nested in this one too. */
  hold(body: EventBody): void {
    this.#held = [...this.#held, body];
  }

  /** Whether events are kept back. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** Emits the events that were kept back, in their order. */
  emitHeld(): void | Promise<unknown> {
    if (this.#held.length === 0) return this.#outer?.emitHeld();
    const held = this.#held;
    this.#held = [];
    let waits = this.#outer?.emitHeld();
    for (const body of held) waits = both(waits, this.#emit(body));
    return waits;
  }

  /** Sends an event; returns a promise only if the consumer of a stream is slow. */
  emit(body: EventBody): void | Promise<unknown> {
    return both(this.emitHeld(), this.#emit(body));
  }

  #emit(body: EventBody): void | Promise<unknown> {
    if (this.#isClosed) return;
    this.#isClosed = body.type === 'run_end';
    const isForOthers = this.#isForOthers(body);
    let event: AgentEvent | undefined;
    let waits: void | Promise<unknown> = undefined;
    for (const outlet of this.#chain) {
      const isNested = outlet !== this;
      if (isNested && (outlet.#isClosed || !isForOthers)) continue;
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

  /** A stream has one `run_end`, its own. A question of an agent in a tool is passed on by the agent that made the tool call. */
  #isForOthers({ type }: EventBody): boolean {
    return type !== 'run_end' && !(type === 'approval_needed' && this.#isInToolCall);
  }

  #isStreamed(isNested: boolean): boolean {
    return this.#listener !== undefined && (!isNested || this.#listener.nested);
  }
}

/** Joins two optional promises into one; undefined if there is none. */
export function both(a: void | Promise<unknown>, b: void | Promise<unknown>): void | Promise<unknown> {
  return a && b ? Promise.all([a, b]) : (a ?? b);
}
