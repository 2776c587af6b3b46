import { Cron } from 'croner';

import { ServiceFailure } from '../service-failure.ts';

/** Treatment of ticks without a running process: run none, run the last, or run all (100 at most). */
export type MissedTicks = 'skip' | 'last' | 'all';

/** Ticks older than this are missed ones. */
const MISSED_MS = 60_000;
const MAX_TICKS = 100;

function toCron(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone, paused: true });
}

/**
 * The first tick behind a time; undefined behind the last one, such as of an expression with years.
 * @throws ServiceFailure for an expression or a time zone that is none
 */
export function nextTick(cron: string, timezone: string, after: number): number | undefined {
  try {
    if (cron.includes(':')) throw new TypeError('a date is no cron expression'); // croner reads one as a tick of its own
    return toCron(cron, timezone).nextRun(new Date(after))?.getTime();
  } catch (error) {
    throw new ServiceFailure(
      'invalid_request',
      `The cron expression can't be used: ${error instanceof Error ? error.message : 'it is none'}`,
    );
  }
}

/** Ticks to run now, oldest first, and the tick after them: undefined if they are the last. */
export function dueTicks(
  {
    cron,
    timezone,
    missed,
    nextAt,
  }: {
    readonly cron: string;
    readonly timezone: string;
    readonly missed: MissedTicks;
    readonly nextAt: number;
  },
  now: number,
): { readonly run: readonly number[]; readonly next: number | undefined } {
  // Only the newest ticks are looked at: a schedule that was off for long costs no more.
  const newest = toCron(cron, timezone).previousRuns(MAX_TICKS + 1, new Date(now + 1000));
  const ticks = newest
    .map((tick) => tick.getTime())
    .filter((tick) => tick >= nextAt && tick <= now)
    .toSorted((a, b) => a - b)
    .slice(-MAX_TICKS);
  const next = nextTick(cron, timezone, now);
  const isMissed = (tick: number): boolean => tick < now - MISSED_MS;
  const fresh = ticks.filter((tick) => !isMissed(tick));
  if (missed === 'all') return { run: ticks, next };
  const last = missed === 'last' && fresh.length === 0 ? ticks.slice(-1) : [];
  return { run: [...last, ...fresh], next };
}
