import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { McpClient, registerMcpClient, removeMcpClient, type McpTransport } from '../../src/mcp/index.ts';
import { ReActAgent, Toolkit, type ToolCallResult } from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import {
  childrenOf,
  everythingOverHttp,
  everythingServer,
  filesystemServer,
  officialServer,
} from './mcp-servers.ts';

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

test('the memory server keeps a graph', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-'));
  try {
    const env = { MEMORY_FILE_PATH: join(folder, 'memory.json') };
    await using client = new McpClient({ name: 'memory', transport: { ...officialServer('memory'), env } });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes trains'] }];
    expect((await client.callTool('create_entities', { entities })).status).toBe('ok');
    const { content, status } = await client.callTool('search_nodes', { query: 'trains' });
    expect([status, JSON.stringify(content).includes('Ada')]).toEqual(['ok', true]);
    expect(await readFile(env.MEMORY_FILE_PATH, 'utf8')).toContain('likes trains');
    const [graph] = await client.readResource('memory://knowledge-graph');
    expect(JSON.stringify(graph)).toContain('likes trains');
    expect(await client.listPrompts()).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the sequential thinking server counts its steps, and has a complete schema', async () => {
  await using client = new McpClient({ name: 'thinking', transport: officialServer('sequential-thinking') });
  const toolkit = new Toolkit();
  expect(await registerMcpClient(toolkit, client)).toEqual(['sequentialthinking']);
  const thought = { thought: 'First.', thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: 'true' };
  const { output, status } = await call(toolkit, 'sequentialthinking', thought);
  expect(status).toBe('ok');
  expect(JSON.stringify(output)).toContain('thoughtHistoryLength');
  expect(await call(toolkit, 'sequentialthinking', { thought: 'First.' })).toMatchObject({ status: 'error' });
});

test('the everything server asks with every kind of field, and uses the model', async () => {
  const model = new ScriptedModel(['A model said so.']);
  await using client = new McpClient({
    name: 'everything',
    transport: everythingServer(),
    sampling: { model, approval: 'allow' },
  });
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  const script = [{ toolCalls: [{ name: 'trigger-elicitation-request', input: {} }] }, 'Thanks.'];
  const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(script), toolkit, console: false });
  await agent.call('Ask me.');
  const [pending] = agent.pendingCalls;
  const fields = pending?.question?.schema?.['properties'] ?? {};
  expect(Object.keys(fields).length).toBeGreaterThan(8);
  const decisions = [{ id: pending?.id ?? '', verdict: 'answer', answer: { name: 'Ada' } } as const];
  expect((await agent.call(undefined, { decisions })).text).toBe('Thanks.');
  const history = await agent.memory.getMemory();
  const [result] = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(JSON.stringify(result?.output)).toContain('Ada');
  const sampled = await client.callTool('trigger-sampling-request', { prompt: 'Well?', maxTokens: 20 });
  expect(JSON.stringify(sampled.content)).toContain('A model said so.');
  expect(model.requests).toMatchObject([{ generation: { maxTokens: 20 } }]);
});

test('over HTTP, a server of 2025 with several tool calls at once gets each answer for its own', async () => {
  await using server = await everythingOverHttp('streamableHttp');
  await using client = new McpClient({ name: 'everything', transport: { type: 'http', url: server.url } });
  const ask = async (name: string): Promise<string> => {
    const onQuestion = () => ({ action: 'accept', content: { name } }) as const;
    const { content } = await client.callTool('trigger-elicitation-request', {}, { onQuestion });
    return JSON.stringify(content);
  };
  const names = ['Ada', 'Bob', 'Cyd'];
  const answers = await Promise.all(names.map(ask));
  expect(answers).toEqual(names.map((name) => expect.stringContaining(name) as string));
});
