import { whenAborted } from '../abort.ts';

/**
 * Yields the items of a source whose signal is aborted when the caller's signal is aborted or when the
 * consumer leaves, even while the next item is awaited. The source is opened on the first `next()`, and never
 * when the caller's signal is already aborted.
 */
export function stoppable<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  caller: AbortSignal | undefined,
): AsyncGenerator<T, void, void> {
  return new Stoppable(open, caller);
}

/** Iterator of `stoppable`, written by hand: a generator makes several promises for each item. */
class Stoppable<T> implements AsyncGenerator<T, void, void> {
  readonly #open: (signal: AbortSignal) => AsyncIterable<T>;
  readonly #caller: AbortSignal | undefined;
  readonly #stop = new AbortController();
  #items: AsyncIterator<T> | undefined;
  #unlink = (): void => {};
  #hasLeft = false;
  #isOver = false;

  constructor(open: (signal: AbortSignal) => AsyncIterable<T>, caller: AbortSignal | undefined) {
    this.#open = open;
    this.#caller = caller;
  }

  next(): Promise<IteratorResult<T, void>> {
    if (this.#isOver) return Promise.resolve(DONE);
    return this.#next().then(this.#given, this.#failed);
  }

  async return(): Promise<IteratorResult<T, void>> {
    this.#hasLeft = true;
    this.#isOver = true;
    this.#stop.abort();
    this.#unlink();
    try {
      await this.#items?.return?.();
    } catch {
      // no consumer is left to handle the error
    }
    return DONE;
  }

  async throw(_error: unknown): Promise<IteratorResult<T, void>> {
    return this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #next(): Promise<IteratorResult<T>> {
    try {
      return (this.#items ?? this.#begin()).next();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #begin(): AsyncIterator<T> {
    this.#caller?.throwIfAborted();
    this.#unlink = whenAborted(this.#caller, (reason) => this.#stop.abort(reason));
    this.#items = this.#open(this.#stop.signal)[Symbol.asyncIterator]();
    return this.#items;
  }

  readonly #given = (item: IteratorResult<T>): IteratorResult<T, void> => {
    if (item.done !== true) return item;
    this.#end();
    return DONE;
  };

  readonly #failed = (error: unknown): IteratorResult<T, void> => {
    this.#end();
    if (!this.#hasLeft) throw error; // otherwise no consumer is left to handle the error
    return DONE;
  };

  #end(): void {
    this.#isOver = true;
    this.#unlink();
  }
}

const DONE: IteratorReturnResult<void> = { done: true, value: undefined };

/**
 * Wraps a generator so that `onReturn` is called at once when the consumer leaves, even while the next item
 * is awaited (a plain generator notices only after that item). Response streams need this when a client
 * disconnects.
 */
export function notifyOnReturn<T, Result>(
  items: AsyncGenerator<T, Result, void>,
  onReturn: () => void,
): AsyncGenerator<T, Result, void> {
  const end = (result: Result | PromiseLike<Result>): Promise<IteratorResult<T, Result>> => {
    onReturn();
    return items.return(result);
  };
  return {
    next: () => items.next(),
    return: end,
    throw(error) {
      onReturn();
      return items.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await end(undefined as Result);
    },
  };
}
