/** Work about the same thing is done one after the other, in the order in which it came. Other work doesn't wait for it. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Rejects as the work does, which keeps nobody from their turn. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const over = done
      .catch(() => {})
      .then(() => {
        if (this.#last.get(key) === over) this.#last.delete(key);
      });
    this.#last.set(key, over);
    return done;
  }

  /** How many things there is work about. */
  get size(): number {
    return this.#last.size;
  }
}
