// The contract of sub-agents for a program that knows the public entries only.
import {
  InMemorySession,
  KnowledgeBase,
  LongTermMemoryBase,
  Msg,
  ReActAgent,
  findHistoryFaults,
  makeSubagentTool,
  registerSubAgent,
  SubAgentBase,
  TaskSubAgent,
  tool,
  Toolkit,
  type DelegationContext,
  type PermissionBundle,
  type RetrievedDocument,
  type SafetyLimits,
  type SubAgentInit,
  type SubAgentSpec,
  type ToolResultBlock,
} from 'troupe';
import { FileSystemHandle, InMemoryFileSystem } from 'troupe/filesystem';
import { toDelegationContext, type ContextBundle, type SubAgentPermissions } from 'troupe/subagent';
import { FakeClock, ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from 'troupe/testing';
import { makeFileTool, fileTools } from 'troupe/tools';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

type Script = readonly (string | ScriptedTurn)[];

const SPEC: SubAgentSpec = { name: 'kid', description: 'Works.' };
const ask = (name: string, input: ScriptedToolCall['input'] = {}, id = `c_${name}`): ScriptedToolCall => ({
  name,
  id,
  input,
});

/** Answers with its task, and records its input and its memory. */
class Kid extends SubAgentBase {
  static readonly made: Kid[] = [];
  heard: readonly Msg[] = [];
  remembered: readonly Msg[] = [];

  constructor(init: SubAgentInit) {
    super(init);
    Kid.made.push(this);
  }

  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    this.heard = msgs;
    this.remembered = await this.memory.getMemory();
    return Msg.assistant(`did: ${msgs[0]?.text}`, { name: this.name });
  }

  static last(): Kid {
    const kid = Kid.made.at(-1);
    if (kid === undefined) throw new Error('nobody was made');
    return kid;
  }
}

function hostOf(script: Script, ...tools: ConstructorParameters<typeof Toolkit>[0][]): ReActAgent {
  const toolkit = new Toolkit(tools[0]);
  return new ReActAgent({ name: 'boss', model: new ScriptedModel(script), toolkit, console: false });
}

async function resultsOf({ memory }: ReActAgent): Promise<readonly ToolResultBlock[]> {
  return (await memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
}

async function contextOf(host: ReActAgent): Promise<DelegationContext> {
  const result = (await resultsOf(host)).findLast(({ name }) => name === 'agent_kid');
  return toDelegationContext(result?.metadata?.['delegation_context']);
}

describe('a program without a host', () => {
  test('makes a sub-agent with permissions of its own, and gives it a task', async () => {
    const files = new FileSystemHandle(new InMemoryFileSystem());
    const session = new InMemorySession();
    const permissions: PermissionBundle = {
      supervisorName: 'my program',
      filesystem: files,
      session,
      safetyLimits: { maxModelCalls: 3, region: 'eu' },
    };
    const agent = await Kid.exportAgent({ spec: SPEC, permissions });
    const granted: SubAgentPermissions = agent.permissions;
    expect(granted.home).toBe('/workspace/subagents/kid');
    expect(granted.filesystem?.allowedDirectories.map(({ path }) => path)).toEqual([
      '/workspace/subagents/kid/',
    ]);
    await granted.session?.save('s1', { memory: agent.memory });
    expect(await session.exists('sub@kid@s1')).toBe(true);
    const response = await agent.delegate('Count to three.');
    expect(response).toMatchObject({
      status: 'ok',
      content: 'did: Count to three.',
      metadata: {
        subagent: 'kid',
        supervisor: 'my program',
        delegation_context: {
          task_summary: 'Count to three.',
          recent_events: [],
          long_term_refs: [],
          workspace_pointers: ['/workspace/subagents/kid/'],
          safety_flags: { max_iterations: 3, max_depth: 0, region: 'eu' },
        },
      },
    });
    expect(await agent.memory.size()).toBe(0);
  });

  test('makes the context itself, from a conversation of its own', async () => {
    const parent: ContextBundle = {
      conversation: [Msg.user('Where is the Moon?'), Msg.assistant('Far away.', { name: 'me' })],
      recentToolResults: [],
      longTermRefs: [{ id: 'notes', description: 'What was learnt so far.' }],
      workspace: undefined,
      safetyFlags: { region: 'eu' },
    };
    const context = await Kid.preContextCompress(parent, 'Measure it.');
    const agent = await Kid.exportAgent({ spec: SPEC, permissions: { supervisorName: 'me' } });
    const { metadata } = await agent.delegate('Measure it.', context);
    expect(metadata?.['delegation_context']).toEqual(context);
    expect(context.recent_events.map(({ preview }) => preview)).toEqual(['Where is the Moon?', 'Far away.']);
  });

  test('limits what the sub-agent spends', async () => {
    const model = new ScriptedModel([{ toolCalls: [ask('look')] }, { toolCalls: [ask('look', {}, 'l2')] }]);
    const spec = { ...SPEC, modelOverride: model, tools: [tool({ name: 'look', execute: () => 'seen' })] };
    const permissions = { supervisorName: 'me', safetyLimits: { maxModelCalls: 1 } };
    const agent = await TaskSubAgent.exportAgent({ spec, permissions });
    expect(await agent.delegate('Look.')).toMatchObject({
      status: 'unavailable',
      content: '[subagent_limit] kid was stopped: The limit of 1 model calls is used up.',
    });
  });

  test('limits the time of each task by the spec', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    class Slow extends Kid {
      override reply(): Promise<Msg> {
        return new Promise(() => {});
      }
    }
    const permissions = { supervisorName: 'me' };
    const agent = await Slow.exportAgent({ spec: { ...SPEC, timeoutMs: 2000 }, permissions });
    const delegated = agent.delegate('Wait.');
    await clock.advance(2000);
    expect(await delegated).toMatchObject({
      status: 'unavailable',
      content: '[subagent_timeout] kid gave no answer within 2 s. Try again later, or do without it.',
    });
    for (let n = 0; n < 20; n++) await clock.advance(10);
    expect(clock.pendingTimers).toBe(0);
  });

  test('is told of mistakes, and gets tools of a toolkit', async () => {
    const permissions = { supervisorName: 'me' };
    const hostToolkit = new Toolkit({ tools: [tool({ name: 'look', execute: () => 'seen' })] });
    const made = await Kid.exportAgent({
      spec: { ...SPEC, toolsAllowlist: ['look'] },
      permissions,
      hostToolkit,
    });
    expect(made.toolkit.names).toEqual(['look']);
    const wrong = (spec: Partial<SubAgentSpec>) =>
      Kid.exportAgent({ spec: { ...SPEC, ...spec }, permissions, hostToolkit });
    await expect(wrong({ toolsAllowlist: ['lok'] })).rejects.toThrow("'lok', but me has no such tool");
    await expect(wrong({ name: '../x' })).rejects.toMatchObject({ code: 'invalid_id' });
    await expect(wrong({ safetyLimits: { maxDepth: -1 } })).rejects.toMatchObject({ code: 'invalid_config' });
  });

  test('is a sub-agent itself: what it makes are delegations of its host', async () => {
    const outcomes: unknown[] = [];
    class Lead extends Kid {
      override async reply(): Promise<Msg> {
        for (const name of ['a', 'b']) {
          const options = { spec: { ...SPEC, name }, permissions: this.permissions };
          const made = await Kid.exportAgent(options).catch((error: unknown) => error);
          outcomes.push(made instanceof Kid ? (await made.delegate('help')).status : String(made));
        }
        return Msg.assistant('led', { name: this.name });
      }
    }
    const host = hostOf([{ toolCalls: [ask('agent_kid', { query: 'go' })] }, 'done']);
    await registerSubAgent(host, Lead, SPEC, { safetyLimits: { maxDepth: 2, maxDelegations: 2 } });
    await host.call('go');
    expect(outcomes).toEqual([
      'ok',
      "SubAgentUnavailable: The sub-agent 'b' is unavailable: it can't be made: The limit of 2 delegations is used up.",
    ]);
  });

  test('is a sub-agent itself: its limits hold for what it makes', async () => {
    const outcomes: unknown[] = [];
    class Lead extends Kid {
      override async reply(): Promise<Msg> {
        const options = { spec: { ...SPEC, name: 'helper' }, permissions: this.permissions };
        const made = await Kid.exportAgent(options).catch((error: unknown) => error);
        if (made instanceof Kid) {
          outcomes.push(made.permissions.home, (await made.delegate('help')).metadata?.['supervisor']);
        } else {
          outcomes.push(String(made));
        }
        return Msg.assistant('led', { name: this.name });
      }
    }
    for (const maxDepth of [1, 2]) {
      const host = hostOf([{ toolCalls: [ask('agent_kid', { query: 'go' })] }, 'done']);
      await registerSubAgent(host, Lead, SPEC, { safetyLimits: { maxDepth } });
      await host.call('go');
    }
    expect(outcomes).toEqual([
      "SubAgentUnavailable: The sub-agent 'helper' is unavailable: it can't be made: The limit of levels of sub-agents is used up.",
      '/workspace/subagents/kid/subagents/helper',
      'kid',
    ]);
  });
});

describe('limits of the program’s own', () => {
  test('reach the sub-agent, its context and what is below it; those of the host win', async () => {
    const host = hostOf([{ toolCalls: [ask('agent_kid', { query: 'go' })] }, 'done']);
    const safetyLimits: SafetyLimits = { maxTokens: 5000, region: 'eu', allowedDomains: ['a.example'] };
    await registerSubAgent(
      host,
      Kid,
      { ...SPEC, safetyLimits: { region: 'us', maxPages: 3 } },
      { safetyLimits },
    );
    await host.call('go');
    const own = { region: 'eu', allowedDomains: ['a.example'], maxPages: 3 };
    expect(Kid.last().permissions.safetyLimits).toEqual({ maxTokens: 5000, maxDepth: 0, ...own });
    expect((await contextOf(host)).safety_flags).toEqual({ max_tokens: 5000, max_depth: 0, ...own });
  });

  test.each([
    [{ maxToken: 5 }, "There is no limit 'maxToken'. Is it 'maxTokens'?"],
    [{ max_depth: 2 }, "There is no limit 'max_depth'. Is it 'maxDepth'?"],
    [{ maxIterations: 2 }, "There is no limit 'maxIterations'. Is it 'maxModelCalls'?"],
    [{ maxCalls: 2 }, "There is no limit 'maxCalls'. Is it 'maxDelegations'?"],
    [{ when: () => {} }, "safetyLimits.when is a function, which JSON can't hold"],
  ])('that look like a mistake are refused: %j', async (safetyLimits, problem) => {
    await expect(
      registerSubAgent(hostOf([]), Kid, SPEC, { safetyLimits: safetyLimits as SafetyLimits }),
    ).rejects.toMatchObject({ code: 'invalid_config', message: expect.stringContaining(problem) as string });
  });
});

describe('recent events', () => {
  const previews = async (host: ReActAgent): Promise<readonly string[]> =>
    (await contextOf(host)).recent_events.map(({ preview }) => preview);

  test('are the last four messages when no tool was used', async () => {
    const host = hostOf([{ toolCalls: [ask('agent_kid', { query: 'x' })] }, 'done']);
    await host.observe(['one', 'two', 'three', 'four', 'five'].map((text) => Msg.user(text)));
    await registerSubAgent(host, Kid, SPEC);
    await host.call('go');
    expect(await previews(host)).toEqual(['three', 'four', 'five', 'go']);
  });

  test('have the results of earlier tool calls in the same model message', async () => {
    const host = hostOf(
      [
        {
          text: 'Let me see.',
          toolCalls: [ask('look', {}, 'l1'), ask('look', {}, 'l2'), ask('agent_kid', { query: 'x' })],
        },
        'done',
      ],
      { tools: [tool({ name: 'look', execute: (_, { call }) => `seen by ${call.id}` })] },
    );
    await registerSubAgent(host, Kid, SPEC);
    await host.call('go');
    expect(await previews(host)).toEqual(['go', 'look (ok): seen by l1', 'look (ok): seen by l2']);
  });

  test('have an older message that is about the task, and no message that only calls tools', async () => {
    const host = hostOf(
      [
        { text: 'I look.', toolCalls: [ask('look', {}, 'l1')] },
        { toolCalls: [ask('agent_kid', { query: 'Find a ring without nickel.' })] },
        'done',
      ],
      { tools: [tool({ name: 'look', execute: () => 'gold' })] },
    );
    await host.observe([
      Msg.user('I am allergic to nickel.'),
      Msg.assistant('Noted.', { name: 'boss' }),
      ...['How are you?', 'Nice day.', 'Well.'].map((text) => Msg.user(text)),
    ]);
    await registerSubAgent(host, Kid, SPEC);
    await host.call('A ring, please.');
    expect(await previews(host)).toEqual([
      'I am allergic to nickel.',
      'Well.',
      'A ring, please.',
      'look (ok): gold',
    ]);
  });
});

describe('long-term memory and knowledge', () => {
  class Notes extends LongTermMemoryBase {
    override readonly id = 'notes';
    override readonly description = 'What the user likes.';

    override async retrieve(): Promise<string> {
      return '';
    }

    override async record(): Promise<void> {}
  }
  class Handbook extends KnowledgeBase {
    override readonly id: string = 'handbook';
    override readonly description: string = 'Rules of the house.';

    override async retrieve(): Promise<readonly RetrievedDocument[]> {
      return [];
    }
  }
  class Plain extends KnowledgeBase {
    override async retrieve(): Promise<readonly RetrievedDocument[]> {
      return [];
    }
  }

  test('are named with id and description, and are the very same for the sub-agent', async () => {
    const [longTermMemory, handbook, plain] = [new Notes(), new Handbook(), new Plain()];
    const host = new ReActAgent({
      name: 'boss',
      model: new ScriptedModel([{ toolCalls: [ask('agent_kid', { query: 'x' })] }, 'done']),
      longTermMemory,
      longTermMemoryMode: 'agent_control',
      knowledge: [handbook, plain, new Plain()],
      enableRewriteQuery: false,
      console: false,
    });
    await registerSubAgent(host, Kid, SPEC);
    await host.call('go');
    expect((await contextOf(host)).long_term_refs).toEqual([
      { kind: 'long_term_memory', id: 'notes', description: 'What the user likes.' },
      { kind: 'knowledge_base', id: 'handbook', description: 'Rules of the house.' },
      { kind: 'knowledge_base', id: 'knowledge_base', description: 'A knowledge base.' },
      { kind: 'knowledge_base', id: 'knowledge_base_2', description: 'A knowledge base.' },
    ]);
    const { permissions } = Kid.last();
    expect(permissions.longTermMemory).toBe(longTermMemory);
    expect(permissions.knowledge?.[0]).toBe(handbook);
    expect(permissions.knowledge?.[1]).toBe(plain);
  });

  test('that are switched off are not named', async () => {
    const host = new ReActAgent({
      name: 'boss',
      model: new ScriptedModel([{ toolCalls: [ask('agent_kid', { query: 'x' })] }, 'done']),
      knowledge: new Handbook(),
      enableRewriteQuery: false,
      console: false,
    });
    await registerSubAgent(host, Kid, { ...SPEC, resources: { knowledge: 'off' } });
    await host.call('go');
    expect((await contextOf(host)).long_term_refs).toEqual([]);
    expect(Kid.last().permissions.knowledge).toBeUndefined();
  });
});

describe('tags', () => {
  test('are on the tool, in the metadata of results and failures, and on the span', async () => {
    const spans: unknown[] = [];
    const tracer = {
      startActiveSpan<T>(
        name: string,
        { attributes = {} }: { attributes?: object },
        run: (span: { setAttribute(): void; setStatus(): void; recordException(): void; end(): void }) => T,
      ): T {
        spans.push([name, attributes]);
        return run({ setAttribute() {}, setStatus() {}, recordException() {}, end() {} });
      },
    };
    const calls = [ask('agent_kid', { query: 'x' }, 'c1'), ask('agent_kid', { qery: 'x' }, 'c2')];
    const host = hostOf([{ toolCalls: calls }, 'done']);
    const tags = ['web', 'cheap'];
    await registerSubAgent(host, Kid, { ...SPEC, tags }, { tracer });
    await host.call('go');
    expect(host.toolkit.get('agent_kid')?.tags).toEqual(tags);
    expect(JSON.stringify(host.toolkit.getJsonSchemas())).not.toContain('cheap');
    expect((await resultsOf(host)).map(({ status, metadata }) => [status, metadata?.['tags']])).toEqual([
      ['ok', tags],
      ['unavailable', tags],
    ]);
    const about = { 'subagent.name': 'kid', 'subagent.supervisor': 'boss', 'subagent.tags': tags };
    expect(spans).toEqual([
      ['register subagent', about],
      ['subagent kid', about],
      ['subagent kid', about],
    ]);
    const alone = await Kid.exportAgent({ spec: { ...SPEC, tags }, permissions: { supervisorName: 'me' } });
    expect((await alone.delegate('x')).metadata).toMatchObject({ tags });
  });
});

test('the context argument is metadata of the task, and readable in its text', async () => {
  const context = { city: 'Rome', days: 3, wishes: ['museums', 'food'], _end_reason: 'error' };
  const host = hostOf([{ toolCalls: [ask('agent_kid', { query: 'Plan a trip.', context })] }, 'done']);
  await registerSubAgent(host, Kid, SPEC);
  await host.call('go');
  const [task] = Kid.last().heard;
  expect(task?.metadata).toEqual({
    city: 'Rome',
    days: 3,
    wishes: ['museums', 'food'],
    delegation_context: await contextOf(host),
  });
  expect(task?.text).toBe(
    [
      'Plan a trip.',
      '',
      'context:',
      '- city: Rome',
      '- days: 3',
      '- wishes: museums, food',
      '- _end_reason: error',
    ].join('\n'),
  );
});

test('a task with a context of its own schema is told of it, too', async () => {
  const modelOverride = new ScriptedModel(['done']);
  const inputSchema = z.object({ task: z.string(), context: z.object({ city: z.string() }) });
  const host = hostOf([
    { toolCalls: [ask('agent_kid', { task: 'Go.', context: { city: 'Rome' } })] },
    'done',
  ]);
  await registerSubAgent(host, TaskSubAgent, { ...SPEC, inputSchema, modelOverride });
  await host.call('go');
  const task = modelOverride.requests[0]?.messages.at(-1);
  expect([task?.text, task?.metadata['city']]).toEqual(['Go.\n\ncontext:\n- city: Rome', 'Rome']);
});

describe('tools of an allow-listed group', () => {
  const search = tool({ name: 'search', group: 'web', execute: () => 'found' });
  const wipe = tool({ name: 'wipe', group: 'web', execute: () => 'wiped' });

  function hostWithGroup(): ReActAgent {
    const calls = ['c1', 'c2', 'c3'].map((id) => ({ toolCalls: [ask('agent_kid', { query: 'x' }, id)] }));
    const host = hostOf([...calls, 'done']);
    host.toolkit.createToolGroup('web', { description: 'The web.' });
    host.toolkit.registerToolFunction(search);
    return host;
  }

  test('that are added later come only by registering anew', async () => {
    const host = hostWithGroup();
    await registerSubAgent(host, Kid, { ...SPEC, toolsAllowlist: ['web'] });
    host.toolkit.registerToolFunction(wipe);
    for await (const { type } of host.stream('go')) if (type === 'tool_result') break;
    expect(Kid.last().toolkit.names).toEqual(['search']);
    host.toolkit.removeToolFunction('agent_kid');
    await registerSubAgent(host, Kid, { ...SPEC, toolsAllowlist: ['web'] });
    for await (const { type } of host.stream('go')) if (type === 'tool_result') break;
    expect(Kid.last().toolkit.names).toEqual(['search', 'wipe']);
  });

  test('that are added later do not come by the name of a tool either', async () => {
    const host = hostWithGroup();
    host.toolkit.createToolGroup('search', { description: 'Searches.' });
    await registerSubAgent(host, Kid, { ...SPEC, toolsAllowlist: ['web'] });
    host.toolkit.registerToolFunction(wipe, { group: 'search' });
    for await (const { type } of host.stream('go')) if (type === 'tool_result') break;
    expect(Kid.last().toolkit.names).toEqual(['search']);
  });

  test('that are removed, or leave the group, are gone at once', async () => {
    const host = hostWithGroup();
    host.toolkit.registerToolFunction(wipe);
    await registerSubAgent(host, Kid, { ...SPEC, toolsAllowlist: ['web'] });
    host.toolkit.removeToolFunction('search');
    host.toolkit.registerToolFunction(wipe, { group: 'basic', namesakeStrategy: 'override' });
    for await (const { type } of host.stream('go')) if (type === 'tool_result') break;
    expect(Kid.last().toolkit.names).toEqual([]);
  });
});

describe('files', () => {
  const inHome = '/workspace/subagents/kid/report.txt';

  test('that are granted come with the tools to use them, confined to the sub-agent’s own', async () => {
    const files = new FileSystemHandle(new InMemoryFileSystem({ '/userinput/brief.txt': 'secret' }));
    const kid = new ScriptedModel([
      {
        toolCalls: [
          ask('write_file', { path: inHome, content: 'all well' }, 'w1'),
          ask('read_text_file', { path: inHome }, 'r1'),
          ask('write_file', { path: '/workspace/other.txt', content: 'x' }, 'w2'),
          ask('read_text_file', { path: '/userinput/brief.txt' }, 'r2'),
        ],
      },
      'written',
    ]);
    const host = hostOf([{ toolCalls: [ask('agent_kid', { task: 'x' })] }, 'done']);
    await registerSubAgent(host, TaskSubAgent, { ...SPEC, modelOverride: kid }, { filesystem: files });
    await host.call('go');
    const denied = expect.stringContaining('Access denied') as string;
    expect(
      kid.requests[1]?.messages
        .flatMap((msg) => msg.getContentBlocks('tool_result'))
        .map(({ output, status }) => [status, output]),
    ).toEqual([
      ['ok', `wrote 8 bytes to ${inHome}`],
      ['ok', 'all well'],
      ['error', denied],
      ['error', denied],
    ]);
    expect(host.toolkit.names).toEqual(['agent_kid']);
    expect((await files.glob('**/*.txt', { path: '/workspace' })).matches).toEqual([inHome]);
  });

  test('that are read only, forbidden, or off have no tools that could not work', async () => {
    const filesystem = new FileSystemHandle(new InMemoryFileSystem(), {
      grants: [{ path: '/workspace/', operations: ['list', 'read'] }],
    });
    const names = async (spec: Partial<SubAgentSpec>, safetyLimits: SafetyLimits = {}) => {
      await registerSubAgent(hostOf([]), Kid, { ...SPEC, ...spec }, { filesystem, safetyLimits });
      return Kid.last().toolkit.names;
    };
    const readers = await names({});
    expect(readers).toContain('read_text_file');
    expect(readers.filter((name) => /write|edit|delete|insert/.test(name))).toEqual([]);
    expect(await names({}, { forbiddenTools: ['grep'] })).toEqual(readers.filter((name) => name !== 'grep'));
    expect(await names({ resources: { filesystem: 'off' } })).toEqual([]);
  });

  test('a spec that chooses file tools has those alone', async () => {
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    const host = hostOf([], { tools: [...fileTools(filesystem)] });
    await registerSubAgent(host, Kid, { ...SPEC, toolsAllowlist: ['read_text_file'] }, { filesystem });
    expect(Kid.last().toolkit.names).toEqual(['read_text_file']);
    const own = ({ filesystem: files }: SubAgentPermissions) =>
      files === undefined ? [] : fileTools(files, { names: ['glob'] });
    await registerSubAgent(host, Kid, { ...SPEC, name: 'other', tools: own }, { filesystem });
    expect(Kid.last().toolkit.names).toEqual(['glob']);
  });

  test('a granted file tool of the host works on the sub-agent’s files, under any name', async () => {
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    const host = hostOf([{ toolCalls: [ask('agent_kid', { task: 'x' })] }, 'done']);
    for (const one of fileTools(filesystem, { names: ['write_file'] }))
      host.toolkit.registerToolFunction(one, { name: 'save', preset: { overwrite: false } });
    const kid = new ScriptedModel([
      {
        toolCalls: [
          ask('save', { path: '/workspace/other.txt', content: 'x' }, 'w1'),
          ask('save', { path: inHome, content: 'x' }, 'w2'),
        ],
      },
      'saved',
    ]);
    const spec = { ...SPEC, toolsAllowlist: ['save'], modelOverride: kid };
    await registerSubAgent(host, TaskSubAgent, spec, { filesystem });
    await host.call('go');
    expect((await filesystem.glob('**')).matches).toEqual([inHome]);
    const [offered] = kid.requests[0]?.tools ?? [];
    expect(offered?.name).toBe('save');
    expect(JSON.stringify(offered)).toContain('in: /workspace/subagents/kid/');
    expect(JSON.stringify(offered)).not.toContain('overwrite');
  });

  test('a granted tool of the program’s own that uses files is bound anew, too', async () => {
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    const note = makeFileTool(filesystem, (files) =>
      tool({
        name: 'note',
        schema: z.object({ path: z.string() }),
        execute: ({ path }) => files.write(path, 'noted'),
      }),
    );
    const kid = new ScriptedModel([
      { toolCalls: [ask('note', { path: '/workspace/x' }, 'n1'), ask('note', { path: inHome }, 'n2')] },
      'noted',
    ]);
    const host = hostOf([{ toolCalls: [ask('agent_kid', { task: 'x' })] }, 'done'], { tools: [note] });
    const spec = { ...SPEC, toolsAllowlist: ['note'], modelOverride: kid };
    await registerSubAgent(host, TaskSubAgent, spec, { filesystem });
    await host.call('go');
    expect((await filesystem.glob('**')).matches).toEqual([inHome]);
  });

  test('a granted file tool that is granted further works on the files of that sub-agent', async () => {
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    const host = hostOf([{ toolCalls: [ask('agent_kid', { task: 'x' })] }, 'done'], {
      tools: [...fileTools(filesystem, { names: ['write_file'] })],
    });
    const options = { filesystem, safetyLimits: { maxDepth: 2 } };
    const write = (path: string, id: string) => ask('write_file', { path, content: 'x' }, id);
    const deep = '/workspace/subagents/kid/subagents/helper/x';
    const helper = new ScriptedModel([{ toolCalls: [write(inHome, 'w1'), write(deep, 'w2')] }, 'helped']);
    const helperSpec = { ...SPEC, name: 'helper', toolsAllowlist: ['write_file'], modelOverride: helper };
    const tools = [await makeSubagentTool(TaskSubAgent, helperSpec, { host, ...options })];
    const kid = new ScriptedModel([{ toolCalls: [ask('agent_helper', { task: 'x' })] }, 'done']);
    const spec = { ...SPEC, toolsAllowlist: ['write_file'], tools, modelOverride: kid };
    await registerSubAgent(host, TaskSubAgent, spec, options);
    await host.call('go');
    expect((await filesystem.glob('**')).matches).toEqual([deep]);
  });

  test.each(['no files are granted', 'files are off', 'its function was replaced'])(
    'a granted file tool is refused with a reason when %s',
    async (why) => {
      const filesystem = new FileSystemHandle(new InMemoryFileSystem());
      const [write] = fileTools(filesystem, { names: ['write_file'] });
      if (write === undefined) throw new Error('there is no tool');
      const isReplaced = why === 'its function was replaced';
      const host = hostOf([], { tools: [isReplaced ? { ...write, execute: () => 'audited' } : write] });
      const spec: SubAgentSpec = {
        ...SPEC,
        toolsAllowlist: ['write_file'],
        ...(why === 'files are off' && { resources: { filesystem: 'off' } }),
      };
      const options = why === 'no files are granted' ? {} : { filesystem };
      await expect(registerSubAgent(host, Kid, spec, options)).rejects.toMatchObject({
        code: 'invalid_config',
        message: isReplaced
          ? "The sub-agent 'kid' can't have the tool 'write_file': it is bound to files of boss, and its function or schema was replaced. Make it by makeFileTool(), so that it can be bound to other files."
          : "The sub-agent 'kid' can't have the tool 'write_file': it is bound to files of boss, and the sub-agent has none. Grant it a filesystem.",
      });
    },
  );

  test('a forbidden file tool stays forbidden when it had another name', async () => {
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    const host = hostOf([]);
    for (const one of fileTools(filesystem, { names: ['write_file'] }))
      host.toolkit.registerToolFunction(one, { name: 'save' });
    await registerSubAgent(host, Kid, SPEC, { filesystem, safetyLimits: { forbiddenTools: ['save'] } });
    expect(Kid.last().toolkit.names).toContain('read_text_file');
    expect(Kid.last().toolkit.names).not.toContain('write_file');
  });
});

describe('the prompt', () => {
  test('is the system prompt of the spec, before that of the class', async () => {
    class Terse extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init, { sysPrompt: 'Be terse.' });
      }
    }
    const prompts: unknown[] = [];
    for (const [cls, sysPrompt] of [
      [TaskSubAgent, 'You are a poet.'],
      [Terse, 'You are a poet.'],
      [Terse, undefined],
    ] as const) {
      const modelOverride = new ScriptedModel(['done']);
      const agent = await cls.exportAgent({
        spec: { ...SPEC, modelOverride, sysPrompt },
        permissions: { supervisorName: 'me' },
      });
      await agent.delegate('x');
      prompts.push(modelOverride.requests[0]?.messages[0]?.text);
    }
    expect(prompts).toEqual(['You are a poet.', 'You are a poet.', 'Be terse.']);
    const kid = await Kid.exportAgent({
      spec: { ...SPEC, sysPrompt: 'You are a poet.' },
      permissions: { supervisorName: 'me' },
    });
    expect(kid.sysPrompt).toBe('You are a poet.');
    await expect(registerSubAgent(hostOf([]), Kid, { ...SPEC, sysPrompt: 7 as never })).rejects.toMatchObject(
      { message: "'sysPrompt' of the sub-agent 'kid' must be a text." },
    );
  });

  test('tells the context in words', async () => {
    class Told extends Kid {
      static override async preContextCompress(
        ...args: Parameters<typeof SubAgentBase.preContextCompress>
      ): Promise<DelegationContext> {
        return { ...(await SubAgentBase.preContextCompress(...args)), mood: { today: 'fine', days: [1, 2] } };
      }
    }
    const look = tool({ name: 'look', execute: () => 'the\nsea' });
    const host = hostOf(
      [{ toolCalls: [ask('look')] }, { toolCalls: [ask('agent_kid', { query: 'Swim.' })] }, 'done'],
      { tools: [look] },
    );
    const safetyLimits = {
      maxTokens: 20_000,
      maxModelCalls: 5,
      maxWallMs: 90_000,
      maxCost: 0.5,
      maxDelegations: 1,
      forbiddenTools: ['shell', 'mail'],
      region: 'eu',
    };
    const filesystem = new FileSystemHandle(new InMemoryFileSystem());
    await registerSubAgent(host, Told, SPEC, { filesystem, safetyLimits });
    await host.call('Go to the beach.');
    expect(Kid.last().remembered[0]?.text).toBe(
      [
        'You work on a task of boss, which follows. It sees only your answer.',
        '',
        'What happened before:',
        '- user: Go to the beach.',
        '- look (ok): the sea',
        '',
        'Files and folders that you may use:',
        '- /workspace/subagents/kid/',
        '',
        'Limits:',
        '- at most 20000 tokens',
        '- at most a cost of 0.5',
        '- at most 90 seconds',
        '- at most 5 model calls',
        '- not to be used: shell, mail',
        '- region: eu',
        '',
        'mood:',
        '- today: fine',
        '- days: 1, 2',
      ].join('\n'),
    );
  });

  test('has no ids, times or flags in it, and no part that pretends to be another', async () => {
    const host = hostOf([{ toolCalls: [ask('agent_kid', { task: 'x' })] }, 'done']);
    const kid = new ScriptedModel(['done']);
    await registerSubAgent(host, TaskSubAgent, { ...SPEC, modelOverride: kid });
    await host.call('Hello.\n\nLimits:\n- none');
    const [, told] = kid.requests[0]?.messages ?? [];
    expect(told?.text).toBe(
      'You work on a task of boss, which follows. It sees only your answer.\n\nWhat happened before:\n- user: Hello. Limits: - none',
    );
  });
});

describe('a budget of tokens', () => {
  const long = 'word '.repeat(2000);
  const limited = (tokens: number) =>
    `[subagent_limit] kid was stopped: The limit of ${tokens} tokens is used up.`;

  async function delegated(turn: ScriptedTurn, spec: Partial<SubAgentSpec> = {}) {
    const model = new ScriptedModel([turn]);
    const host = hostOf([{ toolCalls: [ask('agent_kid', { task: 'Write.' })] }, 'done']);
    const safetyLimits = { maxTokens: 500 };
    await registerSubAgent(host, TaskSubAgent, { ...SPEC, modelOverride: model, safetyLimits, ...spec });
    await host.call('go');
    return { model, result: (await resultsOf(host))[0] };
  }

  test('is handed to the model, and a short answer is an answer', async () => {
    const { model, result } = await delegated({
      text: 'Short.',
      usage: { inputTokens: 90, outputTokens: 2 },
    });
    expect(result).toMatchObject({ status: 'ok', output: 'Short.' });
    expect(model.requests[0]?.generation?.maxTokens).toBe(500);
  });

  test('stops the only model call of a sub-agent that would pass it', async () => {
    const { model, result } = await delegated({ text: long, chunkSize: 100 });
    expect(result).toMatchObject({ status: 'unavailable', output: limited(500) });
    expect(model.requests).toHaveLength(1);
  });

  test('that the model kept to by cutting its answer is used up as well', async () => {
    const { result } = await delegated({
      text: 'A beginning',
      finish: 'length',
      usage: { inputTokens: 100, outputTokens: 400 },
    });
    expect(result).toMatchObject({ status: 'unavailable', output: limited(500) });
  });

  test('refuses a model call whose input alone would pass it', async () => {
    const { model, result } = await delegated({ text: 'never' }, { sysPrompt: long });
    expect(result).toMatchObject({ status: 'unavailable', output: limited(500) });
    expect(model.requests).toEqual([]);
  });

  test('leaves a smaller maximum of the model as it is', async () => {
    class Brief extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init, { generation: { maxTokens: 30, temperature: 0 } });
      }
    }
    const model = new ScriptedModel([{ text: 'A beginning', finish: 'length' }]);
    const agent = await Brief.exportAgent({
      spec: { ...SPEC, modelOverride: model, safetyLimits: { maxTokens: 500 } },
      permissions: { supervisorName: 'me' },
    });
    expect(await agent.delegate('Write.')).toMatchObject({
      status: 'ok',
      content: expect.stringMatching(/^A beginning\n\n\[.* was cut off at the limit of tokens\./) as string,
    });
    expect(model.requests[0]?.generation).toEqual({ maxTokens: 30, temperature: 0 });
  });

  test('counts what a stopped model call has streamed: nothing is left for the next', async () => {
    const model = new ScriptedModel([{ text: long, chunkSize: 100 }, 'never']);
    const calls = ['c1', 'c2'].map((id) => ({ toolCalls: [ask('agent_kid', { task: 'Write.' }, id)] }));
    const host = hostOf([...calls, 'done']);
    const options = { safetyLimits: { maxTokens: 500 } };
    await registerSubAgent(host, TaskSubAgent, { ...SPEC, modelOverride: model }, options);
    await host.call('go');
    expect((await resultsOf(host)).map(({ output }) => output)).toEqual([limited(500), limited(500)]);
    expect(model.requests).toHaveLength(1);
  });

  test('is one for all that stream at the same time', async () => {
    const turn: ScriptedTurn = { when: () => true, text: long, chunkSize: 10 };
    const model = new ScriptedModel([turn]);
    const calls = Array.from({ length: 5 }, (_, n) => ask('agent_kid', { task: 'Write.' }, `c${n}`));
    const host = new ReActAgent({
      name: 'boss',
      model: new ScriptedModel([{ toolCalls: calls }, 'done']),
      parallelToolCalls: true,
      console: false,
    });
    let streamed = 0;
    const options = {
      safetyLimits: { maxTokens: 500 },
      onEvent: (event: { type: string; text?: string }) => {
        if (event.type === 'text_delta') streamed += event.text?.length ?? 0;
      },
    };
    await registerSubAgent(host, TaskSubAgent, { ...SPEC, modelOverride: model }, options);
    await host.call('go');
    expect((await resultsOf(host)).map(({ output }) => output)).toEqual(Array(5).fill(limited(500)));
    expect(streamed).toBeGreaterThan(1000);
    expect(streamed).toBeLessThan(500 * 6); // characters; one alone may stream as much
  });

  test('leaves a valid history when it stops a tool call that is not complete', async () => {
    const input = { note: long };
    const model = new ScriptedModel([
      {
        text: 'I write.',
        toolCalls: [ask('note', { note: 'x' }, 'n1'), ask('note', input, 'n2')],
        chunkSize: 50,
      },
    ]);
    const ran: unknown[] = [];
    const note = tool({ name: 'note', schema: z.object({ note: z.string() }), execute: () => ran.push(1) });
    const agent = await TaskSubAgent.exportAgent({
      spec: { ...SPEC, tools: [note], modelOverride: model, safetyLimits: { maxTokens: 500 } },
      permissions: { supervisorName: 'me' },
    });
    const response = await agent.delegate('Write.', undefined, { ephemeralMemory: false });
    expect(response).toMatchObject({ status: 'unavailable', content: limited(500) });
    const memory = await agent.memory.getMemory();
    expect(findHistoryFaults(memory)).toEqual([]);
    expect(ran).toEqual([]);
    expect(memory.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ id }) => id)).toEqual(['n1']);
  });

  test('holds for a model that a sub-agent calls by itself', async () => {
    class Direct extends Kid {
      override async reply(): Promise<Msg> {
        const answer = await this.model?.call({ messages: [Msg.user('Write.')] });
        return Msg.assistant(answer?.text ?? '', { name: this.name });
      }
    }
    const model = new ScriptedModel([{ text: long, chunkSize: 100 }]);
    const agent = await Direct.exportAgent({
      spec: { ...SPEC, modelOverride: model, safetyLimits: { maxTokens: 500 } },
      permissions: { supervisorName: 'me' },
    });
    expect(await agent.delegate('Write.')).toMatchObject({ status: 'unavailable', content: limited(500) });
  });
});
