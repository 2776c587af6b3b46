// Needs its own process: one process has one DBOS.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';
import { findHistoryFaults, Msg } from 'troupe';
import { expect, onTestFinished, test } from 'vitest';

import { dbosRunner } from '../src/dbos/index.ts';
import { createService, postgresStorage, type ServedAgents, type Service } from '../src/index.ts';
import { sampleOf } from '../../troupe/test/fair-sample.ts';
import { durableAgent, parallelAgent, type Effect } from './durable-agents.ts';
import { APPROVAL_KEY, hasPostgres, useDatabase } from './postgres-database.ts';
import { CALLS_WAIT, Gate, gatedAgent, ServiceClient } from './service-client.ts';

const database = useDatabase('dbos');

function serve(agents: ServedAgents): Promise<Service> {
  return createService({
    agents,
    store: postgresStorage(database.url, { approvalKey: APPROVAL_KEY }),
    runner: dbosRunner({ systemDatabaseUrl: database.url }),
    shutdownMs: 0,
  });
}

test.runIf(hasPostgres)('a run of DBOS asks, is decided, and takes each effect once', async () => {
  const effects: Effect[] = [];
  await using service = await serve({
    assistant: () => durableAgent({ asks: 'charge', take: async (effect) => void effects.push(effect) }),
  });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const asked = await client.json('POST', '/api/sessions/s/runs', { input: 'Go.' });
  expect(await client.ended(asked.id)).toMatchObject({ status: 'suspended' });
  const { data: pending } = await client.json('GET', '/api/sessions/s/pending');
  const decisions = [{ id: pending[0].id, verdict: 'allow' }];
  const decided = await client.json('POST', '/api/sessions/s/runs', { decisions });
  const { ids, events } = await client.events(decided.id);
  expect(ids).toEqual(ids.map((_, index) => index + 1));
  expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
  expect(effects.map(({ tool: name }) => name)).toEqual(['charge', 'store', 'look']);
});

test.runIf(hasPostgres)(
  'a fork of a run of DBOS takes the kept steps from it, and executes the rest',
  async () => {
    const effects: Effect[] = [];
    await using service = await serve({
      assistant: () => durableAgent({ take: async (effect) => void effects.push(effect) }),
    });
    const client = new ServiceClient(service.fetch);
    await client.session('assistant', 'forked');
    const { id } = await client.json('POST', '/api/sessions/forked/runs', { input: 'Go.' });
    await client.ended(id);
    const { data: steps } = await client.json('GET', `/api/runs/${id}/steps`);
    expect(steps.filter(({ kind }: { kind: string }) => kind === 'model')).toHaveLength(6);
    effects.length = 0;
    const keepSteps = steps.findIndex(({ key }: { key: string }) => key.endsWith('tool:call_2#1')) + 1;
    const fork = await client.json('POST', `/api/runs/${id}/fork`, { keepSteps, session: 'fork' });
    expect(await client.ended(fork.id)).toMatchObject({ status: 'finished', forkedFrom: id });
    expect(effects.map(({ tool: name }) => name)).toEqual(['look']);
    const again = await client.json('GET', `/api/runs/${fork.id}/steps`);
    expect(again.data.map(({ key }: { key: string }) => key)).toEqual(
      steps.map(({ key }: { key: string }) => key),
    );
  },
);

async function query(sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows;
}

/** Starts a run in a process that kills itself in the middle of a body. @returns the run, what took effect, and the bodies that began */
async function killedAt(
  killAt: number,
  kind: 'serial' | 'parallel',
): Promise<{ run: string; session: string; effects: string[]; bodies: number }> {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-dbos-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'effects');
  const args = [
    join(import.meta.dirname, 'service-process.ts'),
    database.url,
    file,
    String(killAt),
    'dbos',
    kind,
  ];
  const child = spawn(process.execPath, [...FLAGS, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const client = new ServiceClient((request) =>
    fetch(new Request(request.url.replace('http://127.0.0.1', line.trim()), request)),
  );
  const session = `${kind}-${killAt}`;
  await client.session('assistant', session);
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
  expect(await exit).toEqual([null, 'SIGKILL']);
  const linesOf = (name: string): string[] => {
    try {
      return readFileSync(name, 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  return { run: id, session, effects: linesOf(file), bodies: linesOf(`${file}-bodies`).length };
}

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];
/** The bodies of a run of the durable agent, in their order. */
const BODIES = ['model', 'charge', 'model', 'model', 'store', 'model', 'model', 'look', 'model'];
const kills = sampleOf('bodies in which a process with DBOS is killed', BODIES.length, 3);

test
  .runIf(hasPostgres)
  .each(BODIES.map((name, at) => [at, name] as const).filter(([at]) => (at * 4) % 9 < kills))(
  'a process with DBOS that is killed in body %i (%s) leaves a run that another one ends, without repeating a finished step',
  async (at, name) => {
    const killed = await killedAt(at, 'serial');
    expect(killed.bodies).toBe(at + 1);
    const bodies: string[] = [];
    await using service = await serve({
      assistant: () =>
        durableAgent({
          onModel: async () => void bodies.push('model'),
          take: async (effect) => void bodies.push(effect.tool),
        }),
    });
    const client = new ServiceClient(service.fetch);
    const { ids } = await client.events(killed.run);
    expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
    expect(await client.json('GET', `/api/runs/${killed.run}`)).toMatchObject({
      status: 'finished',
      attempt: 2,
    });
    // A side effect that had begun has an unknown outcome, and is not repeated.
    const isSideEffect = name === 'charge' || name === 'store';
    expect(bodies).toEqual(BODIES.slice(isSideEffect ? at + 1 : at));
    const msgs = (await client.json('GET', `/api/sessions/${killed.session}/messages`)).data;
    expect(findHistoryFaults(msgs.map((msg: object) => Msg.from(msg)))).toEqual([]);
    const steps = await query(
      `SELECT function_id FROM dbos.operation_outputs WHERE workflow_uuid = '${killed.run}'`,
    );
    expect(steps.length).toBeGreaterThanOrEqual(BODIES.length);
  },
  60_000,
);

test.runIf(hasPostgres).each([2, 4])(
  'a process with DBOS that is killed in body %i of two sub-agents at once leaves a run that another one ends, with each effect once',
  async (at) => {
    const killed = await killedAt(at, 'parallel');
    const effects = killed.effects.map((line) => line.split(' ')[0] ?? '');
    await using service = await serve({
      assistant: () => parallelAgent({ take: async (effect) => void effects.push(effect.tool) }),
    });
    const client = new ServiceClient(service.fetch);
    expect(await client.ended(killed.run)).toMatchObject({ status: 'finished', attempt: 2 });
    expect(effects.toSorted()).toEqual(['store_anna', 'store_ben']);
  },
  60_000,
);

test.runIf(hasPostgres)(
  'runs of DBOS are queued in their session, interrupted, and forgotten with it',
  async () => {
    const gate = new Gate();
    let made = 0;
    await using service = await serve({
      assistant: {
        onBusy: 'queue',
        make: () => gatedAgent(made++ === 0 ? [CALLS_WAIT, 'Done.'] : ['Second.'], gate),
      },
    });
    const client = new ServiceClient(service.fetch);
    await client.session('assistant', 'q');
    const first = await client.json('POST', '/api/sessions/q/runs', { input: 'One.' });
    await gate.reached;
    const second = await client.json('POST', '/api/sessions/q/runs', { input: 'Two.' });
    expect(await client.json('GET', `/api/runs/${second.id}`)).toMatchObject({ status: 'queued' });
    expect(await client.json('POST', `/api/runs/${first.id}/interrupt`, {})).toEqual({ done: true });
    expect(await client.ended(first.id)).toMatchObject({ status: 'interrupted' });
    expect(await client.ended(second.id)).toMatchObject({ status: 'finished' });
    const kept = `SELECT workflow_uuid FROM dbos.workflow_status WHERE workflow_uuid IN ('${first.id}', '${second.id}')`;
    expect(await query(kept)).toHaveLength(2);
    await client.json('DELETE', '/api/sessions/q', undefined, 204);
    expect(await query(kept)).toEqual([]);
  },
);
