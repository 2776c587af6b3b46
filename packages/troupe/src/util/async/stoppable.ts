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
  const stop = new AbortController();
  let hasLeft = false;

  async function* items(): AsyncGenerator<T, void, void> {
    caller?.throwIfAborted();
    const unlink = whenAborted(caller, (reason) => stop.abort(reason));
    try {
      yield* open(stop.signal);
    } catch (error) {
      if (!hasLeft) throw error; // no consumer is left to handle the error
    } finally {
      unlink();
    }
  }

  return notifyOnReturn(items(), () => {
    hasLeft = true;
    stop.abort();
  });
}

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
