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
