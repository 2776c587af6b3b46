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

/** Awaits one promise after another, and rejects as soon as the signal is aborted. One listener for all of them, as adding one is slow. */
export class AbortableWaits {
  readonly #signal: AbortSignal;
  #reject: (reason: unknown) => void = () => {};
  readonly #stop = (): void => this.#reject(this.#signal.reason);

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#stop, { once: true });
  }

  /** Settles with the promise, or rejects with the signal's reason. Only one wait at a time. */
  wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (this.#signal.aborted) this.#stop();
      promise.then(resolve, reject);
    });
  }

  end(): void {
    this.#signal.removeEventListener('abort', this.#stop);
  }
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
  const waits = new AbortableWaits(signal);
  try {
    for (;;) {
      signal.throwIfAborted();
      const item = await waits.wait(items.next());
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
    waits.end();
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
