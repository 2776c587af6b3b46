// Needs its own process: it starts and kills others.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import pg from 'pg';
import { findHistoryFaults } from 'troupe';
import { ServiceClient } from 'troupe/client';
import { afterEach, expect, test } from 'vitest';

import { sampleOf } from '../../troupe/test/fair-sample.ts';
import { hasPostgres, useDatabase } from './postgres-database.ts';

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];
/** Number of kills that was asked for: `TROUPE_CHAOS_KILLS=100 npm test -- service/test/chaos`. */
const ASKED = Number(process.env['TROUPE_CHAOS_KILLS'] ?? 0);
/** Starting and killing five processes is for the long tests. */
const kills = ASKED || sampleOf('kills of gateways and workers', 10, 0);
/** Conversations at the same time. */
const AT_ONCE = 20;
const database = useDatabase('chaos');
const started = new Set<ChildProcess>();
afterEach(() => {
  for (const child of started) child.kill('SIGKILL');
});

/** A gateway or a worker, which is started again after each kill. */
class ChaosProcess {
  readonly maxRuns: number;
  url = '';
  #child: ChildProcess | undefined;
  /** Whether it is being killed, stopped or started. */
  isBusy = false;

  constructor(maxRuns: number) {
    this.maxRuns = maxRuns;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts the process, again and again as a supervisor does: one whose first connection to the database is cut ends itself. */
  async start(): Promise<void> {
    for (let attempt = 1; !(await this.#tryToStart()); attempt++)
      if (attempt === 20) throw new Error('The process ended itself 20 times.');
  }

  async #tryToStart(): Promise<boolean> {
    const port = this.url === '' ? '0' : new URL(this.url).port;
    const program = join(import.meta.dirname, 'chaos-process.ts');
    const args = [...FLAGS, program, database.url, port, String(this.maxRuns)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    started.add(child);
    child.once('exit', () => started.delete(child));
    const line = await new Promise<string | undefined>((resolve) => {
      child.stdout.setEncoding('utf8').once('data', resolve);
      child.once('exit', () => resolve(undefined));
    });
    this.url = line?.trim() ?? this.url;
    return line !== undefined;
  }

  async kill(): Promise<void> {
    const exit = once(this.#child ?? this.#fail(), 'exit');
    this.#child?.kill('SIGKILL');
    await exit;
    await this.start();
  }

  async pause(ms: number): Promise<void> {
    this.#child?.kill('SIGSTOP');
    await setTimeout(ms);
    this.#child?.kill('SIGCONT');
  }

  async end(): Promise<readonly unknown[]> {
    const exit = once(this.#child ?? this.#fail(), 'exit');
    this.#child?.kill('SIGTERM');
    return exit;
  }

  #fail(): never {
    throw new Error('The process was not started.');
  }
}

/** A random number that a run of the test can be repeated with. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Disturbed {
  kills: number;
  pauses: number;
  lostConnections: number;
  readonly killed: { readonly pid: number; readonly at: number }[];
}

/** Kills, stops and cuts off processes at random, until `kills` were killed and a run was taken over. Most kills meet a worker at work. */
async function disturb(processes: readonly ChaosProcess[], admin: pg.Client): Promise<Disturbed> {
  const random = randomOf(7);
  const done: Disturbed = { kills: 0, pauses: 0, lostConnections: 0, killed: [] };
  const going = new Set<Promise<void>>();
  const isTakenOver = async (): Promise<boolean> =>
    (await admin.query('SELECT 1 FROM service_runs WHERE attempt > 1 LIMIT 1')).rows.length > 0;
  const atWork = async (): Promise<ChaosProcess | undefined> => {
    const sql = "SELECT pid FROM chaos_work WHERE at > now() - interval '100 ms' ORDER BY at DESC LIMIT 1";
    const [row] = (await admin.query<{ pid: number }>(sql)).rows;
    return processes.find(({ pid }) => pid === row?.pid);
  };
  while (done.kills < kills || (done.kills < kills * 10 && !(await isTakenOver()))) {
    await setTimeout(150 + random() * 300);
    const anyone = processes[Math.floor(random() * processes.length)];
    const target = random() > 0.4 ? await atWork() : anyone;
    const what = random();
    if (what > 0.95) {
      done.lostConnections++; // as with a restart of the database
      await admin.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
    }
    if (target === undefined || target.isBusy) continue;
    target.isBusy = true;
    const isPause = what > 0.8;
    if (isPause) done.pauses++;
    else {
      done.kills++;
      done.killed.push({ pid: target.pid, at: Date.now() });
    }
    const work = (isPause ? target.pause(500 + random() * 7000) : target.kill()).finally(() => {
      target.isBusy = false;
      going.delete(work);
    });
    going.add(work);
  }
  await Promise.all(going);
  return done;
}

test.runIf(hasPostgres && kills > 0)(
  'gateways and workers are killed, stopped and cut off from PostgreSQL: every run ends, and no finished step ran twice',
  async () => {
    const runs = kills * 2;
    const admin = new pg.Client({ connectionString: database.url });
    admin.on('error', () => {}); // its database is dropped at the end
    await admin.connect();
    await admin.query('CREATE TABLE chaos_work (run TEXT, what TEXT, step TEXT, pid INT, at TIMESTAMPTZ)');
    const gateways = [new ChaosProcess(0), new ChaosProcess(0)];
    const workers = [1, 2, 3].map(() => new ChaosProcess(100));
    const processes = [...gateways, ...workers];
    await gateways[0]?.start(); // makes the tables
    await Promise.all(processes.slice(1).map((one) => one.start()));

    let requests = 0;
    const client = new ServiceClient({
      url: 'http://gateway',
      maxAttempts: 1000,
      fetch: (url, init) =>
        fetch(url.replace('http://gateway', gateways[requests++ % 2]?.url ?? ''), {
          ...init,
          signal: AbortSignal.any([AbortSignal.timeout(10_000), ...(init.signal ? [init.signal] : [])]),
        }),
    });
    const read = async (run: string): Promise<void> => {
      const numbers: number[] = [];
      for await (const { n } of client.events(run)) numbers.push(n);
      expect(numbers.length).toBeGreaterThan(0);
      expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    };
    /** One conversation: a run that asks, and the run that goes on behind the decision. */
    const converse = async (n: number): Promise<void> => {
      const { id: session } = await client
        .createSession('assistant', { id: `s${n}` })
        .catch(() => ({ id: `s${n}` }));
      const asked = await client.start(session, 'Go.');
      await read(asked.id);
      expect(await client.run(asked.id)).toMatchObject({ status: 'suspended' });
      const pending = await client.pending(session);
      const decided = await client.decide(
        session,
        pending.map(({ id }) => ({ id, verdict: 'allow' })),
      );
      await read(decided.id);
      expect(await client.run(decided.id)).toMatchObject({ status: 'finished' });
      const { msgs } = await client.messages(session);
      expect(findHistoryFaults(msgs)).toEqual([]);
      expect(msgs.at(-1)?.text).toBe('All is done.');
    };
    // Conversations go on until there were enough of both, so that every kill meets running runs.
    let conversations = 0;
    let isDisturbed = true;
    const converseOn = async (): Promise<void> => {
      while (conversations < runs || isDisturbed) await converse(conversations++);
    };
    const disturbing = disturb(processes, admin).finally(() => (isDisturbed = false));
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, runs) }, converseOn));
    const disturbed = await disturbing;

    const { rows: effects } = await admin.query<{ run: string; what: string; n: number; keys: number }>(
      `SELECT run, what, COUNT(*)::int AS n, COUNT(DISTINCT step)::int AS keys FROM chaos_work WHERE what <> 'model' GROUP BY run, what`,
    );
    for (const { what, n, keys } of effects) {
      expect(keys).toBe(1);
      if (what !== 'look') expect(n).toBe(1); // a side effect
    }
    const { rows: again } = await admin.query(
      `SELECT * FROM chaos_work w JOIN service_runs r ON r.id = w.run WHERE w.what = 'look'
       AND (SELECT COUNT(*) FROM chaos_work x WHERE x.run = w.run AND x.what = 'look') > r.attempt`,
    );
    expect(again).toEqual([]);
    const { rows: open } = await admin.query(
      `SELECT id FROM service_runs WHERE status IN ('queued', 'running') UNION SELECT id FROM service_sessions WHERE active_run IS NOT NULL`,
    );
    expect(open).toEqual([]);
    const [{ attempts } = { attempts: 0 }] = (
      await admin.query<{ attempts: number }>('SELECT MAX(attempt)::int AS attempts FROM service_runs')
    ).rows;
    expect(disturbed.kills).toBeGreaterThanOrEqual(kills);
    expect(attempts).toBeGreaterThan(1);
    if (process.env['TROUPE_CHAOS_REPORT'] !== undefined) await report(admin, disturbed, conversations);
    expect(await Promise.all(processes.map((one) => one.end()))).toEqual(processes.map(() => [0, null]));
    await admin.end();
  },
  600_000,
);

/** Prints the time from a kill to the first work of another process on the same run. */
async function report(admin: pg.Client, { killed, ...counts }: Disturbed, runs: number): Promise<void> {
  const gaps: number[] = [];
  for (const { pid, at } of killed) {
    const { rows } = await admin.query<{ gap: number }>(
      `SELECT MIN(EXTRACT(EPOCH FROM b.at) * 1000 - $2)::float AS gap FROM chaos_work a JOIN chaos_work b ON b.run = a.run AND b.pid <> a.pid
       WHERE a.pid = $1 AND EXTRACT(EPOCH FROM a.at) * 1000 BETWEEN $2::float - 1000 AND $2::float AND EXTRACT(EPOCH FROM b.at) * 1000 > $2::float
       GROUP BY a.run`,
      [pid, at],
    );
    for (const { gap } of rows) gaps.push(gap);
  }
  gaps.sort((a, b) => a - b);
  const { rows } = await admin.query(
    'SELECT MAX(attempt)::int AS most, SUM(attempt)::int AS attempts FROM service_runs',
  );
  console.log({
    runs,
    ...counts,
    ...rows[0],
    takenOver: gaps.length,
    p50: gaps[gaps.length >> 1],
    max: gaps.at(-1),
  });
}
