import { request } from 'node:http';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';

import { McpClient, McpServer } from '../../src/mcp/index.ts';
import { findHistoryFaults, ReActAgent, tool, Toolkit } from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';

type Mode = 'auto' | 'legacy';

function tools(): { toolkit: Toolkit; aborted: Promise<void> } {
  const toolkit = new Toolkit();
  const aborted = Promise.withResolvers<void>();
  toolkit.registerToolFunction(tool({ name: 'go', execute: () => 'gone' }));
  toolkit.registerToolFunction(
    tool({
      name: 'hang',
      execute: (_input, { signal, emit }) => {
        emit('hanging');
        signal.addEventListener('abort', () => aborted.resolve());
        return new Promise(() => {});
      },
    }),
  );
  toolkit.createToolGroup('more', { description: 'More.' });
  toolkit.registerToolFunction(tool({ name: 'extra', group: 'more', execute: () => 'extra' }));
  toolkit.registerToolFunction(
    tool({ name: 'unlock', execute: () => toolkit.updateToolGroups(['more'], true) }),
  );
  return { toolkit, aborted: aborted.promise };
}

async function officialClient(url: string, mode: Mode): Promise<Client> {
  const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

test.each<Mode>(['legacy', 'auto'])('calls, progress and cancellation work (%s)', async (mode) => {
  const { toolkit, aborted } = tools();
  await using server = new McpServer(toolkit);
  const client = await officialClient(await server.listen(), mode);
  expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
  expect(await client.callTool({ name: 'go' })).toMatchObject({ content: [{ type: 'text', text: 'gone' }] });
  const stop = new AbortController();
  const hanging = client.callTool({ name: 'hang' }, { signal: stop.signal, onprogress: () => stop.abort() });
  await expect(hanging).rejects.toThrow('aborted');
  await aborted;
  await client.close();
});

test.each<Mode>(['legacy', 'auto'])(
  'two clients that number their requests alike get each their own answers (%s)',
  async (mode) => {
    const toolkit = new Toolkit();
    const schema = { type: 'object', properties: { text: { type: 'string' } } } as const;
    toolkit.registerToolFunction(tool({ name: 'echo', schema, execute: ({ text }) => text }));
    await using server = new McpServer(toolkit);
    const url = await server.listen();
    const clients = await Promise.all([officialClient(url, mode), officialClient(url, mode)]);
    const texts = clients.flatMap((client, i) =>
      Array.from({ length: 30 }, (_, k) => ({ client, text: `${i}-${k}` })),
    );
    const answers = await Promise.all(
      texts.map(({ client, text }) => client.callTool({ name: 'echo', arguments: { text } })),
    );
    expect(answers.map(({ content }) => content)).toEqual(texts.map(({ text }) => [{ type: 'text', text }]));
    await Promise.all(clients.map((client) => client.close()));
  },
);

test('a body that is too large is refused, and not read to its end', async () => {
  await using server = new McpServer(tools().toolkit);
  const url = await server.listen();
  let sent = 0;
  const status = await new Promise<number | undefined>((resolve) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const upload = request(url, { method: 'POST', headers }, (response) => {
      resolve(response.statusCode);
      upload.destroy();
    });
    upload.on('error', () => {});
    const block = 'x'.repeat(2 ** 20);
    const more = (error?: Error | null): void => {
      if (error || sent === 300 || upload.destroyed) return;
      sent++;
      upload.write(block, more);
    };
    upload.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"', more);
  });
  expect(status).toBe(413);
  expect(sent).toBeLessThan(100);
});

test('our client hears of new tools', async () => {
  const { toolkit } = tools();
  await using server = new McpServer(toolkit);
  await using client = new McpClient({
    name: 'ours',
    transport: { type: 'http', url: await server.listen() },
  });
  await client.connect();
  const told = new Promise<void>((resolve) => void client.onToolsChanged(resolve));
  await client.callTool('unlock');
  await told;
  expect(client.tools.map(({ name }) => name)).toContain('extra');
});

test('closing aborts what runs', async () => {
  const { toolkit, aborted } = tools();
  const server = new McpServer(toolkit);
  await using client = new McpClient({
    name: 'ours',
    transport: { type: 'http', url: await server.listen() },
  });
  const closing = Promise.withResolvers<void>();
  const call = client.callTool('hang', {}, { onProgress: () => closing.resolve(server.close()) });
  await expect(call).rejects.toMatchObject({ code: 'mcp_failed' });
  await Promise.all([aborted, closing.promise]);
  await server.close();
});

async function status(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (response) => {
        resolve(response.resume().statusCode);
      },
    )
      .on('error', reject)
      .end('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
  });
}

test("web pages of others, other host names and other people's sessions are turned away", async () => {
  await using server = new McpServer(tools().toolkit);
  const url = await server.listen();
  expect(new URL(url).hostname).toBe('127.0.0.1');
  expect([
    await status(url, { host: 'evil.example' }), // a foreign name that points to this machine
    await status(url, { host: '127.0.0.1.evil.example:80' }),
    await status(url, { origin: 'http://evil.example' }),
    await status(url, { origin: 'null' }),
    await status(url, { 'mcp-session-id': 'guessed' }),
    await status(new URL('/other', url).href, {}),
    await status(url, { host: '%%' }),
  ]).toEqual([403, 403, 403, 403, 404, 404, 400]);
});

test('a handler for another web server answers under the names that it is given', async () => {
  await using server = new McpServer(tools().toolkit, { allowedHosts: ['tools.example'] });
  const ask = async (host: string): Promise<number> => {
    const { status } = await server.fetch(
      new Request(`https://${host}/any/path`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', host },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: '2025-06-18',
            capabilities: {},
            clientInfo: { name: 'x', version: '1' },
          },
        }),
      }),
    );
    return status;
  };
  expect([await ask('tools.example'), await ask('localhost')]).toEqual([200, 403]);
});

test('an agent that is given as a function is a new one for each call', async () => {
  const agents: ReActAgent[] = [];
  const source = (): ReActAgent => {
    const agent = new ReActAgent({ name: 'Friday', sysPrompt: '', model: new ScriptedModel(['hello']) });
    agent.setConsoleOutputEnabled(false);
    agents.push(agent);
    return agent;
  };
  await using server = new McpServer(source, { description: 'A friend.' });
  await using client = new McpClient({
    name: 'ours',
    transport: { type: 'http', url: await server.listen() },
  });
  expect(await client.listTools()).toMatchObject([{ name: 'Friday', description: 'A friend.' }]);
  const before = agents.length;
  const both = await Promise.all([1, 2].map((n) => client.callTool('Friday', { message: `${n}` })));
  expect(both.map(({ content }) => content)).toEqual(['hello', 'hello']);
  expect(agents.length - before).toBe(2);
});

/** Agent with a tool that needs approval. */
function carefulAgent(script: ConstructorParameters<typeof ScriptedModel>[0]): ReActAgent {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(tool({ name: 'remove', execute: () => 'removed' }));
  const permissionPolicy = { decide: () => ({ behavior: 'ask', reason: 'it deletes' }) as const };
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name: 'Friday', sysPrompt: '', model, toolkit, permissionPolicy });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

test('an agent that needs a permission says that nobody can give it here, and goes on with the next client', async () => {
  const remove = (id: string) => ({ toolCalls: [{ name: 'remove', id, input: {} }] });
  const agent = carefulAgent([remove('c1'), remove('c2'), 'Nothing was removed.']);
  await using server = new McpServer(agent);
  await using client = new McpClient({
    name: 'ours',
    transport: { type: 'http', url: await server.listen() },
  });
  await client.connect();
  const answers = await Promise.all(
    ['go', 'go on', 'and?'].map((message) => client.callTool('Friday', { message })),
  );
  const refusal = {
    content: "Friday can't continue: its tool call 'remove' needs an approval, and nobody can give it here.",
    status: 'error',
  };
  expect(answers).toMatchObject([refusal, refusal, { content: 'Nothing was removed.', status: 'ok' }]);
  expect(agent.pendingCalls).toEqual([]);
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  const results = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(results.map(({ id, status }) => [id, status])).toEqual([
    ['c1', 'interrupted'],
    ['c2', 'interrupted'],
  ]);
});

test('an agent whose model has nothing to say is an error', async () => {
  const agent = carefulAgent([{ when: () => true, text: '' }]);
  await using server = new McpServer(agent);
  await using client = new McpClient({
    name: 'ours',
    transport: { type: 'http', url: await server.listen() },
  });
  expect(await client.callTool('Friday', { message: 'go' })).toMatchObject({ status: 'error' });
});
