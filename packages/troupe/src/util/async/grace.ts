import { abortable } from '../abort.ts';
import { startTimer } from '../clock.ts';
import { yieldToEventLoop } from '#platform';

/** Time for aborted work to unwind before it is abandoned. */
const GRACE_MS = 25;

interface GraceOptions {
  /** Further work to wait for after an abort. */
  readonly started?: () => Iterable<Promise<unknown>>;
  /** The end of a grace that several waits share; asked for after an abort. */
  readonly over?: () => Promise<void>;
}

/**
 * Settles with the work. After an abort, the work and the promises of `started` get `GRACE_MS` to unwind, or until `over` resolves. If
 * the work still runs then, calls `onAbandoned` and rejects with the abort reason. Folder `util/async`: start here.
 */
export async function withGrace<T>(
  work: Promise<T>,
  signal: AbortSignal,
  onAbandoned: () => void,
  { started = () => [], over }: GraceOptions = {},
): Promise<T> {
  try {
    return await abortable(work, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    let hasSettled = false;
    const settled = (): void => {
      hasSettled = true;
    };
    await waitBriefly(Promise.allSettled([work.then(settled, settled), ...started()]), over?.());
    if (hasSettled) return work;
    onAbandoned();
    throw signal.reason;
  }
}

/**
 * Waits for the work for at most `GRACE_MS`, or until `over` resolves, and on a busy machine at least a few turns of the event loop.
 */
export async function waitBriefly(work: Promise<unknown>, over?: Promise<void>): Promise<void> {
  let cancel = (): void => {};
  const moment = new Promise<void>((resolve) => {
    cancel = startTimer(GRACE_MS, resolve);
  });
  try {
    await Promise.race(over === undefined ? [work, moment] : [work, moment, over]);
    await waitTicks(work);
  } finally {
    cancel();
  }
}

/** Waits for a promise for at most a few turns of the event loop. Never rejects. */
export async function waitTicks(event: Promise<unknown>, turns = 8): Promise<void> {
  let hasHappened = false;
  const happened = event.then(
    () => void (hasHappened = true),
    () => void (hasHappened = true),
  );
  await Promise.resolve();
  for (let turn = 0; turn < turns && !hasHappened; turn++) await Promise.race([happened, yieldToEventLoop()]);
}

/**
 * Settles with the work, or rejects after an abort once the work had a few turns of the event loop to unwind.
 */
export async function untilStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await abortable(work, signal);
  } catch (error) {
    if (signal.aborted) await waitTicks(work);
    throw error;
  }
}
