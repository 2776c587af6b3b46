import { generateKeyPairSync } from 'node:crypto';
import { request as httpRequest } from 'node:http';

import { expect, test } from 'vitest';

import {
  A2AError,
  dataBlock,
  dataIn,
  serveA2A,
  type A2AServer,
  type A2AServerOptions,
} from '../../src/a2a/index.ts';
import { AgentBase, agentTool, Msg, ReActAgent, tool, Toolkit } from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { eventsOf, remoteAgent, Speaker, textDeltas } from './a2a-agents.ts';
import { as, bearer, rpc, says, type Rpc } from './rpc.ts';

const CARD = { name: 'served', description: 'Serves.' };

class Echo extends AgentBase {
  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    const answer = Msg.assistant(
      msgs.flatMap((msg) => msg.getContentBlocks()),
      { name: this.name },
    );
    await this.print(answer);
    return answer;
  }
}

function quiet<T extends AgentBase>(agent: T): T {
  agent.setConsoleOutputEnabled(false);
  return agent;
}

function echoServer(options: Partial<A2AServerOptions> = {}): A2AServer {
  return serveA2A(() => quiet(new Echo({ name: 'echo' })), { card: CARD, ...options });
}

test('words are streamed while they are said, and a conversation has one agent', async () => {
  const speakers: Speaker[] = [];
  await using server = serveA2A(
    () => {
      const speaker = new Speaker();
      speakers.push(speaker);
      return speaker;
    },
    { card: CARD },
  );
  const agent = remoteAgent(await server.listen());
  const stream = agent.stream('Count');
  const deltas: string[] = [];
  let step = await stream.next();
  for (const word of ['one', ' two', ' three']) {
    while (speakers[0] === undefined) await new Promise(setImmediate);
    const next = stream.next();
    speakers[0].say(word);
    step = await next;
    while (!step.done && step.value.type !== 'text_delta') step = await stream.next();
    if (!step.done && step.value.type === 'text_delta') deltas.push(step.value.text);
  }
  speakers[0]?.finish();
  const { msg } = await eventsOf(stream);
  expect(deltas).toEqual(['one', ' two', ' three']);
  expect(msg.text).toBe('one two three');
  speakers[0]?.finish();
  await agent.call('More');
  expect(speakers.map(({ heard }) => heard)).toEqual([['Count', 'More']]);
  const other = remoteAgent(await server.listen());
  const asked = other.call('Me too');
  while (speakers[1] === undefined) await new Promise(setImmediate);
  speakers[1].finish();
  await asked;
  expect(speakers.map(({ heard }) => heard)).toEqual([['Count', 'More'], ['Me too']]);
});

test('files and data arrive as they were sent, and come back', async () => {
  const inputModes = ['image/png', 'application/pdf', 'video/*'];
  await using server = echoServer({ card: { ...CARD, inputModes } });
  const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'aGk=' } } as const;
  const file = {
    type: 'file',
    source: { type: 'base64', mediaType: 'application/pdf', data: 'aGk=' },
    filename: 'a.pdf',
  } as const;
  const link = {
    type: 'video',
    source: { type: 'url', url: 'https://v.example/a.mp4', mediaType: 'video/mp4' },
  } as const;
  const sent = Msg.user([image, file, link, dataBlock({ a: [1, null, 'x'] })]);
  const answer = await remoteAgent(await server.listen()).call(sent);
  expect(answer.content).toEqual(sent.content);
  expect(dataIn(answer)).toEqual([{ a: [1, null, 'x'] }]);
});

test('thinking is shown while it streams, and the answer remains', async () => {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(tool({ name: 'look', execute: () => 'rain' }));
  const model = new ScriptedModel([
    { thinking: 'secret', text: 'Let me look.', toolCalls: [{ name: 'look', input: {} }] },
    'It rains.',
  ]);
  const agent = quiet(new ReActAgent({ name: 'w', sysPrompt: '', model, toolkit }));
  await using server = serveA2A(agent, { card: { description: 'Looks.' } });
  const { events, msg } = await eventsOf(remoteAgent(await server.listen()).stream('Weather?'));
  expect(msg.content).toEqual([{ type: 'text', text: 'It rains.' }]);
  expect(JSON.stringify(events)).not.toContain('secret');
  expect(textDeltas(events).at(-1)).toBe('It rains.');
});

test('each message of an agent is one of its own', async () => {
  const goOn = Promise.withResolvers<void>();
  class TwoThoughts extends AgentBase {
    override async reply(): Promise<Msg> {
      await this.print(Msg.assistant('Let me see.', { name: this.name }));
      await goOn.promise;
      const answer = Msg.assistant('It rains.', { name: this.name });
      await this.print(answer);
      return answer;
    }
  }
  await using server = serveA2A(quiet(new TwoThoughts({ name: 'two' })), { card: CARD });
  const said = new Map<string, string>();
  const stream = remoteAgent(await server.listen()).stream('Weather?');
  for (let step = await stream.next(); !step.done; step = await stream.next()) {
    if (step.value.type !== 'text_delta') continue;
    const { msgId, text } = step.value;
    said.set(msgId, (said.get(msgId) ?? '') + text);
    goOn.resolve();
  }
  expect([...said.values()]).toEqual(['Let me see.', 'It rains.']);
});

test('a cancel interrupts the agent, and only the task that it is about', async () => {
  const speaker = new Speaker();
  await using server = serveA2A(speaker, { card: CARD });
  const first = await rpc(server, 'SendMessage', {
    ...says('one'),
    configuration: { returnImmediately: true },
  });
  const second = await rpc(server, 'SendMessage', {
    ...says('two'),
    configuration: { returnImmediately: true },
  });
  await speaker.started;
  const id = (answer: Rpc): string => answer.body.result.task.id;
  const canceled = await rpc(server, 'CancelTask', { id: id(second) });
  expect(canceled.body.result.status.state).toBe('TASK_STATE_CANCELED');
  expect((await rpc(server, 'GetTask', { id: id(first) })).body.result.status.state).toBe(
    'TASK_STATE_WORKING',
  );
  const stopped = await rpc(server, 'CancelTask', { id: id(first) });
  expect(stopped.body.result.status).toMatchObject({
    state: 'TASK_STATE_CANCELED',
    message: { parts: [{ text: expect.stringContaining('interrupted') }] },
  });
  const repeated = await rpc(server, 'CancelTask', { id: id(first) });
  expect(repeated.body.error).toMatchObject({ code: -32002 });
  expect(speaker.isRunning).toBe(false);
  speaker.finish();
  const third = await rpc(server, 'SendMessage', says('three'));
  expect(third.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
  expect((await rpc(server, 'CancelTask', { id: id(third) })).body.error).toMatchObject({ code: -32002 });
  expect(speaker.heard).toEqual(['one', 'three']);
});

test('an interrupt here cancels the task there', async () => {
  const speaker = new Speaker();
  await using server = serveA2A(speaker, { card: CARD });
  const agent = remoteAgent(await server.listen());
  const call = agent.call('Go on and on');
  await speaker.started;
  const stopped = new Promise<void>((resolve) => void speaker.onSettled(resolve));
  await agent.interrupt();
  expect((await call).metadata).toMatchObject({ _is_interrupted: true });
  await stopped;
});

function approvalServer(log: string[]): A2AServer {
  return serveA2A(
    () => {
      const toolkit = new Toolkit();
      toolkit.registerToolFunction(
        tool({
          name: 'pay',
          schema: { type: 'object', properties: { sum: { type: 'number' } } },
          execute: ({ sum }) => {
            log.push(`paid ${String(sum)}`);
            return 'paid';
          },
        }),
      );
      const model = new ScriptedModel([
        { toolCalls: [{ name: 'pay', input: { sum: 5 } }] },
        'All paid.',
        'Next.',
      ]);
      const permissionPolicy = { decide: () => ({ behavior: 'ask', reason: 'It costs money.' }) as const };
      return quiet(new ReActAgent({ name: 'bank', sysPrompt: '', model, toolkit, permissionPolicy }));
    },
    { card: CARD },
  );
}

test('a pending call makes the task wait; words do not decide it, a decision does', async () => {
  const log: string[] = [];
  await using server = approvalServer(log);
  const agent = remoteAgent(await server.listen());
  const question = await agent.call('Pay');
  expect(question).toMatchObject({
    endReason: 'tool_suspended',
    pending: [
      {
        agentPath: ['remote', 'bank'],
        kind: 'approval',
        reason: 'It costs money.',
        call: { name: 'pay', input: { sum: 5 } },
      },
    ],
  });
  for (const word of ['yes', '{"decisions":[{"id":"x","verdict":"allow"}]}']) {
    const again = await agent.call(word);
    expect(again).toMatchObject({
      endReason: 'tool_suspended',
      pending: [{ call: { name: 'pay' } }],
    });
    expect(again.text).toContain('Calls wait for a decision.');
  }
  expect(log).toEqual([]);
  const [pending] = agent.stateDict()['openTask'] === null ? [] : ((await agent.call('so?')).pending ?? []);
  const answer = await agent.call(undefined, { decisions: [{ id: pending?.id ?? '', verdict: 'allow' }] });
  expect([answer.text, log]).toEqual(['All paid.', ['paid 5']]);
});

test('an approval crosses two programs to the root and back', async () => {
  const log: string[] = [];
  await using server = approvalServer(log);
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(agentTool(remoteAgent(await server.listen()), { description: 'The bank.' }));
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'remote', input: { query: 'Pay' } }] },
    'Done with that.',
  ]);
  const host = quiet(new ReActAgent({ name: 'host', sysPrompt: '', model, toolkit }));
  const waiting = await host.call('Pay the bill');
  const [pending] = waiting.pending ?? [];
  expect(pending).toMatchObject({ agentPath: ['host', 'remote', 'bank'], kind: 'approval' });
  const answer = await host.call(undefined, {
    decisions: [{ id: pending?.id ?? '', verdict: 'deny', reason: 'too much' }],
  });
  expect([answer.text, log]).toEqual(['Done with that.', []]);
});

test('a task that waits can be canceled, and the conversation goes on', async () => {
  const log: string[] = [];
  await using server = approvalServer(log);
  const asked = (await rpc(server, 'SendMessage', says('Pay'))).body.result.task;
  const { contextId } = asked;
  const other = (await rpc(server, 'SendMessage', says('Hello?', { contextId }))).body.result.task;
  expect(other.status).toMatchObject({ state: 'TASK_STATE_REJECTED' });
  expect((await rpc(server, 'CancelTask', { id: asked.id })).body.result.status.state).toBe(
    'TASK_STATE_CANCELED',
  );
  const decision = [
    { data: { decisions: [{ id: asked.status.message.parts[1].data.pending[0].id, verdict: 'allow' }] } },
  ];
  const late = await rpc(server, 'SendMessage', says('', { taskId: asked.id, parts: decision }));
  expect(late.body.error).toMatchObject({ code: -32004 });
  const next = (await rpc(server, 'SendMessage', says('And now?', { contextId }))).body.result.task;
  expect(next).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ parts: [{ text: 'All paid.' }] }],
  });
  expect(log).toEqual([]);
});

test('an agent that could not be made is made the next time', async () => {
  let failures = 2;
  await using server = serveA2A(
    () => {
      if (failures-- > 0) throw new Error('not yet');
      return quiet(new Echo({ name: 'echo' }));
    },
    { card: CARD, maxContexts: 1 },
  );
  const states: unknown[] = [];
  for (const contextId of ['c', 'd', 'c']) {
    const { body } = await rpc(server, 'SendMessage', says('Hi', { contextId }));
    states.push(body.error?.message ?? body.result.task.status.state);
  }
  expect(states).toEqual([
    'The agent could not be made.',
    'The agent could not be made.',
    'TASK_STATE_COMPLETED',
  ]);
});

test('a task that is worked on takes no further message', async () => {
  const speaker = new Speaker();
  await using server = serveA2A(speaker, { card: CARD });
  const { id } = (
    await rpc(server, 'SendMessage', { ...says('one'), configuration: { returnImmediately: true } })
  ).body.result.task;
  await speaker.started;
  expect((await rpc(server, 'SendMessage', says('two', { taskId: id }))).body.error.code).toBe(-32004);
  const mismatch = says('two', { taskId: id, contextId: 'other' });
  expect((await rpc(server, 'SendMessage', mismatch)).body.error.code).toBe(-32602);
});

test('an agent that fails says so, and not why', async () => {
  const agent = quiet(
    new ReActAgent({
      name: 'f',
      sysPrompt: '',
      model: new ScriptedModel([{ error: new Error('key sk-123 is wrong') }]),
    }),
  );
  await using server = serveA2A(agent, { card: CARD });
  const error: unknown = await remoteAgent(await server.listen())
    .call('Hi')
    .catch((thrown: unknown) => thrown);
  expect(A2AError.isInstance(error) && [error.failure, error.message]).toEqual([
    'failed',
    'The remote agent remote has failed: The agent has failed.',
  ]);
  await using broken = serveA2A(() => Promise.reject(new Error('no database at db.internal')), {
    card: CARD,
  });
  const { body } = await rpc(broken, 'SendMessage', says('Hi'));
  expect(body.error).toMatchObject({ code: -32603, message: 'The agent could not be made.' });
  expect((await rpc(broken, 'SendMessage', says('Hi', { contextId: 'c' }))).body.error.code).toBe(-32603);
});

test('tasks of another user do not exist', async () => {
  await using server = echoServer({ authenticate: bearer });
  const mine = (await rpc(server, 'SendMessage', says('Hi'), as('ann'))).body.result.task;
  const strange = { ...mine, id: mine.id.replace(/.$/, '~') };
  for (const [method, params] of [
    ['GetTask', (id: string) => ({ id })],
    ['CancelTask', (id: string) => ({ id })],
    ['SubscribeToTask', (id: string) => ({ id })],
    ['SendMessage', (id: string) => says('Hi', { taskId: id })],
    ['SendStreamingMessage', (id: string) => says('Hi', { taskId: id, contextId: mine.contextId })],
  ] as const) {
    const foreign = await rpc(server, method, params(mine.id), as('bob'));
    const absent = await rpc(server, method, params(strange.id), as('bob'));
    expect(foreign).toEqual(absent);
    expect(foreign.body.error).toMatchObject({ code: -32001, message: 'Task not found' });
    expect(JSON.stringify(foreign)).not.toContain(mine.id);
  }
  expect((await rpc(server, 'ListTasks', {}, as('bob'))).body.result).toEqual({
    tasks: [],
    nextPageToken: '',
    pageSize: 50,
    totalSize: 0,
  });
  expect(
    (await rpc(server, 'ListTasks', { contextId: mine.contextId }, as('bob'))).body.result.tasks,
  ).toEqual([]);
  expect(
    (await rpc(server, 'ListTasks', { contextId: mine.contextId }, as('ann'))).body.result.tasks,
  ).toMatchObject([{ id: mine.id }]);
  // The same context id of another user is another context.
  const his = (await rpc(server, 'SendMessage', says('Hi', { contextId: mine.contextId }), as('bob'))).body
    .result.task;
  expect((await rpc(server, 'ListTasks', {}, as('ann'))).body.result.totalSize).toBe(1);
  expect((await rpc(server, 'GetTask', { id: his.id }, as('ann'))).body.error.code).toBe(-32001);
  expect((await rpc(server, 'GetTask', { id: mine.id }, as('ann'))).body.result.id).toBe(mine.id);
});

test.each([
  ['ann bob', 'x'],
  ['ann', 'bob x'],
  ['ann%20bob', 'x'],
  ['', ' x'],
])('users and ids do not run into each other: %j', async (user, id) => {
  await using server = echoServer({ authenticate: (request) => request.headers.get('x-user') ?? undefined });
  const sent = says('Hi', { contextId: id });
  const { body } = await rpc(server, 'SendMessage', sent, { 'x-user': user });
  expect(body.result.task.contextId).toBe(id);
  for (const [other, otherId] of [
    ['ann', 'bob x'],
    ['ann bob', 'x'],
    ['ann%20bob', 'x'],
    ['', 'ann x'],
  ] as const) {
    if (other === user) continue;
    const { result } = (await rpc(server, 'ListTasks', { contextId: otherId }, { 'x-user': other })).body;
    expect(result.totalSize).toBe(0);
  }
});

test('ids can not be guessed: at least 128 bits by chance', async () => {
  await using server = echoServer();
  const ids = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const { id, contextId } = (await rpc(server, 'SendMessage', says('Hi'))).body.result.task;
    for (const one of [id, contextId]) {
      expect(one).toMatch(/^[0-9A-Za-z]{22}$/); // 131 bits
      ids.add(one);
    }
  }
  expect(ids.size).toBe(40);
});

test('two clients may use the same request id; their answers do not cross', async () => {
  await using server = echoServer({ authenticate: bearer });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      rpc(server, 'SendMessage', says(`I am ${i}`), as(`user${i % 2}`), 7),
    ),
  );
  answers.forEach(({ body }, i) => {
    expect(body.id).toBe(7);
    expect(body.result.task.artifacts[0].parts).toEqual([{ text: `I am ${i}` }]);
  });
});

test('a webhook is never called: there are none', async () => {
  await using server = echoServer();
  const taskPushNotificationConfig = { url: 'http://169.254.169.254/', token: 't' };
  const config = await rpc(server, 'SendMessage', {
    ...says('Hi'),
    configuration: { taskPushNotificationConfig },
  });
  expect(config.body.error.code).toBe(-32003);
  const { id } = (await rpc(server, 'SendMessage', says('Hi'))).body.result.task;
  for (const method of [
    'CreateTaskPushNotificationConfig',
    'GetTaskPushNotificationConfig',
    'ListTaskPushNotificationConfigs',
    'DeleteTaskPushNotificationConfig',
  ]) {
    expect(
      (await rpc(server, method, { taskId: id, id: 'c', url: 'http://127.0.0.1/' })).body.error.code,
    ).toBe(-32003);
  }
});

test.each<[string, number, RequestInit & { url?: string }]>([
  ['from a web page elsewhere', 403, { headers: { origin: 'https://evil.example' } }],
  ['from a page that hides where it is', 403, { headers: { origin: 'null' } }],
  ['under another name', 403, { headers: { host: 'rebound.example' } }],
  ['that is no JSON', 415, { headers: { 'content-type': 'text/plain', authorization: 'Bearer ann' } }],
  ['by another method', 405, { method: 'PUT' }],
  ['without a user', 401, {}],
  [
    'that is too large',
    413,
    { body: JSON.stringify({ x: 'x'.repeat(2000) }), headers: { authorization: 'Bearer ann' } },
  ],
])('a request %s is refused with %i', async (_, expected, { headers, ...init }) => {
  await using server = echoServer({ authenticate: bearer, maxBodyBytes: 1000 });
  const all = { 'content-type': 'application/json', 'a2a-version': '1.0', ...(headers as object) };
  const request = new Request('http://localhost/', { method: 'POST', body: '{}', headers: all, ...init });
  expect((await server.fetch(request)).status).toBe(expected);
});

test('a listening server refuses other names and pages too', async () => {
  await using server = echoServer();
  const url = new URL(await server.listen());
  const get = (headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      httpRequest(
        { port: url.port, host: '127.0.0.1', path: '/.well-known/agent-card.json', headers },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      )
        .on('error', reject)
        .end();
    });
  expect(await get({})).toBe(200);
  expect(await get({ host: 'rebound.example' })).toBe(403);
  expect(await get({ host: url.host, origin: 'https://evil.example' })).toBe(403);
  expect(await get({ host: url.host, origin: url.origin })).toBe(200);
});

test.each<[string, string, number]>([
  ['nonsense', 'nonsense', -32700],
  ['a list', '[]', -32600],
  ['no method', '{"jsonrpc":"2.0","id":1}', -32600],
  ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"Hack","params":{}}', -32601],
  ['no message', '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}', -32602],
  [
    'an empty message',
    '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[]}}}',
    -32602,
  ],
  [
    'a long context',
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: says('x', { contextId: 'x'.repeat(500) }),
    }),
    -32602,
  ],
  [
    'what nests too deep',
    `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${'['.repeat(200)}${']'.repeat(200)}}`,
    -32602,
  ],
  ['__proto__', '{"jsonrpc":"2.0","id":1,"method":"__proto__","params":{"__proto__":{"x":1}}}', -32601],
])('%s is answered with an error', async (_, body, code) => {
  await using server = echoServer();
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  const response = await server.fetch(new Request('http://localhost/', { method: 'POST', body, headers }));
  expect(((await response.json()) as { error: { code: number } }).error.code).toBe(code);
});

test('another version of the protocol is refused by name', async () => {
  await using server = echoServer();
  expect((await rpc(server, 'SendMessage', says('Hi'), { 'a2a-version': '0.3' })).body).toMatchObject({
    id: 1,
    error: { code: -32009 },
  });
});

test('tasks are listed page by page, the latest first', async () => {
  await using server = echoServer();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++)
    ids.unshift((await rpc(server, 'SendMessage', says(`${i}`))).body.result.task.id);
  const first = (await rpc(server, 'ListTasks', { pageSize: 2 })).body.result;
  expect(first.tasks.map((task: { id: string }) => task.id)).toEqual(ids.slice(0, 2));
  expect(first.tasks[0].artifacts).toBeUndefined();
  const next = (
    await rpc(server, 'ListTasks', { pageSize: 3, pageToken: first.nextPageToken, includeArtifacts: true })
  ).body.result;
  expect(next.tasks.map((task: { id: string }) => task.id)).toEqual(ids.slice(2));
  expect(next).toMatchObject({ nextPageToken: '', totalSize: 5 });
  expect(next.tasks[0].artifacts[0].parts).toEqual([{ text: '2' }]);
  expect((await rpc(server, 'ListTasks', { pageSize: 0 })).body.error.code).toBe(-32602);
  expect((await rpc(server, 'ListTasks', { status: 'TASK_STATE_FAILED' })).body.result.totalSize).toBe(0);
  expect(
    (await rpc(server, 'GetTask', { id: ids[0], historyLength: 0 })).body.result.history,
  ).toBeUndefined();
});

test('the number of conversations is limited: the most silent one is closed, a busy one never', async () => {
  const disposed: string[] = [];
  class Guest extends Speaker {
    override async [Symbol.asyncDispose](): Promise<void> {
      disposed.push(this.name);
      await super[Symbol.asyncDispose]();
    }
  }
  const guests = new Map<string, Guest>();
  await using server = serveA2A(
    ({ contextId }) => {
      const guest = new Guest(contextId);
      guests.set(contextId, guest);
      if (contextId !== 'busy') guest.finish();
      return guest;
    },
    { card: CARD, maxContexts: 2 },
  );
  const busy = await rpc(server, 'SendMessage', {
    ...says('Hi', { contextId: 'busy' }),
    configuration: { returnImmediately: true },
  });
  const old = await rpc(server, 'SendMessage', says('Hi', { contextId: 'old' }));
  const fresh = await rpc(server, 'SendMessage', says('Hi', { contextId: 'fresh' }));
  expect(fresh.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
  expect(disposed).toEqual(['old']);
  expect((await rpc(server, 'GetTask', { id: old.body.result.task.id })).body.error.code).toBe(-32001);
  expect((await rpc(server, 'GetTask', { id: busy.body.result.task.id })).body.result.status.state).toBe(
    'TASK_STATE_WORKING',
  );
  await server.close();
  expect(disposed.toSorted()).toEqual(['busy', 'fresh', 'old']);
  expect(guests.get('busy')?.isRunning).toBe(false);
});

test('a server whose conversations are all busy says so', async () => {
  await using server = serveA2A(() => new Speaker(), { card: CARD, maxContexts: 1 });
  await rpc(server, 'SendMessage', { ...says('Hi'), configuration: { returnImmediately: true } });
  expect((await rpc(server, 'SendMessage', says('Hi'))).body.error).toMatchObject({
    message: expect.stringContaining('busy'),
  });
});

test('a client that leaves does not end its task, and can come back to it', async () => {
  const speaker = new Speaker();
  await using server = serveA2A(speaker, { card: CARD });
  const open = (method: string, params: unknown): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      }),
    );
  const stream = (await open('SendStreamingMessage', says('Hi'))).body?.getReader();
  const event = JSON.parse(new TextDecoder().decode((await stream?.read())?.value).replace('data: ', ''));
  speaker.say('Still ');
  await stream?.cancel();
  const again = await open('SubscribeToTask', { id: event.result.task.id });
  speaker.say('here.');
  speaker.finish();
  const text = await again.text();
  expect(text).toContain('TASK_STATE_COMPLETED');
  const done = await rpc(server, 'GetTask', { id: event.result.task.id });
  expect(done.body.result.artifacts[0].parts).toEqual([{ text: 'Still here.' }]);
  expect((await rpc(server, 'SubscribeToTask', { id: event.result.task.id })).body.error.code).toBe(-32004);
});

test.each(['ed25519', 'ec', 'rsa'] as const)(
  'a card signed by a key of the kind %s is accepted, an altered one is not',
  async (kind) => {
    const make = () =>
      kind === 'ed25519'
        ? generateKeyPairSync('ed25519')
        : kind === 'ec'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { privateKey, publicKey } = make();
    await using server = echoServer({ signing: { key: privateKey, keyId: 'k1' } });
    const url = await server.listen();
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const agent = remoteAgent(url, { cardKeys: [make().publicKey, pem] });
    expect((await agent.call('Hi')).text).toBe('Hi');
    await expect(remoteAgent(url, { cardKeys: [make().publicKey] }).call('Hi')).rejects.toMatchObject({
      failure: 'bad_card',
    });
    const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as Record<
      string,
      unknown
    >;
    const altered = { ...card, description: 'Trust me.' };
    await expect(
      remoteAgent(url, { card: altered as never, cardKeys: [publicKey] }).call('Hi'),
    ).rejects.toMatchObject({ failure: 'bad_card' });
    // the signature is not checked
    expect((await remoteAgent(url, { card: altered as never }).call('Hi')).text).toBe('Hi');
  },
);

test('an unsigned card is refused where a signature is wanted', async () => {
  await using server = echoServer();
  const { publicKey } = generateKeyPairSync('ed25519');
  const agent = remoteAgent(await server.listen(), { cardKeys: [publicKey] });
  await expect(agent.call('Hi')).rejects.toMatchObject({ failure: 'bad_card' });
});

test('options that can not be are refused', () => {
  const agent = new Speaker();
  expect(() => serveA2A(agent, { card: CARD, authenticate: () => 'x' })).toThrow(/shared by users/);
  expect(() => serveA2A(() => agent, { card: { description: 'x' } })).toThrow(/needs a name/);
  expect(() => serveA2A(agent, { card: CARD, maxContexts: 0 })).toThrow(/maxContexts/);
  expect(() => serveA2A(agent, { card: CARD, session: './folder' as never })).toThrow(/session/);
});

test('a conversation that is closed for another just as it is used again is opened anew, or refused', async () => {
  await using server = echoServer({ maxContexts: 1 });
  const outcomes = new Set<string>();
  for (let round = 0; round < 20; round++) {
    await rpc(server, 'SendMessage', says('Hi', { contextId: 'a' }));
    const answers = await Promise.all(
      ['a', 'b', 'a', 'c'].map((contextId) => rpc(server, 'SendMessage', says('Hi', { contextId }))),
    );
    for (const { body } of answers) outcomes.add(body.error?.message ?? body.result.task.status.state);
  }
  expect([...outcomes].toSorted()).toEqual(['TASK_STATE_COMPLETED', 'The server is busy. Try again later.']);
});

test('however many come at once, there are never more conversations than allowed, and none is lost while it is used', async () => {
  let alive = 0;
  let most = 0;
  class Guest extends Echo {
    override async [Symbol.asyncDispose](): Promise<void> {
      alive--;
      await super[Symbol.asyncDispose]();
    }
  }
  await using server = serveA2A(
    async () => {
      most = Math.max(most, ++alive);
      await new Promise(setImmediate);
      return quiet(new Guest({ name: 'guest' }));
    },
    { card: CARD, maxContexts: 3 },
  );
  let completed = 0;
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all(
      Array.from({ length: 3 }, (_, i) =>
        rpc(server, 'SendMessage', says('Hi', { contextId: `c${(round + i) % 5}` })),
      ),
    );
    completed += answers.filter(
      ({ body }) => body.result?.task.status.state === 'TASK_STATE_COMPLETED',
    ).length;
  }
  expect([completed, most]).toEqual([60, 3]);
  const flood = await Promise.all(Array.from({ length: 50 }, () => rpc(server, 'SendMessage', says('Hi'))));
  const done = flood.filter(({ body }) => body.result?.task.status.state === 'TASK_STATE_COMPLETED').length;
  const refused = flood.filter(
    ({ body }) => body.error?.message === 'The server is busy. Try again later.',
  ).length;
  expect([done + refused, most]).toEqual([50, 3]);
  expect(done).toBeGreaterThanOrEqual(3);
});
