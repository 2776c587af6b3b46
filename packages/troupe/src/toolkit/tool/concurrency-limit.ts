import { RequestLimiter, type Admission } from '../../model/wrappers/request-limiter.ts';
import { whenAborted } from '../../util/abort.ts';
import { monotonic, startTimer } from '../../util/clock.ts';

/** Maximum time that a tool which ignores its signal counts as running while other tool calls wait. */
const MAX_OVERTIME_MS = 60_000;

/**
 * Limits how many tool calls run at once; others wait in order of arrival. A tool that ignores its aborted
 * signal still runs and still counts, but for at most a minute while others wait, so that hanging tools can't
 * block all others for ever.
 */
export class ConcurrencyLimit {
  readonly #limiter: RequestLimiter;
  /** Aborted tool calls in order of their abort, with the time until which they count. */
  readonly #overtime = new Map<Admission, number>();
  #stopTimer: () => void = () => {};

  constructor(count: number) {
    this.#limiter = new RequestLimiter({ maxConcurrent: count });
  }

  /** Number of waiting tool calls. */
  get waiting(): number {
    return this.#limiter.waiting;
  }

  /**
   * Waits until another tool call may run. The returned function must be called at its end. Rejects as soon
   * as the signal is aborted.
   */
  async acquire(signal: AbortSignal): Promise<() => void> {
    const admission = await this.#enter(signal);
    const stopListening = whenAborted(signal, () => {
      this.#overtime.set(admission, monotonic() + MAX_OVERTIME_MS);
      this.#endOvertime();
    });
    return () => {
      stopListening();
      this.#overtime.delete(admission);
      admission.end();
    };
  }

  async #enter(signal: AbortSignal): Promise<Admission> {
    try {
      const entering = this.#limiter.acquire(0, signal);
      this.#endOvertime();
      return await entering;
    } finally {
      this.#endOvertime();
    }
  }

  /** Releases aborted tool calls whose time is up, now and by a timer, while others wait. */
  #endOvertime(): void {
    this.#stopTimer();
    for (const [admission, until] of this.#overtime) {
      if (this.waiting === 0) return;
      if (until > monotonic()) {
        this.#stopTimer = startTimer(until - monotonic(), () => this.#endOvertime());
        return;
      }
      this.#overtime.delete(admission);
      admission.end();
    }
  }
}

/** Acquires all limits in order; on failure releases those acquired so far. */
export async function acquireAll(
  limits: readonly ConcurrencyLimit[],
  signal: AbortSignal,
): Promise<() => void> {
  const acquired: (() => void)[] = [];
  const releaseAll = (): void => {
    for (const release of acquired) release();
  };
  try {
    for (const limit of limits) acquired.push(await limit.acquire(signal));
    signal.throwIfAborted();
    return releaseAll;
  } catch (error) {
    releaseAll();
    throw error;
  }
}
