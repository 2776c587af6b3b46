import { Msg, type MsgInput } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';
import { fingerprint } from '../util/hash.ts';

export interface AddOptions {
  /** Labels that the messages get, by which they can be found, left out or deleted. */
  readonly marks?: string | readonly string[] | undefined;
}

export interface MemoryFilter {
  /** Only messages with this mark. */
  readonly mark?: string | undefined;
  /** No messages with this mark. */
  readonly excludeMark?: string | undefined;
  /** Whether the summary of what was compressed comes first, if there is one. @default true */
  readonly prependSummary?: boolean | undefined;
}

/** With only a new mark it is added, with only an old one that is removed, with both it is replaced. */
export interface MarkChange {
  readonly newMark?: string | undefined;
  readonly oldMark?: string | undefined;
  /** @default all messages; with an old mark, those that have it */
  readonly msgIds?: readonly string[] | undefined;
}

/** The mark of messages that a summary has taken the place of. They are kept, and not shown to a model. */
export const COMPRESSED_MARK = 'compressed';

/**
 * What an agent remembers of a conversation, in order. A message is remembered once: one with an id that
 * is there already, also in the same batch, is left out. What comes back is immutable, costs no copy, and is the same
 * object each time, so that whatever was made of it can be used again.
 */
export abstract class MemoryBase extends StateModule {
  abstract add(msgs: MsgInput, options?: AddOptions): Promise<void>;

  /** Forgets messages by their ids. Returns how many were there. */
  abstract delete(ids: readonly string[]): Promise<number>;

  /** Forgets messages that have any of these marks. Returns how many there were. */
  abstract deleteByMark(marks: string | readonly string[]): Promise<number>;

  /** How many messages there are, whatever their marks. */
  abstract size(): Promise<number>;

  /** Forgets everything, also the summary. */
  abstract clear(): Promise<void>;

  abstract getMemory(filter?: MemoryFilter): Promise<readonly Msg[]>;

  /**
   * Changes marks. Returns how many messages were changed by it.
   * @throws TroupeError if neither an old nor a new mark is given.
   */
  abstract updateMessagesMark(change: MarkChange): Promise<number>;

  /** The text that stands for what was compressed; empty if there is none. */
  abstract getCompressedSummary(): Promise<string>;

  abstract updateCompressedSummary(text: string): Promise<void>;
}

/** A summary as a message, with the same id each time: a prompt that begins with it stays the same. */
export function summaryMsg(text: string): Msg {
  return Msg.user(text, { id: `summary_${fingerprint(text)}` });
}
