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

/** @throws ServiceFailure for an expression or a time zone that is none, or an expression without a next tick */
export function nextTick(cron: string, timezone: string, after: number): number {
  let next: Date | null;
  try {
    next = toCron(cron, timezone).nextRun(new Date(after));
  } catch (error) {
    throw new ServiceFailure(
      'invalid_request',
      `The cron expression can't be used: ${error instanceof Error ? error.message : 'it is none'}`,
    );
  }
  if (next === null)
    throw new ServiceFailure('invalid_request', 'The cron expression has no tick in the future.');
  return next.getTime();
}

/** Ticks to run now, oldest first, and the tick after them. */
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
): { readonly run: readonly number[]; readonly next: number } {
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
