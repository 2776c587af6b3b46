import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { McpClient, registerMcpClient, removeMcpClient, type McpTransport } from '../../src/mcp/index.ts';
import { Toolkit, type ToolCallResult } from '../../src/index.ts';
import { childrenOf, everythingOverHttp, everythingServer, filesystemServer } from './mcp-servers.ts';

function call(
  toolkit: Toolkit,
  name: string,
  input: Record<string, string | number> = {},
): Promise<ToolCallResult> {
  return toolkit.callToolFunction({ type: 'tool_use', id: '1', name, input });
}

test('the filesystem server reads and writes, and says what a tool does to the world', async () => {
  const root = await mkdtemp(join(tmpdir(), 'mcp-'));
  try {
    await writeFile(join(root, 'a.txt'), 'hello');
    await using client = new McpClient({ name: 'files', transport: filesystemServer(root) });
    const toolkit = new Toolkit();
    await registerMcpClient(toolkit, client, {
      enable: ['read_text_file', 'write_file', 'create_directory'],
      trustHints: true,
    });
    expect(await call(toolkit, 'read_text_file', { path: join(root, 'a.txt') })).toEqual({
      type: 'tool_result',
      id: '1',
      name: 'read_text_file',
      output: 'hello',
      status: 'ok',
      metadata: { structuredContent: { content: 'hello' } },
    });
    await call(toolkit, 'write_file', { path: join(root, 'b.txt'), content: 'bye' });
    expect(await readFile(join(root, 'b.txt'), 'utf8')).toBe('bye');
    expect(await call(toolkit, 'read_text_file', { path: '/etc/passwd' })).toMatchObject({
      status: 'error',
      output: expect.stringContaining('Access denied') as string,
    });
    const hints = ['read_text_file', 'write_file', 'create_directory'].map((name) => {
      const { readOnly, sideEffect } = toolkit.get(name) ?? {};
      return [readOnly, sideEffect];
    });
    const unsure = new Toolkit();
    await registerMcpClient(unsure, client, { enable: ['read_text_file'] });
    expect(unsure.get('read_text_file')).toMatchObject({ readOnly: false, sideEffect: true });
    expect(hints).toEqual([
      [true, false],
      [false, true], // destroys existing files
      [false, false], // can be done twice, and destroys nothing
    ]);
  } finally {
    await rm(root, { recursive: true });
  }
  expect(childrenOf(process.pid)).toEqual([]);
});

async function checkResourcesAndPrompts(client: McpClient): Promise<void> {
  const resources = await client.listResources();
  expect(resources.map(({ name }) => name)).toContain('architecture.md');
  const [first] = await client.readResource(resources[0]?.uri ?? '');
  expect(first).toMatchObject({ type: 'text' });
  const templates = await client.listResourceTemplates();
  const uris = templates.map(({ uriTemplate }) => uriTemplate);
  expect(uris).toContain('demo://resource/dynamic/blob/{resourceId}');
  const [blob] = await client.readResource('demo://resource/dynamic/blob/1');
  expect(blob).toMatchObject({ type: 'file', source: { type: 'base64' } });
  await expect(client.readResource('demo://nowhere')).rejects.toMatchObject({ code: 'mcp_failed' });
  expect((await client.listPrompts()).map(({ name }) => name)).toContain('args-prompt');
  const [msg] = await client.getPrompt('args-prompt', { city: 'Oslo', state: 'Norway' });
  expect(msg).toMatchObject({ name: 'user', role: 'user' });
  expect(msg?.text).toContain('Oslo');
  await expect(client.getPrompt('no-such')).rejects.toMatchObject({ code: 'mcp_failed' });
}

/** Checks for every transport of the official server. */
async function checkAll(transport: McpTransport, stateful: boolean): Promise<void> {
  await using client = new McpClient({ name: 'everything', transport, stateful });
  const toolkit = new Toolkit();
  const names = await registerMcpClient(toolkit, client, {
    preset: { 'get-sum': { b: 40 } },
    postProcess: (call, { output }) => (call.name === 'echo' ? `${JSON.stringify(output)}!` : undefined),
  });
  expect(names).toContain('get-sum');
  const sum = toolkit.getJsonSchemas().find(({ name }) => name === 'get-sum');
  expect(sum?.parameters).toMatchObject({ properties: { a: { type: 'number' } }, required: ['a'] });
  expect(sum?.parameters).not.toHaveProperty('properties.b');
  expect(await call(toolkit, 'get-sum', { a: 2 })).toMatchObject({
    output: 'The sum of 2 and 40 is 42.',
    status: 'ok',
  });
  expect(await call(toolkit, 'echo', { message: 'hi' })).toMatchObject({ output: '"Echo: hi"!' });
  expect(await call(toolkit, 'echo', {})).toMatchObject({ status: 'error' }); // the tool call never leaves the toolkit
  expect(await call(toolkit, 'get-structured-content', { location: 'Chicago' })).toMatchObject({
    output: '{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}',
    metadata: { structuredContent: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 } },
  });
  await checkResourcesAndPrompts(client);
  const image = await client.callTool('get-tiny-image');
  expect(image.content).toMatchObject([
    { type: 'text' },
    { type: 'image', source: { type: 'base64', mediaType: 'image/png' } },
    { type: 'text' },
  ]);
  const stop = new AbortController();
  const onProgress = (text: string): void => stop.abort(new Error(`stopped at ${text}`));
  const long = { duration: 60, steps: 2000 };
  const operation = client.callTool('trigger-long-running-operation', long, {
    signal: stop.signal,
    onProgress,
  });
  await expect(operation).rejects.toThrow('stopped at 1/2000');
  expect(await client.callTool('get-sum', { a: 'x' })).toMatchObject({ status: 'error' });
  expect([client.isConnected, client.isStateful]).toEqual([stateful, stateful]);
  expect(removeMcpClient(toolkit, client)).toEqual(names);
  expect(toolkit.getJsonSchemas()).toEqual([]);
}

describe('the server with everything', () => {
  test('over stdio', async () => {
    await checkAll(everythingServer(), true);
    expect(childrenOf(process.pid)).toEqual([]);
  });

  test('over streamable HTTP, stateful and stateless', async () => {
    await using server = await everythingOverHttp('streamableHttp');
    for (const stateful of [true, false]) await checkAll({ type: 'http', url: server.url }, stateful);
  });

  test('over SSE, stateful and stateless', async () => {
    await using server = await everythingOverHttp('sse');
    for (const stateful of [true, false]) await checkAll({ type: 'sse', url: server.url }, stateful);
    const mistaken = new McpClient({ name: 'everything', transport: { type: 'http', url: server.url } });
    await expect(mistaken.connect()).rejects.toThrow("try the type 'sse'");
  });

  test.each(['streamableHttp', 'sse'] as const)('that was started anew is found again: %s', async (kind) => {
    const first = await everythingOverHttp(kind);
    const type = kind === 'sse' ? 'sse' : 'http';
    await using client = new McpClient({ name: 'everything', transport: { type, url: first.url } });
    expect(await client.callTool('echo', { message: 'hi' })).toMatchObject({ content: 'Echo: hi' });
    const hanging = client.callTool('trigger-long-running-operation', { duration: 60, steps: 1 });
    const outcome = hanging.catch((error: unknown) => error);
    await client.callTool('echo', { message: 'so it has got there' });
    await first.kill();
    expect(await outcome).toMatchObject({ code: 'mcp_failed' }); // at once, or as soon as nobody comes back
    await expect(client.callTool('echo', { message: 'hi' })).rejects.toMatchObject({ code: 'mcp_failed' });
    await using _second = await everythingOverHttp(kind, Number(new URL(first.url).port));
    expect(await client.callTool('echo', { message: 'back' })).toMatchObject({ content: 'Echo: back' });
  });
});
