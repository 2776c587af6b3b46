import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findHistoryFaults, type Msg, ReActAgent, tool } from 'troupe';
import { ServiceClient as RemoteClient } from 'troupe/client';
import { ScriptedModel } from 'troupe/testing';
import { expect, onTestFinished, test } from 'vitest';

import { casesOf, RUNS_IN_FULL, sampleOf } from '../../troupe/test/fair-sample.ts';

import { createService, postgresStorage, type Service } from '../src/index.ts';
import { hasPostgres, useDatabase } from './postgres-database.ts';
import { CALLS_WAIT, Gate, gatedAgent, ServiceClient } from './service-client.ts';

const database = useDatabase('service');

/** Counts how many runs of one session are in their tool at the same time. */
class Overlap {
  readonly #inside = new Map<string, number>();
  most = 0;
  calls = 0;

  async pass(session: string): Promise<void> {
    const now = (this.#inside.get(session) ?? 0) + 1;
    this.#inside.set(session, now);
    this.most = Math.max(this.most, now);
    this.calls++;
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.#inside.set(session, (this.#inside.get(session) ?? 1) - 1);
  }
}

async function open(overlap: Overlap): Promise<Service> {
  return createService({
    store: postgresStorage(database.url, { approvalKey: 'a key of sixteen bytes or more' }),
    shutdownMs: 0,
    limits: { openRuns: 1000, requestsPerMinute: Infinity },
    agents: {
      assistant: {
        onBusy: 'queue',
        make: ({ session }) =>
          new ReActAgent({
            name: 'assistant',
            model: new ScriptedModel([{ toolCalls: [{ name: 'pass', input: {} }] }, 'Done.']),
            tools: [
              tool({
                name: 'pass',
                execute: async () => {
                  await overlap.pass(session);
                  return 'Passed.';
                },
              }),
            ],
          }),
      },
    },
  });
}

test.runIf(hasPostgres)(
  'three services on one PostgreSQL run one run of a session at a time, and lose none',
  async () => {
    const overlap = new Overlap();
    const services = await Promise.all([open(overlap), open(overlap), open(overlap)]);
    const clients = services.map(({ fetch }) => new ServiceClient(fetch));
    const [first = new ServiceClient(fetch)] = clients;
    for (const session of ['s1', 's2']) await first.session('assistant', session);
    const started = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        clients[n % 3]?.json('POST', `/api/sessions/s${(n % 2) + 1}/runs`, { input: `Message ${n}.` }),
      ),
    );
    for (const [n, { id }] of started.entries()) {
      const { ids, events } = (await clients[(n + 1) % 3]?.events(id)) ?? { ids: [], events: [] }; // by another process
      expect(ids).toEqual(ids.map((_, index) => index + 1));
      expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
    }
    expect([overlap.most, overlap.calls]).toEqual([1, 24]);
    for (const session of ['s1', 's2']) {
      const { data } = await first.json('GET', `/api/sessions/${session}/messages?limit=200`);
      const texts = data.filter(({ role }: { role: string }) => role === 'user');
      expect(texts).toHaveLength(12);
    }
    for (const service of services) await service.close();
  },
);

test.runIf(hasPostgres)('an interrupt through one service stops a run of another', async () => {
  const gate = new Gate();
  const agents = {
    assistant: () =>
      new ReActAgent({
        name: 'assistant',
        model: new ScriptedModel([{ toolCalls: [{ name: 'wait', input: {} }] }]),
        tools: [tool({ name: 'wait', execute: (_input: object, { signal }) => gate.pass(signal) })],
      }),
  };
  const make = (): Promise<Service> =>
    createService({
      agents,
      shutdownMs: 0,
      store: postgresStorage(database.url, { approvalKey: 'a key of sixteen bytes or more' }),
    });
  const [one, two] = [await make(), await make()];
  const [runner, other] = [new ServiceClient(one.fetch), new ServiceClient(two.fetch)];
  await runner.session('assistant', 'waiting');
  const { id } = await runner.json('POST', '/api/sessions/waiting/runs', { input: 'Go.' });
  await gate.reached;
  expect(await other.json('POST', `/api/runs/${id}/interrupt`, {})).toEqual({ done: true });
  expect(await other.ended(id)).toMatchObject({ status: 'interrupted' });
  await one.close();
  await two.close();
});

test.runIf(hasPostgres)('a process whose clock is behind keeps its runs', async () => {
  const gate = new Gate();
  const make = (now: () => number): Promise<Service> =>
    createService({
      agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) },
      shutdownMs: 0,
      store: postgresStorage(database.url, { approvalKey: 'a key of sixteen bytes or more' }),
      now,
    });
  const one = await make(() => Date.now() - 60_000);
  const client = new ServiceClient(one.fetch);
  await client.session('assistant', 'behind');
  const { id } = await client.json('POST', '/api/sessions/behind/runs', { input: 'Go.' });
  await gate.reached;
  const two = await make(Date.now); // looks for runs of dead processes before it is ready
  expect(await client.json('GET', `/api/runs/${id}`)).toMatchObject({ status: 'running', attempt: 1 });
  gate.open();
  expect(await client.ended(id)).toMatchObject({ status: 'finished', attempt: 1 });
  await one.close();
  await two.close();
});

test.runIf(hasPostgres)(
  'many messages for one run at the same time are all taken, in some order',
  async () => {
    const gate = new Gate();
    await using service = await createService({
      agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.', 'And more.'], gate) },
      shutdownMs: 0,
      store: postgresStorage(database.url, { approvalKey: 'a key of sixteen bytes or more' }),
    });
    const client = new ServiceClient(service.fetch);
    await client.session('assistant', 'steered');
    const { id } = await client.json('POST', '/api/sessions/steered/runs', { input: 'Go.' });
    await gate.reached;
    const inputs = Array.from({ length: 20 }, (_, n) => `Message ${n}.`);
    const answers = await Promise.all(
      inputs.map((input) => client.send('POST', `/api/runs/${id}/steer`, { input })),
    );
    expect(answers.map(({ status }) => status)).toEqual(inputs.map(() => 202));
    gate.open();
    await client.ended(id);
    expect((await client.json('GET', '/api/sessions/steered/runs')).data).toHaveLength(1);
    const { data } = await client.json('GET', '/api/sessions/steered/messages');
    const texts = new Set(data.map(({ content }: any) => content[0]?.text ?? content));
    expect(inputs.filter((input) => !texts.has(input))).toEqual([]);
  },
);

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];

const messages = sampleOf('messages to one session of several processes', 100, 8);
const TIMEOUT = RUNS_IN_FULL ? 300_000 : 60_000;
const PROCESSES = casesOf('numbers of processes on one session', [3, 2], 1);

test.each(PROCESSES)(
  '%i processes on one session in SQLite never run two runs at once, and lose no message',
  (count) => queueWith(count, 'sqlite'),
  TIMEOUT,
);

test.runIf(hasPostgres).each(PROCESSES)(
  '%i processes on one session in PostgreSQL never run two runs at once, and lose no message',
  (count) => queueWith(count, 'postgres'),
  TIMEOUT,
);

/** Sends messages to one session through several processes, and reads each run by another one. */
async function queueWith(count: number, kind: 'sqlite' | 'postgres'): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-queue-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'work');
  const store = kind === 'sqlite' ? join(dir, 'service.sqlite') : database.url;
  const session = `queue-${count}`;
  const start = async (): Promise<RemoteClient> => {
    const program = join(import.meta.dirname, 'queue-process.ts');
    const child = spawn(process.execPath, [...FLAGS, program, store, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    });
    const [url] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    return new RemoteClient({ url: url.trim() });
  };
  const clients = await Promise.all(Array.from({ length: count }, start));
  const [first] = clients;
  await first?.createSession('assistant', { id: session });
  const texts = Array.from({ length: messages }, (_, n) => `Message ${n}.`);
  const runs = await Promise.all(texts.map((text, n) => clients[n % count]?.start(session, text)));
  for (const [n, run] of runs.entries()) {
    const reader = clients[(n + 1) % count]; // another process
    for await (const { n: number } of reader?.events(run?.id ?? '') ?? []) expect(number).toBeGreaterThan(0);
    expect(await reader?.run(run?.id ?? '')).toMatchObject({ status: 'finished', attempt: 1 });
  }
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  expect(lines).toHaveLength(messages * 2);
  for (let n = 0; n < lines.length; n += 2) expect(lines[n + 1]).toBe(lines[n]?.replace('begin', 'end'));
  expect(new Set(lines).size).toBe(messages * 2);
  const stored: Msg[] = [];
  let cursor: string | undefined;
  do {
    const page = await first?.messages(session, cursor);
    stored.unshift(...(page?.msgs ?? []));
    cursor = page?.next;
  } while (cursor !== undefined);
  expect(findHistoryFaults(stored)).toEqual([]);
  const asked = stored.flatMap(({ role, text }) => (role === 'user' ? [text] : []));
  expect(asked.toSorted()).toEqual(texts.toSorted());
}
