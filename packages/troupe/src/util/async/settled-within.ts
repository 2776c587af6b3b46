import { whenAborted } from '../abort.ts';
import { startTimer } from '../clock.ts';

/** Resolves when the promise has settled, or when the time is up. Resolves to whether it has settled. */
export function settledWithin(promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isSettled: boolean): void => {
      cancel();
      unlink();
      resolve(isSettled);
    };
    const cancel = startTimer(ms, () => end(false));
    const unlink = whenAborted(signal, () => queueMicrotask(() => end(false)));
    promise.then(
      () => end(true),
      () => end(true),
    );
  });
}
