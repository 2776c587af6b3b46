/** Single source of time and timers, so that tests can control the clock. */

export interface Clock {
  /** Time of day in milliseconds since 1970. Jumps when the clock of the machine is set. */
  now(): number;
  /** Whole milliseconds since some start. Never jumps: for durations and deadlines inside one program. */
  monotonic(): number;
  /**
   * Calls back once after `ms`; the returned function cancels the timer.
   * @param isBackground whether the program may end before the timer
   */
  startTimer(ms: number, callback: () => void, isBackground?: boolean): () => void;
}

const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Math.round(performance.now()),
  startTimer(ms, callback, isBackground = false) {
    const timer: { unref?: () => void } & ReturnType<typeof setTimeout> = setTimeout(callback, ms);
    if (isBackground) timer.unref?.();
    return () => clearTimeout(timer);
  },
};

let clock: Clock = systemClock;

/** Time of day in milliseconds since 1970. Durations are measured by `monotonic`. */
export function now(): number {
  return clock.now();
}

/** Milliseconds since some start, for durations and deadlines: not changed when the time of day is set. */
export function monotonic(): number {
  return clock.monotonic();
}

/** Milliseconds since a result of `monotonic()`. */
export function elapsedSince(start: number): number {
  return clock.monotonic() - start;
}

let latest = { ms: NaN, text: '' };

/** Current time as text, e.g. `2026-01-31T09:30:00.000Z`. */
export function timestamp(): string {
  const ms = clock.now();
  if (ms !== latest.ms) latest = { ms, text: new Date(ms).toISOString() };
  return latest.text;
}

/** A time in the zone of this machine, without the zone: `2026-01-31T09:30:00.000`. */
export function localTimestamp(iso: string): string {
  const time = new Date(iso);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().replace('Z', '');
}

/** @param isBackground whether the program may end before the timer */
export function startTimer(ms: number, callback: () => void, isBackground = false): () => void {
  return clock.startTimer(ms, callback, isBackground);
}

/** Waits for `ms`. Rejects with the signal's reason as soon as the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const stop = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.startTimer(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Replaces the clock until the returned function is called. */
export function useClock(replacement: Clock): () => void {
  const previous = clock;
  clock = replacement;
  return () => {
    clock = previous;
  };
}
