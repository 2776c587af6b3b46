import { MAX_TIMER_MS } from '../check-number.ts';
import { whenAborted } from '../abort.ts';
import { elapsedSince, monotonic, startTimer } from '../clock.ts';
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
export function withDeadline<T>(
  options: DeadlineOptions,
  work: (signal: AbortSignal, untimed: UntimedWait) => Promise<T>,
): Promise<T> {
  return runLimited(options, (limit) => work(limit.signal, (waiting) => limit.untimed(waiting)));
}

/** Like `withDeadline`, for work that may need no signal: the signal is made when the work reads `limit.signal`. */
export function runLimited<T>(
  { timeoutMs, signal, onAbandoned }: DeadlineOptions,
  work: (limit: TimeLimit) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let running: Promise<T> | undefined;
    const limit = new TimeLimit(timeoutMs, (reason) => {
      unlink();
      reject(reason);
      if (running !== undefined && onAbandoned !== undefined) void reportIfAbandoned(running, onAbandoned);
    });
    const unlink = whenAborted(signal, (reason) => limit.stop(reason));
    const end = (): void => {
      limit.end();
      unlink();
    };
    try {
      running = work(limit);
    } catch (error) {
      end();
      throw error;
    }
    running.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
    if (limit.isStopped && onAbandoned !== undefined) void reportIfAbandoned(running, onAbandoned);
  });
}

/** Time limit and signal of some work. */
export class TimeLimit {
  readonly #timeoutMs: number;
  readonly #onStop: (reason: unknown) => void;
  #remainingMs: number;
  #startedAt = monotonic();
  #cancel: (() => void) | undefined;
  #controller: AbortController | undefined;
  #stopped: { readonly reason: unknown } | undefined;
  #isOver = false;

  /** @param onStop called once, with the reason, when the work has to stop before its end */
  constructor(timeoutMs: number, onStop: (reason: unknown) => void) {
    this.#timeoutMs = timeoutMs;
    this.#remainingMs = timeoutMs;
    this.#onStop = onStop;
    this.#start();
  }

  /** Aborted when the work has to stop. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stopped !== undefined) this.#controller.abort(this.#stopped.reason);
    }
    return this.#controller.signal;
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** Pauses the time limit until the promise settles. */
  async untimed<T>(waiting: Promise<T>): Promise<T> {
    this.#cancel?.();
    this.#remainingMs -= elapsedSince(this.#startedAt);
    try {
      return await waiting;
    } finally {
      this.#startedAt = monotonic();
      if (!this.#isOver) this.#start();
    }
  }

  /** Stops the work. No effect after its end. */
  stop(reason: unknown): void {
    if (this.#isOver) return;
    this.end();
    this.#stopped = { reason };
    this.#controller?.abort(reason);
    this.#onStop(reason);
  }

  /** Ends the time limit: the work is over. */
  end(): void {
    this.#isOver = true;
    this.#cancel?.();
  }

  #start(): void {
    if (this.#remainingMs <= MAX_TIMER_MS)
      this.#cancel = startTimer(Math.max(0, this.#remainingMs), () =>
        this.stop(new DeadlineError(this.#timeoutMs)),
      );
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
