/**
 * Queue between writers and one reader with at most `capacity` items. Writers wait while the queue is full
 * and continue in the order of writing.
 */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #refillAt: number;
  readonly #items: T[] = [];
  readonly #writers: { item: T; resume: () => void }[] = [];
  #wakeReader: (() => void) | undefined;
  #state: 'open' | 'unlimited' | 'closed' = 'open';

  /**
   * @param refillAt number of unread items at which waiting writers continue. A small number lets writers and reader work on many items
   * in a row, in place of taking turns for each item. @default as soon as there is space
   */
  constructor(
    readonly capacity: number,
    refillAt: number = capacity - 1,
  ) {
    this.#refillAt = refillAt;
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError('A queue needs a capacity of 1 or more.');
  }

  /** Number of unread items. */
  get size(): number {
    return this.#items.length;
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /**
   * Adds an item. Returns a promise only while the queue is full; the promise resolves once the item is in.
   */
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

  /** Next item, or undefined once the queue is closed and empty. */
  async take(): Promise<T | undefined> {
    while (this.#items.length === 0) {
      if (this.#state === 'closed') return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
    return this.takeNow();
  }

  /** Next item, or undefined if none is there now. */
  takeNow(): T | undefined {
    const item = this.#items.shift();
    if (this.#writers.length > 0 && this.#items.length <= this.#refillAt) this.#fill();
    return item;
  }

  /** Removes the capacity limit: waiting and later items enter at once. */
  liftCapacity(): void {
    if (this.#state === 'open') this.#state = 'unlimited';
    while (this.#admitWriter());
  }

  /** Closes the queue: queued items can still be read, later items are dropped, writers no longer wait. */
  close(): void {
    this.liftCapacity();
    this.#state = 'closed';
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    while (this.#items.length > 0 || this.#state !== 'closed') {
      const item = await this.take();
      if (item !== undefined) yield item;
    }
  }

  #push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  #wake(): void {
    this.#wakeReader?.();
    this.#wakeReader = undefined;
  }

  /** Admits as many writers as there is space for. */
  #fill(): void {
    while (this.#items.length < this.capacity && this.#admitWriter());
  }

  #admitWriter(): boolean {
    const writer = this.#writers.shift();
    if (writer === undefined) return false;
    this.#push(writer.item);
    writer.resume();
    return true;
  }
}
