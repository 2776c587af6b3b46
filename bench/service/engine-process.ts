// One engine in a process of its own: executes runs of ten steps, and sends its figures to the parent.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DBOS } from '@dbos-inc/dbos-sdk';
import { createService, postgresStorage, sqliteStorage, type Service } from '@troupe/service';
import { dbosRunner } from '@troupe/service/dbos';
import pg from 'pg';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';

import type { EngineFigures, EngineTask } from './engines.ts';

/** Model calls and tool calls of a run: five of each, and the answer. */
const STEPS = 11;
const task = JSON.parse(process.argv[2] ?? '{}') as EngineTask;
const { engine, database, runs, atOnce } = task;

/** Looks five times, then answers. Each model call ends at once. */
function agent(): ReActAgent {
  const looks = [1, 2, 3, 4, 5].map((n) => ({
    toolCalls: [{ id: `call_${n}`, name: 'look', input: {} }],
  }));
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([...looks, 'Done.']),
    tools: [tool({ name: 'look', execute: () => 'There is something.' })],
    console: false,
  });
}

/** Executes one run to its end. */
type Execute = (n: string) => Promise<void>;

async function post(service: Service, path: string, body: object): Promise<{ id: string }> {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await service.fetch(new Request(`http://127.0.0.1${path}`, init));
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { id: string };
}

async function startService(dir: string): Promise<{ execute: Execute; end: () => Promise<void> }> {
  const service = await createService({
    agents: { assistant: agent },
    store:
      engine === 'sqlite'
        ? sqliteStorage(join(dir, 'service.sqlite'))
        : postgresStorage(database, { approvalKey: 'a key of sixteen bytes or more' }),
    ...(engine === 'dbos' && { runner: dbosRunner({ systemDatabaseUrl: database }) }),
    limits: { openRuns: Infinity, requestsPerMinute: Infinity },
    shutdownMs: 0,
  });
  const execute = async (): Promise<void> => {
    const session = await post(service, '/api/sessions', { agent: 'assistant' });
    const run = await post(service, `/api/sessions/${session.id}/runs`, { input: 'Look.' });
    const events = await service.fetch(new Request(`http://127.0.0.1/api/runs/${run.id}/events`));
    if (!(await events.text()).includes('"status":"finished"')) throw new Error('A run did not finish.');
  };
  return { execute, end: () => service.close() };
}

async function startBare(): Promise<{ execute: Execute; end: () => Promise<void> }> {
  DBOS.setConfig({ name: 'bare', systemDatabaseUrl: database, applicationVersion: '1', logLevel: 'error' });
  const workflow = DBOS.registerWorkflow(
    async () => {
      for (let step = 0; step < STEPS; step++)
        await DBOS.runStep(async () => ({ step, text: 'There is something.' }), { name: 'look' });
    },
    { name: 'bare' },
  );
  await DBOS.launch();
  const execute = async (id: string): Promise<void> => {
    const handle = await DBOS.startWorkflow(workflow, { workflowID: id })();
    await handle.getResult();
  };
  return { execute, end: () => DBOS.shutdown() };
}

async function transactions(): Promise<number> {
  if (engine === 'sqlite') return 0;
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ n: string }>(
    'SELECT xact_commit AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  await client.end();
  return Number(rows[0]?.n);
}

async function executeAll(execute: Execute, count: number): Promise<void> {
  let left = count;
  const next = async (): Promise<void> => {
    while (left-- > 0) await execute(crypto.randomUUID());
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

const dir = mkdtempSync(join(tmpdir(), 'troupe-engines-'));
const { execute, end } = engine === 'dbos-bare' ? await startBare() : await startService(dir);
await executeAll(execute, Math.min(runs, 20)); // warm
const before = { transactions: await transactions(), cpu: process.cpuUsage(), at: performance.now() };
await executeAll(execute, runs);
const ms = performance.now() - before.at;
const { user, system } = process.cpuUsage(before.cpu);
await new Promise((resolve) => setTimeout(resolve, 1200)); // statistics of the database are written each second
const figures: EngineFigures = {
  stepsPerSecond: (runs * STEPS * 1000) / ms,
  cpuMsPerRun: (user + system) / 1000 / runs,
  transactionsPerRun: engine === 'sqlite' ? undefined : ((await transactions()) - before.transactions) / runs,
};
process.send?.(figures);
await end();
rmSync(dir, { recursive: true, force: true });
process.disconnect();
process.exit(0);
