import { MAX_TIMER_MS } from '../check-number.ts';
import { abortable, whenAborted } from '../abort.ts';
import { now, startTimer } from '../clock.ts';
import { yieldToEventLoop } from '#platform';

/** Something took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';

  constructor(readonly timeoutMs: number) {
    super(`It took longer than ${timeoutMs / 1000} s.`);
  }
}

export interface DeadlineOptions {
  /** From 2^31 ms on it is for ever. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Told when work was left behind that did not stop with its signal. */
  readonly onAbandoned?: () => void;
}

/** Waits for something that the work can't help, and doesn't count as its time. */
export type UntimedWait = <T>(waiting: Promise<T>) => Promise<T>;

/**
 * Settles with the work, which gets a signal of its own; or rejects as soon as the caller's signal is aborted (with its
 * reason) or the time is up (`DeadlineError`), whether the work stops then or not. Work that can't begin any more doesn't.
 */
export async function withDeadline<T>(
  { timeoutMs, signal, onAbandoned }: DeadlineOptions,
  work: (signal: AbortSignal, untimed: UntimedWait) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const unlink = whenAborted(signal, (reason) => stop.abort(reason));
  let remainingMs = timeoutMs;
  let startedAt = now();
  let isOver = false;
  const start = (): (() => void) =>
    remainingMs > MAX_TIMER_MS
      ? () => {}
      : startTimer(Math.max(0, remainingMs), () => stop.abort(new DeadlineError(timeoutMs)));
  let cancel = start();
  const running = work(stop.signal, async (waiting) => {
    cancel();
    remainingMs -= now() - startedAt;
    try {
      return await waiting;
    } finally {
      startedAt = now();
      if (!isOver) cancel = start();
    }
  });
  try {
    return await abortable(running, stop.signal);
  } finally {
    isOver = true;
    cancel();
    unlink();
    if (stop.signal.aborted && onAbandoned !== undefined) void tellIfAbandoned(running, onAbandoned);
  }
}

/** Work that stops with its signal has done so by the next turn of the event loop. */
async function tellIfAbandoned(work: Promise<unknown>, onAbandoned: () => void): Promise<void> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  await yieldToEventLoop();
  if (!isOver) onAbandoned();
}
