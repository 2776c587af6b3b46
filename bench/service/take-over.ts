import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import pg from 'pg';
import { ServiceClient } from 'troupe/client';

const PROCESS = join(import.meta.dirname, '../../packages/service/test/chaos-process.ts');
const KILLS = 20;

async function start(database: string, maxRuns: number): Promise<{ child: ChildProcess; url: string }> {
  const args = [...process.execArgv, PROCESS, database, '0', String(maxRuns)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { child, url: url.trim() };
}

/**
 * Measures how long a run waits whose worker is killed with -9, until its first step in another worker. Each worker counts as on a machine
 * of its own: only its lost connection tells of its end. Prints a row in Markdown.
 */
export async function measureTakeOver(database: string): Promise<void> {
  const admin = new pg.Client({ connectionString: database });
  await admin.connect();
  await admin.query('CREATE TABLE chaos_work (run TEXT, what TEXT, step TEXT, pid INT, at TIMESTAMPTZ)');
  const gateway = await start(database, 0);
  const workers = await Promise.all([1, 2, 3].map(() => start(database, 100)));
  const client = new ServiceClient({ url: gateway.url });
  const gaps: number[] = [];
  const workOf = async (run: string): Promise<readonly { pid: number; at: number }[]> =>
    (
      await admin.query<{ pid: number; at: number }>(
        'SELECT pid, EXTRACT(EPOCH FROM at)::float * 1000 AS at FROM chaos_work WHERE run = $1 ORDER BY at',
        [run],
      )
    ).rows;
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      await setTimeout(1500); // all have looked at the others
      await admin.query("UPDATE service_owners SET host = 'machine-' || id");
      const session = await client.createSession('assistant');
      const asked = await client.start(session.id, 'Go.');
      for await (const { n } of client.events(asked.id)) if (n < 0) break;
      const pending = await client.pending(session.id);
      const { id } = await client.decide(
        session.id,
        pending.map((one) => ({ id: one.id, verdict: 'allow' })),
      );
      let [first] = await workOf(id);
      while (first === undefined) [first] = await workOf(id);
      const { pid } = first;
      const index = workers.findIndex(({ child }) => child.pid === pid);
      const killedAt = Date.now();
      workers[index]?.child.kill('SIGKILL');
      for await (const { n } of client.events(id)) if (n < 0) break;
      const next = (await workOf(id)).find((work) => work.pid !== pid);
      if (next !== undefined) gaps.push(next.at - killedAt);
      workers[index] = await start(database, 100);
    }
    gaps.sort((a, b) => a - b);
    const ms = (value = NaN): string => `${value.toFixed(0)} ms`;
    console.log('| kill of a worker, to the first step elsewhere | kills | median | longest |');
    console.log('|---|--:|--:|--:|');
    console.log(`| | ${gaps.length} | ${ms(gaps[gaps.length >> 1])} | ${ms(gaps.at(-1))} |`);
  } finally {
    await admin.end();
    for (const { child } of [gateway, ...workers]) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
  }
}
