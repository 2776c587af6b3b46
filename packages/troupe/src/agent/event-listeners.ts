import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import { assertEventType, type AgentEvent, type EventType } from '../event/agent-event.ts';
import type { EventObservers } from '../event/event-outlet.ts';
import type { BlockChange } from '../message/block-change.ts';
import { describe } from '../util/json.ts';
import { runOutsideOfRuns } from './turn/run-scope.ts';

export interface ListenOptions {
  /** Whether to hear agents that are called inside the agent's runs too. @default false */
  readonly nested?: boolean | undefined;
}

/** A listener, as it was added. */
interface Entry {
  readonly type: EventType | '*';
  readonly listener: (event: never) => unknown;
  readonly nested: boolean;
}

const BLOCK_EVENTS: Readonly<Record<BlockChange['type'], true>> = {
  block_start: true,
  text_delta: true,
  thinking_delta: true,
  tool_input_delta: true,
  audio_delta: true,
  citations_delta: true,
  image_delta: true,
  block_end: true,
  msg_reset: true,
};

/**
 * The listeners of one agent. Each is called with its events in their order, outside of the run, and nobody waits for it. An error of a
 * listener is logged.
 */
export class EventListeners implements EventObservers {
  readonly #agent: { readonly name: string };
  /** Replaced by every change, so that a change while an event is told counts from the next event on. */
  #entries: readonly Entry[] = [];
  #blockEntries: readonly Entry[] = [];

  constructor(agent: { readonly name: string }) {
    this.#agent = agent;
  }

  /** The returned function removes the listener. @throws TroupeError */
  add(
    type: EventType | '*',
    listener: (event: never) => unknown,
    { nested = false }: ListenOptions = {},
  ): () => void {
    if (typeof listener !== 'function')
      throw new TroupeError('invalid_input', `A listener must be a function, not ${describe(listener)}.`);
    if (type !== '*') assertEventType(type);
    const entry: Entry = { type, listener, nested };
    this.#change([...this.#entries, entry]);
    return () => this.#change(this.#entries.filter((one) => one !== entry));
  }

  wants(type: EventType, isNested: boolean): boolean {
    return this.#entries.length > 0 && this.#entries.some((entry) => isFor(entry, type, isNested));
  }

  wantsBlocks(isNested: boolean): boolean {
    return this.#blockEntries.some(({ nested }) => nested || !isNested);
  }

  notify(event: AgentEvent, isNested: boolean): void {
    for (const entry of this.#entries) if (isFor(entry, event.type, isNested)) this.#call(entry, event);
  }

  #change(entries: readonly Entry[]): void {
    this.#entries = entries;
    this.#blockEntries = entries.filter(({ type }) => type === '*' || Object.hasOwn(BLOCK_EVENTS, type));
  }

  #call({ listener }: Entry, event: AgentEvent): void {
    const failed = (error: unknown): void =>
      getLogger().log(
        'warn',
        `A listener of ${this.#agent.name} for '${event.type}' failed: ${messageOf(error)}`,
      );
    try {
      const returned = runOutsideOfRuns(() => (listener as (event: AgentEvent) => unknown)(event));
      if (returned instanceof Promise) returned.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

function isFor({ type, nested }: Entry, wanted: EventType, isNested: boolean): boolean {
  return (nested || !isNested) && (type === wanted || type === '*');
}
