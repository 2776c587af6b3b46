import { findHistoryFaults, Msg } from 'troupe';
import { SqliteDatabase, SqliteSession } from 'troupe/stores/sqlite';
import { expect, test } from 'vitest';

import { createService } from '../src/index.ts';
import { RUNS_IN_FULL, strideOf } from '../../troupe/test/fair-sample.ts';
import { durableAgent, type Effect } from './durable-agents.ts';
import { ServiceClient } from './service-client.ts';

/** A database whose connection is lost once, at one statement or transaction. */
class FailingDatabase extends SqliteDatabase {
  readonly #isDone: boolean;
  #left = Infinity;
  operations = 0;
  failures = 0;

  /** @param isDone whether the lost operation has happened */
  constructor(isDone: boolean) {
    super(':memory:');
    this.#isDone = isDone;
  }

  failAfter(operations: number): void {
    this.operations = 0;
    this.#left = operations;
  }

  override query(...args: Parameters<SqliteDatabase['query']>): ReturnType<SqliteDatabase['query']> {
    return this.#do(() => super.query(...args));
  }

  override transaction<T>(...args: Parameters<SqliteDatabase['transaction']>): Promise<T> {
    return this.#do(() => super.transaction(...args) as Promise<T>);
  }

  async #do<T>(work: () => Promise<T>): Promise<T> {
    this.operations++;
    if (this.#left-- !== 0) return work();
    this.failures++;
    if (this.#isDone) await work();
    throw new Error('the connection was lost');
  }
}

/** Runs a run to its end while the database fails once, and checks what comes out. @returns operations and failures */
async function runWith(failAt: number, isDone: boolean): Promise<{ operations: number; failures: number }> {
  const effects: Effect[] = [];
  const database = new FailingDatabase(isDone);
  await using service = await createService({
    agents: { assistant: () => durableAgent({ take: async (effect) => void effects.push(effect) }) },
    store: { database, sessions: new SqliteSession(database) },
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  database.failAfter(failAt);
  const key = { 'idempotency-key': 'k' };
  let id = '';
  while (id === '') {
    const response = await client.send('POST', '/api/sessions/s/runs', { input: 'Go.' }, key);
    if (response.ok) id = ((await response.json()) as { id: string }).id;
  }
  let run = { status: 'queued', attempt: 0 };
  while (run.status === 'queued' || run.status === 'running') {
    await client.events(id).catch(() => {}); // a reader may meet the failure
    const response = await client.send('GET', `/api/runs/${id}`);
    if (response.ok) run = (await response.json()) as typeof run;
  }
  const { operations, failures } = database;
  const where = `operation ${failAt}, ${isDone ? 'done' : 'not done'}`;
  expect(run, where).toMatchObject({ status: 'finished' });
  const { ids, events } = await client.events(id);
  expect(ids, where).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
  const text = events.flatMap((event) =>
    event.type === 'text_delta' && event.agentPath.length === 1 ? [event.text] : [],
  );
  expect(text.join(''), where).toBe('All is done.');
  const ends = events.filter(({ type, agentPath }) => type === 'run_end' && agentPath.length === 1);
  expect(ends, where).toHaveLength(1);
  const msgs = (await client.json('GET', '/api/sessions/s/messages')).data.map((msg: object) =>
    Msg.from(msg),
  );
  expect(findHistoryFaults(msgs), where).toEqual([]);
  expect(msgs.filter(({ role }: Msg) => role === 'user')).toHaveLength(1);
  for (const name of ['charge', 'store'])
    expect(effects.filter(({ tool }) => tool === name).length, where).toBeLessThanOrEqual(1);
  return { operations, failures };
}

test(
  'a database that loses its connection at any operation costs no event, no step and no run',
  async () => {
    const { operations } = await runWith(-1, false);
    expect(operations).toBeGreaterThan(30);
    const stride = strideOf('operations of a database that fails once', 6);
    const cases = Array.from({ length: Math.ceil(operations / stride) }, (_, n) => n * stride);
    // Together: each mostly waits for the next look at runs that were cut off.
    const ends = await Promise.all(cases.flatMap((n) => [runWith(n, false), runWith(n, true)]));
    expect(ends.filter(({ failures }) => failures === 1).length).toBeGreaterThan(ends.length / 2);
  },
  RUNS_IN_FULL ? 300_000 : 60_000,
);
