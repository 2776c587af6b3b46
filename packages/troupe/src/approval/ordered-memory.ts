import { COMPRESSED_MARK, type MemoryBase } from '../memory/memory-base.ts';
import type { Msg, MsgInput } from '../message/msg.ts';

/**
 * An agent's memory, written in the order in which that is asked for, one write after the other. A look into it sees
 * every write that was asked for before. A write that fails holds up nothing: whoever asked for it knows.
 */
export class OrderedMemory {
  readonly #memory: MemoryBase;
  #written: Promise<void> = Promise.resolve();

  constructor(memory: MemoryBase) {
    this.#memory = memory;
  }

  /** What was said so far, as a model is to see it. */
  async recall(): Promise<readonly Msg[]> {
    await this.#written;
    return this.#memory.getMemory({ excludeMark: COMPRESSED_MARK });
  }

  /** @param asStep what the write is wrapped in when its turn has come */
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
