import { ServiceFailure } from '../service-failure.ts';
import type { ServiceStore } from '../store/service-store.ts';

/** Limits of each user. Every limit has a default or is off. */
export interface UserLimits {
  /** Requests in one minute, in this process. @default 600 */
  readonly requestsPerMinute?: number | undefined;
  /** Runs that are queued or running, and conversations by voice. @default 20 */
  readonly openRuns?: number | undefined;
  /** Tokens of runs that ended on one day (UTC). @default no limit */
  readonly tokensPerDay?: number | undefined;
  /** Cost of runs that ended on one day (UTC). @default no limit */
  readonly costPerDay?: number | undefined;
}

const MINUTE = 60_000;
/** Maximum users whose requests are counted at the same time; the oldest minute is dropped first. */
const MAX_COUNTED = 100_000;

/** Counts requests of users, and refuses requests and runs beyond the limits. */
export class UserLimiter {
  readonly #limits: UserLimits;
  readonly #store: ServiceStore;
  readonly #now: () => number;
  /** The last start of each user that starts a run now. */
  readonly #starting = new Map<string, Promise<unknown>>();
  readonly #minutes = new Map<string, { readonly start: number; count: number }>();

  constructor(limits: UserLimits, store: ServiceStore, now: () => number) {
    this.#limits = limits;
    this.#store = store;
    this.#now = now;
  }

  /** Counts a request. @throws ServiceFailure with the seconds until the next minute */
  countRequest(user: string): void {
    const { requestsPerMinute = 600 } = this.#limits;
    const now = this.#now();
    const current = this.#minutes.get(user);
    const minute = current !== undefined && now - current.start < MINUTE ? current : { start: now, count: 0 };
    minute.count++;
    if (minute !== current) {
      this.#minutes.delete(user);
      this.#minutes.set(user, minute);
      const oldest = this.#minutes.keys().next().value;
      if (this.#minutes.size > MAX_COUNTED && oldest !== undefined) this.#minutes.delete(oldest);
    }
    if (minute.count <= requestsPerMinute) return;
    const seconds = Math.ceil((minute.start + MINUTE - now) / 1000);
    throw new ServiceFailure(
      'limit_reached',
      `More than ${requestsPerMinute} requests in a minute.`,
      seconds,
    );
  }

  /**
   * Starts a run, unless the user may not. Starts of one user wait for each other, so that many at the same time do not pass together;
   * in several processes, as many more may pass as there are processes. @param known the run of a repeated request, which no limit refuses
   * @throws ServiceFailure
   */
  async admit<T>(user: string, start: () => Promise<T>, known?: () => Promise<T | undefined>): Promise<T> {
    const before = this.#starting.get(user);
    const started = (async (): Promise<T> => {
      await before?.catch(() => {}); // told to its own caller
      const repeated = await known?.();
      if (repeated !== undefined) return repeated;
      await this.assertRun(user);
      return start();
    })();
    this.#starting.set(user, started);
    try {
      return await started;
    } finally {
      if (this.#starting.get(user) === started) this.#starting.delete(user);
    }
  }

  /** @throws ServiceFailure if the user may not start a run now */
  async assertRun(user: string): Promise<void> {
    const { openRuns = 20 } = this.#limits;
    const { runs, sessions } = this.#store;
    if (openRuns < Infinity && (await runs.countOpen(user)) + (await sessions.countTalks(user)) >= openRuns)
      throw new ServiceFailure(
        'limit_reached',
        `More than ${openRuns} runs and conversations at the same time.`,
        1,
      );
    await this.assertBudget(user);
  }

  /** @throws ServiceFailure when the tokens or the cost of the day are used */
  async assertBudget(user: string): Promise<void> {
    const { tokensPerDay = Infinity, costPerDay = Infinity } = this.#limits;
    if (tokensPerDay === Infinity && costPerDay === Infinity) return;
    const used = await this.#store.usage.ofDay(user, this.#now());
    const seconds = Math.ceil((86_400_000 - (this.#now() % 86_400_000)) / 1000);
    if (used.tokens >= tokensPerDay)
      throw new ServiceFailure('limit_reached', `The ${tokensPerDay} tokens of this day are used.`, seconds);
    if (used.cost >= costPerDay)
      throw new ServiceFailure('limit_reached', 'The budget of this day is used.', seconds);
  }
}
