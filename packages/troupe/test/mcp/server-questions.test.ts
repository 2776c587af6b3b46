import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { describe, expect, test } from 'vitest';

import {
  agentTool,
  findHistoryFaults,
  makeSubagentTool,
  ReActAgent,
  registerSubAgent,
  TaskSubAgent,
  Toolkit,
  type PendingCall,
  type PendingDecision,
  type Tool,
  type ToolResultBlock,
} from '../../src/index.ts';
import { McpClient, McpServer, registerMcpClient, type McpClientOptions } from '../../src/mcp/index.ts';
import { FakeClock, ScriptedModel } from '../../src/testing/index.ts';
import { isJsonObject, parseJson } from '../../src/util/json.ts';
import { askingProcess, askingTools, bookingAgent, SEATS } from './asking-tools.ts';
import { ownServer, until } from './mcp-servers.ts';

type Script = ConstructorParameters<typeof ScriptedModel>[0];

interface Served extends AsyncDisposable {
  readonly client: McpClient;
  /** Tools that were aborted at the server. */
  readonly aborted: () => Promise<string>;
}

type Options = Partial<McpClientOptions>;

/** Over stdio the protocol of 2025 is spoken, over HTTP that of 2026. */
const SERVERS: { readonly [name: string]: (options?: Options) => Promise<Served> } = {
  'of 2025, over stdio': async (options = {}) => {
    const client = askingProcess(options);
    const aborted = async (): Promise<string> => String((await client.callTool('aborted')).content);
    return { client, aborted, [Symbol.asyncDispose]: () => client.close() };
  },
  'of 2026, over HTTP': async (options = {}) => {
    const names: string[] = [];
    const server = new McpServer(askingTools(names));
    const transport = { type: 'http', url: await server.listen() } as const;
    const client = new McpClient({ name: 'trains', transport, ...options });
    const close = async (): Promise<void> => {
      await client.close();
      await server.close();
    };
    return { client, aborted: async () => names.join(), [Symbol.asyncDispose]: close };
  },
};

async function friday(client: McpClient, script: Script, options: object = {}): Promise<ReActAgent> {
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  return new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit,
    console: false,
    ...options,
  });
}

function only(agent: ReActAgent): PendingCall {
  expect(agent.pendingCalls).toHaveLength(1);
  return agent.pendingCalls[0]!;
}

const decide = (
  agent: ReActAgent,
  decision: { verdict: 'answer'; answer?: object | string } | { verdict: 'deny' },
) => agent.call(undefined, { decisions: [{ ...decision, id: only(agent).id } as PendingDecision] });

async function results(agent: ReActAgent): Promise<readonly Pick<ToolResultBlock, 'output' | 'status'>[]> {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  const blocks = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
  return blocks.map(({ output, status }) => ({ output, status }));
}

describe.each(Object.entries(SERVERS))('a question of a server %s', (_, serve) => {
  test('is a pending tool call; the answer, with defaults, goes to the server, and the tool goes on', async () => {
    await using served = await serve();
    const agent = await friday(served.client, [
      { toolCalls: [{ name: 'book', id: 'b1', input: {} }] },
      'Booked.',
    ]);
    const events = agent.stream('Book.');
    const asked: unknown[] = [];
    for await (const event of events) if (event.type === 'approval_needed') asked.push(event.pending);
    const pending = only(agent);
    expect(asked).toEqual([pending]);
    expect(pending).toEqual({
      id: pending.id,
      agentPath: ['Friday'],
      kind: 'question',
      call: { type: 'tool_use', id: 'b1', name: 'book', input: {} },
      source: 'mcp:trains',
      question: { message: 'trains asks: Which seats?', schema: SEATS },
    });
    const wrong = decide(agent, { verdict: 'answer', answer: { name: 'Ada', seats: 99 } });
    await expect(wrong).rejects.toMatchObject({ code: 'decision_refused' });
    expect((await decide(agent, { verdict: 'answer', answer: { name: 'Ada' } })).text).toBe('Booked.');
    const content = { seats: 2, window: true, name: 'Ada' };
    expect(await results(agent)).toEqual([
      { output: JSON.stringify({ action: 'accept', content }), status: 'ok' },
    ]);
  });

  test('that is declined is declined at the server', async () => {
    await using served = await serve();
    const agent = await friday(served.client, [{ toolCalls: [{ name: 'book', input: {} }] }, 'Then not.']);
    await agent.call('Book.');
    await decide(agent, { verdict: 'deny' });
    expect(await results(agent)).toEqual([{ output: '{"action":"decline"}', status: 'ok' }]);
  });

  test('may follow another', async () => {
    await using served = await serve();
    const agent = await friday(served.client, [{ toolCalls: [{ name: 'twice', input: {} }] }, 'Said.']);
    await agent.call('Go.');
    await decide(agent, { verdict: 'answer', answer: { word: 'one' } });
    expect(only(agent).question?.message).toBe('trains asks: Second word?');
    await decide(agent, { verdict: 'answer', answer: { word: 'two' } });
    const said = ['one', 'two'].map((word) => ({ action: 'accept', content: { word } }));
    expect(await results(agent)).toEqual([{ output: JSON.stringify(said), status: 'ok' }]);
  });

  test('is cancelled where nobody can be asked, and answered by a function', async () => {
    await using served = await serve();
    expect((await served.client.callTool('book')).content).toBe('{"action":"cancel"}');
    const { content } = await served.client.callTool(
      'book',
      {},
      {
        onQuestion: () => ({ action: 'accept', content: { name: 'Bob', window: false } }),
      },
    );
    expect(content).toBe('{"action":"accept","content":{"seats":2,"window":false,"name":"Bob"}}');
    await using answered = await serve({ elicitation: () => ({ action: 'decline' }) });
    expect((await answered.client.callTool('book')).content).toBe('{"action":"decline"}');
  });

  test('with a page is shown with its address, and nothing is opened', async () => {
    await using served = await serve();
    const visit = (url: string): Script[number] => ({ toolCalls: [{ name: 'visit', input: { url } }] });
    const agent = await friday(served.client, [
      visit('https://Login.example/a?b=1'),
      visit('http://evil.example/'),
      'Done.',
    ]);
    await agent.call('Go.');
    expect(only(agent).question).toEqual({
      message: 'trains asks: Please log in.',
      url: 'https://login.example/a?b=1',
    });
    await decide(agent, { verdict: 'answer' });
    expect(await results(agent)).toMatchObject([
      { output: 'accept', status: 'ok' },
      { output: 'cancel', status: 'ok' }, // not shown: a page must have https
    ]);
  });

  test('is cancelled after the twentieth of a tool call', async () => {
    await using served = await serve({ elicitation: () => ({ action: 'accept', content: 'Yes' }) });
    for (let i = 0; i < 2; i++) {
      const { content } = await served.client.callTool('nag', { times: 22 });
      expect(content).toBe([...Array.from({ length: 20 }, () => 'accept'), 'cancel', 'cancel'].join());
    }
  });

  test('is not asked of a client that says nobody is there', async () => {
    await using served = await serve({ elicitation: false });
    const none = { canElicit: false, canElicitUrl: false, canSample: false, canListRoots: false };
    expect((await served.client.callTool('features')).content).toBe(JSON.stringify(none));
    expect(await served.client.callTool('book')).toMatchObject({
      status: 'error',
      content: expect.stringContaining("can't show forms") as string,
    });
  });

  test('does not use up the time of the tool call, and has a time of its own', async () => {
    using clock = new FakeClock().install();
    await using served = await serve({ timeoutMs: 5_000, questionTimeoutMs: 60_000 });
    const agent = await friday(served.client, [
      { toolCalls: [{ name: 'book', input: {} }] },
      { toolCalls: [{ name: 'book', input: {} }] },
      'Done.',
    ]);
    await agent.call('Book.');
    await clock.advance(50_000);
    await decide(agent, { verdict: 'answer', answer: { name: 'Ada' } });
    await clock.advance(61_000);
    await decide(agent, { verdict: 'answer', answer: { name: 'too late' } });
    const [first, second] = await results(agent);
    expect(first?.output).toContain('Ada');
    expect(second?.output).toBe('{"action":"cancel"}');
  });
});

test('closing a pending question of a server of 2025 ends the tool call at the server', async () => {
  await using served = await SERVERS['of 2025, over stdio']!();
  const agent = await friday(served.client, [{ toolCalls: [{ name: 'book', input: {} }] }]);
  await agent.call('Book.');
  expect(await served.aborted()).toBe('');
  await agent.closePending();
  await until(async () => (await served.aborted()) === 'book');
  expect(await results(agent)).toMatchObject([{ status: 'interrupted' }]);
});

describe('a question of a server inside', () => {
  const turns = (...calls: string[]): Script => [
    {
      toolCalls: calls.map((name) => ({ name, input: name === 'book' ? {} : { task: 'Go.', query: 'Go.' } })),
    },
    'Done.',
  ];

  /** A root with three sub-agents, each in the one before; the last has the tool. */
  async function chain(client: McpClient): Promise<ReActAgent> {
    const options = { name: 'root', model: new ScriptedModel(turns('agent_a')), console: false };
    const host = new ReActAgent(options);
    const setup = { host, safetyLimits: { maxDepth: 3 } };
    const spec = (name: string, next: string, one: Tool) => ({
      name,
      description: name,
      modelOverride: new ScriptedModel(turns(next)),
      tools: [one],
    });
    const c = await makeSubagentTool(TaskSubAgent, spec('c', 'book', await client.getTool('book')), setup);
    const b = await makeSubagentTool(TaskSubAgent, spec('b', 'agent_c', c), setup);
    await registerSubAgent(host, TaskSubAgent, spec('a', 'agent_b', b), setup);
    return host;
  }

  /** An agent with another one as its tool. */
  async function pair(client: McpClient): Promise<ReActAgent> {
    const inner = await friday(client, turns('book'), { name: 'inner' });
    const tools = [agentTool(inner, { description: 'Books.' })];
    return new ReActAgent({ name: 'root', model: new ScriptedModel(turns('inner')), tools, console: false });
  }

  describe.each([
    ['three sub-agents', chain, ['root', 'a', 'b', 'c']],
    ['an agent in a tool', pair, ['root', 'inner']],
  ] as const)('%s', (_, build, agentPath) => {
    test('is answered at the root', async () => {
      await using served = await SERVERS['of 2025, over stdio']!();
      const root = await build(served.client);
      await root.call('Go.');
      expect(only(root)).toMatchObject({ agentPath, question: { message: 'trains asks: Which seats?' } });
      expect((await decide(root, { verdict: 'answer', answer: { name: 'Ada' } })).text).toBe('Done.');
      expect(await served.aborted()).toBe('');
    });

    test('is over at the server when the root closes it', async () => {
      await using served = await SERVERS['of 2025, over stdio']!();
      const root = await build(served.client);
      await root.call('Go.');
      await root.closePending();
      await until(async () => (await served.aborted()) === 'book');
      expect(await results(root)).toMatchObject([{ status: 'interrupted' }]);
    });
  });
});

test('a server of 2026 gives up a tool call whose client does not come back', async () => {
  using clock = new FakeClock().install();
  await using served = await SERVERS['of 2026, over HTTP']!();
  const agent = await friday(served.client, [{ toolCalls: [{ name: 'book', input: {} }] }]);
  await agent.call('Book.');
  await agent.closePending();
  expect(await results(agent)).toMatchObject([{ status: 'interrupted' }]);
  await clock.advance(599_000);
  expect(await served.aborted()).toBe('');
  await clock.advance(2_000);
  expect(await served.aborted()).toBe('book');
});

test('after a restart, the answer to a question of the old process is a clear error, and the agent goes on', async () => {
  const { command, args = [] } = ownServer('asking-tools.ts', 'ask');
  const { stdout } = await promisify(execFile)(command, args);
  const state = parseJson(stdout);
  await using mcp = askingProcess();
  const agent = await bookingAgent(mcp);
  if (!isJsonObject(state)) throw new TypeError('no state');
  agent.loadStateDict(state);
  expect(only(agent).question?.message).toBe('trains asks: Which seats?');
  await decide(agent, { verdict: 'answer', answer: { name: 'Ada' } });
  expect(await results(agent)).toMatchObject([
    {
      status: 'error',
      output: expect.stringContaining('the connection over which it asked is gone') as string,
    },
  ]);
});

test('a question over stdio while several tool calls run is cancelled, because nobody knows to which it belongs', async () => {
  await using client = askingProcess();
  const asked: string[] = [];
  const ask = (name: string) =>
    client.callTool(
      'book',
      {},
      {
        onQuestion: () => {
          asked.push(name);
          return { action: 'accept', content: { name } };
        },
      },
    );
  await client.connect();
  const both = await Promise.all([ask('Ada'), ask('Bob')]);
  expect(both.map(({ content }) => content)).toEqual(['{"action":"cancel"}', '{"action":"cancel"}']);
  expect(asked).toEqual([]);
});

test('over HTTP, each of several tool calls gets its own questions', async () => {
  await using served = await SERVERS['of 2026, over HTTP']!();
  const ask = async (name: string) =>
    (
      await served.client.callTool(
        'book',
        {},
        { onQuestion: () => ({ action: 'accept', content: { name } }) },
      )
    ).content;
  const names = ['Ada', 'Bob', 'Cyd'];
  const answers = await Promise.all(names.map(ask));
  expect(answers).toEqual(names.map((name) => expect.stringContaining(`"name":"${name}"`) as string));
});

describe.each(Object.entries(SERVERS))('the model for a server %s', (_, serve) => {
  test('answers after approval, within its limits', async () => {
    const model = new ScriptedModel(['I think so.', 'Again.']);
    await using served = await serve({ sampling: { model, maxRequests: 2, maxTokens: 100 } });
    const agent = await friday(served.client, [
      { toolCalls: [{ name: 'think', input: {} }] },
      { toolCalls: [{ name: 'think', input: {} }] },
      'Done.',
    ]);
    await agent.call('Go.');
    expect(only(agent).question).toEqual({
      message: 'trains wants to use your model for this conversation:\nsystem: Think hard.\nuser: Thought 1?',
      choices: ['Allow', 'Deny'],
    });
    expect(model.requests).toEqual([]);
    await decide(agent, { verdict: 'answer', answer: 'Allow' });
    expect(model.requests).toMatchObject([{ generation: { maxTokens: 100 } }]);
    expect(model.requests[0]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['system', 'Think hard.'],
      ['user', 'Thought 1?'],
    ]);
    await decide(agent, { verdict: 'answer', answer: 'Deny' });
    expect(await results(agent)).toMatchObject([
      { output: 'scripted: I think so.', status: 'ok' },
      { output: expect.stringMatching(/failed at (?:sampling|the tool call)/) as string, status: 'error' },
    ]);
    expect(model.requests).toHaveLength(1);
  });

  test('is not there without the option, and not more often than allowed', async () => {
    await using closed = await serve();
    expect(await closed.client.callTool('think')).toMatchObject({ status: 'error' });
    const model = new ScriptedModel(['One.', 'Two.', 'Three.', 'Four.', 'Five.']);
    await using served = await serve({ sampling: { model, maxRequests: 2, approval: 'allow' } });
    expect((await served.client.callTool('think', { times: 2 })).content).toBe('scripted: Two.');
    const third = await served.client.callTool('think', { times: 3 }).catch(() => ({ status: 'error' }));
    expect(third.status).toBe('error');
    expect(model.requests).toHaveLength(4);
  });

  test('a server is told folders only if there are any', async () => {
    await using none = await serve();
    expect((await none.client.callTool('where')).content).toBe('[]');
    const roots = [{ uri: 'file:///data', name: 'Data' }];
    await using served = await serve({ roots });
    expect((await served.client.callTool('where')).content).toBe(JSON.stringify(roots));
  });
});
