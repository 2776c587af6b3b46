import type { Msg, MsgInput } from '../message/msg.ts';
import { StateModule } from '../state/state-module.ts';

/**
 * What an agent remembers of a conversation, in order. A message is remembered once: one with an id that
 * is there already is left out. What comes back is immutable, and costs no copy.
 */
export abstract class MemoryBase extends StateModule {
  abstract add(msgs: MsgInput): Promise<void>;

  /** Forgets messages by their ids. Returns how many were there. */
  abstract delete(ids: readonly string[]): Promise<number>;

  abstract size(): Promise<number>;

  abstract clear(): Promise<void>;

  abstract getMemory(): Promise<readonly Msg[]>;
}
