/**
 * Puts a source of ready items before a generator of the same items: a read that finds an item ready needs one promise and does not
 * enter the generator. Reads that wait keep their order.
 * @param takeReady the next item, or undefined if the generator has to be asked
 */
export function withReadyItems<T, Result>(
  items: AsyncGenerator<T, Result, void>,
  takeReady: () => T | undefined,
): AsyncGenerator<T, Result, void> {
  let waiting = 0;
  const read = async (): Promise<IteratorResult<T, Result>> => {
    waiting++;
    try {
      return await items.next();
    } finally {
      waiting--;
    }
  };
  return {
    next() {
      const value = waiting === 0 ? takeReady() : undefined;
      return value === undefined ? read() : Promise.resolve({ done: false, value });
    },
    return: (result) => items.return(result),
    throw: (error) => items.throw(error),
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: () => items[Symbol.asyncDispose](),
  };
}
