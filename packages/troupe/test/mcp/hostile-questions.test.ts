// Servers that ask at the wrong time, for the wrong tool call, or do not stop asking.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { describe, expect, test } from 'vitest';

import { ReActAgent, Toolkit } from '../../src/index.ts';
import { McpClient, registerMcpClient, type McpAnswer, type McpClientOptions } from '../../src/mcp/index.ts';
import type { ModelCallOptions, ModelRequest } from '../../src/model/chat-model-base.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { parseJson, type JsonObject } from '../../src/util/json.ts';
import { until } from './mcp-servers.ts';

/**
 * A server over stdio that sends a request during the tool call `ask`, and neither answers nor withdraws anything; its tool `pages` is
 * refused until pages were visited.
 */
const STUBBORN = `
const { createInterface } = require('node:readline');
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  if (method === 'initialize')
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
  else if (method === 'tools/list')
    say({ id, result: { tools: ['ask', 'pages'].map((name) => ({ name, inputSchema: { type: 'object' } })) } });
  else if (params.name === 'pages') {
    globalThis.refusals = (globalThis.refusals ?? 0) + 1;
    const { elicitations, times = 1 } = params.arguments;
    if (refusals > times) say({ id, result: { content: [{ type: 'text', text: 'done after ' + times }] } });
    else say({ id, error: { code: -32042, message: 'log in first', data: { elicitations } } });
  } else say({ id: 'q' + id, ...params.arguments });
});
`;

const FORM = {
  method: 'elicitation/create',
  params: {
    message: 'Your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
};
const SAMPLING = {
  method: 'sampling/createMessage',
  params: { maxTokens: 5, messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }] },
};

function stubborn(options: Partial<McpClientOptions> = {}): McpClient {
  const transport = { type: 'stdio', command: process.execPath, args: ['-e', STUBBORN] } as const;
  return new McpClient({ name: 'stubborn', transport, ...options });
}

test('a question is over with its tool call, although the server does not withdraw it', async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  await using client = stubborn();
  const stop = new AbortController();
  const running = client.callTool('ask', FORM, {
    signal: stop.signal,
    onQuestion: (_, { signal }) => {
      asked.resolve(signal);
      return new Promise(() => {});
    },
  });
  const signal = await asked.promise;
  expect(signal.aborted).toBe(false);
  stop.abort(new Error('stop'));
  await expect(running).rejects.toThrow('stop');
  await until(() => signal.aborted);
});

/** A server over stdio that leaves its tool calls `first` without an answer, and asks during `second`, whose result is the answer. */
const LATE = `
const { createInterface } = require('node:readline');
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === 'initialize')
    say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
  else if (method === 'tools/list')
    say({ id, result: { tools: ['first', 'second', 'refused'].map((name) => ({ name, inputSchema: { type: 'object' } })) } });
  else if (params?.name === 'second') {
    globalThis.second = id;
    say({ id: 'late', ...params.arguments });
  } else if (params?.name === 'refused') say({ id, error: { code: -32000, message: 'no' } });
  else if (id === 'late') say({ id: second, result: { content: [{ type: 'text', text: JSON.stringify(result ?? error) }] } });
});
`;

test.each([
  ['stopped', 'first', '{"action":"cancel"}', []],
  ['refused by the server', 'refused', '{"action":"accept","content":{}}', ['Your name?']],
])(
  'over stdio, a question after a tool call that was %s may be a late one',
  async (_, before, answered, seen) => {
    const transport = { type: 'stdio', command: process.execPath, args: ['-e', LATE] } as const;
    await using client = new McpClient({ name: 'late', transport });
    await client.connect();
    const stop = new AbortController();
    const ended = client.callTool(before, {}, { signal: stop.signal }).catch(() => {});
    if (before === 'first') setImmediate(() => stop.abort());
    await ended;
    const asked: string[] = [];
    const onQuestion = ({ message }: { readonly message: string }): McpAnswer => {
      asked.push(message.replace('late asks: ', ''));
      return { action: 'accept' };
    };
    const { content } = await client.callTool('second', FORM, { onQuestion });
    expect([content, asked]).toEqual([answered, seen]);
  },
);

test('a server that uses the model spends what the agent call may spend', async () => {
  const usage = { inputTokens: 30, outputTokens: 10 };
  const transport = { type: 'stdio', command: process.execPath, args: ['-e', LATE] } as const;
  const model = new ScriptedModel([{ text: 'Hello.', usage }]);
  await using client = new McpClient({
    name: 'late',
    transport,
    sampling: { model, approval: 'allow' },
  });
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  const own = new ScriptedModel([
    { toolCalls: [{ name: 'second', input: SAMPLING }], usage },
    { text: 'Done.', usage },
  ]);
  const agent = new ReActAgent({ name: 'Friday', model: own, toolkit, console: false });
  const answer = await agent.call('Go.');
  expect([answer.text, model.requests.length, answer.usage]).toEqual([
    'Done.',
    1,
    { inputTokens: 90, outputTokens: 30 },
  ]);
});

/** A model that answers nothing, and shows the signal of its model call. */
class SilentModel extends ScriptedModel {
  readonly started = Promise.withResolvers<AbortSignal | undefined>();

  constructor() {
    super([{ stall: true }]);
  }

  override stream(
    request: ModelRequest,
    options: ModelCallOptions = {},
  ): ReturnType<ScriptedModel['stream']> {
    this.started.resolve(options.signal);
    return super.stream(request, options);
  }
}

test('the model stops with the tool call for which a server uses it', async () => {
  const model = new SilentModel();
  await using client = stubborn({ sampling: { model, approval: 'allow' } });
  const stop = new AbortController();
  const running = client.callTool('ask', SAMPLING, { signal: stop.signal });
  const signal = await model.started.promise;
  expect(signal?.aborted).toBe(false);
  stop.abort(new Error('stop'));
  await expect(running).rejects.toThrow('stop');
  await until(() => signal?.aborted === true);
});

interface SlowServer extends AsyncDisposable {
  readonly url: string;
  /** Responses of tool calls, which stay open, by the argument `who`. */
  readonly responses: Map<string, ServerResponse>;
  /** Answers to questions, by the id of the question. */
  readonly answers: Map<unknown, unknown>;
}

/** A server of 2025 over HTTP whose tool calls have no end. */
async function slowServer(): Promise<SlowServer> {
  const responses = new Map<string, ServerResponse>();
  const answers = new Map<unknown, unknown>();
  const answer = (response: ServerResponse, body: any): void => {
    const { id, method, params = {}, result } = body;
    const say = (message: object): void => {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
    };
    const serverInfo = { name: 's', version: '1' };
    const { protocolVersion } = params;
    if (method === undefined) answers.set(id, result);
    if (id === undefined || method === undefined) response.writeHead(202).end();
    else if (method === 'initialize')
      say({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
    else if (method === 'tools/list')
      say({ result: { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] } });
    else if (method === 'tools/call') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      responses.set(params.arguments.who, response);
    } else say({ error: { code: -32601, message: 'no such method' } });
  };
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void text(request).then((body) => answer(response, parseJson(body)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${port}/`, responses, answers, [Symbol.asyncDispose]: close };
}

function event(message: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
}

test('a question of a tool call that is over is not put to the person behind another one', async () => {
  await using server = await slowServer();
  await using client = new McpClient({ name: 'slow', transport: { type: 'http', url: server.url } });
  const [stop, end] = [new AbortController(), new AbortController()];
  const asked: string[] = [];
  const call = (who: string, signal: AbortSignal): Promise<unknown> => {
    const onQuestion = (): McpAnswer => {
      asked.push(who);
      return { action: 'accept', content: { name: who } };
    };
    return client.callTool('ask', { who }, { signal, onQuestion }).catch(() => {});
  };
  const ada = call('Ada', stop.signal);
  await until(() => server.responses.has('Ada'));
  stop.abort();
  await ada;
  const bob = call('Bob', end.signal);
  await until(() => server.responses.has('Bob'));
  server.responses.get('Ada')?.write(event({ id: 'late', ...FORM }));
  server.responses.get('Bob')?.write(event({ id: 'own', ...FORM }));
  await until(() => server.answers.size === 2);
  end.abort();
  await bob;
  expect(asked).toEqual(['Bob']);
  expect(server.answers.get('own')).toEqual({ action: 'accept', content: { name: 'Bob' } });
  expect(server.answers.get('late')).toEqual({ action: 'cancel' });
});

describe('a tool call that is refused until a person has been to pages', () => {
  const page = (url: string): JsonObject => ({ mode: 'url', message: 'Log in.', url, elicitationId: url });
  const two = ['https://a.example/', 'https://b.example/'].map(page);

  async function friday(client: McpClient, input: JsonObject): Promise<ReActAgent> {
    const toolkit = new Toolkit();
    await registerMcpClient(toolkit, client);
    const model = new ScriptedModel([{ toolCalls: [{ name: 'pages', input }] }, 'Done.']);
    return new ReActAgent({ name: 'Friday', model, toolkit, console: false });
  }

  async function outputsOf(agent: ReActAgent): Promise<unknown[]> {
    const history = await agent.memory.getMemory();
    return history.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ output }) => output);
  }

  const decide = (agent: ReActAgent, verdict: 'answer' | 'deny') =>
    agent.call(undefined, { decisions: agent.pendingCalls.map(({ id }) => ({ id, verdict })) });

  test('asks for each page, and is repeated once', async () => {
    await using client = stubborn();
    const agent = await friday(client, { elicitations: two });
    await agent.call('Go.');
    for (const url of ['https://a.example/', 'https://b.example/']) {
      expect(agent.pendingCalls.map(({ question }) => question)).toEqual([
        { message: 'stubborn asks: Log in.', url },
      ]);
      await decide(agent, 'answer');
    }
    expect(await outputsOf(agent)).toEqual(['done after 1']);
  });

  test.each<[string, JsonObject, 'answer' | 'deny']>([
    ['is an error when the person declines', { elicitations: two }, 'deny'],
    [
      'is an error when it is refused again',
      { elicitations: [page('https://a.example/')], times: 9 },
      'answer',
    ],
  ])('%s', async (_, input, verdict) => {
    await using client = stubborn();
    const agent = await friday(client, input);
    await agent.call('Go.');
    await decide(agent, verdict);
    expect(await outputsOf(agent)).toEqual([expect.stringContaining('log in first') as string]);
  });

  test.each<[string, JsonObject]>([
    ['pages that may not be shown', { elicitations: [page('http://evil.example/')] }],
    ['what is no page', { elicitations: ['https://a.example/'] }],
    ['no list', { elicitations: 5 }],
  ])('is an error without a question for %s', async (_, input) => {
    await using client = stubborn();
    const agent = await friday(client, input);
    expect((await agent.call('Go.')).text).toBe('Done.');
    expect(await outputsOf(agent)).toEqual([expect.stringContaining('log in first') as string]);
  });
});
