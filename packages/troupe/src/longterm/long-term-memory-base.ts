import { Msg } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';

export interface LongTermOptions {
  /** Maximum memories to return. @default 5 */
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Port for long-term memory: knowledge of an agent beyond one conversation. The two methods with `Memory` in their
 * name stand behind the tools of the model; a memory may override them. Folder `longterm`: start here.
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

  /**
   * The tool `record_to_memory`: stores what the model wants to remember. @param thinking the model's reason
   * @returns text for the model
   */
  async recordToMemory(
    _thinking: string,
    content: readonly string[],
    options: LongTermOptions = {},
  ): Promise<string> {
    await this.record(
      content.map((text) => Msg.user(text)),
      options,
    );
    return 'It is remembered.';
  }

  /** The tool `retrieve_from_memory`. @returns text for the model */
  async retrieveFromMemory(keywords: readonly string[], options: LongTermOptions = {}): Promise<string> {
    const found = await this.retrieve(
      keywords.map((text) => Msg.user(text)),
      options,
    );
    return found || 'The memory holds nothing about the keywords.';
  }
}

/** User of the long-term memory: the agent around each reply, the model by tools, or both. */
export type LongTermMemoryMode = 'static_control' | 'agent_control' | 'both';
