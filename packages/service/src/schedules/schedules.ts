import { randomUUID } from 'node:crypto';

import { getLogger, type JsonObject } from 'troupe';
import { redactKeys } from 'troupe/studio';

import type { RunRequests } from '../runs/run-requests.ts';
import { ServiceFailure } from '../service-failure.ts';
import type { SqlRow } from '../store/database.ts';
import type { ServiceStore } from '../store/service-store.ts';
import { dueTicks, nextTick, type MissedTicks } from './schedule-ticks.ts';

/** A schedule as it is stored. */
export interface ScheduleRecord {
  readonly id: string;
  readonly user: string;
  readonly session: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: MissedTicks;
  readonly msgs: readonly JsonObject[];
  readonly isPaused: boolean;
  readonly nextAt: number;
}

export interface NewSchedule {
  readonly agent: string;
  readonly cron: string;
  readonly msgs: readonly JsonObject[];
  readonly session?: string | undefined;
  readonly timezone?: string | undefined;
  readonly missed?: MissedTicks | undefined;
}

const COLUMNS = 'id, user_id, session_id, cron, timezone, missed, msgs, is_paused, next_at';
const MAX_PER_USER = 100;
const MAX_DUE = 200;

/**
 * Schedules of users: a cron expression starts runs in a session. Each tick starts its run with an idempotency key of schedule and
 * tick, and only then moves the schedule on, so that any number of processes, also one that dies in between, start one run for
 * each tick. Folder `schedules`: start here.
 */
export class Schedules {
  readonly #store: ServiceStore;
  readonly #requests: RunRequests;
  readonly #now: () => number;

  constructor(store: ServiceStore, requests: RunRequests, now: () => number) {
    this.#store = store;
    this.#requests = requests;
    this.#now = now;
  }

  async add(user: string, schedule: NewSchedule): Promise<ScheduleRecord> {
    const { cron, agent, msgs, timezone = 'UTC', missed = 'skip' } = schedule;
    const nextAt = futureTick(cron, timezone, this.#now());
    if ((await this.list(user)).length >= MAX_PER_USER)
      throw new ServiceFailure('limit_reached', `More than ${MAX_PER_USER} schedules.`);
    const id = randomUUID();
    const session = schedule.session ?? `schedule-${id}`;
    if (schedule.session === undefined)
      await this.#requests.addSession(user, { agent, id: session, title: `Schedule ${cron}` });
    else await this.#requests.session(user, session);
    await this.#store.database.query(
      `INSERT INTO service_schedules (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)`,
      [id, user, session, cron, timezone, missed, JSON.stringify(msgs), nextAt],
    );
    return { id, user, session, cron, timezone, missed, msgs, isPaused: false, nextAt };
  }

  async list(user: string): Promise<readonly ScheduleRecord[]> {
    const sql = `SELECT ${COLUMNS} FROM service_schedules WHERE user_id = ? ORDER BY next_at, id`;
    return (await this.#store.database.query(sql, [user])).map(toSchedule);
  }

  /** Stops the ticks, or goes on with the next one from now. */
  async setPaused(user: string, id: string, isPaused: boolean): Promise<ScheduleRecord> {
    const schedule = (await this.list(user)).find((one) => one.id === id);
    if (schedule === undefined) throw new ServiceFailure('not_found', 'There is no such schedule.');
    const { cron, timezone } = schedule;
    const nextAt = isPaused ? schedule.nextAt : futureTick(cron, timezone, this.#now());
    await this.#store.database.query(
      'UPDATE service_schedules SET is_paused = ?, next_at = ? WHERE id = ? AND user_id = ?',
      [isPaused ? 1 : 0, nextAt, id, user],
    );
    return { ...schedule, isPaused, nextAt };
  }

  async remove(user: string, id: string): Promise<void> {
    const sql = 'DELETE FROM service_schedules WHERE id = ? AND user_id = ? RETURNING id';
    if ((await this.#store.database.query(sql, [id, user])).length === 0)
      throw new ServiceFailure('not_found', 'There is no such schedule.');
  }

  /** Starts the runs that are due. A schedule that fails is logged and tried again; the others go on. */
  async tick(): Promise<void> {
    const sql = `SELECT ${COLUMNS} FROM service_schedules WHERE is_paused = 0 AND next_at <= ? ORDER BY next_at LIMIT ?`;
    for (const row of await this.#store.database.query(sql, [this.#now(), MAX_DUE]))
      try {
        await this.#run(toSchedule(row));
      } catch (error) {
        getLogger().log('warn', `The schedule ${row['id']} failed: ${redactKeys(String(error))}`);
      }
  }

  async #run(schedule: ScheduleRecord): Promise<void> {
    const { id, user, session, msgs, nextAt } = schedule;
    const { run, next } = ticksOf(schedule, this.#now());
    for (const tick of run) {
      const request = { msgs, closePending: true };
      const options = { key: `schedule:${id}:${tick}`, onBusy: 'queue' } as const;
      await this.#requests.start(user, session, request, options).catch((error: unknown) => {
        if (!(error instanceof ServiceFailure)) throw error; // the store failed: the tick is tried again
        getLogger().log('warn', `The schedule ${id} could not start a run: ${error.message}`);
      });
    }
    const set = next === undefined ? 'is_paused = 1' : 'next_at = ?';
    await this.#store.database.query(`UPDATE service_schedules SET ${set} WHERE id = ? AND next_at = ?`, [
      ...(next === undefined ? [] : [next]),
      id,
      nextAt,
    ]);
  }
}

/** @throws ServiceFailure for an expression or a time zone that is none, or an expression without a next tick */
function futureTick(cron: string, timezone: string, now: number): number {
  const next = nextTick(cron, timezone, now);
  if (next === undefined)
    throw new ServiceFailure('invalid_request', 'The cron expression has no tick in the future.');
  return next;
}

/** Due ticks of a stored schedule: none, and none after, if its expression can't be used any more. */
function ticksOf(schedule: ScheduleRecord, now: number): ReturnType<typeof dueTicks> {
  try {
    return dueTicks(schedule, now);
  } catch (error) {
    getLogger().log('warn', `The schedule ${schedule.id} is paused: ${String(error)}`);
    return { run: [], next: undefined };
  }
}

function toSchedule(row: SqlRow): ScheduleRecord {
  return {
    id: String(row['id']),
    user: String(row['user_id']),
    session: String(row['session_id']),
    cron: String(row['cron']),
    timezone: String(row['timezone']),
    missed: row['missed'] === 'all' || row['missed'] === 'last' ? row['missed'] : 'skip',
    msgs: JSON.parse(String(row['msgs'])) as readonly JsonObject[],
    isPaused: row['is_paused'] === 1,
    nextAt: Number(row['next_at']),
  };
}
