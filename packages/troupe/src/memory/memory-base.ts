import { Msg, type MsgInput } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';
import { fingerprint } from '../util/hash.ts';

export interface AddOptions {
  /** Labels for finding, excluding or deleting the messages later. */
  readonly marks?: string | readonly string[] | undefined;
}

export interface MemoryFilter {
  /** Only messages with this mark. */
  readonly mark?: string | undefined;
  /** Only messages without this mark. */
  readonly excludeMark?: string | undefined;
  /** Puts the summary of compressed messages first, if there is one. @default true */
  readonly prependSummary?: boolean | undefined;
}

/** Adds `newMark`, removes `oldMark`, or replaces `oldMark` by `newMark`. */
export interface MarkChange {
  readonly newMark?: string | undefined;
  readonly oldMark?: string | undefined;
  /** @default all messages; with an old mark, the messages with this mark */
  readonly msgIds?: readonly string[] | undefined;
}

/** Mark of messages replaced by a summary. They are kept but not sent to a model. */
export const COMPRESSED_MARK = 'compressed';

/**
 * Base class of an agent's memory: the messages of a conversation in order. Each message is stored once:
 * messages with a known id, also within one batch, are ignored. Returned messages are immutable and the same
 * objects each time, so that caches work. Folder `memory`: start here.
 */
export abstract class MemoryBase extends StateModule {
  abstract add(msgs: MsgInput, options?: AddOptions): Promise<void>;

  /** Deletes messages by id. Returns the number of deleted messages. */
  abstract delete(ids: readonly string[]): Promise<number>;

  /** Deletes messages with any of these marks. Returns the number of deleted messages. */
  abstract deleteByMark(marks: string | readonly string[]): Promise<number>;

  /** Number of messages with any marks. */
  abstract size(): Promise<number>;

  /** Deletes all messages and the summary. */
  abstract clear(): Promise<void>;

  abstract getMemory(filter?: MemoryFilter): Promise<readonly Msg[]>;

  /**
   * Changes marks. Returns the number of changed messages.
   * @throws TroupeError if neither an old nor a new mark is given
   */
  abstract updateMessagesMark(change: MarkChange): Promise<number>;

  /** Summary of the compressed messages; empty if there is none. */
  abstract getCompressedSummary(): Promise<string>;

  abstract updateCompressedSummary(text: string): Promise<void>;
}

/** Summary as a message. The id depends only on the text, so that the start of the prompt stays equal. */
export function summaryMsg(text: string): Msg {
  return Msg.user(text, { id: `summary_${fingerprint(text)}` });
}
