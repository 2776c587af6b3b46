/**
 * A generator whose consumer may leave while it still waits for the next item, as a response stream does when
 * its client is gone. By itself a generator hears of that only after the item; `onLeave` is told at once.
 */
export function notifyOnReturn<T, Result>(
  items: AsyncGenerator<T, Result, void>,
  onLeave: () => void,
): AsyncGenerator<T, Result, void> {
  const leave = (result: Result | PromiseLike<Result>): Promise<IteratorResult<T, Result>> => {
    onLeave();
    return items.return(result);
  };
  return {
    next: () => items.next(),
    return: leave,
    throw(error) {
      onLeave();
      return items.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await leave(undefined as Result);
    },
  };
}
