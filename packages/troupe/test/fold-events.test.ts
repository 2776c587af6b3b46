// Events folded back into messages: for every scenario, what a client shows is what the agents printed and remember.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { AgentEvent } from '../src/event/agent-event.ts';
import { ConversationView } from '../src/event/conversation-view.ts';
import { foldEvents } from '../src/event/fold-events.ts';
import type { MsgView } from '../src/event/msg-fold.ts';
import { readEvents } from '../src/event/read-events.ts';
import {
  agentTool,
  BoundedQueue,
  FallbackModel,
  ModelError,
  ReActAgent,
  tool,
  Toolkit,
  ToolResponse,
  UserAgent,
  ProgrammaticUserInput,
  type AgentBase,
  type CallOptions,
  type Msg,
  type PendingDecision,
  type PrintedMsg,
  type ReActAgentOptions,
  type StreamOptions,
} from '../src/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/index.ts';

const look = tool({ name: 'look', execute: () => 'sunny' });
const fail = tool({
  name: 'fail',
  execute: () => {
    throw new Error('no');
  },
});
const paint = tool({
  name: 'paint',
  execute: () => [{ type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AAAA' } }],
});
/** Shows two snapshots before its result. */
const slow = tool({
  name: 'slow',
  execute: async function* () {
    yield 'a';
    yield 'ab';
    yield 'abc';
  },
});
const remove = tool({ name: 'remove', execute: ({ path }: { path?: unknown }) => `removed ${String(path)}` });

const asksAboutRemove: ReActAgentOptions['permissionPolicy'] = {
  decide: ({ call }) => ({ behavior: call.name === 'remove' ? 'ask' : 'allow' }),
};

function agentOf(
  script: readonly (string | ScriptedTurn)[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  return new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    tools: [look, fail, paint, slow, remove],
    parallelToolCalls: true,
    permissionPolicy: asksAboutRemove,
    console: false,
    ...options,
  });
}

/** The part of a message that its events have. */
function shownOf({ id, name, role, content }: Msg | MsgView): object {
  return {
    id,
    name,
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  };
}

/** Collects what an agent prints: of each message, the last print. */
function printsOf(agent: AgentBase): Map<string, Msg> {
  const printed = new Map<string, Msg>();
  const queue = new BoundedQueue<PrintedMsg>(100_000);
  const put = queue.put.bind(queue);
  queue.put = (item) => {
    if (item.msg.pending === undefined) printed.set(item.msg.id, item.msg);
    return put(item);
  };
  agent.setMsgQueueEnabled(true, queue);
  return printed;
}

/** The views of one conversation: from events, from their JSON, from HTTP, and from events that are sent twice. */
class Views {
  readonly direct = new ConversationView();
  readonly parsed = new ConversationView();
  readonly twice = new ConversationView();
  readonly read = new ConversationView();
}

/** Runs the agent once, and adds its events to all views: they are the same afterwards. */
async function follow(
  { direct, parsed, twice, read }: Views,
  agent: AgentBase,
  input?: string,
  options: CallOptions & StreamOptions = {},
  onEvent: () => void = () => {},
): Promise<void> {
  const events: AgentEvent[] = [];
  try {
    for await (const event of agent.stream(input, options)) {
      events.push(event);
      onEvent();
      direct.add(event);
      parsed.add(JSON.parse(JSON.stringify(event)) as AgentEvent);
      twice.add(event);
      twice.add(event);
      expect(Object.isFrozen(direct.messages)).toBe(true);
      expect(direct.pending).toHaveLength(new Set(direct.pending.map(({ id }) => id)).size);
    }
  } catch {
    // a failed run has told so by `run_end`
  }
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const response = new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  for await (const _ of foldEvents(readEvents(response), read));
  expect(parsed.toJSON()).toEqual(asJson(direct));
  expect(asJson(read)).toEqual(asJson(direct));
  expect(asJson(twice)).toEqual(asJson(direct));
}

/** Compares the messages of one agent with its memory, and with its prints. */
async function expectMessages(
  { direct }: Views,
  agent: ReActAgent,
  prints: ReadonlyMap<string, Msg> | undefined,
  path: readonly string[] | undefined,
): Promise<void> {
  const shown = direct.messages.filter(({ agentPath }) => agentPath.join() === path?.join());
  const remembered = (await agent.memory.getMemory()).filter(({ role }) => role !== 'user');
  expect(shown.map(shownOf)).toEqual(remembered.map(shownOf));
  const byId = new Map(shown.map((msg) => [msg.id, shownOf(msg)]));
  const printed = [...(prints?.values() ?? [])].filter(({ content }) => content.length > 0);
  expect(printed.length).toBeGreaterThan(0);
  for (const msg of printed) expect(byId.get(msg.id)).toEqual(shownOf(msg));
}

function asJson(view: ConversationView): unknown {
  return JSON.parse(JSON.stringify(view));
}

interface Story {
  readonly make: () => ReActAgent;
  readonly options?: CallOptions;
  readonly status?: string;
  /** Minimum number of messages, so that a scenario in which nothing happened does not pass. */
  readonly messages: number;
}

const SIGNED = { providerMeta: { signature: 'c2ln' } };
const call = (name: string, id: string, input: object = {}) => ({ name, id, input: { ...input } });
const WORK: readonly (string | ScriptedTurn)[] = [
  {
    thinking: 'Let me see.',
    text: 'I look.',
    chunkSize: 3,
    toolCalls: [
      call('look', 'a', { city: 'Lisbon' }),
      call('slow', 'b'),
      call('fail', 'c'),
      call('paint', 'd'),
    ],
  },
  { text: 'All done.', chunkSize: 2, usage: { inputTokens: 3, outputTokens: 4 } },
];

const STORIES: Readonly<Record<string, Story>> = {
  'a text': { make: () => agentOf([{ text: 'Hello, Ann.', chunkSize: 3 }]), messages: 1 },
  'an empty tool input': {
    make: () => agentOf([{ toolCalls: [{ name: 'look', id: 'a', input: '' }] }, 'Done.']),
    messages: 3,
  },
  'parallel tool calls': { make: () => agentOf(WORK), messages: 6 },
  'tool calls in sequence': { make: () => agentOf(WORK, { parallelToolCalls: false }), messages: 6 },
  'signed thinking, sound and whole blocks': {
    make: () =>
      agentOf([
        {
          deltas: [
            { type: 'thinking', thinking: 'Hm' },
            { type: 'thinking', thinking: 'm.', ...SIGNED },
            { type: 'thinking', thinking: '', providerMeta: { more: 1 } },
            { type: 'text', text: 'Listen:' },
            { type: 'audio', data: 'AAAA', mediaType: 'audio/wav' },
            { type: 'audio', data: 'BBBB', mediaType: 'audio/wav', ...SIGNED },
            { type: 'block', block: { type: 'text', text: 'whole', ...SIGNED } },
            { type: 'tool_use_start', index: 0, id: 'a', name: 'look', ...SIGNED },
            { type: 'tool_input', index: 0, json: '{"city": "Lis' },
            { type: 'tool_input', index: 0, json: 'bon",}' },
            { type: 'tool_use_end', index: 0 },
            { type: 'tool_use_start', index: 1, id: 'b', name: 'look' },
            { type: 'tool_input', index: 1, json: 'not JSON' },
            { type: 'tool_use_end', index: 1 },
            { type: 'tool_use_start', index: 2, id: 'c', name: 'look' },
            { type: 'tool_input', index: 2, json: '{"never": "fin' },
          ],
        },
        'Done.',
      ]),
    messages: 4,
  },
  'a model that starts anew': {
    make: () =>
      agentOf([], {
        model: new FallbackModel([
          new ScriptedModel([
            {
              when: () => true,
              text: 'I beg',
              toolCalls: [call('look', 'a')],
              error: new ModelError('gone', { kind: 'overloaded' }),
            },
          ]),
          new ScriptedModel([{ text: 'Better.', toolCalls: [call('look', 'a')] }, 'Best.']),
        ]),
      }),
    messages: 3,
  },
  'a model that fails in the middle': {
    make: () => agentOf([{ text: 'I beg', toolCalls: [call('look', 'a')], error: new Error('gone') }]),
    status: 'failed',
    messages: 2,
  },
  'a structured answer': {
    make: () => agentOf([{ toolCalls: [call('generate_response', 'a', { city: 'Rome' })] }]),
    options: { structuredModel: z.object({ city: z.string() }) },
    messages: 3,
  },
  'a result that is the answer': {
    make: () =>
      agentOf([{ toolCalls: [call('tell', 'a')] }], {
        tools: [tool({ name: 'tell', returnDirect: true, execute: () => new ToolResponse('Told.') })],
      }),
    messages: 3,
  },
  'a summary after the last step': {
    make: () =>
      agentOf([{ toolCalls: [call('look', 'a')] }, { text: 'So:', toolCalls: [call('look', 'b')] }], {
        maxIters: 1,
      }),
    messages: 3,
  },
};

describe('folded messages are those of the agent', () => {
  test.each(Object.entries(STORIES))('%s', async (_, { make, options, status = 'finished', messages }) => {
    const agent = make();
    const prints = printsOf(agent);
    const views = new Views();
    await follow(views, agent, 'Go.', options);
    await expectMessages(views, agent, prints, ['Friday']);
    expect(views.direct.messages.length).toBeGreaterThanOrEqual(messages);
    expect(views.direct.status).toBe(status);
    expect(views.direct.pending).toEqual([]);
  });

  test.each(Object.entries(STORIES))('%s, interrupted at every event', async (_, { make, options }) => {
    let points = 0;
    for (let point = 0; ; point++) {
      const agent = make();
      const prints = printsOf(agent);
      const views = new Views();
      let seen = 0;
      let stopped: Promise<boolean> | undefined;
      await follow(views, agent, 'Go.', options, () => {
        if (seen++ === point) stopped = agent.interrupt();
      });
      if (stopped === undefined) break;
      points++;
      if (await stopped) expect(views.direct.status).toBe('interrupted');
      await expectMessages(views, agent, prints, ['Friday']);
    }
    expect(points).toBeGreaterThan(4);
  });

  test('the answer has all fields of the message, model messages have their usage', async () => {
    const usage = { inputTokens: 1, outputTokens: 2 };
    const agent = agentOf([
      { toolCalls: [call('look', 'a')], usage },
      { text: 'Done.', usage },
    ]);
    const views = new Views();
    await follow(views, agent, 'Go.');
    const [, modelMsg, , answer] = await agent.memory.getMemory();
    const shown = views.direct.messages;
    expect(shown[0]?.usage).toEqual(modelMsg?.usage);
    const { agentPath, replyId, ...fields } = shown.at(-1) ?? {};
    expect(fields).toEqual(answer?.toJSON());
    expect([agentPath, typeof replyId]).toEqual([['Friday'], 'string']);
  });

  test('printed hints and users keep their name and role', async () => {
    const hinting = agentOf([{ text: ' ' }, 'Done.'], { printHintMsg: true });
    const prints = printsOf(hinting);
    const views = new Views();
    await follow(views, hinting, 'Go.');
    const shown = views.direct.messages;
    expect(shown.map(shownOf)).toEqual(Array.from(prints.values(), shownOf));
    expect(shown.map(({ role }) => role)).toEqual(['assistant', 'user', 'assistant']);

    const user = new UserAgent({
      name: 'Ann',
      input: new ProgrammaticUserInput(['Hi!']),
      console: false,
    });
    const others = new Views();
    await follow(others, user, undefined);
    expect(others.direct.messages).toMatchObject([
      { name: 'Ann', role: 'user', content: [{ type: 'text', text: 'Hi!' }] },
    ]);
  });
});

describe('a suspended run', () => {
  const SCRIPT: readonly (string | ScriptedTurn)[] = [
    {
      text: 'May I?',
      toolCalls: [call('remove', 'a', { path: 'x' }), call('look', 'b'), call('remove', 'c', { path: 'y' })],
    },
    'Done.',
  ];
  const DECISIONS: Readonly<Record<string, (id: string) => PendingDecision>> = {
    allow: (id) => ({ id, verdict: 'allow' }),
    'allow with other arguments': (id) => ({ id, verdict: 'allow', input: { path: 'z' } }),
    deny: (id) => ({ id, verdict: 'deny', reason: 'no' }),
    result: (id) => ({ id, verdict: 'result', output: 'did it' }),
  };

  test.each(Object.entries(DECISIONS))('continues: %s', async (_, decide) => {
    const agent = agentOf(SCRIPT);
    const prints = printsOf(agent);
    const views = new Views();
    await follow(views, agent, 'Go.');
    expect(views.direct.status).toBe('suspended');
    expect(views.direct.pending).toEqual(agent.pendingCalls);
    expect(views.direct.messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['text', 'tool_use', 'tool_use', 'tool_use'],
      ['tool_result'],
    ]);
    const [first, second] = agent.pendingCalls.map(({ id }) => id);
    await follow(views, agent, undefined, { decisions: [decide(first ?? '')] });
    expect(views.direct.status).toBe('suspended');
    expect(views.direct.pending).toEqual(agent.pendingCalls);
    expect(views.direct.pending.map(({ call }) => call.id)).toEqual(['c']);
    await follow(views, agent, undefined, { decisions: [decide(second ?? '')] });
    expect(views.direct.status).toBe('finished');
    expect(views.direct.pending).toEqual([]);
    await expectMessages(views, agent, prints, ['Friday']);
    expect(views.direct.messages).toHaveLength(5);
  });

  test('that refuses input, or a decision, stays as it was', async () => {
    const agent = agentOf(SCRIPT);
    const views = new Views();
    await follow(views, agent, 'Go.');
    const before = views.direct.pending;
    expect(before).toHaveLength(2);
    // A refused agent call has no events of its own; its response says why.
    const readResponse = async (...args: Parameters<ReActAgent['stream']>): Promise<void> => {
      for await (const _ of foldEvents(readEvents(agent.stream(...args).toResponse()), views.direct));
    };
    await readResponse('Something new.');
    expect(views.direct.status).toBe('failed');
    expect(views.direct.error?.code).toBe('pending_calls');
    expect(views.direct.pending).toEqual(before);
    await readResponse(undefined, { decisions: [{ id: 'unknown', verdict: 'allow' }] });
    expect(views.direct.error?.code).toBe('decision_refused');
    expect(views.direct.pending).toEqual(before);
    await readResponse(undefined);
    expect([views.direct.status, views.direct.error]).toEqual(['suspended', undefined]);
    expect(views.direct.pending).toEqual(before);
    await readResponse('Something new.', { onPending: 'close' });
    expect(views.direct.status).toBe('finished');
    expect(views.direct.pending).toEqual([]);
  });

  test('is shown by a client that knows only the memory and the pending tool calls', async () => {
    const agent = agentOf(SCRIPT);
    await agent.call('Go.');
    const view = new ConversationView({
      messages: await agent.memory.getMemory(),
      pending: agent.pendingCalls,
      status: 'suspended',
    });
    const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }) as const);
    for await (const event of agent.stream(undefined, { decisions })) view.add(event);
    const results = (await agent.memory.getMemory()).filter((msg) => msg.hasContentBlocks('tool_result'));
    const ran = results.filter((msg) => msg.getContentBlocks('tool_result')[0]?.name === 'remove');
    expect(ran).toHaveLength(2);
    expect(view.messages.slice(1, 3).map(shownOf)).toEqual(ran.map(shownOf));
    expect(view.messages).toHaveLength(4); // input, two results, answer: none of them twice
  });
});

describe('nested agents', () => {
  const HELPERS = ['Ada', 'Bob'] as const;

  function team(): { host: ReActAgent; helpers: readonly ReActAgent[] } {
    const helpers = HELPERS.map((name) =>
      agentOf(
        [
          { text: `I am ${name}.`, chunkSize: 3, toolCalls: [call('look', 'same'), call('slow', 'b')] },
          { text: `${name} is done.`, chunkSize: 2 },
        ],
        { name },
      ),
    );
    const script: readonly (string | ScriptedTurn)[] = [
      { text: 'I ask.', toolCalls: HELPERS.map((name) => call(name, name, { query: 'Help!' })) },
      'All done.',
    ];
    const toolkit = new Toolkit({
      tools: helpers.map((agent) => agentTool(agent, { description: 'Helps.' })),
    });
    return { host: agentOf(script, { tools: [], toolkit }), helpers };
  }

  test('each have their messages, at any time', async () => {
    const { host, helpers } = team();
    const agents = [host, ...helpers];
    const prints = agents.map(printsOf);
    const views = new Views();
    await follow(views, host, 'Go.', { nested: true });
    const paths = [['Friday'], ['Friday', 'Ada'], ['Friday', 'Bob']];
    for (const [i, agent] of agents.entries()) await expectMessages(views, agent, prints[i], paths[i]);
    expect(views.direct.messages).toHaveLength(12);
    expect(views.direct.status).toBe('finished');
  });

  test('each have their messages when all are interrupted, at every third event', async () => {
    let points = 0;
    for (let point = 0; ; point += 3) {
      const { host, helpers } = team();
      const prints = [host, ...helpers].map(printsOf);
      const views = new Views();
      let seen = 0;
      let stopped: Promise<boolean> | undefined;
      await follow(views, host, 'Go.', { nested: true }, () => {
        if (seen++ === point) stopped = host.interrupt();
      });
      if (stopped === undefined) break;
      points++;
      await stopped;
      await expectMessages(views, host, prints[0], ['Friday']);
    }
    expect(points).toBeGreaterThan(10);
  });

  test('ask through their host: each pending tool call is listed once', async () => {
    const helper = agentOf([{ toolCalls: [call('remove', 'h', { path: 'x' })] }, 'Helped.'], { name: 'Ada' });
    const host = agentOf([{ toolCalls: [call('Ada', 'a', { query: 'Help!' })] }, 'Done.'], {
      tools: [agentTool(helper, { description: 'Helps.' })],
    });
    const [prints, helperPrints] = [printsOf(host), printsOf(helper)];
    const views = new Views();
    await follow(views, host, 'Go.', { nested: true });
    expect(views.direct.status).toBe('suspended');
    expect(views.direct.pending).toEqual(host.pendingCalls);
    const decisions = host.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }) as const);
    await follow(views, host, undefined, { nested: true, decisions });
    expect([views.direct.status, views.direct.pending]).toEqual(['finished', []]);
    await expectMessages(views, host, prints, ['Friday']);
    await expectMessages(views, helper, helperPrints, ['Friday', 'Ada']);
  });
});
