import { abortable } from '../abort.ts';
import { startTimer } from '../clock.ts';
import { yieldToEventLoop } from '#platform';

/** How long work may take to unwind after an abort before nobody waits for it any longer. */
const GRACE_MS = 25;

/**
 * Settles with the work. Once the signal is aborted the work, and what it started, gets a
 * moment to unwind; work that ignores the signal is left behind: `onAbandoned` is
 * told, and this rejects with the signal's reason.
 */
export async function withGrace<T>(
  work: Promise<T>,
  signal: AbortSignal,
  onAbandoned: () => void,
  started: () => Iterable<Promise<unknown>> = () => [],
): Promise<T> {
  try {
    return await abortable(work, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    let hasSettled = false;
    const settled = (): void => {
      hasSettled = true;
    };
    await waitBriefly(Promise.allSettled([work.then(settled, settled), ...started()]));
    if (hasSettled) return work;
    onAbandoned();
    throw signal.reason;
  }
}

/** Settles when the work does, but waits no longer for it than a moment: on a busy machine, a few turns of the event loop. */
export async function waitBriefly(work: Promise<unknown>): Promise<void> {
  let cancel = (): void => {};
  const moment = new Promise<void>((resolve) => {
    cancel = startTimer(GRACE_MS, resolve);
  });
  try {
    await Promise.race([work, moment]);
    await waitTicks(work);
  } finally {
    cancel();
  }
}

/** Waits a few turns of the event loop for something that is about to happen, but no longer. Never rejects. */
export async function waitTicks(event: Promise<unknown>): Promise<void> {
  let hasHappened = false;
  const happened = event.then(
    () => void (hasHappened = true),
    () => void (hasHappened = true),
  );
  await Promise.resolve();
  for (let turn = 0; turn < 8 && !hasHappened; turn++) await Promise.race([happened, yieldToEventLoop()]);
}

/** Settles with the work; once the signal is aborted, it is given a few turns of the event loop to unwind, and no more. */
export async function untilStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await abortable(work, signal);
  } catch (error) {
    if (signal.aborted) await waitTicks(work);
    throw error;
  }
}
