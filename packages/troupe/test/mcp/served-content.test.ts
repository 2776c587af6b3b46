import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';

import { Msg, ReActAgent, tool, Toolkit, type JsonObject, type PermissionPolicy } from '../../src/index.ts';
import { McpClient, McpServer, mcpRequestOf, type McpServerOptions } from '../../src/mcp/index.ts';
import { askUserTool } from '../../src/entries/ask-user.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { askingTools } from './asking-tools.ts';
import { until } from './mcp-servers.ts';

type Mode = 'auto' | 'legacy';

const NOTES: McpServerOptions = {
  resources: [
    { uri: 'notes://today', name: 'today', description: 'Of today.', read: () => 'Buy milk.' },
    { uri: 'notes://logo', name: 'logo', mimeType: 'image/png', read: () => new Uint8Array([1, 2, 3]) },
    {
      uri: 'notes://broken',
      name: 'broken',
      read: () => {
        throw new Error('the password is 1234');
      },
    },
  ],
  resourceTemplates: [
    {
      uriTemplate: 'notes://{day}/{topic}',
      name: 'by day',
      read: (uri, { day, topic }) => `${uri}: ${day} and ${topic}`,
      complete: {
        day: (value) => ['monday', 'tuesday'].filter((day) => day.startsWith(value)),
        topic: (_, { day }) => Array.from({ length: 150 }, (__, i) => `${day}-${i}`),
      },
    },
  ],
  prompts: [
    {
      name: 'greet',
      description: 'Greets.',
      arguments: [{ name: 'who', required: true, complete: (value) => [`${value}!`] }, { name: 'how' }],
      get: ({ who, how = 'Hello' }) => [Msg.user(`${how}, ${who}.`), Msg.assistant('Hi.', { name: 'bot' })],
    },
  ],
};

async function official(url: string, mode: Mode): Promise<Client> {
  const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

describe.each<Mode>(['legacy', 'auto'])('resources and prompts of our server (%s)', (mode) => {
  test('are listed, read and completed', async () => {
    await using server = new McpServer(new Toolkit(), NOTES);
    const client = await official(await server.listen(), mode);
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([
      { uri: 'notes://today', name: 'today', description: 'Of today.' },
      {},
      {},
    ]);
    expect(JSON.stringify(resources)).not.toContain('read');
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'notes://{day}/{topic}', name: 'by day' }]);
    const read = async (uri: string) => (await client.readResource({ uri })).contents;
    expect(await read('notes://today')).toMatchObject([
      { uri: 'notes://today', mimeType: 'text/plain', text: 'Buy milk.' },
    ]);
    expect(await read('notes://logo')).toMatchObject([{ mimeType: 'image/png', blob: 'AQID' }]);
    expect(await read('notes://monday/work')).toMatchObject([
      { text: 'notes://monday/work: monday and work' },
    ]);
    expect(await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })).toMatchObject({
      description: 'Greets.',
      messages: [
        { role: 'user', content: { type: 'text', text: 'Hello, Ada.' } },
        { role: 'assistant', content: { type: 'text', text: 'Hi.' } },
      ],
    });
    const template = { type: 'ref/resource', uri: 'notes://{day}/{topic}' } as const;
    const day = await client.complete({ ref: template, argument: { name: 'day', value: 'tu' } });
    expect(day.completion).toMatchObject({ values: ['tuesday'], total: 1, hasMore: false });
    const topic = await client.complete({
      ref: template,
      argument: { name: 'topic', value: '' },
      context: { arguments: { day: 'monday' } },
    });
    expect(topic.completion).toMatchObject({ total: 150, hasMore: true });
    expect(topic.completion.values).toHaveLength(100);
    expect(topic.completion.values[0]).toBe('monday-0');
    const ref = { type: 'ref/prompt', name: 'greet' } as const;
    const who = await client.complete({ ref, argument: { name: 'who', value: 'A' } });
    expect(who.completion.values).toEqual(['A!']);
    const how = await client.complete({ ref, argument: { name: 'how', value: 'A' } });
    expect(how.completion.values).toEqual([]);
    await client.close();
  });

  test('that are missing or fail are errors, which tell nothing of the program', async () => {
    await using server = new McpServer(new Toolkit(), NOTES);
    const client = await official(await server.listen(), mode);
    await expect(client.readResource({ uri: 'notes://nowhere' })).rejects.toThrow(/not found|nowhere/i);
    await expect(client.readResource({ uri: 'notes://broken' })).rejects.toThrow(
      /^(?!.*1234).*could not be read/,
    );
    await expect(client.getPrompt({ name: 'nobody' })).rejects.toThrow("There is no prompt 'nobody'");
    await expect(client.getPrompt({ name: 'greet' })).rejects.toThrow('needs the arguments who');
    const ref = { type: 'ref/prompt', name: 'nobody' } as const;
    await expect(client.complete({ ref, argument: { name: 'a', value: '' } })).rejects.toThrow('nobody');
    await client.close();
  });

  test('whose suggestions fail tell nothing of the program either', async () => {
    const complete = (): never => {
      throw new Error('the password is 1234');
    };
    const prompts = [{ name: 'greet', arguments: [{ name: 'who', complete }], get: () => 'Hi.' }];
    await using server = new McpServer(new Toolkit(), { prompts });
    const client = await official(await server.listen(), mode);
    const ref = { type: 'ref/prompt', name: 'greet' } as const;
    await expect(client.complete({ ref, argument: { name: 'who', value: '' } })).rejects.toThrow(
      /^(?!.*1234).*could not be read/,
    );
    await client.close();
  });

  test('are refused for wrong parameters, by the name of the field', async () => {
    await using server = new McpServer(new Toolkit(), NOTES);
    const client = await official(await server.listen(), mode);
    const wrong = [
      client.request({ method: 'resources/read', params: { uri: 7 } }),
      client.request({ method: 'prompts/get', params: { name: ['greet'] as never } }),
      client.request({ method: 'resources/list', params: { cursor: 7 } }),
    ];
    const errors = await Promise.all(
      wrong.map((one) =>
        one.then(
          () => 'answered',
          (error: unknown) => error,
        ),
      ),
    );
    expect(errors).toMatchObject(
      ['uri', 'name', 'cursor'].map((name) => ({
        code: -32602,
        message: expect.stringMatching(new RegExp(`Invalid params: params.${name}: [^\\n]*string`)) as string,
      })),
    );
    await client.close();
  });

  test('that change are told to clients', async () => {
    await using server = new McpServer(new Toolkit(), NOTES);
    const told: string[] = [];
    const client = new Client(
      { name: 'official', version: '1' },
      {
        versionNegotiation: { mode },
        listChanged: {
          resources: { autoRefresh: false, debounceMs: 0, onChanged: () => void told.push('resources') },
          prompts: { autoRefresh: false, debounceMs: 0, onChanged: () => void told.push('prompts') },
        },
      },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(await server.listen())));
    const isTold = (what: string) => until(() => told.includes(what));
    // a client of 2025 opens its stream for notifications after the handshake
    const nudge = setInterval(() => {
      server.addResource({ uri: 'notes://new', name: 'new', read: () => 'new' });
      server.addPrompt({ name: 'new', get: () => 'new' });
    }, 20);
    await isTold('resources');
    await isTold('prompts');
    clearInterval(nudge);
    expect((await client.listResources()).resources.map(({ name }) => name)).toContain('new');
    expect(server.removeResource('notes://new')).toBe(true);
    expect(server.removeResource('notes://new')).toBe(false);
    expect(server.removePrompt('new')).toBe(true);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['greet']);
    await client.close();
  });
});

test('a client of 2025 hears of new content of what it has subscribed to, and of nothing else', async () => {
  await using server = new McpServer(new Toolkit(), NOTES);
  const client = await official(await server.listen(), 'legacy');
  const told: string[] = [];
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void told.push(params.uri),
  );
  await client.subscribeResource({ uri: 'notes://today' });
  await expect(client.subscribeResource({ uri: 'notes://nowhere' })).rejects.toThrow('nowhere');
  const nudge = setInterval(() => {
    server.resourceChanged('notes://logo');
    server.resourceChanged('notes://today');
  }, 20);
  await until(() => told.length > 0);
  clearInterval(nudge);
  await client.unsubscribeResource({ uri: 'notes://today' });
  const before = told.length;
  server.resourceChanged('notes://today');
  await client.ping();
  expect(new Set(told)).toEqual(new Set(['notes://today']));
  expect(told.length).toBeLessThanOrEqual(before + 1); // one may have been on its way
  await client.close();
});

test('a server without resources and prompts says so', async () => {
  await using server = new McpServer(new Toolkit());
  await using client = new McpClient({
    name: 'bare',
    transport: { type: 'http', url: await server.listen() },
  });
  expect([await client.listResources(), await client.listPrompts()]).toEqual([[], []]);
});

test('log entries below the level that the client has set are not sent', async () => {
  const toolkit = new Toolkit();
  const log = tool({
    name: 'log',
    async execute(_, context) {
      for (const level of ['debug', 'error'] as const) await mcpRequestOf(context)?.log(level, `${level}!`);
      return 'logged';
    },
  });
  toolkit.registerToolFunction(log);
  await using server = new McpServer(toolkit);
  const client = await official(await server.listen(), 'legacy');
  const logged: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params.data));
  // oxlint-disable-next-line typescript/no-deprecated -- part of the protocol for at least another year
  await client.setLoggingLevel('warning');
  await client.callTool({ name: 'log' });
  expect(logged).toEqual(['error!']);
  await client.close();
});

test('a tool that was not called over MCP has no client', async () => {
  const call = { type: 'tool_use', id: '1', name: 'book', input: {} } as const;
  expect(await askingTools().callToolFunction(call)).toMatchObject({
    status: 'error',
    output: expect.stringContaining('did not come over MCP') as string,
  });
});

test.each<Mode>(['legacy', 'auto'])(
  'an answer of a client that does not fit the form of a tool is an error of the tool (%s)',
  async (mode) => {
    await using server = new McpServer(askingTools());
    const options = { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } };
    const client = new Client({ name: 'official', version: '1' }, options);
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { seats: 99 } }));
    await client.connect(new StreamableHTTPClientTransport(new URL(await server.listen())));
    const { isError, content } = await client.callTool({ name: 'book' });
    const [text] = content as readonly { text: string }[];
    expect([isError, text?.text]).toEqual([
      true,
      expect.stringMatching(/does not fit the form: .*name.*seats|does not fit the form: .*seats.*name/s),
    ]);
    await client.close();
  },
);

test('the token of a question of 2026 is good once, and a made-up one is an error', async () => {
  await using server = new McpServer(askingTools());
  const url = await server.listen();
  const client = new Client(
    { name: 'official', version: '1' },
    {
      versionNegotiation: { mode: 'auto' },
      capabilities: { elicitation: { form: {} } },
      inputRequired: { autoFulfill: false },
    },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const send = (params: object) => client.callTool({ name: 'book', ...params }, { allowInputRequired: true });
  const asked: { readonly [key: string]: unknown } = await send({});
  const { requestState, inputRequests } = asked;
  const [key = ''] = Object.keys(inputRequests ?? {});
  const answer = { inputResponses: { [key]: { action: 'accept', content: { name: 'Ada' } } }, requestState };
  expect(await send(answer)).toMatchObject({ content: [{ text: expect.stringContaining('Ada') as string }] });
  const again = { isError: true, content: [{ text: expect.stringContaining('unknown here') as string }] };
  expect(await send(answer)).toMatchObject(again);
  expect(await send({ ...answer, requestState: 'guessed' })).toMatchObject(again);
  await client.close();
});

describe('pending tool calls of a served agent', () => {
  const policy: PermissionPolicy = { decide: () => ({ behavior: 'ask', reason: 'it costs money' }) };
  const buyer = (permissionPolicy?: PermissionPolicy): ReActAgent =>
    new ReActAgent({
      name: 'Friday',
      console: false,
      model: new ScriptedModel([
        { toolCalls: [{ name: 'buy', input: {} }] },
        { toolCalls: [{ name: 'ask_user', input: { question: 'Colour?', choices: ['red', 'blue'] } }] },
        'Done.',
      ]),
      tools: [tool({ name: 'buy', sideEffect: true, execute: () => 'bought' }), askUserTool()],
      ...(permissionPolicy && { permissionPolicy }),
    });
  const ask = async (options: McpServerOptions, isAllowed: boolean) => {
    const asked: string[] = [];
    const agent = buyer({
      decide: (request) => (request.call.name === 'buy' ? policy.decide(request) : { behavior: 'allow' }),
    });
    await using server = new McpServer(agent, options);
    await using client = new McpClient({
      name: 'friday',
      transport: { type: 'http', url: await server.listen() },
      elicitation: ({ message, schema }) => {
        asked.push(message);
        const isChoice = JSON.stringify(schema).includes('blue');
        return { action: 'accept', content: isChoice ? { answer: 'blue' } : { allow: isAllowed } };
      },
    });
    const { content, status } = await client.callTool('Friday', { message: 'Buy.' });
    const history = await agent.memory.getMemory();
    const results = history.flatMap((msg) => msg.getContentBlocks('tool_result')).map((one) => one.status);
    return { asked, content, status, results };
  };

  test('are refused, unless the program says that clients decide', async () => {
    expect(await ask({}, true)).toMatchObject({ asked: [], status: 'error', results: ['interrupted'] });
  });

  test('are put to the person at the client', async () => {
    const asked = ['friday asks: May Friday call buy with {}? (it costs money)', 'friday asks: Colour?'];
    const done = { asked, content: 'Done.', status: 'ok' };
    expect(await ask({ onPending: 'elicit' }, true)).toEqual({ ...done, results: ['ok', 'ok'] });
    expect(await ask({ onPending: 'elicit' }, false)).toEqual({ ...done, results: ['denied', 'ok'] });
  });

  /** Asks one question of a served agent; the person gives these answers, one after the other. */
  async function asked(input: JsonObject, answers: readonly JsonObject[]): Promise<unknown> {
    const shown: string[] = [];
    const model = new ScriptedModel([{ toolCalls: [{ name: 'ask_user', input }] }, 'Done.']);
    const agent = new ReActAgent({ name: 'Friday', model, tools: [askUserTool()], console: false });
    await using server = new McpServer(agent, { onPending: 'elicit' });
    const capabilities = { elicitation: { form: {} } };
    const client = new Client({ name: 'official', version: '1' }, { capabilities });
    client.setRequestHandler('elicitation/create', ({ params: { message } }) => ({
      action: 'accept',
      content: { ...answers[shown.push(message) - 1] } as { [name: string]: string },
    }));
    await client.connect(new StreamableHTTPClientTransport(new URL(await server.listen())));
    const { isError } = await client.callTool({ name: 'Friday', arguments: { message: 'Go.' } });
    await client.close();
    const history = await agent.memory.getMemory();
    const results = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
    return { shown, isError, results: results.map(({ output }) => output) };
  }

  test('are asked again after an answer that does not fit, and declined after the third', async () => {
    const empty = 'The answer does not fit: it must be a text, not an empty one.\nName?';
    const blank = { answer: ' ' };
    expect(await asked({ question: 'Name?' }, [blank, { answer: 'Ada' }])).toEqual({
      shown: ['Name?', empty],
      isError: undefined,
      results: ['The user answered: Ada'],
    });
    expect(await asked({ question: 'Name?' }, [blank, blank, blank, { answer: 'Ada' }])).toEqual({
      shown: ['Name?', empty, empty],
      isError: undefined,
      results: ['The user declined to answer: no answer fitted'],
    });
    const schema = { type: 'object', properties: { day: { type: 'string', default: 'today' } } };
    expect(await asked({ question: 'When?', schema }, [{ month: 'May' }, {}])).toMatchObject({
      shown: ['When?', 'The answer does not fit: there is no field month.\nWhen?'],
      results: ['The user answered:\n- day: today\n{"day":"today"}'],
    });
  });
});
