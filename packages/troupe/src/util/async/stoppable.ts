import { whenAborted } from '../abort.ts';
import { notifyOnReturn } from './notify-on-return.ts';

/**
 * The items of a source that is stopped by the caller's signal and by being left, also while it waits for
 * its next item: the signal that it is opened with is aborted in both cases. Nothing is opened for a caller
 * whose signal is aborted already, or before the first item is asked for.
 */
export function stoppable<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  caller: AbortSignal | undefined,
): AsyncGenerator<T, void, void> {
  const stop = new AbortController();
  let isLeft = false;

  async function* items(): AsyncGenerator<T, void, void> {
    caller?.throwIfAborted();
    const unlink = whenAborted(caller, (reason) => stop.abort(reason));
    try {
      yield* open(stop.signal);
    } catch (error) {
      if (!isLeft) throw error; // who has left no longer wants to know
    } finally {
      unlink();
    }
  }

  return notifyOnReturn(items(), () => {
    isLeft = true;
    stop.abort();
  });
}
