import type { Msg, MsgInput } from '../message/msg.ts';
import { COMPRESSED_MARK, type MemoryBase } from './memory-base.ts';

/**
 * Writes to an agent's memory one after the other, in the order of the calls. A read sees every write that was asked for
 * before. A write that fails rejects for its caller only: later writes go on.
 */
export class OrderedMemory {
  readonly #memory: MemoryBase;
  #written: Promise<void> = Promise.resolve();

  constructor(memory: MemoryBase) {
    this.#memory = memory;
  }

  /** The history for a model, without messages that a summary replaces. */
  async recall(): Promise<readonly Msg[]> {
    await this.#written;
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

  #inOrder(write: () => Promise<void>): Promise<void> {
    const done = this.#written.then(write);
    this.#written = done.catch(() => {});
    return done;
  }
}
