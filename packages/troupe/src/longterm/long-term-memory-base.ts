import type { Msg } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';

export interface LongTermOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Port for long-term memory: knowledge of an agent beyond one conversation. Implementations are separate
 * packages.
 */
export abstract class LongTermMemoryBase extends StateModule {
  /** Text relevant to the messages; empty if there is none. */
  abstract retrieve(msgs: readonly Msg[], options?: LongTermOptions): Promise<string>;

  /** Extracts and stores knowledge from messages. */
  abstract record(msgs: readonly Msg[], options?: LongTermOptions): Promise<void>;
}

/** User of the long-term memory: the agent around each reply, the model by tools, or both. */
export type LongTermMemoryMode = 'static_control' | 'agent_control' | 'both';
