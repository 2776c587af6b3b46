import { TroupeError } from '../errors.ts';
import type { Msg, MsgInput } from '../message/msg.ts';
import { settledWithin } from '../util/async/settled-within.ts';
import { COMPRESSED_MARK, type MemoryBase } from './memory-base.ts';

/** Longest wait of a read for earlier writes, such as one that hung in an interrupted agent call. */
const WRITE_LIMIT_MS = 30_000;

/**
 * Writes to an agent's memory one after the other, in the order of the calls. A read sees every write that was asked for
 * before, and fails if such a write hangs. A write that fails rejects for its caller only: later writes go on.
 */
export class OrderedMemory {
  readonly #memory: MemoryBase;
  #written: Promise<void> = Promise.resolve();
  #unfinishedWrites = 0;

  constructor(memory: MemoryBase) {
    this.#memory = memory;
  }

  /** The history for a model, without messages that a summary replaces. @throws TroupeError if an earlier write hangs */
  async recall(): Promise<readonly Msg[]> {
    await this.#untilWritten();
    return this.#memory.getMemory({ excludeMark: COMPRESSED_MARK });
  }

  /** @param asStep wraps the write when earlier writes are done */
  add(
    msgs: MsgInput,
    asStep: (write: () => Promise<void>) => Promise<void> = (write) => write(),
  ): Promise<void> {
    return this.#inOrder(() => asStep(() => this.#memory.add(msgs)));
  }

  delete(msgs: readonly Msg[]): Promise<void> {
    return this.#inOrder(async () => void (await this.#memory.delete(msgs.map(({ id }) => id))));
  }

  /**
   * Replaces messages in one write: all messages from the first changed one on are deleted and added again. Puts them back if the store fails.
   * @param change gives all messages in order, the same objects where nothing changes
   * @throws TroupeError if an earlier write hangs
   */
  async revise(change: (msgs: readonly Msg[]) => readonly Msg[]): Promise<void> {
    await this.#untilWritten();
    await this.#inOrder(async () => {
      const msgs = await this.#memory.getMemory({ prependSummary: false });
      const revised = change(msgs);
      const first = msgs.findIndex((msg, i) => msg !== revised[i]);
      if (first === -1) return;
      const [old, changed] = [msgs.slice(first), revised.slice(first)];
      try {
        await this.#memory.delete(old.map(({ id }) => id));
        if (changed.length > 0) await this.#memory.add(changed);
      } catch (error) {
        await this.#memory.add(old); // messages that are still stored are ignored
        throw error;
      }
    });
  }

  async #untilWritten(): Promise<void> {
    if (this.#unfinishedWrites > 0 && !(await settledWithin(this.#written, WRITE_LIMIT_MS)))
      throw new TroupeError(
        'store_failed',
        `The memory has not finished an earlier write within ${WRITE_LIMIT_MS / 1000} s. Check its store.`,
      );
  }

  #inOrder(write: () => Promise<void>): Promise<void> {
    this.#unfinishedWrites++;
    const done = this.#written.then(write);
    const finished = (): void => void this.#unfinishedWrites--;
    this.#written = done.then(finished, finished);
    return done;
  }
}
