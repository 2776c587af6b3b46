import { startTimer } from '../util/clock.ts';

/** A signal that is aborted after a time, or with an outer signal. The program may end before. `clear` stops the timer. */
export function backgroundDeadline(
  ms: number,
  outer?: AbortSignal,
): { readonly signal: AbortSignal; readonly clear: () => void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort(outer?.reason);
  const cancel = startTimer(ms, () => controller.abort(new Error(`No answer in ${ms} ms.`)), true);
  outer?.addEventListener('abort', stop, { once: true });
  if (outer?.aborted) stop();
  return {
    signal: controller.signal,
    clear: () => {
      cancel();
      outer?.removeEventListener('abort', stop);
    },
  };
}
