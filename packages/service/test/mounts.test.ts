// Needs its own process: the packages of the protocols keep timers.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Role, type Message, type Part, type Task } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { SqliteDatabase } from 'troupe/stores/sqlite';
import { expect, onTestFinished, test } from 'vitest';

import { createService, type Service } from '../src/index.ts';
import { Gate, ServiceClient } from './service-client.ts';

const TEXT = 'It has been done, as you said.';
let removals = 0;

function agentWith(gate?: Gate): ReActAgent {
  const sees = (text: string) => (request: { readonly messages: unknown }) =>
    JSON.stringify(request.messages).includes(text);
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([
      { when: sees('Removed it.'), text: TEXT, chunkSize: 4, usage: { inputTokens: 5, outputTokens: 3 } },
      { when: sees('remove'), toolCalls: [{ id: 'call_1', name: 'remove', input: {} }] },
      { when: sees('wait'), toolCalls: [{ id: 'call_2', name: 'wait', input: {} }] },
      { when: () => true, text: 'Hello there!', chunkSize: 3, usage: { inputTokens: 5, outputTokens: 3 } },
    ]),
    tools: [
      tool({
        name: 'remove',
        sideEffect: true,
        execute: () => {
          removals++;
          return 'Removed it.';
        },
      }),
      tool({
        name: 'wait',
        readOnly: true,
        execute: async (_input, { signal }) => {
          await gate?.pass(signal);
          return 'Waited.';
        },
      }),
    ],
    permissionPolicy: {
      decide: ({ tool: { name } }) => (name === 'wait' ? { behavior: 'allow' } : { behavior: 'ask' }),
    },
  });
}

interface Serving extends AsyncDisposable {
  readonly service: Service;
  readonly url: string;
  readonly as: (user: string) => ServiceClient;
}

async function serve(gate?: Gate, limits = {}): Promise<Serving> {
  removals = 0;
  const service = await createService({
    agents: { assistant: { make: () => agentWith(gate), description: 'Helps.' }, other: () => agentWith() },
    auth: (request) => {
      const user = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
      return user === undefined ? undefined : { user };
    },
    limits,
    shutdownMs: 0,
  });
  const as = (user: string): ServiceClient =>
    new ServiceClient(service.fetch, { authorization: `Bearer ${user}` });
  return {
    service,
    url: await service.listen({ port: 0 }),
    as,
    [Symbol.asyncDispose]: () => service.close(),
  };
}

const fetchAs =
  (user: string): typeof fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${user}`);
    return fetch(input, { ...init, headers });
  };

function a2aClient(url: string, user: string) {
  const transports = [new JsonRpcTransportFactory({ fetchImpl: fetchAs(user) })];
  return new ClientFactory({ transports }).createFromUrl(`${url}/a2a/assistant/`);
}

const part = (content: Part['content']): Part => ({
  content,
  mediaType: '',
  filename: '',
  metadata: undefined,
});
const textOf = (parts: readonly Part[] = []): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');

function says(parts: readonly Part[] | string, ids: Partial<Message> = {}) {
  const message: Message = {
    messageId: crypto.randomUUID(),
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: typeof parts === 'string' ? [part({ $case: 'text', value: parts })] : [...parts],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...ids,
  };
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

interface Pending {
  readonly pending: readonly { readonly id: string }[];
}

test('the official client of A2A reads the card, streams, and decides about a pending tool call; each message is a run', async () => {
  await using serving = await serve();
  const card = (await (
    await fetch(`${serving.url}/a2a/assistant/.well-known/agent-card.json`)
  ).json()) as object;
  expect(card).toMatchObject({
    name: 'assistant',
    description: 'Helps.',
    supportedInterfaces: [{ url: `${serving.url}/a2a/assistant` }],
    securitySchemes: { bearer: {} },
  });
  const client = await a2aClient(serving.url, 'anna');
  const pieces: string[] = [];
  let contextId = '';
  for await (const { payload } of client.sendMessageStream(says('Hi.'))) {
    if (payload?.$case === 'artifactUpdate') pieces.push(textOf(payload.value.artifact?.parts));
    if (payload?.$case === 'task') contextId = payload.value.contextId;
  }
  expect(pieces.join('')).toBe('Hello there!');
  const asked = (await client.sendMessage(says('remove it', { contextId }))) as Task;
  const data = asked.status?.message?.parts.find(({ content }) => content?.$case === 'data')?.content;
  const pending = (data?.value as Partial<Pending> | undefined)?.pending ?? [];
  const ids = { taskId: asked.id, contextId };
  const words = (await client.sendMessage(says('yes', ids))) as Task;
  expect([words.status?.state, removals]).toEqual([asked.status?.state, 0]);
  const value = { decisions: pending.map(({ id }) => ({ id, verdict: 'allow' })) };
  const done = (await client.sendMessage(says([part({ $case: 'data', value })], ids))) as Task;
  expect(textOf(done.artifacts.flatMap(({ parts }) => parts))).toBe(TEXT);
  expect(removals).toBe(1);

  const anna = serving.as('anna');
  const runs = (await anna.json('GET', `/api/sessions/${contextId}/runs`)).data;
  expect(runs.map(({ status }: { status: string }) => status)).toEqual(['finished', 'suspended', 'finished']);
  expect(runs[0].usage).toMatchObject({ inputTokens: 5, outputTokens: 3 });
});

test('cancelling a task of A2A interrupts its run', async () => {
  const gate = new Gate();
  await using serving = await serve(gate);
  const client = await a2aClient(serving.url, 'anna');
  const request = says('wait', { contextId: 'c1' });
  const task = (await client.sendMessage({
    ...request,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: 0,
      returnImmediately: true,
    },
  })) as Task;
  await gate.reached;
  await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
  const anna = serving.as('anna');
  const [run] = (await anna.json('GET', '/api/sessions/c1/runs')).data;
  expect(await anna.ended(run.id)).toMatchObject({ status: 'interrupted' });
});

test('tasks of A2A and sessions of MCP belong to their user, and a caller without a token is refused', async () => {
  await using serving = await serve();
  const anna = await a2aClient(serving.url, 'anna');
  const mine = (await anna.sendMessage(says('Hi.', { contextId: 'c1' }))) as Task;
  const eve = await a2aClient(serving.url, 'eve');
  await expect(eve.getTask({ tenant: '', id: mine.id, historyLength: 0 })).rejects.toThrow('not found');
  await eve.sendMessage(says('Hi.', { contextId: 'c1' })); // a conversation of her own
  expect((await serving.as('anna').json('GET', '/api/sessions/c1/runs')).data).toHaveLength(1);
  for (const path of ['/a2a/assistant', '/mcp/assistant']) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    expect((await fetch(serving.url + path, init)).status).toBe(401);
    expect((await fetchAs('anna')(serving.url + path.replace('assistant', 'nobody'), init)).status).toBe(404);
  }

  const handshake = (user: string, session?: string): Promise<Response> =>
    fetchAs(user)(`${serving.url}/mcp/assistant`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body: JSON.stringify(
        session === undefined
          ? {
              jsonrpc: '2.0',
              id: 1,
              method: 'initialize',
              params: {
                protocolVersion: '2025-06-18',
                capabilities: {},
                clientInfo: { name: 'c', version: '1' },
              },
            }
          : { jsonrpc: '2.0', id: 2, method: 'tools/list' },
      ),
    });
  const opened = await handshake('anna');
  await opened.text();
  const session = opened.headers.get('mcp-session-id') ?? '';
  expect(session).not.toBe('');
  expect([(await handshake('anna', session)).status, (await handshake('eve', session)).status]).toEqual([
    200, 404,
  ]);
});

test.each(['legacy', 'auto'] as const)(
  'the official client of MCP calls the agent as a tool, by a run of its user (%s)',
  async (mode) => {
    await using serving = await serve();
    const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
    const url = new URL(`${serving.url}/mcp/assistant`);
    await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchAs('anna') }));
    expect((await client.listTools()).tools).toMatchObject([{ name: 'assistant', description: 'Helps.' }]);
    const snapshots: unknown[] = [];
    const answer = await client.callTool(
      { name: 'assistant', arguments: { message: 'Hi.' } },
      { onprogress: ({ message }) => void snapshots.push(message) },
    );
    expect(answer).toMatchObject({ content: [{ type: 'text', text: 'Hello there!' }] });
    expect(snapshots.length).toBeGreaterThan(0);
    const refused = await client.callTool({ name: 'assistant', arguments: { message: 'remove it' } });
    expect(refused).toMatchObject({ isError: true });
    expect(removals).toBe(0);
    await client.close();
    const { data } = await serving.as('anna').json('GET', '/api/sessions');
    expect(data.map(({ agent }: { agent: string }) => agent)).toEqual(['assistant', 'assistant']);
    expect((await serving.as('eve').json('GET', '/api/sessions')).data).toEqual([]);
  },
);

test('a cancelled tool call of MCP interrupts its run', async () => {
  const gate = new Gate();
  await using serving = await serve(gate);
  const client = new Client({ name: 'official', version: '1' });
  const url = new URL(`${serving.url}/mcp/assistant`);
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchAs('anna') }));
  const stop = new AbortController();
  const calling = client.callTool(
    { name: 'assistant', arguments: { message: 'wait' } },
    { signal: stop.signal },
  );
  await gate.reached;
  stop.abort();
  await expect(calling).rejects.toThrow('aborted');
  const anna = serving.as('anna');
  const [session] = (await anna.json('GET', '/api/sessions')).data;
  const [run] = (await anna.json('GET', `/api/sessions/${session.id}/runs`)).data;
  expect(await anna.ended(run.id)).toMatchObject({ status: 'interrupted' });
  await client.close();
});

test('a conversation of one agent is no conversation of another', async () => {
  await using serving = await serve();
  const anna = serving.as('anna');
  const chat = (agent: string): Promise<Response> =>
    anna.send('POST', `/ag-ui/${agent}`, {
      threadId: 't1',
      runId: crypto.randomUUID(),
      messages: [{ id: 'u1', role: 'user', content: 'Hi.' }],
    });
  const first = await chat('assistant');
  expect([first.status, (await first.text()).includes('RUN_FINISHED')]).toEqual([200, true]);
  expect((await chat('other')).status).toBe(409);
});

test('tasks of A2A survive a restart, and are deleted with their session', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-mounts-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const store = join(dir, 'service.sqlite');
  const options = { agents: { assistant: () => agentWith() }, store, shutdownMs: 0 };
  let task: Task;
  {
    await using service = await createService(options);
    const client = await a2aClient(await service.listen({ port: 0 }), 'local');
    task = (await client.sendMessage(says('remove it', { contextId: 'c1' }))) as Task;
  }
  await using service = await createService(options);
  const client = await a2aClient(await service.listen({ port: 0 }), 'local');
  const found = await client.getTask({ tenant: '', id: task.id, historyLength: 0 });
  expect(found.status?.state).toBe(task.status?.state);
  const database = new SqliteDatabase(store);
  onTestFinished(() => database.close());
  const states = async (): Promise<number> => {
    const rows = await database.query(`SELECT COUNT(*) AS n FROM troupe_sessions`);
    return Number(rows[0]?.['n']);
  };
  expect(await states()).toBe(2);
  await new ServiceClient(service.fetch).json('DELETE', '/api/sessions/c1', undefined, 204);
  expect(await states()).toBe(0);
});
