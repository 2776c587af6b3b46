import { useClock, type Clock } from '../util/clock.ts';
import { yieldToEventLoop } from '#platform';

interface Timer {
  readonly dueAt: number;
  readonly callback: () => void;
}

const START = Date.UTC(2026, 0, 1);

/**
 * Clock that a test moves.
 *
 * `advance` fires due timers in the order of their time, then of their start, and lets pending promises
 * settle in between; a timer started meanwhile also fires if due. An error of a timer is thrown by `advance`.
 * `setTime` sets the time of day, which changes neither timers nor durations.
 */
export class FakeClock implements Clock, Disposable {
  readonly #timers = new Set<Timer>();
  readonly #restores: (() => void)[] = [];
  /** Time that has passed on this clock. */
  #elapsed = 0;
  /** Time of day at which this clock started. */
  #start: number;

  /** @param start milliseconds since 1970; by default the start of 2026 */
  constructor(start: number = START) {
    this.#start = start;
  }

  now(): number {
    return this.#start + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  /** Sets the time of day, as a user or a time server does. @param time milliseconds since 1970 */
  setTime(time: number): void {
    this.#start = time - this.#elapsed;
  }

  startTimer(ms: number, callback: () => void): () => void {
    const timer: Timer = { dueAt: this.#elapsed + (ms > 0 ? ms : 0), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Moves the time forward. With 0 the time stays, but due timers fire and promises settle. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0))
      throw new RangeError('A clock only moves forward: advance(ms) needs a number of 0 or more.');
    const end = this.#elapsed + ms;
    await yieldToEventLoop(); // all promise chains have run as far as they can
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#moveTo(timer.dueAt);
      timer.callback();
      await yieldToEventLoop();
    }
    this.#moveTo(end);
  }

  /** Makes this the clock of the whole library until it is disposed of: `using clock = new FakeClock().install()`. */
  install(): this {
    this.#restores.push(useClock(this));
    return this;
  }

  /** Undoes the last `install`. */
  [Symbol.dispose](): void {
    this.#restores.pop()?.();
  }

  #next(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt <= end && (next === undefined || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }

  #moveTo(time: number): void {
    this.#elapsed = Math.max(this.#elapsed, time);
  }
}
