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
import { canStartPostgres, PostgresCluster } from './postgres-cluster.ts';

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];
/**
 * Number of kills that was asked for: `TROUPE_CHAOS_KILLS=100 npm test -- service/test/chaos`, with TROUPE_CHAOS_REPORT=1 for figures and
 * TROUPE_CHAOS_ENGINE=dbos for the other engine.
 */
const ASKED = Number(process.env['TROUPE_CHAOS_KILLS'] ?? 0);
const ENGINE = process.env['TROUPE_CHAOS_ENGINE'] ?? '';
const kills = ASKED || sampleOf('kills of gateways and workers', 100, 2);
/** Conversations at the same time. */
const AT_ONCE = 20;
const started = new Set<ChildProcess>();
afterEach(() => {
  for (const child of started) child.kill('SIGKILL');
});

/** A gateway or a worker, which is started again after each kill. */
class ChaosProcess {
  readonly maxRuns: number;
  readonly #database: string;
  url = '';
  #child: ChildProcess | undefined;
  /** Whether it is being killed, stopped or started. */
  isBusy = false;

  constructor(database: string, maxRuns: number) {
    this.#database = database;
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
    const args = [...FLAGS, program, this.#database, port, String(this.maxRuns), ENGINE];
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
  crashes: number;
  readonly killed: { readonly pid: number; readonly at: number }[];
}

/** Asks the database, again and again while it restarts. */
class Admin {
  readonly #pool: pg.Pool;

  constructor(url: string) {
    this.#pool = new pg.Pool({ connectionString: url, max: 2, application_name: 'chaos' });
    this.#pool.on('error', () => {}); // asked again
  }

  async query<T extends pg.QueryResultRow>(sql: string, params: unknown[] = []): Promise<T[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#pool.query<T>(sql, params)).rows;
      } catch (error) {
        if (attempt === 200 || (error instanceof pg.DatabaseError && error.code?.startsWith('42')))
          throw error;
        await setTimeout(50);
      }
    }
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}

/**
 * Kills and stops processes, and has the database crash, at random, until `kills` were killed, the database has crashed and a run was
 * taken over. Most kills meet a worker at work.
 */
async function disturb(
  processes: readonly ChaosProcess[],
  cluster: PostgresCluster,
  admin: Admin,
): Promise<Disturbed> {
  const random = randomOf(7);
  const done: Disturbed = { kills: 0, pauses: 0, crashes: 0, killed: [] };
  const going = new Set<Promise<void>>();
  const isTakenOver = async (): Promise<boolean> =>
    (await admin.query('SELECT 1 FROM service_runs WHERE attempt > 1 LIMIT 1')).length > 0;
  const atWork = async (): Promise<ChaosProcess | undefined> => {
    const sql = "SELECT pid FROM chaos_work WHERE at > now() - interval '100 ms' ORDER BY at DESC LIMIT 1";
    const [row] = await admin.query<{ pid: number }>(sql);
    return processes.find(({ pid }) => pid === row?.pid);
  };
  const isEnough = async (): Promise<boolean> =>
    done.kills >= kills && done.crashes > 0 && (done.kills >= kills * 10 || (await isTakenOver()));
  while (!(await isEnough())) {
    await setTimeout(150 + random() * 300);
    const anyone = processes[Math.floor(random() * processes.length)];
    const target = random() > 0.4 ? await atWork() : anyone;
    const what = random();
    if (what > 0.95 || (done.crashes === 0 && done.kills >= kills / 2)) {
      done.crashes++;
      await cluster.crash();
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

test.runIf(canStartPostgres && kills > 0)(
  'gateways and workers are killed and stopped, and PostgreSQL crashes: every run ends, and no finished step ran twice',
  async () => {
    const runs = kills * 2;
    await using cluster = await PostgresCluster.start();
    const admin = new Admin(cluster.url);
    await admin.query('CREATE TABLE chaos_work (run TEXT, what TEXT, step TEXT, pid INT, at TIMESTAMPTZ)');
    const gateways = [0, 0].map((maxRuns) => new ChaosProcess(cluster.url, maxRuns));
    const workers = [100, 100, 100].map((maxRuns) => new ChaosProcess(cluster.url, maxRuns));
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
    const disturbing = disturb(processes, cluster, admin).finally(() => (isDisturbed = false));
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, runs) }, converseOn));
    const disturbed = await disturbing;

    const effects = await admin.query<{ run: string; what: string; n: number; keys: number }>(
      `SELECT run, what, COUNT(*)::int AS n, COUNT(DISTINCT step)::int AS keys FROM chaos_work WHERE what <> 'model' GROUP BY run, what`,
    );
    for (const { what, n, keys } of effects) {
      expect(keys).toBe(1);
      if (what !== 'look') expect(n).toBe(1); // a side effect
    }
    const again = await admin.query(
      `SELECT * FROM chaos_work w JOIN service_runs r ON r.id = w.run WHERE w.what = 'look'
       AND (SELECT COUNT(*) FROM chaos_work x WHERE x.run = w.run AND x.what = 'look') > r.attempt`,
    );
    expect(again).toEqual([]);
    const open = await admin.query(
      `SELECT id FROM service_runs WHERE status IN ('queued', 'running') UNION SELECT id FROM service_sessions WHERE active_run IS NOT NULL`,
    );
    expect(open).toEqual([]);
    const [{ attempts } = { attempts: 0 }] = await admin.query<{ attempts: number }>(
      'SELECT MAX(attempt)::int AS attempts FROM service_runs',
    );
    expect(disturbed.kills).toBeGreaterThanOrEqual(kills);
    expect(attempts).toBeGreaterThan(1);
    if (process.env['TROUPE_CHAOS_REPORT'] !== undefined) await report(admin, disturbed, conversations);
    expect(await Promise.all(processes.map((one) => one.end()))).toEqual(processes.map(() => [0, null]));
    const left = await admin.query(
      "SELECT query FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'chaos'",
    );
    expect(left).toEqual([]);
    await admin.end();
  },
  kills > 10 ? 3_600_000 : 600_000,
);

/** Prints the time from a kill to the first work of another process on the same run. */
async function report(admin: Admin, { killed, ...counts }: Disturbed, runs: number): Promise<void> {
  const gaps: number[] = [];
  for (const { pid, at } of killed) {
    const rows = await admin.query<{ gap: number }>(
      `SELECT MIN(EXTRACT(EPOCH FROM b.at) * 1000 - $2)::float AS gap FROM chaos_work a JOIN chaos_work b ON b.run = a.run AND b.pid <> a.pid
       WHERE a.pid = $1 AND EXTRACT(EPOCH FROM a.at) * 1000 BETWEEN $2::float - 1000 AND $2::float AND EXTRACT(EPOCH FROM b.at) * 1000 > $2::float
       GROUP BY a.run`,
      [pid, at],
    );
    for (const { gap } of rows) gaps.push(gap);
  }
  gaps.sort((a, b) => a - b);
  const rows = await admin.query(
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
