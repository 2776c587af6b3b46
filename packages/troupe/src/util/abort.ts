/** Settles with the promise, or rejects with the signal's reason as soon as it is aborted. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener('abort', stop);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', stop);
        reject(error);
      },
    );
  });
}

/**
 * The items of a source until the signal is aborted; then rejects at once, even
 * if the source hangs. The source is always told to stop, but only a source
 * that still works is waited for.
 */
export async function* abortableItems<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  const items = source[Symbol.asyncIterator]();
  let finished = false;
  let abort: (reason: unknown) => void = () => {};
  const stop = (): void => abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = items.next();
      const item = await new Promise<IteratorResult<T>>((resolve, reject) => {
        abort = reject;
        next.then(resolve, reject);
      });
      if (item.done) {
        finished = true;
        return;
      }
      yield item.value;
    }
  } catch (error) {
    finished = !signal.aborted; // a source that threw has ended by itself
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    if (!finished) {
      const closed = close(items);
      if (!signal.aborted) await abortable(closed, signal).catch(() => {});
    }
  }
}

/** Tells a source to stop. Whether it likes that is its own affair. */
async function close(items: AsyncIterator<unknown>): Promise<void> {
  try {
    await items.return?.();
  } catch {
    // Whoever leaves a source no longer wants to know.
  }
}

/** Calls back with the reason once the signal is aborted, at once if it is; the returned function calls that off. */
export function whenAborted(
  signal: AbortSignal | undefined,
  callback: (reason: unknown) => void,
): () => void {
  if (signal === undefined) return () => {};
  const stop = (): void => callback(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return () => signal.removeEventListener('abort', stop);
}
