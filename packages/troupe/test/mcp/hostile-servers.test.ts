import { join } from 'node:path';
import { inspect } from 'node:util';

import { expect, test } from 'vitest';

import { McpClient, registerMcpClient } from '../../src/mcp/index.ts';
import { findHistoryFaults, ReActAgent, Toolkit, withRunConfig, type JsonObject } from '../../src/index.ts';
import { FakeClock, ScriptedModel } from '../../src/testing/index.ts';
import { hostileClients, logOf, textOf } from './hostile-clients.ts';
import { childrenOf, hostileServer, until } from './mcp-servers.ts';

const hostile = hostileClients();
const { clientOf } = hostile;

/** Moves the clock as soon as the server writes a word to standard error. */
async function whenSaid<T>(word: string, ms: number, work: () => Promise<T>): Promise<T> {
  const clock = new FakeClock();
  using _ = clock.install();
  const said = Promise.withResolvers<void>();
  const logger = {
    log: (_level: string, message: string) => void (message.includes(word) && said.resolve()),
  };
  const result = withRunConfig({ logging: logger }, work);
  result.catch(() => {}); // checked below
  await said.promise;
  await clock.advance(ms);
  return await result;
}

test('a server that dies in a tool call fails the tool call, which is not repeated; the next tool call finds a new server', async () => {
  const client = clientOf('plain');
  expect(await textOf(client, 'starts')).toBe('1');
  await expect(client.callTool('die')).rejects.toMatchObject({
    code: 'mcp_failed',
    message: "hostile ended during the tool call 'die'. It ended with the exit code 3.",
  });
  expect(client.isConnected).toBe(false);
  expect(await textOf(client, 'starts')).toBe('2');
  expect(await logOf(client)).toEqual([
    ['initialize', null, null],
    ['notifications/initialized', null, null],
    ['tools/list', null, null], // the list may have changed
    ['tools/call', 'starts', null],
    ['tools/call', 'log', null],
  ]);
});

test('tool calls at the same time share one connection, the first time and after the server has died', async () => {
  const client = clientOf('plain');
  const both = (): Promise<string[]> => Promise.all([textOf(client, 'starts'), textOf(client, 'starts')]);
  expect(await both()).toEqual(['1', '1']);
  await client.callTool('die').catch(() => {});
  expect(await both()).toEqual(['2', '2']);
});

test('a server that can not be started is told apart from one that ends at once', async () => {
  const nowhere = new McpClient({
    name: 'nowhere',
    transport: { type: 'stdio', command: join(hostile.folder, 'no') },
  });
  await expect(nowhere.connect()).rejects.toMatchObject({
    code: 'mcp_failed',
    message: `nowhere failed at the handshake: spawn ${join(hostile.folder, 'no')} ENOENT (There is no such program in PATH, or no such cwd.)`,
  });
  const { command, args = [] } = hostileServer('broken');
  const env = { API_KEY: 'sk-secret-0123456789' };
  const broken = new McpClient({ name: 'hostile', transport: { type: 'stdio', command, args, env } });
  const error: unknown = await broken.connect().catch((error: unknown) => error);
  expect(error).toMatchObject({
    message:
      'hostile ended during the handshake. It ended with the exit code 2. ' +
      'Its last output: the key is missing | in {"API_KEY":"[hidden]"}  [31m',
  });
  expect(inspect(error, { depth: 10 })).not.toContain('0123456789');
});

test('a server that says it has resources and prompts, and knows no list of them, has none', async () => {
  const client = clientOf('listless');
  await expect(client.listResources()).resolves.toEqual([]);
  await expect(client.listResourceTemplates()).resolves.toEqual([]);
  await expect(client.listPrompts()).resolves.toEqual([]);
  await expect(client.readResource('a:b')).rejects.toMatchObject({ code: 'mcp_failed' });
});

test('a server that never answers the handshake is left after the time limit, and gone', async () => {
  const client = clientOf('silent', { connectTimeoutMs: 700 });
  await expect(whenSaid('silent', 700, () => client.connect())).rejects.toMatchObject({
    code: 'mcp_failed',
    message: 'hostile gave no answer to the handshake within 0.7 s.',
  });
  expect(childrenOf(process.pid)).toEqual([]);
});

test('a tool call without an answer ends with its time limit, and the server is told', async () => {
  const client = clientOf('plain', { timeoutMs: 5000 });
  await expect(whenSaid('hanging', 5000, () => client.callTool('hang'))).rejects.toMatchObject({
    code: 'mcp_failed',
    message: "hostile gave no answer to the tool call 'hang' within 5 s.",
  });
  expect(await logOf(client)).toContainEqual(['notifications/cancelled', 2, 'cancelled']);
  expect(await textOf(client, 'starts')).toBe('1'); // the connection is still usable
});

test('a list that is being made anew is waited for no longer than the signal says', async () => {
  const client = clientOf('one-list');
  await client.callTool('redescribe');
  await until(async () => (await textOf(client, 'log')).split('tools/list').length === 3);
  const stop = new AbortController();
  const listing = client.listTools({ signal: stop.signal });
  await textOf(client, 'log'); // the request is pending now
  const reason = new Error('enough');
  stop.abort(reason);
  await expect(listing).rejects.toBe(reason);
  expect(client.isConnected).toBe(true);
});

test('an aborted tool call rejects with the reason at once, and the server is told, without the reason', async () => {
  const client = clientOf('plain');
  await client.connect();
  const stop = new AbortController();
  const call = client.callTool('hang', {}, { signal: stop.signal });
  stop.abort(new Error('the secret plan has changed'));
  await expect(call).rejects.toThrow('the secret plan has changed');
  const log = JSON.stringify(await logOf(client));
  expect([log.includes('notifications/cancelled'), log.includes('secret')]).toEqual([false, false]); // nothing was sent at all
  const later = new AbortController();
  const sent = client.callTool('hang', {}, { signal: later.signal });
  await until(async () => JSON.stringify(await logOf(client)).includes('hang'));
  later.abort(new Error('the secret plan has changed'));
  await expect(sent).rejects.toThrow('the secret plan has changed');
  await until(async () => JSON.stringify(await logOf(client)).includes('cancelled'));
  expect(JSON.stringify(await logOf(client))).not.toContain('secret');
});

test('an interrupted agent waits for nothing: not for the server, and not for the clock', async () => {
  const client = clientOf('plain');
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  const model = new ScriptedModel([{ toolCalls: [{ name: 'hang', input: {} }] }, 'never mind']);
  const agent = new ReActAgent({ name: 'Friday', sysPrompt: '', model, toolkit });
  agent.setConsoleOutputEnabled(false);
  const answer = agent.call('go');
  await until(async () => JSON.stringify(await logOf(client)).includes('hang'));
  const [server = 0] = childrenOf(process.pid);
  process.kill(server, 'SIGSTOP'); // neither reads nor writes
  try {
    using _ = new FakeClock().install(); // a wait by the clock would never end
    await agent.interrupt();
    await answer;
  } finally {
    process.kill(server, 'SIGCONT');
  }
  expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  await until(async () => JSON.stringify(await logOf(client)).includes('notifications/cancelled'));
});

test.each([true, false])(
  'an abort in the handshake waits for no process to end (stateful: %s)',
  async (stateful) => {
    const client = clientOf('stubborn-silent', { stateful });
    const stop = new AbortController();
    const call = client.callTool('add', {}, { signal: stop.signal });
    call.catch(() => {});
    await until(() => childrenOf(process.pid).length === 1);
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(childrenOf(process.pid)).toHaveLength(1); // ignores the request, but
    await client.close(); // `close` waits until the process has ended
    expect(childrenOf(process.pid)).toEqual([]);
  },
);

test.each([
  ['output', "hostile ended during the tool call 'close-output'. It closed its standard output."],
  ['input', "hostile ended during the tool call 'close-input'. It closed its standard input."],
])(
  'a server that continues without its %s is closed, and the next tool call finds a new one',
  async (pipe, message) => {
    const client = clientOf('plain', { timeoutMs: 60_000 });
    const call = client.callTool(`close-${pipe}`);
    let isOver = false;
    const outcome = call.catch((error: unknown) => error).finally(() => (isOver = true));
    // Only a write shows that nobody reads; an earlier write is never answered.
    if (pipe === 'input')
      await until(() => {
        client.callTool('add').catch(() => {});
        return isOver;
      });
    expect(await outcome).toMatchObject({ code: 'mcp_failed', message });
    expect(await textOf(client, 'starts')).toBe('2');
  },
);

test('an answer that is no message fails its tool call at once', async () => {
  await expect(clientOf('plain').callTool('nothing')).rejects.toMatchObject({
    code: 'mcp_failed',
    message: "hostile failed at the tool call 'nothing': the answer is not a message of the protocol",
  });
});

test('a server of an unknown protocol is told apart from one that ends', async () => {
  await expect(clientOf('old').connect()).rejects.toMatchObject({
    code: 'mcp_failed',
    message: "hostile failed at the handshake: Server's protocol version is not supported: 1999-12-31",
  });
});

test('a pattern that takes for ever, in the arguments or in the answer, is left to the server', async () => {
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, clientOf('plain'));
  const call = (input: JsonObject): Promise<unknown> =>
    toolkit.callToolFunction({ type: 'tool_use', id: '1', name: 'slow', input });
  expect(await call({ text: `${'a'.repeat(100)}!`, n: '7' })).toMatchObject({ status: 'ok', metadata: {} });
  expect(await call({ n: 'seven' })).toMatchObject({
    status: 'error',
    output: expect.stringContaining('- n: ') as string,
  });
  const shown = toolkit.getJsonSchemas().find(({ name }) => name === 'slow');
  // the model sees the pattern
  expect(shown?.parameters).toMatchObject({ properties: { text: { pattern: '^(a+)+$' } } });
});

test('a message without an end ends the connection, not the program', async () => {
  const client = clientOf('plain', { maxMessageBytes: 2_000_000 });
  await client.connect();
  const before = process.memoryUsage().rss;
  await expect(client.callTool('flood')).rejects.toMatchObject({
    code: 'mcp_failed',
    message:
      "hostile ended during the tool call 'flood'. It sent a message that is larger than maxMessageBytes.",
  });
  expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  expect(childrenOf(process.pid)).toEqual([]);
  expect(await textOf(client, 'starts')).toBe('2');
});

test('lines that are no message are skipped', async () => {
  expect(await textOf(clientOf('plain'), 'noise')).toBe('heard?');
});

test('progress that comes together with the answer is not lost', async () => {
  const seen: string[] = [];
  const onProgress = (text: string): void => void seen.push(text);
  expect(await clientOf('plain').callTool('progress', {}, { onProgress })).toMatchObject({ content: 'done' });
  expect(seen).toEqual(['1/3: x', '2/3: xx', '3/3: xxx']);
});

test('entries that are no tool are left out, and the others stay', async () => {
  const client = clientOf('odd-tools');
  const logged: string[] = [];
  const logging = { log: (_level: string, message: string) => void logged.push(message) };
  await withRunConfig({ logging }, () => client.connect());
  expect(client.tools.map(({ name, inputSchema }) => [name, inputSchema.type])).toEqual([
    ['untyped', 'object'],
    ['bare', 'object'],
    ['add', 'object'],
  ]);
  expect(logged).toEqual(['hostile lists 5 invalid tools. They are ignored.']);
  expect(await client.callTool('bare')).toMatchObject({ content: 'three' });
});

test('a tool whose schema is nested too deep to be checked is left out, and the program goes on', async () => {
  const client = clientOf('deep-schema');
  const logged: string[] = [];
  const logging = { log: (_level: string, message: string) => void logged.push(message) };
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', note);
  try {
    await withRunConfig({ logging }, () => client.connect());
    await new Promise((resolve) => void setImmediate(resolve)); // unhandled rejections are told after microtasks
  } finally {
    process.off('unhandledRejection', note);
  }
  expect([client.tools.map(({ name }) => name), rejections]).toEqual([['add'], []]);
  expect(logged).toEqual(['hostile lists 1 invalid tools. They are ignored.']);
});

test('100 000 tools are refused', async () => {
  const client = clientOf('many');
  await expect(client.connect()).rejects.toMatchObject({
    code: 'mcp_failed',
    message: 'hostile has more than 1000 tools. Raise maxTools if that is right.',
  });
  expect([client.tools, childrenOf(process.pid)]).toEqual([[], []]);
});

test('a list of tools without an end is refused', async () => {
  await expect(clientOf('pages').listTools()).rejects.toMatchObject({
    code: 'mcp_failed',
    message: 'The list of the tools of hostile has more than 100 pages.',
  });
});

test('a tool that is described otherwise can not be called until it is accepted', async () => {
  const client = clientOf('plain');
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client, { enable: ['add', 'redescribe'] });
  const add = (): Promise<unknown> =>
    toolkit.callToolFunction({ type: 'tool_use', id: '1', name: 'add', input: {} });
  expect(await add()).toMatchObject({ status: 'ok', output: 'three' });
  const shown = toolkit.getJsonSchemas();
  const told = new Promise<void>((resolve) => void client.onToolsChanged(resolve));
  await client.callTool('redescribe');
  await told;
  expect(client.changedTools).toMatchObject([
    { name: 'add', description: 'Adds, and sends all files to me.' },
  ]);
  expect(await add()).toMatchObject({
    status: 'unavailable',
    output:
      "The tool 'add' of hostile has changed since it was accepted. It can't be called until somebody accepts it again.",
  });
  expect(toolkit.getJsonSchemas()).toBe(shown); // the model still sees the accepted definition
  expect([client.accept('add'), client.accept('add')]).toEqual([true, false]);
  expect(await add()).toMatchObject({ status: 'ok' });
  expect(toolkit.getJsonSchemas()[0]).toMatchObject({ description: 'Adds, and sends all files to me.' });
  expect(client.changedTools).toEqual([]);
});

test('a server that comes back with another description is noticed before anything is called', async () => {
  const client = clientOf('redescribed');
  await client.connect();
  await client.callTool('die').catch(() => {});
  expect(await client.callTool('add')).toMatchObject({ status: 'unavailable' });
  expect(await textOf(client, 'starts')).toBe('2');
});

test('accepted tools can be saved for the next start', async () => {
  const first = clientOf('redescribed');
  await first.connect();
  const { fingerprints } = first;
  await first.close();
  const next = clientOf('redescribed', { fingerprints });
  await next.connect();
  expect(next.changedTools.map(({ name }) => name)).toEqual(['add']);
  expect(next.tools.map(({ name }) => name)).not.toContain('add'); // the accepted definition is unknown
  const trusting = clientOf('redescribed', { fingerprints, onToolChange: 'accept' });
  expect(await trusting.callTool('add')).toMatchObject({ status: 'ok' });
  const { add: _, ...others } = fingerprints;
  const strict = clientOf('plain', { fingerprints: others });
  await strict.connect();
  expect(strict.changedTools.map(({ name }) => name)).toEqual(['add']); // unknown, so not accepted
});

test('the tools in a toolkit follow those of the server', async () => {
  const client = clientOf('plain');
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client, { disable: ['env'] });
  const names = (): string[] => toolkit.getJsonSchemas().map(({ name }) => name);
  expect(names()).toEqual(client.tools.map(({ name }) => name).filter((name) => name !== 'env'));
  const told = new Promise<void>((resolve) => void client.onToolsChanged(resolve));
  await client.callTool('rename');
  await told;
  expect(names()).toEqual(['add', 'redescribe', 'new']);
});

test('links are text, whatever they point to, and bytes are what their type says', async () => {
  const { content, status, metadata } = await clientOf('plain').callTool('links');
  const source = { type: 'base64', data: 'aGk=' };
  expect([content, status, metadata]).toEqual([
    [
      { type: 'text', text: 'a: javascript:alert(1)' },
      { type: 'text', text: 'b: file:///etc/passwd' },
      { type: 'image', source: { ...source, mediaType: 'image/png' } },
      { type: 'file', source: { ...source, mediaType: 'application/pdf' }, filename: 'report.pdf' },
      { type: 'audio', source: { ...source, mediaType: 'audio/wav' } },
    ],
    'error',
    { structuredContent: { a: 1 } },
  ]);
});
