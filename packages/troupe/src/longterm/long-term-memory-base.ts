import type { Msg } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';

export interface LongTermOptions {
  readonly signal?: AbortSignal | undefined;
}

/** What an agent knows beyond a conversation. Engines come with packages of their own. */
export abstract class LongTermMemoryBase extends StateModule {
  /** What is known that has to do with the messages, as text; empty if nothing is. */
  abstract retrieve(msgs: readonly Msg[], options?: LongTermOptions): Promise<string>;

  /** Learns from messages. */
  abstract record(msgs: readonly Msg[], options?: LongTermOptions): Promise<void>;
}

/** Who looks into the long-term memory: the program before and after each reply, the model by tools, or both. */
export type LongTermMemoryMode = 'static_control' | 'agent_control' | 'both';
