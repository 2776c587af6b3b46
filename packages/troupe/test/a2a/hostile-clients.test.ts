// Clients of a served agent that are impatient, careless, numerous or malicious.

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

import { expect, test } from 'vitest';

import { serveA2A, type A2AServer, type A2AServerOptions } from '../../src/a2a/index.ts';
import { AgentBase, InMemorySession, Msg, type PendingCall, type Session } from '../../src/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { remoteAgent, Speaker } from './a2a-agents.ts';
import { as, bearer, decides, rpc, says } from './rpc.ts';

const CARD = { name: 'served', description: 'Serves.' };
const COMPLETED = 'TASK_STATE_COMPLETED';

/** Counts requests. */
class Counter extends AgentBase {
  static asked: string[] = [];

  constructor() {
    super({ name: 'counter' });
    this.setConsoleOutputEnabled(false);
  }

  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    Counter.asked.push(...msgs.map(({ text }) => text));
    return Msg.assistant('Yes.', { name: this.name });
  }
}

function counterServer(options: Partial<A2AServerOptions> = {}): A2AServer {
  Counter.asked = [];
  return serveA2A(() => new Counter(), { card: CARD, ...options });
}

test('the same message again is the same task, at once and later, and for one user only', async () => {
  await using server = counterServer({ authenticate: bearer });
  const pay = says('Pay');
  const answers = await Promise.all(
    ['SendMessage', 'SendMessage', 'SendMessage'].map((method) => rpc(server, method, pay, as('ann'))),
  );
  const [first] = answers;
  for (const { body } of answers) expect(body).toEqual(first?.body);
  expect((await rpc(server, 'SendMessage', pay, as('ann'))).body).toEqual(first?.body);
  expect(Counter.asked).toEqual(['Pay']);
  const id: string = first?.body.result.task.id;
  const his = (await rpc(server, 'SendMessage', pay, as('bob'))).body.result.task;
  expect([his.id === id, Counter.asked]).toEqual([false, ['Pay', 'Pay']]);
  const { message } = pay as { message: object };
  // the same id with another content
  const other = { message: { ...message, parts: [{ text: 'Pay more' }] } };
  await rpc(server, 'SendMessage', other, as('ann'));
  expect(Counter.asked).toEqual(['Pay', 'Pay', 'Pay more']);
});

test('of two messages that go on with one task at the same time, one does', async () => {
  const pending: PendingCall = {
    id: 'p',
    agentPath: ['asker'],
    kind: 'external',
    call: { type: 'tool_use', id: 'c', name: 'ask', input: {} },
  };
  let answers = 0;
  class Asker extends Counter {
    override async reply(): Promise<Msg> {
      if (answers++ > 0) return Msg.assistant('Thanks.', { name: this.name });
      return Msg.assistant('Well?', { name: this.name, endReason: 'tool_suspended', pending: [pending] });
    }
  }
  await using server = serveA2A(() => new Asker(), { card: CARD });
  const asked = (await rpc(server, 'SendMessage', says('Go'))).body.result.task;
  const both = await Promise.all(
    [1, 2].map(async () => (await rpc(server, 'SendMessage', decides(asked, 'allow'))).body),
  );
  const done = both.filter(({ result }) => result?.task.status.state === COMPLETED);
  expect([done.length, answers]).toEqual([1, 2]);
  expect(both.flatMap(({ error }) => error?.code ?? [])).toEqual([-32004]);
  const history = done[0]?.result.task.history.map(({ role }: { role: string }) => role);
  expect(history).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER']); // including the question
});

test('one user with many conversations takes no space from others', async () => {
  await using server = counterServer({ authenticate: bearer, maxContexts: 10 });
  const { id } = (await rpc(server, 'SendMessage', says('Hi'), as('bob'))).body.result.task;
  for (let i = 0; i < 30; i++) await rpc(server, 'SendMessage', says('Hi'), as('eve'));
  expect((await rpc(server, 'GetTask', { id }, as('bob'))).body.result.status.state).toBe(COMPLETED);
  expect((await rpc(server, 'ListTasks', {}, as('eve'))).body.result.totalSize).toBe(9);
});

test('a thousand at once are all answered, and more than fit into one conversation are told so', async () => {
  await using server = counterServer();
  const all = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => rpc(server, 'SendMessage', says(`Hi ${i}`))),
  );
  expect(all.filter(({ body }) => body.result?.task.status.state === COMPLETED)).toHaveLength(1000);
  const one = await Promise.all(
    Array.from({ length: 300 }, () => rpc(server, 'SendMessage', says('Hi', { contextId: 'c' }))),
  );
  const done = one.filter(({ body }) => body.result?.task.status.state === COMPLETED);
  const refused = one.filter(({ body }) => /busy/.test(body.error?.message ?? ''));
  expect([done.length, refused.length]).toEqual([100, 200]);
  expect((await rpc(server, 'ListTasks', { contextId: 'c' })).body.result.totalSize).toBe(100);
});

test('a card names the host that was asked for and allowed, and no other, signed or not', async () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  await using server = counterServer({ signing: { key: privateKey, keyId: 'k' } });
  const { port } = new URL(await server.listen());
  const ask = async (target: string, host: string): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `GET ${target}/.well-known/agent-card.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => (text += part));
    await once(socket, 'close');
    return text;
  };
  const card = await ask('http://evil.example', `localhost:${port}`);
  expect(card).toContain(`"url":"http://localhost:${port}/"`);
  expect(card).not.toContain('evil');
  expect(await ask('', 'evil.example')).toMatch(/^HTTP\/1.1 403/);
  expect(await ask('http://localhost', 'evil.example')).toMatch(/^HTTP\/1.1 403/);
});

test('internal errors are not shown to clients', async () => {
  class Broken extends InMemorySession {
    override scoped(prefix: string): Session {
      const scoped = super.scoped(prefix);
      scoped.exists = async () => {
        throw new Error('the password of the store is sesame');
      };
      return scoped;
    }
  }
  await using server = counterServer({ session: new Broken() });
  const { body } = await rpc(server, 'ListTasks', { contextId: 'c1' }, {}, 7);
  expect(body).toEqual({ jsonrpc: '2.0', id: 7, error: { code: -32603, message: 'Internal error' } });
});

test('a server that is closed takes nothing more, not even what was on its way', async () => {
  let made = 0;
  let disposed = 0;
  class Guest extends Counter {
    override async [Symbol.asyncDispose](): Promise<void> {
      disposed++;
      await super[Symbol.asyncDispose]();
    }
  }
  const making = Promise.withResolvers<void>();
  const server = serveA2A(
    async () => {
      made++;
      await making.promise;
      return new Guest();
    },
    { card: CARD },
  );
  const calls = Promise.all([1, 2, 3].map(() => rpc(server, 'SendMessage', says('Hi'))));
  while (made < 3) await new Promise(setImmediate);
  const closed = server.close();
  making.resolve();
  await closed;
  for (const { body } of await calls) expect(body.error.message).toBe('The server is closed.');
  expect((await rpc(server, 'SendMessage', says('Hi'))).status).toBe(503);
  await expect(server.listen()).rejects.toThrow(/closed/);
  expect([made, disposed]).toEqual([3, 3]);
});

test('tasks are listed by their last change, and since a time in any notation', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const speaker = new Speaker();
  await using server = serveA2A(speaker, { card: CARD });
  const at = { configuration: { returnImmediately: true } };
  const first = (await rpc(server, 'SendMessage', { ...says('One'), ...at })).body.result.task;
  await speaker.started;
  const second = (await rpc(server, 'SendMessage', { ...says('Two'), ...at })).body.result.task;
  await rpc(server, 'CancelTask', { id: second.id });
  await clock.advance(5);
  speaker.finish();
  await rpc(server, 'CancelTask', { id: first.id });
  const ids = async (more: object): Promise<string[]> =>
    (await rpc(server, 'ListTasks', more)).body.result.tasks.map(({ id }: { id: string }) => id);
  expect(await ids({})).toEqual([first.id, second.id]);
  expect(await ids({ statusTimestampAfter: '2000-01-01T00:00:00+02:00' })).toHaveLength(2);
  expect(await ids({ statusTimestampAfter: '2999-01-01T00:00:00Z' })).toEqual([]);
  const wrong = await rpc(server, 'ListTasks', { statusTimestampAfter: 'yesterday' });
  expect(wrong.body.error.code).toBe(-32602);
});

test('a client that hangs up in the middle of a request or an answer leaves the server as it was', async () => {
  const speaker = new Speaker();
  await using server = serveA2A(speaker, { card: CARD });
  const { port } = new URL(await server.listen());
  const head = (length: number): string =>
    `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: ${length}\r\n\r\n`;
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: says('Hi') });
  for (let cut = 0; cut < text.length; cut += 20) {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(head(text.length) + text.slice(0, cut), () => socket.destroy());
    await once(socket, 'close');
  }
  expect(speaker.heard).toEqual([]);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(head(text.length) + text);
  await once(socket, 'data');
  socket.destroy();
  await speaker.started;
  speaker.say('Still here.');
  speaker.finish();
  const { tasks } = (await rpc(server, 'ListTasks', {})).body.result;
  const { body } = await rpc(server, 'GetTask', { id: tasks[0].id });
  expect([tasks.length, speaker.heard]).toEqual([1, ['Hi']]);
  expect(['TASK_STATE_WORKING', COMPLETED]).toContain(body.result.status.state);
});

test('two clients in one conversation are answered in turn, and one that stops leaves the other alone', async () => {
  const speaker = new Speaker();
  await using server = serveA2A(() => speaker, { card: CARD });
  const url = await server.listen();
  const one = remoteAgent(url);
  const two = remoteAgent(url);
  for (const agent of [one, two]) agent.loadStateDict({ observed: [], contextId: 'ours', openTask: null });
  const first = one.call('First');
  await speaker.started;
  const second = two.call('Second');
  while ((await rpc(server, 'ListTasks', { contextId: 'ours' })).body.result.totalSize < 2)
    await new Promise(setImmediate);
  await two.interrupt();
  await two[Symbol.asyncDispose]();
  speaker.say('Here I am.');
  speaker.finish();
  expect((await first).text).toBe('Here I am.');
  expect((await second).metadata).toMatchObject({ _is_interrupted: true });
  expect(speaker.heard).toEqual(['First']);
});
