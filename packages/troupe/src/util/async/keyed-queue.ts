/**
 * Runs tasks with the same key one after the other, in the order of arrival. Tasks with other keys run
 * independently.
 */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles with the task. A failed task does not block the tasks behind it. */
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

  /** Resolves when all tasks that run or wait now have settled. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#last.values());
  }

  /** Number of keys with running or waiting tasks. */
  get size(): number {
    return this.#last.size;
  }
}
