import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findHistoryFaults, Msg } from 'troupe';
import { SqliteDatabase, SqliteSession } from 'troupe/stores/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { createService, type ServiceStorage } from '../src/index.ts';
import { RUNS_IN_FULL, strideOf } from '../../troupe/test/fair-sample.ts';
import { durableAgent, type Effect } from './durable-agents.ts';
import { ServiceClient } from './service-client.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'troupe-service-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const NEVER = new Promise<never>(() => {});

/** A process that dies at one operation on its database: from then on nothing of it happens any more. */
class DyingDatabase extends SqliteDatabase {
  #left = Infinity;
  readonly #isDone: boolean;
  readonly #died = Promise.withResolvers<void>();
  operations = 0;

  /** @param isDone whether the last operation is still done */
  constructor(path: string, isDone: boolean) {
    super(path);
    this.#isDone = isDone;
  }

  get isDead(): boolean {
    return this.#left < 0;
  }

  /** Resolves when the process is dead. */
  get dead(): Promise<void> {
    return this.#died.promise;
  }

  /** Lets so many operations happen from now on. */
  live(operations: number): void {
    this.#left = operations;
  }

  die(): void {
    this.#left = -1;
    this.#died.resolve();
  }

  override async query(...args: Parameters<SqliteDatabase['query']>): ReturnType<SqliteDatabase['query']> {
    return this.#do(() => super.query(...args));
  }

  override async transaction<T>(...args: Parameters<SqliteDatabase['transaction']>): Promise<T> {
    return this.#do(() => super.transaction(...args) as Promise<T>);
  }

  async #do<T>(work: () => Promise<T>): Promise<T> {
    this.operations++;
    if (this.#left < 0) return NEVER;
    this.#left--;
    if (this.#left >= 0) return work();
    if (this.#isDone) await work();
    this.die();
    return NEVER;
  }
}

function storageOf(database: SqliteDatabase): ServiceStorage {
  return { database, sessions: new SqliteSession(database) };
}

/** Starts a run in a process that dies, then a second process, and checks what the second makes of it. */
async function cutOff(options: {
  readonly operations?: number;
  readonly isDone?: boolean;
  /** Dies in the middle of the n-th model call or tool. */
  readonly body?: number;
}): Promise<{ readonly died: boolean; readonly operations: number; readonly effects: readonly Effect[] }> {
  const path = join(dir, `${JSON.stringify(options).replace(/\W+/g, '-')}.sqlite`);
  const effects: Effect[] = [];
  const first = new DyingDatabase(path, options.isDone ?? true);
  let bodies = 0;
  const inBody = async (): Promise<void> => {
    if (bodies++ !== options.body) return;
    first.die();
    await NEVER;
  };
  const dying = first;
  const agents = (isFirst: boolean) => ({
    assistant: () =>
      durableAgent({
        take: async (effect) => {
          if (isFirst && dying.isDead) return NEVER;
          effects.push(effect);
          if (isFirst) await inBody();
        },
        ...(isFirst && { onModel: () => (dying.isDead ? NEVER : inBody()) }),
      }),
  });
  const service = await createService({ agents: agents(true), store: storageOf(first), shutdownMs: 0 });
  const client = new ServiceClient(service.fetch);
  const session = await client.session('assistant', 's');
  first.operations = 0;
  if (options.operations !== undefined) first.live(options.operations);
  const started = client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
  await Promise.race([started.then(({ id }) => client.events(id)), first.dead]);
  const operations = first.operations;

  const second = new SqliteDatabase(path);
  const again = await createService({
    agents: agents(false),
    store: storageOf(second),
    shutdownMs: 0,
    now: () => Date.now() + 60_000, // the first process has given no sign of life
  });
  const reader = new ServiceClient(again.fetch);
  const { data } = await reader.json('GET', '/api/sessions/s/runs');
  if (data.length > 0) {
    const { ids, events } = await reader.events(data[0].id);
    expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
    expect(await reader.json('GET', `/api/runs/${data[0].id}`)).toMatchObject({ status: 'finished' });
    const msgs = (await reader.json('GET', '/api/sessions/s/messages')).data.map((msg: object) =>
      Msg.from(msg),
    );
    expect(findHistoryFaults(msgs)).toEqual([]);
    expect(msgs.at(-1).text).toBe('All is done.');
    expect(msgs.filter(({ role }: Msg) => role === 'user')).toHaveLength(1);
  }
  await again.close();
  return { died: first.isDead, operations, effects };
}

test('a run that no process was cut off in takes each effect once, with a key', async () => {
  const { effects } = await cutOff({});
  expect(effects.map(({ tool }) => tool)).toEqual(['charge', 'store', 'look']);
  expect(new Set(effects.map(({ key }) => key)).size).toBe(3);
  expect(effects[0]?.key).toMatch(/^[\w-]+:.*call_1/);
});

test(
  'a process that dies at any operation on its database leaves a run that the next one ends, with each effect once',
  async () => {
    const { operations } = await cutOff({});
    expect(operations).toBeGreaterThan(20);
    const stride = strideOf('operations of a service that is cut off', 6);
    for (let n = 0; n < operations; n += stride) {
      for (const isDone of [false, true]) {
        const { effects } = await cutOff({ operations: n, isDone });
        const names = effects.map(({ tool }) => tool);
        for (const name of ['charge', 'store'])
          expect(names.filter((one) => one === name).length, `${name} at ${n}`).toBeLessThanOrEqual(1);
        const looks = effects.filter(({ tool }) => tool === 'look');
        expect(new Set(looks.map(({ key }) => key)).size).toBeLessThanOrEqual(1);
      }
    }
  },
  RUNS_IN_FULL ? 600_000 : 60_000,
);

test('a process that dies inside any model call or tool leaves a run that the next one ends; an unknown outcome is not repeated', async () => {
  for (let body = 0; body < 9; body++) {
    const { died, effects } = await cutOff({ body });
    expect(died, `body ${body}`).toBe(true);
    const names = effects.map(({ tool }) => tool);
    for (const name of ['charge', 'store']) expect(names.filter((one) => one === name)).toHaveLength(1);
    expect(names.filter((one) => one === 'look').length).toBeLessThanOrEqual(2);
  }
});

test(
  'a process that dies while a run asks for an approval leaves the question, and the decision takes effect once',
  async () => {
    let operations = 1;
    const stride = strideOf('operations of a service that is cut off while it asks', 3);
    for (let n = 0; n < operations; n += stride) {
      for (const isDone of [false, true]) {
        const effects: Effect[] = [];
        const agents = {
          assistant: () =>
            durableAgent({ asks: 'charge', take: async (effect) => void effects.push(effect) }),
        };
        const path = join(dir, `asks-${n}-${isDone}.sqlite`);
        const first = new DyingDatabase(path, isDone);
        const service = await createService({ agents, store: storageOf(first), shutdownMs: 0 });
        const client = new ServiceClient(service.fetch);
        await client.session('assistant', 's');
        first.operations = 0;
        if (n > 0) first.live(n);
        const started = client.json('POST', '/api/sessions/s/runs', { input: 'Go.' });
        await Promise.race([started.then(({ id }) => client.events(id)), first.dead]);
        operations = Math.max(operations, first.operations);

        const again = await createService({
          agents,
          store: storageOf(new SqliteDatabase(path)),
          shutdownMs: 0,
          now: () => Date.now() + 60_000, // the first process has given no sign of life
        });
        const reader = new ServiceClient(again.fetch);
        for (const { id } of (await reader.json('GET', '/api/sessions/s/runs')).data) {
          expect(await reader.ended(id), `operation ${n}`).toMatchObject({ status: 'suspended' });
          const { data: pending } = await reader.json('GET', '/api/sessions/s/pending');
          expect(pending).toMatchObject([{ kind: 'approval', call: { name: 'charge' } }]);
          const decisions = [{ id: pending[0].id, verdict: 'allow' }];
          const decided = await reader.json('POST', '/api/sessions/s/runs', { decisions });
          expect(await reader.ended(decided.id)).toMatchObject({ status: 'finished' });
          expect(effects.map(({ tool }) => tool)).toEqual(['charge', 'store', 'look']);
        }
        await again.close();
      }
    }
    expect(operations).toBeGreaterThan(10);
  },
  RUNS_IN_FULL ? 300_000 : 60_000,
);
