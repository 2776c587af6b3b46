/**
 * The callbacks of one signal, behind one listener: adding a listener to a signal, and removing one, is slow and looks at all others.
 * The signal has no listener while there is no callback.
 */
class AbortCallbacks {
  readonly #signal: AbortSignal;
  readonly #callbacks = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(callback: () => void): void {
    if (this.#callbacks.size === 0) this.#signal.addEventListener('abort', this.#run, { once: true });
    this.#callbacks.add(callback);
  }

  delete(callback: () => void): void {
    if (this.#callbacks.delete(callback) && this.#callbacks.size === 0)
      this.#signal.removeEventListener('abort', this.#run);
  }

  /** Calls all callbacks in the order in which they were added, also if one of them throws. */
  readonly #run = (): void => {
    for (const callback of this.#callbacks) {
      this.#callbacks.delete(callback);
      try {
        callback();
      } catch (error) {
        queueMicrotask(() => {
          throw error; // uncaught, as for a listener of the signal
        });
      }
    }
  };
}

const callbacksBySignal = new WeakMap<AbortSignal, AbortCallbacks>();

function callbacksOf(signal: AbortSignal): AbortCallbacks {
  let callbacks = callbacksBySignal.get(signal);
  if (callbacks === undefined) callbacksBySignal.set(signal, (callbacks = new AbortCallbacks(signal)));
  return callbacks;
}

/** Settles with the promise, or rejects with the signal's reason as soon as the signal is aborted. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.catch(() => {}); // no caller handles a failure after the abort
      return reject(signal.reason as Error);
    }
    const callbacks = callbacksOf(signal);
    const stop = (): void => reject(signal.reason as Error);
    callbacks.add(stop);
    promise.then(
      (value) => {
        callbacks.delete(stop);
        resolve(value);
      },
      (error: unknown) => {
        callbacks.delete(stop);
        reject(error);
      },
    );
  });
}

/** Awaits one promise after another, and rejects as soon as the signal is aborted. One callback for all of them. */
export class AbortableWaits {
  readonly #signal: AbortSignal;
  readonly #callbacks: AbortCallbacks;
  #reject: (reason: unknown) => void = () => {};
  readonly #stop = (): void => this.#reject(this.#signal.reason);

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#callbacks = callbacksOf(signal);
    if (!signal.aborted) this.#callbacks.add(this.#stop);
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
    this.#callbacks.delete(this.#stop);
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
 * the callback.
 */
export function whenAborted(
  signal: AbortSignal | undefined,
  callback: (reason: unknown) => void,
): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    callback(signal.reason);
    return () => {};
  }
  const callbacks = callbacksOf(signal);
  const stop = (): void => callback(signal.reason);
  callbacks.add(stop);
  return () => callbacks.delete(stop);
}
