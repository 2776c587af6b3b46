import { afterEach, beforeEach, expect, test } from 'vitest';

import { TroupeError } from '../../errors.ts';
import { tool } from '../../toolkit/tool/tool.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import type { JsonSchema } from '../../util/schema.ts';
import { McpClient } from './mcp-client.ts';
import { McpServer } from '../server/mcp-server.ts';
import { registerMcpClient, removeMcpClient } from './register-mcp-client.ts';

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string' }, mode: { type: 'string' } },
} as const;

let server: McpServer;
let remote: Toolkit;
let client: McpClient;
let toolkit: Toolkit;

beforeEach(async () => {
  remote = new Toolkit();
  for (const name of ['read', 'write', 'list']) {
    remote.registerToolFunction(
      tool({ name, schema: SCHEMA, execute: (input) => `${name} ${JSON.stringify(input)}` }),
    );
  }
  server = new McpServer(remote);
  client = new McpClient({ name: 'files', transport: { type: 'http', url: await server.listen() } });
  toolkit = new Toolkit();
});

afterEach(async () => {
  await client.close();
  await server.close();
});

const names = (): string[] => toolkit.getJsonSchemas().map(({ name }) => name);
const outputOf = async (name: string, input = {}): Promise<unknown> =>
  (await toolkit.callToolFunction({ type: 'tool_use', id: '1', name, input })).output;

test('connects the client, and adds its tools to a group', async () => {
  toolkit.createToolGroup('disk', { description: 'Files.' });
  expect(await registerMcpClient(toolkit, client, { group: 'disk' })).toEqual(['read', 'write', 'list']);
  expect([client.isConnected, names()]).toEqual([true, []]);
  toolkit.updateToolGroups(['disk'], true);
  expect(names()).toEqual(['read', 'write', 'list']);
});

test('presets apply to the named tool only', async () => {
  await registerMcpClient(toolkit, client, { preset: { read: { mode: 'fast' } }, disable: ['write'] });
  expect(names()).toEqual(['read', 'list']);
  expect(toolkit.getJsonSchemas()[0]?.parameters['properties']).toEqual({ path: { type: 'string' } });
  expect(await outputOf('read', { path: 'a', mode: 'slow' })).toBe('read {"path":"a","mode":"fast"}');
  expect(await outputOf('list', { mode: 'slow' })).toBe('list {"mode":"slow"}');
});

test('a taken name gets the server name as prefix, so that no tool replaces another', async () => {
  toolkit.registerToolFunction(tool({ name: 'read', execute: () => 'mine' }));
  expect(await registerMcpClient(toolkit, client)).toEqual(['files__read', 'write', 'list']);
  expect([await outputOf('read'), await outputOf('files__read')]).toEqual(['mine', 'read {}']);
  await using twin = new McpClient({
    name: 'files',
    transport: { type: 'http', url: await server.listen() },
  });
  const [, second] = await registerMcpClient(toolkit, twin);
  expect(second).toBe('files__write');
  expect(removeMcpClient(toolkit, client)).toEqual(['files__read', 'write', 'list']);
  expect(names()).toEqual([
    'read',
    expect.stringMatching(/^files__read_[0-9a-f]{8}$/),
    'files__write',
    'files__list',
  ]);
});

test('however many clients have one name, their tools have names of their own', async () => {
  const clients = await Promise.all(
    [1, 2, 3, 4, 5].map(async () => {
      const transport = { type: 'http', url: await server.listen() } as const;
      return new McpClient({ name: 'files', transport });
    }),
  );
  const given = [];
  for (const one of clients) given.push(...(await registerMcpClient(toolkit, one, { enable: ['read'] })));
  expect(given.slice(0, 2)).toEqual(['read', 'files__read']);
  expect(new Set(given).size).toBe(5);
  for (const name of given) expect(await outputOf(name)).toBe('read {}');
  for (const [i, one] of clients.entries()) expect(removeMcpClient(toolkit, one)).toEqual([given[i]]);
  expect(names()).toEqual([]);
  await Promise.all(clients.map((one) => one.close()));
});

test.each([
  ['raise', undefined],
  ['skip', ['read', 'write', 'list']],
  ['override', ['read', 'write', 'list']],
  ['rename', ['read', 'read_2', 'write', 'list']],
] as const)('namesakes: %s', async (namesakeStrategy, expected) => {
  toolkit.registerToolFunction(tool({ name: 'read', execute: () => 'mine' }));
  const done = registerMcpClient(toolkit, client, { namesakeStrategy });
  if (expected === undefined) {
    await expect(done).rejects.toThrow("There is a tool 'read' already.");
    expect(names()).toEqual(['read']);
    return;
  }
  await done;
  expect(names()).toEqual(expected);
  expect(await outputOf('read')).toBe(namesakeStrategy === 'override' ? 'read {}' : 'mine');
  removeMcpClient(toolkit, client);
  // only tools of the client are removed
  expect(names()).toEqual(namesakeStrategy === 'override' ? [] : ['read']);
});

test('all or nothing', async () => {
  toolkit.registerToolFunction(tool({ name: 'list', execute: () => 'mine' }));
  await expect(registerMcpClient(toolkit, client, { namesakeStrategy: 'raise' })).rejects.toThrow(
    TroupeError,
  );
  expect(names()).toEqual(['list']);
  await registerMcpClient(toolkit, client); // registering again works
});

test.each([
  [{ enable: ['read'], disable: ['read', 'list'] }, "A tool can't be both enabled and disabled: read."],
  [{ enable: ['reed'] }, "files has no tool 'reed'."],
  [{ preset: { reed: {} } }, "files has no tool 'reed'."],
  [{ preset: { read: { nonsense: 1 } } }, "The tool 'read' has no argument 'nonsense' that could be preset."],
  [{ group: 'nowhere' }, "There is no tool group 'nowhere'."],
])('a mistake is an error, and nothing is added: %j', async (options, problem) => {
  await expect(registerMcpClient(toolkit, client, options)).rejects.toThrow(problem);
  expect(names()).toEqual([]);
});

test('a client is in a toolkit once, and may be in several', async () => {
  const both = [registerMcpClient(toolkit, client), registerMcpClient(toolkit, client)];
  const [, second] = await Promise.allSettled(both);
  expect(second).toMatchObject({ reason: { message: 'The tools of files are in this toolkit already.' } });
  await registerMcpClient(new Toolkit(), client);
  removeMcpClient(toolkit, client);
  expect(removeMcpClient(toolkit, client)).toEqual([]);
  await registerMcpClient(toolkit, client);
});

test('a closed client says what to do', async () => {
  await client.connect();
  await client.close();
  await expect(registerMcpClient(toolkit, client)).rejects.toThrow(
    'files was closed. Call connect() to use it again.',
  );
});

test('a tool removed by the program stays removed, and a replacement is not touched', async () => {
  await registerMcpClient(toolkit, client);
  toolkit.removeToolFunction('read');
  toolkit.registerToolFunction(tool({ name: 'list', execute: () => 'mine' }), {
    namesakeStrategy: 'override',
  });
  remote.registerToolFunction(
    tool({
      name: 'unlock',
      execute: () => void remote.registerToolFunction(tool({ name: 'copy', execute: () => '' })),
    }),
  );
  remote.removeToolFunction('write');
  const told = new Promise<void>((resolve) => void client.onToolsChanged(resolve));
  await client.close();
  await client.connect();
  await told;
  expect(names()).toEqual(['list', 'unlock']);
  removeMcpClient(toolkit, client);
  expect(names()).toEqual(['list']);
});

test('a tool that no model can be shown is left out', async () => {
  const schemas = remote.getJsonSchemas();
  let deep: JsonSchema = { type: 'string' };
  for (let i = 0; i < 100; i++) deep = { type: 'object', properties: { a: deep } };
  remote.getJsonSchemas = () => [{ name: 'bad', parameters: deep }, ...schemas];
  expect(await registerMcpClient(toolkit, client)).toEqual(['read', 'write', 'list']);
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['bad', 'read', 'write', 'list']);
});

test('one tool can be had without the others', async () => {
  toolkit.registerToolFunction(await client.getTool('read'));
  expect(await outputOf('read', { path: 'a' })).toBe('read {"path":"a"}');
  await expect(client.getTool('reed')).rejects.toThrow("files has no tool 'reed'.");
});

test('a limit of time is that of a call', async () => {
  remote.registerToolFunction(tool({ name: 'hang', execute: () => new Promise(() => {}) }));
  await registerMcpClient(toolkit, client, { timeoutMs: 50 });
  expect(await outputOf('hang')).toBe("Error: files gave no answer to the tool call 'hang' within 0.05 s.");
});
