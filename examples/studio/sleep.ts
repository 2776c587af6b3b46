import { setTimeout as wait } from 'node:timers/promises';

/** Waits, unless the signal is aborted. */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms > 0) await wait(ms, undefined, signal && { signal });
  else signal?.throwIfAborted();
}
