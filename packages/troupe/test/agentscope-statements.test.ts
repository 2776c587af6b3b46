/** Statements in descriptions of AgentScope that no other test shows. `docs/agentscope.md` lists all statements. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { AgentBase } from '../src/agent/agent-base.ts';
import type { PrintedMsg } from '../src/agent/printing/printer.ts';
import { withRunConfig } from '../src/config/run-config.ts';
import { TroupeError } from '../src/errors.ts';
import { LongTermMemoryBase } from '../src/longterm/long-term-memory-base.ts';
import { Msg, type MsgInput } from '../src/message/msg.ts';
import { PlanNotebook } from '../src/plan/plan-notebook.ts';
import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { StateModule } from '../src/state/state-module.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { BoundedQueue } from '../src/util/async/bounded-queue.ts';

class Speaker extends AgentBase {
  readonly heard: string[] = [];

  constructor(name: string) {
    super({ name, console: false });
  }

  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    const msg = Msg.assistant(`${this.name} heard ${msgs.length}`, { name: this.name });
    await this.print(msg);
    return msg;
  }

  override async observe(msgs: MsgInput): Promise<void> {
    this.heard.push(...Msg.list(msgs).map((msg) => msg.text));
  }
}

class Notes extends LongTermMemoryBase {
  facts: string[] = [];

  constructor() {
    super();
    this.registerState('facts');
  }

  override async retrieve(): Promise<string> {
    return '';
  }

  override async record(msgs: readonly Msg[]): Promise<void> {
    this.facts.push(...msgs.map((msg) => msg.text));
  }
}

function setUp(
  script: (string | ScriptedTurn)[],
  options: Partial<ReActAgentOptions> = {},
): { agent: ReActAgent; model: ScriptedModel } {
  const model = new ScriptedModel(script);
  return { agent: new ReActAgent({ name: 'Friday', model, console: false, ...options }), model };
}

describe('an agent', () => {
  test('has an id of its own, which is no part of its state', () => {
    const [a, b] = [setUp([]).agent, setUp([]).agent];
    expect(a.id).not.toBe(b.id);
    expect(JSON.stringify(a.stateDict())).not.toContain(a.id);
  });

  test('without a reply is told so', async () => {
    class Mute extends Speaker {}
    Reflect.set(Mute.prototype, 'reply', undefined); // a class in plain JavaScript, which forgot it
    await expect(new Mute('mute').call('Hi.')).rejects.toThrow(
      new TroupeError('invalid_config', 'Mute has no method reply().'),
    );
  });

  test('without an observe of its own hears nothing, and fails nobody', async () => {
    class Deaf extends AgentBase {
      override async reply(): Promise<Msg> {
        return Msg.assistant('What?', { name: this.name });
      }
    }
    expect(await new Deaf({ name: 'deaf', console: false }).observe('Hello?')).toBeUndefined();
  });
});

test('an instance hook is for one agent only', async () => {
  const seen: string[] = [];
  const [a, b] = [new Speaker('a'), new Speaker('b')];
  a.registerInstanceHook('preReply', 'one', (agent) => void seen.push(`one ${agent.name}`));
  b.registerInstanceHook('preReply', 'two', (agent) => void seen.push(`two ${agent.name}`));
  await a.call();
  await b.call();
  expect(seen).toEqual(['one a', 'two b']);
});

test('a method without its hooks is on the prototype of its class', async () => {
  const ann = new Speaker('ann');
  ann.registerInstanceHook('preObserve', 'loud', (_, { msgs }) => ({
    msgs: msgs.map((msg) => msg.with({ content: msg.text.toUpperCase() })),
  }));
  await ann.observe([Msg.user('hi')]);
  await Speaker.prototype.observe.call(ann, [Msg.user('hi')]);
  expect(ann.heard).toEqual(['HI', 'hi']);
});

test('handleInterrupt gets the input of the call, as the caller gave it', async () => {
  class Stopped extends Speaker {
    override reply(): Promise<Msg> {
      return new Promise(() => {});
    }

    override async handleInterrupt(msgs: readonly Msg[]): Promise<Msg> {
      return Msg.assistant(`Not any more: ${msgs.map((msg) => msg.text).join()}`);
    }
  }
  const agent = new Stopped('a');
  const call = agent.call(['one', 'two'].map((text) => Msg.user(text)));
  await agent.interrupt('Stop.');
  expect((await call).text).toBe('Not any more: one,two');
});

describe('subscribers', () => {
  test('hear nothing of a call that fails, nor of thinking alone', async () => {
    class Trouble extends Speaker {
      override async reply([msg]: readonly Msg[]): Promise<Msg> {
        if (msg === undefined) throw new Error('nothing to say');
        return Msg.assistant([{ type: 'thinking', thinking: 'Hm.' }], { name: this.name });
      }
    }
    const [speaker, listener] = [new Trouble('speaker'), new Speaker('listener')];
    speaker.resetSubscribers('hub', [listener]);
    await expect(speaker.call()).rejects.toThrow('nothing to say');
    await speaker.call('Hi.');
    expect(listener.heard).toEqual([]);
  });

  test('are those of the last reset for each hub, until they are removed', async () => {
    const [speaker, a, b] = [new Speaker('speaker'), new Speaker('a'), new Speaker('b')];
    speaker.resetSubscribers('one', [a]);
    speaker.resetSubscribers('one', [b]);
    await speaker.call();
    expect([a.heard, b.heard]).toEqual([[], ['speaker heard 0']]);
    speaker.resetSubscribers('two', [a]);
    speaker.removeSubscribers('one');
    await speaker.call('Hi.');
    expect([a.heard, b.heard]).toEqual([['speaker heard 1'], ['speaker heard 0']]);
  });

  test('of an unknown hub can not be removed, which is logged', async () => {
    const lines: string[] = [];
    const logging = { log: (level: string, message: string) => void lines.push(`${level}: ${message}`) };
    await withRunConfig({ logging }, async () => new Speaker('speaker').removeSubscribers('gone'));
    expect(lines).toEqual(["warn: speaker has no subscribers in the hub 'gone'."]);
  });
});

describe('the message queue of an agent', () => {
  test('is off at first', async () => {
    const agent = new Speaker('a');
    await agent.call();
    expect(agent.msgQueue).toBeUndefined();
  });

  test('is the given one, or a new one, which stays when it is enabled again', async () => {
    const agent = new Speaker('a');
    agent.setMsgQueueEnabled(true);
    const own = agent.msgQueue;
    agent.setMsgQueueEnabled(true);
    expect(agent.msgQueue).toBe(own);
    const given = new BoundedQueue<PrintedMsg>(3);
    agent.setMsgQueueEnabled(true, given);
    const answer = await agent.call();
    expect(agent.msgQueue).toBe(given);
    expect(own?.size).toBe(0);
    expect(await given.take()).toEqual({ msg: answer, last: true });
    agent.setMsgQueueEnabled(false);
    await agent.call();
    expect([agent.msgQueue, given.size]).toEqual([undefined, 0]);
  });
});

describe('the loop of a ReActAgent', () => {
  const writeFile = tool({
    name: 'write_file',
    schema: z.object({ file: z.string(), content: z.string() }),
    execute: ({ file }) => `${file} was written.`,
  });
  const readFile = tool({
    name: 'read_file',
    schema: z.object({ file: z.string() }),
    execute: () => 'Hello',
  });
  const write = { name: 'write_file', input: { file: 'hello.txt', content: 'Hello' } };
  const read = { name: 'read_file', input: { file: 'hello.txt' } };

  /** Messages in short: role, text, tool calls and outputs. */
  const short = (msgs: readonly Msg[]): string[] =>
    msgs.map((msg) => {
      const calls = msg.getContentBlocks('tool_use').map(({ name }) => name);
      const outputs = msg.getContentBlocks('tool_result').map(({ output }) => output);
      return [msg.role, msg.text, ...calls, ...outputs].filter((part) => part !== '').join(' ');
    });

  test('gives each model call the system prompt and all messages so far: a file is written, read and told', async () => {
    const script = [{ text: 'First I write.', toolCalls: [write] }, { toolCalls: [read] }, 'It says Hello.'];
    const { agent, model } = setUp(script, { sysPrompt: 'Help.', tools: [writeFile, readFile] });
    const answer = await agent.call('Write hello.txt and read it.');
    const history = [
      'user Write hello.txt and read it.',
      'assistant First I write. write_file',
      'system hello.txt was written.',
      'assistant read_file',
      'system Hello',
      'assistant It says Hello.',
    ];
    expect(model.requests.map(({ messages }) => short(messages))).toEqual(
      [1, 3, 5].map((count) => ['system Help.', ...history.slice(0, count)]),
    );
    expect(short(await agent.memory.getMemory())).toEqual(history);
    expect((await agent.memory.getMemory()).at(-1)).toBe(answer);
  });

  test('goes on when no tool of a model message exists', async () => {
    const { agent, model } = setUp([{ toolCalls: [{ name: 'gone', input: {} }] }, 'Then without it.']);
    expect((await agent.call('Go.')).text).toBe('Then without it.');
    expect(model.requests[1]?.messages.at(-1)?.getContentBlocks('tool_result')[0]?.output).toMatch(
      /^FunctionNotFoundError:/,
    );
  });

  test('has at most ten model calls by default, and then a summary', async () => {
    const again: ScriptedTurn = { when: ({ tools = [] }) => tools.length > 0, toolCalls: [read] };
    const { agent, model } = setUp([again, 'So far.'], { tools: [readFile] });
    expect((await agent.call('Go.')).endReason).toBe('max_iters');
    expect(model.requests).toHaveLength(11);
  });

  test('runs tool calls one after the other by default', async () => {
    const order: string[] = [];
    const slow = tool({
      name: 'slow',
      schema: z.object({ n: z.number() }),
      async execute({ n }) {
        order.push(`${n} starts`);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`${n} ends`);
      },
    });
    const toolCalls = [1, 2].map((n) => ({ name: 'slow', input: { n } }));
    await setUp([{ toolCalls }, 'Done.'], { tools: [slow] }).agent.call('Go.');
    expect(order).toEqual(['1 starts', '1 ends', '2 starts', '2 ends']);
  });

  test('has no meta tool by default, and both modes of a long-term memory', async () => {
    const longTermMemory = new Notes();
    const { agent, model } = setUp(['Noted.'], { longTermMemory });
    await agent.call('I like tea.');
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual([
      'record_to_memory',
      'retrieve_from_memory',
    ]);
    expect(longTermMemory.facts).toEqual(['I like tea.', 'Noted.']);
  });

  test.each([
    [undefined, false],
    [true, true],
  ])('with printHintMsg %j prints the hint of a plan: %j', async (printHintMsg, isPrinted) => {
    const { agent } = setUp(['Fine.'], { planNotebook: new PlanNotebook(), printHintMsg });
    agent.setMsgQueueEnabled(true);
    await agent.call('Go.');
    const printed: string[] = [];
    for (const queue = agent.msgQueue; queue !== undefined && queue.size > 0;)
      printed.push((await queue.take())?.msg.text ?? '');
    expect(printed.some((text) => text.startsWith('<system-hint>'))).toBe(isPrinted);
    expect(printed.at(-1)).toBe('Fine.');
  });

  test('gives the model the generation options, and prints the message so far at each chunk', async () => {
    const generation = { temperature: 0.5 };
    const { agent, model } = setUp([{ text: 'Good day.', chunkSize: 5 }], { generation });
    agent.setMsgQueueEnabled(true);
    const answer = await agent.call('Hi.');
    expect(model.requests[0]?.generation).toEqual(generation);
    const printed: (string | boolean | undefined)[][] = [];
    for (const queue = agent.msgQueue; queue !== undefined && queue.size > 0;) {
      const { msg, last } = (await queue.take()) ?? {};
      expect(msg?.id).toBe(answer.id);
      printed.push([msg?.text, last]);
    }
    expect(printed.slice(0, 2)).toEqual([
      ['Good ', false],
      ['Good day.', false],
    ]);
    expect(printed.at(-1)).toEqual(['Good day.', true]);
  });

  test.each([false, true])(
    'has hooks right around each tool call, and the exchange in memory afterwards (parallel: %j)',
    async (parallelToolCalls) => {
      const order: string[] = [];
      const look = tool({
        name: 'look',
        schema: z.object({ n: z.number() }),
        async execute({ n }) {
          order.push(`tool ${n} with ${await agent.memory.size()} messages`);
          if (n === 1) throw new Error('dark');
          return `seen ${n}`;
        },
      });
      const toolCalls = [1, 2].map((n) => ({ name: 'look', id: `c${n}`, input: { n } }));
      const { agent } = setUp([{ toolCalls }, 'Done.'], { tools: [look], parallelToolCalls });
      agent.registerInstanceHook('preActing', 'note', (_, { call }) => void order.push(`before ${call.id}`));
      agent.registerInstanceHook('postActing', 'mark', (_, { call }, result) => {
        order.push(`after ${call.id}`);
        return { ...result, output: `[${String(result.output)}]` };
      });
      expect((await agent.call('Go.')).text).toBe('Done.');
      const [one, two] = [1, 2].map((n) => [`before c${n}`, `tool ${n} with 1 messages`, `after c${n}`]);
      if (parallelToolCalls) expect(order.toSorted()).toEqual([...(one ?? []), ...(two ?? [])].toSorted());
      else expect(order).toEqual([...(one ?? []), ...(two ?? [])]);
      const msgs = await agent.memory.getMemory();
      expect(msgs.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ output }) => output)).toEqual([
        '[Error: dark]',
        '[seen 2]',
      ]);
    },
  );

  test('a hook before reasoning changes its arguments', async () => {
    const { agent, model } = setUp(['Hello.'], { tools: [readFile] });
    agent.registerInstanceHook('preReasoning', 'silent', () => ({ toolChoice: 'none' }));
    await agent.call('Hi.');
    expect(model.requests[0]?.toolChoice).toBe('none');
  });
});

test('the state of an agent has its toolkit, memory, long-term memory, plan and the storage of plans', async () => {
  const parts = { longTermMemory: new Notes(), planNotebook: new PlanNotebook() };
  const { agent } = setUp(['Noted.'], { ...parts, longTermMemoryMode: 'static_control' });
  await agent.call('I like tea.');
  for (const part of [agent, agent.toolkit, agent.memory, agent.longTermMemory, agent.planNotebook])
    expect(part).toBeInstanceOf(StateModule);
  const state = agent.stateDict();
  expect(Object.keys(state)).toEqual(
    expect.arrayContaining(['name', 'sysPrompt', 'toolkit', 'memory', 'longTermMemory', 'planNotebook']),
  );
  expect(state['planNotebook']).toMatchObject({ storage: { plans: [] }, currentPlan: null });
  const other = setUp([], { longTermMemory: new Notes(), planNotebook: new PlanNotebook() }).agent;
  other.loadStateDict(state);
  expect(other.stateDict()).toEqual(state);
  expect((other.longTermMemory as Notes).facts).toEqual(['I like tea.', 'Noted.']);
});
