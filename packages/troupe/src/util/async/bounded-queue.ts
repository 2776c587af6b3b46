/**
 * A queue between writers and one reader that never holds more than `capacity`
 * items: a writer waits while it is full, in the order of writing.
 */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  readonly #writers: { item: T; resume: () => void }[] = [];
  #wakeReader: (() => void) | undefined;
  #state: 'open' | 'unlimited' | 'closed' = 'open';

  constructor(readonly capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError('A queue needs a capacity of 1 or more.');
  }

  /** How many items wait to be read. */
  get size(): number {
    return this.#items.length;
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Adds an item. Returns a promise only if there is no room: it resolves once the item is in. */
  put(item: T): void | Promise<void> {
    if (this.#state === 'closed') return;
    if (this.#state === 'unlimited' || (this.#items.length < this.capacity && this.#writers.length === 0)) {
      this.#push(item);
      return;
    }
    return new Promise((resume) => {
      this.#writers.push({ item, resume });
    });
  }

  /** The next item, or undefined once the queue is closed and empty. */
  async take(): Promise<T | undefined> {
    while (this.#items.length === 0) {
      if (this.#state === 'closed') return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
    const item = this.#items.shift();
    this.#admitWriter();
    return item;
  }

  /** From now on nobody waits for room: what is waiting goes in, and so does what follows. */
  liftCapacity(): void {
    if (this.#state === 'open') this.#state = 'unlimited';
    while (this.#admitWriter());
  }

  /** Ends the queue: what is in it can still be read, what comes later is dropped, nobody waits. */
  close(): void {
    this.liftCapacity();
    this.#state = 'closed';
    this.#wakeReader?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    while (this.#items.length > 0 || this.#state !== 'closed') {
      const item = await this.take();
      if (item !== undefined) yield item;
    }
  }

  #push(item: T): void {
    this.#items.push(item);
    this.#wakeReader?.();
  }

  #admitWriter(): boolean {
    const writer = this.#writers.shift();
    if (writer === undefined) return false;
    this.#push(writer.item);
    writer.resume();
    return true;
  }
}
