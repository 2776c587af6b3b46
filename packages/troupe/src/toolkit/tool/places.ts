import { RequestGate, type Visit } from '../../model/wrappers/request-gate.ts';
import { whenAborted } from '../../util/abort.ts';
import { now, startTimer } from '../../util/clock.ts';

/** A tool that doesn't stop when it is told to keeps its place for so long, if somebody waits for it. */
const MAX_OVERTIME_MS = 60_000;

/**
 * So many tools may run at the same time; others wait, in the order in which they came. A tool that was told to stop and
 * doesn't still runs, so it keeps its place. But not for ever, or nobody else would run any more: after a minute
 * its place goes to whoever waits.
 */
export class Places {
  readonly #gate: RequestGate;
  /** Those that were told to stop, in that order, and until when they keep their places. */
  readonly #overtime = new Map<Visit, number>();
  #stopTimer: () => void = () => {};

  constructor(count: number) {
    this.#gate = new RequestGate({ maxConcurrent: count });
  }

  /** How many wait. */
  get waiting(): number {
    return this.#gate.waiting;
  }

  /** Waits for a place. The returned function gives it back. Rejects as soon as the signal is aborted. */
  async take(signal: AbortSignal): Promise<() => void> {
    const visit = await this.#enter(signal);
    const stopListening = whenAborted(signal, () => {
      this.#overtime.set(visit, now() + MAX_OVERTIME_MS);
      this.#endOvertime();
    });
    return () => {
      stopListening();
      this.#overtime.delete(visit);
      visit.end();
    };
  }

  async #enter(signal: AbortSignal): Promise<Visit> {
    try {
      const entering = this.#gate.enter(0, signal);
      this.#endOvertime();
      return await entering;
    } finally {
      this.#endOvertime();
    }
  }

  /** Takes back the places whose time is up, now and later, for as long as somebody waits. */
  #endOvertime(): void {
    this.#stopTimer();
    for (const [visit, until] of this.#overtime) {
      if (this.waiting === 0) return;
      if (until > now()) {
        this.#stopTimer = startTimer(until - now(), () => this.#endOvertime());
        return;
      }
      this.#overtime.delete(visit);
      visit.end();
    }
  }
}

/** Waits for a place in each, one after the other. */
export async function takeAll(places: readonly Places[], signal: AbortSignal): Promise<() => void> {
  const taken: (() => void)[] = [];
  const giveBack = (): void => {
    for (const leave of taken) leave();
  };
  try {
    for (const one of places) taken.push(await one.take(signal));
    signal.throwIfAborted();
    return giveBack;
  } catch (error) {
    giveBack();
    throw error;
  }
}
