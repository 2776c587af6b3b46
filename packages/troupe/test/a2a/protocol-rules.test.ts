// The rules of the protocol for a server, after the requirements of the public test kit (a2a-tck), by their ids. Which of them
// concern a served agent is listed in docs/reference/a2a.md.

import { expect, describe, test } from 'vitest';

import { serveA2A, type A2AServer, type A2AServerOptions } from '../../src/a2a/index.ts';
import { AgentBase, Msg, ReActAgent, tool } from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { Speaker } from './a2a-agents.ts';
import { decides, rpc, says } from './rpc.ts';

const CARD = {
  name: 'echo',
  description: 'Repeats.',
  skills: [{ id: 's', name: 'Echo', description: 'Repeats.' }],
};

class Echo extends AgentBase {
  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    return Msg.assistant(msgs.map(({ text }) => text).join(), { name: this.name });
  }
}

function echoServer(options: Partial<A2AServerOptions> = {}): A2AServer {
  return serveA2A(() => new Echo({ name: 'echo', console: false }), { card: CARD, ...options });
}

/** Agent with an approval before each payment: its task waits. */
function payingServer(): A2AServer {
  return serveA2A(
    () =>
      new ReActAgent({
        name: 'bank',
        model: new ScriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, 'Paid.']),
        tools: [tool({ name: 'pay', execute: () => 'paid' })],
        permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
        console: false,
      }),
    { card: CARD },
  );
}

const HEADERS = { 'content-type': 'application/json', 'a2a-version': '1.0' };

async function post(
  server: A2AServer,
  body: string,
  headers: Record<string, string> = HEADERS,
): Promise<any> {
  const response = await server.fetch(new Request('http://localhost/', { method: 'POST', headers, body }));
  return { status: response.status, ...((await response.json()) as object) };
}

/** Events of a stream, read to its end. */
async function events(server: A2AServer, method: string, params: unknown): Promise<any[]> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 's1', method, params });
  const response = await server.fetch(
    new Request('http://localhost/', { method: 'POST', headers: HEADERS, body }),
  );
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const blocks = (await response.text()).split('\n\n').filter((block) => block !== '');
  return blocks.map((block) => JSON.parse(block.replace(/^data: /gm, '')));
}

const send = async (server: A2AServer, params: object) => (await rpc(server, 'SendMessage', params)).body;
const codeOf = async (server: A2AServer, method: string, params: unknown): Promise<number> =>
  (await rpc(server, method, params)).body.error?.code;

describe('JSON-RPC', () => {
  test.each<[string, string, number, unknown]>([
    ['text that is not JSON', '{"jsonrpc":"2.0","method":"SendMessage","params":{"a":1}', -32700, null],
    ['nothing', '', -32700, null],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}]', -32600, null],
    ['a number', '5', -32600, null],
    ['another version', '{"jsonrpc":"1.0","id":3,"method":"SendMessage","params":{}}', -32600, 3],
    ['no version', '{"id":3,"method":"SendMessage","params":{}}', -32600, 3],
    ['no method', '{"jsonrpc":"2.0","id":"a","params":{}}', -32600, 'a'],
    ['a method that is no text', '{"jsonrpc":"2.0","id":3,"method":5,"params":{}}', -32600, 3],
    [
      'an id that is an object',
      '{"jsonrpc":"2.0","id":{"a":1},"method":"SendMessage","params":{}}',
      -32600,
      null,
    ],
    [
      'an id that is a fraction',
      '{"jsonrpc":"2.0","id":1.5,"method":"SendMessage","params":{}}',
      -32600,
      null,
    ],
    ['an unknown method', '{"jsonrpc":"2.0","id":"3","method":"SendMessageXXX","params":{}}', -32601, '3'],
    ['an unknown method without params', '{"jsonrpc":"2.0","id":"3","method":"Nope"}', -32601, '3'],
    ['params that are a list', '{"jsonrpc":"2.0","id":3,"method":"SendMessage","params":[1]}', -32602, 3],
    [
      'params with an empty name',
      '{"jsonrpc":"2.0","id":3,"method":"SendMessage","params":{"":"x"}}',
      -32602,
      3,
    ],
  ])('%s', async (_, body, code, id) => {
    await using server = echoServer();
    const answer = await post(server, body);
    expect(answer).toMatchObject({ status: 200, jsonrpc: '2.0', id, error: { code } });
    expect(typeof answer.error.message).toBe('string');
    expect(Object.keys(answer.error).filter((key) => !['code', 'message', 'data'].includes(key))).toEqual([]);
  });

  test('another type of content is -32005 (JSONRPC-SSE-002)', async () => {
    await using server = echoServer();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: says('Hi') });
    const answer = await post(server, body, { ...HEADERS, 'content-type': 'text/plain' });
    expect([answer.status, answer.error.code]).toEqual([415, -32005]);
    const alike = await post(server, body, { ...HEADERS, 'content-type': 'application/jsonish' });
    expect([alike.status, alike.error.code]).toEqual([415, -32005]);
    const same = await post(server, body, { ...HEADERS, 'content-type': 'Application/JSON ; charset=utf-8' });
    expect(same).toMatchObject({ status: 200, result: { task: {} } });
  });

  test('another version of A2A is -32009, also an empty one, which is 0.3 (VER-SERVER-002, VER-SERVER-003)', async () => {
    await using server = echoServer();
    for (const version of ['99.0', '0.3', ''])
      expect((await rpc(server, 'SendMessage', says('Hi'), { 'a2a-version': version })).body.error.code).toBe(
        -32009,
      );
    const old = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: {} });
    expect((await post(server, old, { 'content-type': 'application/json' })).error.code).toBe(-32009);
    expect((await post(server, old)).error.code).toBe(-32601);
  });

  test('an error of A2A has its reason in data (JSONRPC-ERR-003)', async () => {
    await using server = echoServer();
    const { error } = (await rpc(server, 'GetTask', { id: 'nobody' })).body;
    expect(error).toEqual({
      code: -32001,
      message: 'Task not found',
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          domain: 'a2a-protocol.org',
          reason: 'TASK_NOT_FOUND',
        },
      ],
    });
  });

  test('the same request id twice is answered twice', async () => {
    await using server = echoServer();
    const both = await Promise.all([1, 2].map(() => rpc(server, 'SendMessage', says('Hi'), {}, 'same')));
    expect(both.map(({ body }) => [body.id, body.result.task.status.state])).toEqual([
      ['same', 'TASK_STATE_COMPLETED'],
      ['same', 'TASK_STATE_COMPLETED'],
    ]);
  });
});

describe('params (CORE-ERR-002)', () => {
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Hi' }] };
  test.each<[string, string, object, string]>([
    ['no message', 'SendMessage', {}, 'params.message'],
    ['a message that is a text', 'SendMessage', { message: 'Hi' }, 'params.message'],
    [
      'no messageId',
      'SendMessage',
      { message: { ...message, messageId: undefined } },
      'messageId is required',
    ],
    [
      'an empty messageId',
      'SendMessage',
      { message: { ...message, messageId: '' } },
      'messageId is required',
    ],
    [
      'a messageId that is a number',
      'SendMessage',
      { message: { ...message, messageId: 5 } },
      'messageId must',
    ],
    [
      'a long messageId',
      'SendMessage',
      { message: { ...message, messageId: 'x'.repeat(201) } },
      'messageId must',
    ],
    ['no role', 'SendMessage', { message: { ...message, role: undefined } }, 'message.role'],
    ['a role of version 0.3', 'SendMessage', { message: { ...message, role: 'user' } }, 'message.role'],
    ['the role of the agent', 'SendMessage', { message: { ...message, role: 'ROLE_AGENT' } }, 'message.role'],
    [
      'an unknown role',
      'SendStreamingMessage',
      { message: { ...message, role: 'ROLE_KING' } },
      'message.role',
    ],
    ['no parts', 'SendMessage', { message: { ...message, parts: [] } }, 'message.parts'],
    ['parts that are a text', 'SendMessage', { message: { ...message, parts: 'invalid' } }, 'message.parts'],
    ['a part that is a text', 'SendMessage', { message: { ...message, parts: ['Hi'] } }, 'message.parts[0]'],
    ['a part without content', 'SendMessage', { message: { ...message, parts: [{}] } }, 'message.parts[0]'],
    [
      'a part of version 0.3',
      'SendMessage',
      { message: { ...message, parts: [{ kind: 'text' }] } },
      'message.parts[0]',
    ],
    [
      'a part with two contents',
      'SendMessage',
      { message: { ...message, parts: [{ text: 'a', url: 'b' }] } },
      'one of',
    ],
    [
      'a text that is a number',
      'SendMessage',
      { message: { ...message, parts: [{ text: 5 }] } },
      'parts[0].text',
    ],
    [
      'bytes that are no base64',
      'SendMessage',
      { message: { ...message, parts: [{ raw: '%%%' }] } },
      'parts[0].raw',
    ],
    ['a taskId that is a number', 'SendMessage', { message: { ...message, taskId: 5 } }, 'taskId must'],
    [
      'a negative historyLength',
      'SendMessage',
      { message, configuration: { historyLength: -1 } },
      'historyLength',
    ],
    [
      'a historyLength that is a text',
      'SendMessage',
      { message, configuration: { historyLength: '5' } },
      'historyLength',
    ],
    ['a configuration that is a text', 'SendMessage', { message, configuration: 'fast' }, 'configuration'],
    [
      'returnImmediately that is a text',
      'SendMessage',
      { message, configuration: { returnImmediately: 'yes' } },
      'returnImmediately',
    ],
    [
      'output modes that are a text',
      'SendMessage',
      { message, configuration: { acceptedOutputModes: 'all' } },
      'acceptedOutputModes',
    ],
    ['metadata that are a text', 'SendMessage', { message, metadata: 'x' }, 'metadata must'],
    [
      'metadata of a message that are a list',
      'SendMessage',
      { message: { ...message, metadata: [1] } },
      'message.metadata must',
    ],
    [
      'metadata of a part that are a number',
      'SendMessage',
      { message: { ...message, parts: [{ text: 'Hi', metadata: 5 }] } },
      'parts[0].metadata must',
    ],
    [
      'extensions that are a text',
      'SendMessage',
      { message: { ...message, extensions: 'x' } },
      'extensions must',
    ],
    [
      'ids of other tasks that are numbers',
      'SendMessage',
      { message: { ...message, referenceTaskIds: [1] } },
      'referenceTaskIds must',
    ],
    ['a tenant that is a number', 'GetTask', { id: 't', tenant: 5 }, 'tenant must'],
    ['no id', 'GetTask', {}, 'id is required'],
    ['an id that is a number', 'GetTask', { id: 5 }, 'id must'],
    ['a negative historyLength', 'GetTask', { id: 't', historyLength: -1 }, 'historyLength'],
    ['a historyLength that is a fraction', 'GetTask', { id: 't', historyLength: 1.5 }, 'historyLength'],
    ['a historyLength by its other name', 'GetTask', { id: 't', history_length: -1 }, 'historyLength'],
    ['no id', 'CancelTask', {}, 'id is required'],
    ['no id', 'SubscribeToTask', { id: '' }, 'id is required'],
    ['an unknown state', 'ListTasks', { status: 'TASK_STATE_TIRED' }, 'status'],
    ['a negative historyLength', 'ListTasks', { historyLength: -1 }, 'historyLength'],
    ['a page of nothing', 'ListTasks', { pageSize: 0 }, 'pageSize'],
    ['a page size that is true', 'ListTasks', { pageSize: true }, 'pageSize'],
    ['a page size that is a text', 'ListTasks', { page_size: '5' }, 'pageSize'],
    ['a page token that is a list', 'ListTasks', { pageToken: [] }, 'pageToken'],
    ['a time that is a number', 'ListTasks', { statusTimestampAfter: 0 }, 'statusTimestampAfter'],
    [
      'a webhook for a task whose id is an object',
      'CreateTaskPushNotificationConfig',
      { taskId: { toString: 1 } },
      'taskId must',
    ],
    [
      'a webhook with an object as its address',
      'CreateTaskPushNotificationConfig',
      { taskId: 't', url: { toString: 1 } },
      'url must',
    ],
    [
      'a webhook with credentials that are an object',
      'SendMessage',
      {
        message,
        configuration: { taskPushNotificationConfig: { authentication: { credentials: { toString: 1 } } } },
      },
      'credentials must',
    ],
    [
      'a page token that is an object',
      'ListTaskPushNotificationConfigs',
      { taskId: 't', pageToken: { toString: 1 } },
      'pageToken must',
    ],
    [
      'a webhook that is a list',
      'SendMessage',
      { message, configuration: { taskPushNotificationConfig: [] } },
      'taskPushNotificationConfig must',
    ],
    ['a page token that is not ours', 'ListTasks', { pageToken: 'x' }, 'pageToken'],
  ])('%s for %s is -32602, and says what is wrong', async (_, method, params, problem) => {
    await using server = echoServer();
    const { error } = (await rpc(server, method, params)).body;
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(problem) as string });
  });

  test('the states of tasks are taken by ListTasks', async () => {
    await using server = echoServer();
    const done = await send(server, says('Hi', { contextId: 'c' }));
    const list = async (status: string) =>
      (await rpc(server, 'ListTasks', { contextId: 'c', status })).body.result;
    expect((await list('TASK_STATE_COMPLETED')).tasks).toMatchObject([{ id: done.result.task.id }]);
    expect(await list('TASK_STATE_WORKING')).toMatchObject({ tasks: [], nextPageToken: '', totalSize: 0 });
  });
});

describe('messages and tasks', () => {
  test('a message is answered by a task with ids of its own (CORE-SEND-001, CORE-MULTI-001a, CORE-MULTI-002, CORE-MULTI-003)', async () => {
    await using server = echoServer();
    const first = (await send(server, says('Hi'))).result.task;
    const second = (await send(server, says('Hi', { contextId: 'mine' }))).result.task;
    expect(first.contextId).toMatch(/./);
    expect(second.contextId).toBe('mine');
    expect(first.id).not.toBe(second.id);
    expect(first).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'Hi' }] }],
    });
  });

  test('a media type that the card does not name is -32005, decisions and words are always taken (CORE-SEND-003)', async () => {
    await using server = echoServer({ card: { ...CARD, inputModes: ['text/plain', 'image/*'] } });
    const part = async (mediaType: string) =>
      (await send(server, says('', { parts: [{ raw: 'aGk=', mediaType }] }))).error?.code;
    expect(await part('application/x-unsupported-tck-type')).toBe(-32005);
    expect(await part('image/png; q=1')).toBeUndefined();
    expect(
      (await send(server, says('', { parts: [{ data: { a: 1 }, mediaType: 'application/json' }] }))).error,
    ).toBeUndefined();
  });

  test('a task that is not there or has ended takes no message (CORE-SEND-002, CORE-MULTI-004, CORE-MULTI-006)', async () => {
    await using server = echoServer();
    const { task } = (await send(server, says('Hi'))).result;
    expect((await send(server, says('More', { taskId: task.id }))).error.code).toBe(-32004);
    expect((await send(server, says('More', { taskId: 'nobody' }))).error.code).toBe(-32001);
    expect((await send(server, says('More', { taskId: task.id, contextId: 'other' }))).error.code).toBe(
      -32602,
    );
  });

  test('a waiting task takes a message with its id alone (CORE-MULTI-005, CORE-EXECUTION-MODE-001)', async () => {
    await using server = payingServer();
    const { task } = (await send(server, says('Pay'))).result;
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const done = (await send(server, decides(task, 'allow'))).result.task;
    expect([done.id, done.contextId, done.status.state]).toEqual([
      task.id,
      task.contextId,
      'TASK_STATE_COMPLETED',
    ]);
  });

  test('returnImmediately does not wait (CORE-EXECUTION-MODE-002)', async () => {
    const speaker = new Speaker();
    await using server = serveA2A(speaker, { card: CARD });
    const { task } = (await send(server, { ...says('Hi'), configuration: { returnImmediately: true } }))
      .result;
    expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state);
    speaker.finish();
  });

  test('GetTask gives the state, and as much of the history as is asked for (CORE-GET-001, CORE-GET-002, CORE-HIST-001 to -006)', async () => {
    await using server = payingServer();
    const { task } = (await send(server, says('Pay'))).result;
    const done = { ...decides(task, 'allow'), configuration: { historyLength: 0 } };
    expect((await send(server, done)).result.task.history ?? []).toEqual([]);
    const history = async (historyLength?: number) =>
      ((await rpc(server, 'GetTask', { id: task.id, historyLength })).body.result.history ?? []).map(
        ({ role }: { role: string }) => role,
      );
    expect(await history()).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER']);
    expect(await history(0)).toEqual([]);
    expect(await history(1)).toEqual(['ROLE_USER']);
    expect(await history(10)).toHaveLength(3);
    expect(await codeOf(server, 'GetTask', { id: 'nobody' })).toBe(-32001);
  });

  test('CancelTask gives the canceled task, once (CORE-CANCEL-001 to -003)', async () => {
    await using server = payingServer();
    const { task } = (await send(server, says('Pay'))).result;
    const { result } = (await rpc(server, 'CancelTask', { id: task.id })).body;
    expect(result).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_CANCELED' } });
    expect(await codeOf(server, 'CancelTask', { id: task.id })).toBe(-32002);
    const ended = (await send(server, says('Again', { contextId: 'c2' }))).result.task;
    await send(server, decides(ended, 'allow'));
    expect(await codeOf(server, 'CancelTask', { id: ended.id })).toBe(-32002);
    expect(await codeOf(server, 'CancelTask', { id: 'nobody' })).toBe(-32001);
  });

  test('ListTasks pages from the latest on, without artifacts (CORE-LIST-002 to -005)', async () => {
    await using server = echoServer();
    const ids: string[] = [];
    for (const text of ['a', 'b', 'c'])
      ids.unshift((await send(server, says(text, { contextId: 'c' }))).result.task.id);
    const page = async (params: object) =>
      (await rpc(server, 'ListTasks', { contextId: 'c', ...params })).body.result;
    const first = await page({ pageSize: 2 });
    const last = await page({ pageSize: 2, pageToken: first.nextPageToken });
    expect([...first.tasks, ...last.tasks].map(({ id }) => id)).toEqual(ids);
    expect([last.nextPageToken, last.totalSize]).toEqual(['', 3]);
    expect(first.tasks[0]).not.toHaveProperty('artifacts');
    expect((await page({ includeArtifacts: true })).tasks[0].artifacts).toHaveLength(1);
  });
});

describe('streams', () => {
  test('begin with the task, have an envelope each, and close at the end (CORE-STREAM-001, CORE-STREAM-003, JSONRPC-SSE-001)', async () => {
    await using server = echoServer();
    const all = await events(server, 'SendStreamingMessage', says('Hi'));
    for (const event of all)
      expect(event).toMatchObject({ jsonrpc: '2.0', id: 's1', result: expect.anything() as unknown });
    expect(Object.keys(all[0].result)).toEqual(['task']);
    expect(all.at(-1).result.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('of a waiting task go on until it has ended (STREAM-SUB-001, STREAM-SUB-002)', async () => {
    await using server = payingServer();
    const { task } = (await send(server, says('Pay'))).result;
    const stream = events(server, 'SubscribeToTask', { id: task.id });
    await new Promise(setImmediate);
    await send(server, decides(task, 'allow'));
    const all = await stream;
    expect(all[0].result.task).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } });
    expect(all.at(-1).result.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('of a waiting task end with the server', async () => {
    const server = payingServer();
    const { task } = (await send(server, says('Pay'))).result;
    const stream = events(server, 'SubscribeToTask', { id: task.id });
    await new Promise(setImmediate);
    await server.close();
    expect((await stream).at(-1).result.statusUpdate.status.state).toBe('TASK_STATE_CANCELED');
  });

  test('are refused for tasks that have ended or are not there (STREAM-SUB-003, STREAM-SUB-004)', async () => {
    await using server = echoServer();
    const { task } = (await send(server, says('Hi'))).result;
    expect(await codeOf(server, 'SubscribeToTask', { id: task.id })).toBe(-32004);
    expect(await codeOf(server, 'SubscribeToTask', { id: 'nobody' })).toBe(-32001);
  });

  test('of one task are the same for all readers, and end one by one (STREAM-ORDER-001 to -004)', async () => {
    const speaker = new Speaker();
    await using server = serveA2A(speaker, { card: CARD });
    const { task } = (await send(server, { ...says('Hi'), configuration: { returnImmediately: true } }))
      .result;
    await speaker.started;
    const readers = [1, 2].map(() => events(server, 'SubscribeToTask', { id: task.id }));
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SubscribeToTask',
      params: { id: task.id },
    });
    const left = await server.fetch(
      new Request('http://localhost/', { method: 'POST', headers: HEADERS, body }),
    );
    await left.body?.cancel();
    for (const word of ['a', 'b', 'c']) {
      speaker.say(word);
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    }
    speaker.finish();
    const [one, other] = await Promise.all(readers);
    const text = one?.flatMap(
      ({ result }) => result.artifactUpdate?.artifact.parts.map((part: any) => part.text) ?? [],
    );
    expect(text?.join('')).toBe('abc');
    expect(other).toEqual(one);
  });
});

describe('the card', () => {
  const card = async (server: A2AServer, headers: Record<string, string> = {}): Promise<Response> =>
    server.fetch(new Request('http://localhost/.well-known/agent-card.json', { headers }));

  test('has what is required, and declares the one interface (CARD-DISC-001, CARD-PROTO-001, -002, CARD-STRUCT-001)', async () => {
    await using server = echoServer();
    expect(await (await card(server)).json()).toEqual({
      name: 'echo',
      description: 'Repeats.',
      version: '1.0.0',
      supportedInterfaces: [{ url: 'http://localhost/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 's', name: 'Echo', description: 'Repeats.' }],
    });
  });

  test('can be cached (CARD-CACHE-001, CARD-CACHE-002)', async () => {
    await using server = echoServer();
    const first = await card(server);
    const etag = first.headers.get('etag') ?? '';
    expect([first.headers.get('cache-control'), etag]).toEqual([
      'public, max-age=60',
      expect.stringMatching(/^"[0-9a-f]{64}"$/) as string,
    ]);
    const again = await card(server, { 'if-none-match': etag });
    expect([again.status, await again.text()]).toEqual([304, '']);
    await using changed = echoServer({ card: { ...CARD, version: '2.0.0' } });
    expect((await card(changed)).headers.get('etag')).not.toBe(etag);
  });

  test('promises only what is there: streams, no webhooks, no extended card (CORE-CAP-001, CORE-CAP-003)', async () => {
    await using server = echoServer();
    const config = { taskId: 't', id: 'c', url: 'https://hook.example' };
    for (const method of [
      'CreateTaskPushNotificationConfig',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
      'DeleteTaskPushNotificationConfig',
    ])
      expect(await codeOf(server, method, config)).toBe(-32003);
    const hooked = { ...says('Hi'), configuration: { taskPushNotificationConfig: config } };
    expect((await send(server, hooked)).error.code).toBe(-32003);
    expect(await codeOf(server, 'GetExtendedAgentCard', {})).toBe(-32004);
    expect(await codeOf(server, 'GetExtendedAgentCard', undefined)).toBe(-32004);
  });
});
