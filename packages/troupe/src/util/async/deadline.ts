import { MAX_TIMER_MS } from '../check-number.ts';
import { abortable, whenAborted } from '../abort.ts';
import { monotonic, startTimer } from '../clock.ts';
import { yieldToEventLoop } from '#platform';

/** Timeout of `withDeadline`. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(readonly timeoutMs: number) {
    super(`It took longer than ${timeoutMs / 1000} s.`);
  }
}

export interface DeadlineOptions {
  /** Time limit. From 2^31 ms on there is no limit. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Called when the work was abandoned because it did not stop with its signal. */
  readonly onAbandoned?: () => void;
}

/** Pauses the time limit until the promise settles, for waits outside the control of the work. */
export type UntimedWait = <T>(waiting: Promise<T>) => Promise<T>;

/**
 * Runs work with a signal of its own and a time limit. Rejects as soon as the caller's signal is aborted
 * (with its reason) or the time is up (`DeadlineError`), even if the work ignores the signal. Does not start
 * work when the caller's signal is already aborted.
 */
export async function withDeadline<T>(
  { timeoutMs, signal, onAbandoned }: DeadlineOptions,
  work: (signal: AbortSignal, untimed: UntimedWait) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const unlink = whenAborted(signal, (reason) => stop.abort(reason));
  let remainingMs = timeoutMs;
  let startedAt = monotonic();
  let isOver = false;
  const start = (): (() => void) =>
    remainingMs > MAX_TIMER_MS
      ? () => {}
      : startTimer(Math.max(0, remainingMs), () => stop.abort(new DeadlineError(timeoutMs)));
  let cancel = start();
  const running = work(stop.signal, async (waiting) => {
    cancel();
    remainingMs -= monotonic() - startedAt;
    try {
      return await waiting;
    } finally {
      startedAt = monotonic();
      if (!isOver) cancel = start();
    }
  });
  try {
    return await abortable(running, stop.signal);
  } finally {
    isOver = true;
    cancel();
    unlink();
    if (stop.signal.aborted && onAbandoned !== undefined) void reportIfAbandoned(running, onAbandoned);
  }
}

/** Reports work that is still running one turn of the event loop after the abort. */
async function reportIfAbandoned(work: Promise<unknown>, onAbandoned: () => void): Promise<void> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  await yieldToEventLoop();
  if (!isOver) onAbandoned();
}
