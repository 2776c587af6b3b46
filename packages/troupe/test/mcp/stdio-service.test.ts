import { Client, type CallToolResult } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { McpClient } from '../../src/mcp/index.ts';
import { childrenOf, ownServer, plainServer, until } from './mcp-servers.ts';

/** The official client, with our server as its child process. */
class Official {
  readonly client: Client;
  stderr = '';
  readonly #transport: StdioClientTransport;

  constructor(what: string, mode: 'auto' | 'legacy' = 'legacy') {
    const { command, args = [], env = {} } = ownServer('own-server.ts', what);
    this.#transport = new StdioClientTransport({ command, args: [...args], env: { ...env }, stderr: 'pipe' });
    this.#transport.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
  }

  connect(): Promise<void> {
    return this.client.connect(this.#transport);
  }

  /** Whether the server has ended without a signal. */
  async close(): Promise<boolean> {
    await this.client.close();
    return this.stderr.endsWith('served\n') && childrenOf(process.pid).length === 0;
  }
}

const text = (value: string): object => ({ content: [{ type: 'text', text: value }] });

async function checkProgressAndCancellation(client: Client): Promise<void> {
  expect(await client.callTool({ name: 'count' })).toMatchObject(text('one, two'));
  const stop = new AbortController();
  const progress: unknown[] = [];
  const onprogress = (one: unknown): void => {
    progress.push(one);
    stop.abort();
  };
  const hanging = client.callTool({ name: 'hang' }, { signal: stop.signal, onprogress });
  await expect(hanging).rejects.toThrow('aborted');
  expect(progress).toEqual([{ progress: 1, message: 'hanging' }]);
  await until(async () => JSON.stringify(await client.callTool({ name: 'aborted' })).includes('hang'));
}

describe('a toolkit, as the official client sees it', () => {
  const official = new Official('tools');
  const { client } = official;
  beforeAll(() => official.connect());
  afterAll(() => official.close());

  test('introduces itself', () => {
    expect([client.getServerVersion(), client.getInstructions()]).toEqual([
      { name: 'ours', version: '2' },
      'Be kind.',
    ]);
  });

  test('shows the tools that are active, and what they do to the world', async () => {
    const { tools } = await client.listTools();
    const names = ['add', 'count', 'hang', 'aborted', 'print', 'fail', 'media', 'unlock'];
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect(tools[0]).toMatchObject({
      name: 'add',
      description: 'Adds.',
      inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
      annotations: { readOnlyHint: true },
    });
    expect(tools[1]?.annotations).toEqual({ idempotentHint: false });
  });

  test('answers with results, media and failures', async () => {
    const call = (name: string, args = {}): Promise<CallToolResult> =>
      client.callTool({ name, arguments: args });
    expect(await call('add', { a: 1, b: '2' })).toEqual(text('3'));
    expect(await call('fail')).toEqual({ ...text('Error: no luck'), isError: true });
    expect(await call('add', { a: 'x' })).toMatchObject({ isError: true });
    expect(await call('nonsense')).toMatchObject({ isError: true });
    expect(await call('media')).toEqual({
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', mimeType: 'image/png', data: 'aGk=' },
        { type: 'resource_link', name: 'image-3', uri: 'https://pictures.example/a.png' },
        { type: 'resource', resource: { uri: 'attachment:a%20b.txt', mimeType: 'text/plain', blob: 'aGk=' } },
      ],
    });
  });

  test('tells snapshots as progress, and aborts a call that is cancelled', () =>
    checkProgressAndCancellation(client));

  test('output that a tool prints does not get into the protocol', async () => {
    const errors: Error[] = [];
    client.onerror = (error) => void errors.push(error);
    client.fallbackNotificationHandler = async ({ method }) => void errors.push(new Error(method));
    expect(await client.callTool({ name: 'print' })).toEqual(text('printed'));
    await until(() => official.stderr.includes('no protocol at all'));
    expect(errors).toEqual([]);
  });

  test('tells that the list has changed in a call', async () => {
    const changed = Promise.withResolvers<void>();
    client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve());
    await client.callTool({ name: 'unlock' });
    await changed.promise;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('extra');
    expect(await client.callTool({ name: 'extra' })).toEqual(text('extra'));
  });

  test('ends with its input', async () => {
    expect(await official.close()).toBe(true);
  });
});

test('a client of the newest protocol can do the same', async () => {
  const official = new Official('tools', 'auto');
  await official.connect();
  expect(official.client.getProtocolEra()).toBe('modern');
  await checkProgressAndCancellation(official.client);
  expect(await official.close()).toBe(true);
});

test('an agent is a tool that takes a message, streams, can be cancelled, and goes on', async () => {
  const official = new Official('agent');
  await official.connect();
  const { client } = official;
  const { tools } = await client.listTools();
  expect(tools).toMatchObject([
    { name: 'Mr__Friday', inputSchema: { properties: { message: { type: 'string' } } } },
  ]);
  const say = (message: string, options?: Parameters<Client['callTool']>[1]): Promise<CallToolResult> =>
    client.callTool({ name: 'Mr__Friday', arguments: { message } }, options);
  const seen: string[] = [];
  const onprogress = ({ message = '' }): void => void seen.push(message);
  const answer = 'It is three, of course.';
  expect(await say('How much is 1 + 2?', { onprogress })).toEqual(text(answer));
  expect(seen.filter((one) => one !== 'Let me see.' && !answer.startsWith(one))).toEqual([]);
  const stop = new AbortController();
  const stalled = say('And now?', {
    signal: stop.signal,
    onprogress: ({ message }) => stop.abort(new Error(`aborted at: ${message}`)),
  });
  await expect(stalled).rejects.toThrow('aborted at: Wait');
  expect(await say('Are you there?')).toEqual(text('I am still here.'));
  expect(await official.close()).toBe(true);
});

test('our client speaks to a server that knows only the newest protocol', async () => {
  await using client = new McpClient({ name: 'modern', transport: plainServer('modern-server.ts') });
  expect(await client.callTool('go')).toMatchObject({ content: 'gone', status: 'ok' });
});
