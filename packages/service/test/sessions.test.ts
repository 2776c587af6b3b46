import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { agentTool, Msg, ReActAgent, tool, type JsonObject, type Tool } from 'troupe';
import { SqliteDatabase, SqliteSession } from 'troupe/stores/sqlite';
import { ScriptedModel } from 'troupe/testing';
import { expect, onTestFinished, test } from 'vitest';

import { createService, sqliteStorage } from '../src/index.ts';
import { CALLS_WAIT, Gate, gatedAgent, ServiceClient } from './service-client.ts';

const greets = (): ReActAgent => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.']) });

/** Asks for an approval before it removes something. */
function asks(removed: string[]): ReActAgent {
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([
      { when: ({ messages }) => JSON.stringify(messages).includes('Removed.'), text: 'It is gone.' },
      { when: () => true, toolCalls: [{ id: 'c', name: 'remove', input: {} }] },
    ]),
    tools: [
      tool({
        name: 'remove',
        sideEffect: true,
        execute: () => {
          removed.push('x');
          return 'Removed.';
        },
      }),
    ],
    permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
  });
}

test('a branch of a session has its pending tool calls, which are decided apart', async () => {
  const removed: string[] = [];
  await using service = await createService({ agents: { assistant: () => asks(removed) }, shutdownMs: 0 });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 'a');
  const asked = await client.json('POST', '/api/sessions/a/runs', { input: 'Remove it.' });
  expect((await client.ended(asked.id)).status).toBe('suspended');
  await client.json('POST', '/api/sessions/a/branch', { id: 'b' }, 201);
  const { data: pending } = await client.json('GET', '/api/sessions/b/pending');
  expect(pending).toEqual((await client.json('GET', '/api/sessions/a/pending')).data);
  const decisions = [{ id: pending[0].id, verdict: 'allow' }];
  const decided = await client.json('POST', '/api/sessions/b/runs', { decisions });
  expect((await client.ended(decided.id)).status).toBe('finished');
  expect(removed).toEqual(['x']);
  expect((await client.json('GET', '/api/sessions/b/pending')).data).toEqual([]);
  expect((await client.json('GET', '/api/sessions/a/pending')).data).toHaveLength(1);
});

test('deleting a session again completes what a failure has left, and its schedules are deleted with it', async () => {
  const database = new SqliteDatabase(':memory:');
  let isAway = true;
  class FailingSession extends SqliteSession {
    override async delete(...args: Parameters<SqliteSession['delete']>): Promise<boolean> {
      if (isAway) throw new Error('The database is away.');
      return super.delete(...args);
    }
  }
  const sessions = new FailingSession(database);
  const service = await createService({
    agents: { assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.']) }) },
    store: { database, sessions },
  });
  const client = new ServiceClient(service.fetch);
  const session = await client.session();
  await client.ended((await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' })).id);
  await client.json('POST', '/api/schedules', {
    agent: 'assistant',
    cron: '0 * * * *',
    input: 'Go.',
    session,
  });
  const statuses: number[] = [];
  for (let n = 0; n < 2; n++) {
    statuses.push((await client.send('DELETE', `/api/sessions/${session}`)).status);
    isAway = false;
  }
  expect(statuses).toEqual([500, 204]);
  expect(await sessions.exists({ user: 'local', session })).toBe(false);
  expect((await client.json('GET', '/api/schedules')).data).toEqual([]);
  expect((await client.send('GET', `/api/sessions/${session}`)).status).toBe(404);
  expect((await client.send('DELETE', '/api/sessions/none')).status).toBe(404);
  await service.close();
});

test('queued runs of a session run in the order of their requests, also in one millisecond', async () => {
  const gate = new Gate();
  const script = [CALLS_WAIT, 'Done.'];
  let made = 0;
  await using service = await createService({
    agents: {
      assistant: { onBusy: 'queue', make: () => (made++ === 0 ? gatedAgent(script, gate) : greets()) },
    },
    now: () => 1000,
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const texts = Array.from({ length: 8 }, (_, n) => `Message ${n}`);
  const ids: string[] = [];
  for (const input of texts)
    ids.push((await client.json('POST', '/api/sessions/s/runs', { input })).id as string);
  gate.open();
  for (const id of ids) await client.ended(id);
  const { data } = await client.json('GET', '/api/sessions/s/messages');
  const users = data.filter(({ role }: { role: string }) => role === 'user');
  expect(users.map(({ content }: { content: string }) => content)).toEqual(texts);
});

test('runs that wait for a busy session do not keep other sessions waiting', async () => {
  const gate = new Gate();
  const store = sqliteStorage(':memory:');
  await using service = await createService({
    agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate), quick: greets },
    limits: { openRuns: Infinity },
    store,
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 'busy');
  await client.json('POST', '/api/sessions/busy/runs', { input: 'Go.' });
  await gate.reached;
  const waits = await client.json('POST', '/api/sessions/busy/runs', { input: 'Wait.', onBusy: 'queue' });
  await store.database.query(
    `INSERT INTO service_runs (id, user_id, session_id, agent, status, request_key, fingerprint, request, attempt, created_at, last_event)
     WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
     SELECT 'copy' || n, user_id, session_id, agent, status, 'copy' || n, fingerprint, request, attempt, created_at, last_event
     FROM service_runs JOIN numbers WHERE id = ?`,
    [waits.id],
  );
  await client.session('quick', 'free');
  const { id } = await client.json('POST', '/api/sessions/free/runs', { input: 'Hi.' });
  expect((await client.ended(id)).status).toBe('finished');
});

test('closing is bounded: an agent that is never made does not hold it', async () => {
  const asked = Promise.withResolvers<void>();
  const service = await createService({
    agents: {
      assistant: () => {
        asked.resolve();
        return new Promise<never>(() => {});
      },
    },
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  const session = await client.session();
  await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
  await asked.promise;
  await service.close();
});

test('runs that ended long ago are deleted with events and journals; their session and its messages stay', async () => {
  let now = 1_000_000;
  const store = sqliteStorage(':memory:');
  await using service = await createService({
    agents: { assistant: greets },
    store,
    keepRunsDays: 2,
    now: () => now,
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const start = async (input: string): Promise<string> => {
    const { id } = await client.json('POST', '/api/sessions/s/runs', { input });
    await client.ended(id);
    return id;
  };
  const old = await start('Hi.');
  now += 86_400_000;
  const young = await start('Hi again.');
  now += 1.5 * 86_400_000;
  await service.tick();
  expect((await client.send('GET', `/api/runs/${old}`)).status).toBe(404);
  expect((await client.send('GET', `/api/runs/${young}`)).status).toBe(200);
  for (const table of ['service_events', 'service_steps'])
    expect(await store.database.query(`SELECT DISTINCT run_id FROM ${table}`)).toEqual([{ run_id: young }]);
  expect((await client.json('GET', '/api/sessions/s/messages')).data).toHaveLength(4);
});

test('a pending tool call three agents deep is decided after a restart, and takes effect once', async () => {
  const removed: string[] = [];
  const inner = (name: string, tools: readonly Tool[], calls: string): ReActAgent =>
    new ReActAgent({
      name,
      model: new ScriptedModel([
        {
          when: ({ messages }) => JSON.stringify(messages).includes('Removed.'),
          text: 'Removed. It is gone.',
        },
        {
          when: () => true,
          toolCalls: [{ id: `c_${name}`, name: calls, input: calls === 'remove' ? {} : { query: 'Go on.' } }],
        },
      ]),
      tools,
      console: false,
      permissionPolicy: { decide: ({ call }) => ({ behavior: call.name === 'remove' ? 'ask' : 'allow' }) },
    });
  const assistant = (): ReActAgent => {
    const remove = tool({
      name: 'remove',
      sideEffect: true,
      execute: () => {
        removed.push('x');
        return 'Removed.';
      },
    });
    const third = inner('third', [remove], 'remove');
    const second = inner('second', [agentTool(third, { description: 'Third.' })], 'third');
    return inner('assistant', [agentTool(second, { description: 'Second.' })], 'second');
  };
  const dir = mkdtempSync(join(tmpdir(), 'troupe-depth-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = join(dir, 'service.sqlite');
  const first = await createService({ agents: { assistant }, store, shutdownMs: 0 });
  const client = new ServiceClient(first.fetch);
  await client.session('assistant', 's');
  const asked = await client.json('POST', '/api/sessions/s/runs', { input: 'Remove it.' });
  expect((await client.ended(asked.id)).status).toBe('suspended');
  await first.close();

  await using second = await createService({ agents: { assistant }, store, shutdownMs: 0 });
  const again = new ServiceClient(second.fetch);
  const { data: pending } = await again.json('GET', '/api/sessions/s/pending');
  expect(pending).toMatchObject([{ agentPath: ['assistant', 'second', 'third'], call: { name: 'remove' } }]);
  const decisions = [{ id: pending[0].id, verdict: 'allow' }];
  const decided = await again.json('POST', '/api/sessions/s/runs', { decisions });
  expect(await again.ended(decided.id)).toMatchObject({ status: 'finished' });
  expect(removed).toEqual(['x']);
});

test('a run whose journal is of another version ends as failed, says so, and leaves the session as it was saved last', async () => {
  const gate = new Gate();
  const dir = mkdtempSync(join(tmpdir(), 'troupe-format-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'service.sqlite');
  const first = await createService({
    agents: {
      assistant: () =>
        gatedAgent(
          [
            { when: hears('Hi.'), text: 'Hello.' },
            { when: () => true, ...CALLS_WAIT },
          ],
          gate,
        ),
    },
    store: path,
    shutdownMs: 0,
  });
  const client = new ServiceClient(first.fetch);
  await client.session('assistant', 's');
  const greeting = await client.json('POST', '/api/sessions/s/runs', { input: 'Hi.' });
  await client.ended(greeting.id);
  const { id } = await client.json('POST', '/api/sessions/s/runs', { input: 'Wait.' });
  await gate.reached;
  await first.close();

  const storage = sqliteStorage(path);
  await storage.database.query('UPDATE service_runs SET journal_format = 99 WHERE id = ?', [id]);
  await using second = await createService({ agents: { assistant: greets }, store: storage, shutdownMs: 0 });
  const again = new ServiceClient(second.fetch);
  expect(await again.ended(id)).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_state', message: expect.stringContaining('another journal') },
  });
  const { data } = await again.json('GET', '/api/sessions/s/messages');
  expect(data.map((msg: JsonObject) => Msg.from(msg).text)).toEqual(['Hi.', 'Hello.']);
  const next = await again.json('POST', '/api/sessions/s/runs', { input: 'Go on.' });
  expect(await again.ended(next.id)).toMatchObject({ status: 'finished' });
});

/** Whether the last user message says something. */
function hears(text: string) {
  return ({ messages }: { readonly messages: unknown }): boolean =>
    !JSON.stringify(messages).includes('Wait.') && JSON.stringify(messages).includes(text);
}
