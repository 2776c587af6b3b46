import type { FakeClock } from '../src/testing/fake-clock.ts';

/** Moves a clock until a promise settles, for a minute at most. @returns milliseconds that have passed on the clock */
export async function timeUntilSettled(clock: FakeClock, work: Promise<unknown>): Promise<number> {
  const start = clock.monotonic();
  let isSettled = false;
  const settle = (): void => void (isSettled = true);
  work.then(settle, settle);
  while (!isSettled && clock.monotonic() - start < 60_000) await clock.advance(1);
  return isSettled ? clock.monotonic() - start : Infinity;
}
