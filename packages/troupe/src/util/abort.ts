/** Settles with the promise, or rejects with the signal's reason as soon as the signal is aborted. */
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
 * Yields the items of a source until the signal is aborted, then rejects at once, even if the source hangs.
 * The source is always asked to stop; only a source that is not aborted is waited for.
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
    finished = !signal.aborted; // a throwing source has already ended
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    if (!finished) {
      const closed = close(items);
      if (!signal.aborted) await abortable(closed, signal).catch(() => {});
    }
  }
}

/** Asks a source to stop. Ignores errors while it stops. */
async function close(items: AsyncIterator<unknown>): Promise<void> {
  try {
    await items.return?.();
  } catch {
    // The consumer has left, so nobody can handle this error.
  }
}

/**
 * Calls back with the abort reason, at once if the signal is already aborted. The returned function removes
 * the listener.
 */
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
