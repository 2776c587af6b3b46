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
  /** Id in the delegation context of sub-agents. @default `long_term_memory` */
  declare readonly id?: string | undefined;
  /** Content of the memory in a few words, for sub-agents. */
  declare readonly description?: string | undefined;

  /** Text relevant to the messages; empty if there is none. */
  abstract retrieve(msgs: readonly Msg[], options?: LongTermOptions): Promise<string>;

  /** Extracts and stores knowledge from messages. */
  abstract record(msgs: readonly Msg[], options?: LongTermOptions): Promise<void>;
}

/** User of the long-term memory: the agent around each reply, the model by tools, or both. */
export type LongTermMemoryMode = 'static_control' | 'agent_control' | 'both';
