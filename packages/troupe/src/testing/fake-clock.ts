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
 */
export class FakeClock implements Clock, Disposable {
  readonly #timers = new Set<Timer>();
  readonly #restores: (() => void)[] = [];
  #now: number;

  /** @param start milliseconds since 1970; by default the start of 2026 */
  constructor(start: number = START) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  startTimer(ms: number, callback: () => void): () => void {
    const timer: Timer = { dueAt: this.#now + (ms > 0 ? ms : 0), callback };
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
    const end = this.#now + ms;
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
    this.#now = Math.max(this.#now, time);
  }
}
