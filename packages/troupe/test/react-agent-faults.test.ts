// Models, hooks, memories and callers that disturb the real loop: each ends in a valid history and a clear outcome.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg, type MsgInput } from '../src/message/msg.ts';
import { OpenAIChatModel } from '../src/providers/openai/index.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { sleep } from '../src/util/clock.ts';
import type { JsonObject } from '../src/util/json.ts';
import { strideOf } from './fair-sample.ts';
import { timeUntilSettled } from './time-until-settled.ts';
import { openAiChatFaults } from './wire/openai-chat-rules.ts';
import { fetchOf, readFixtures } from './wire/replay.ts';

let executions = 0;
const count = tool({
  name: 'get_capital',
  schema: z.object({ country: z.string() }),
  execute: ({ country }) => `${++executions}: the capital of ${country}`,
});
const time = tool({ name: 'get_time', execute: () => `${++executions}: noon` });

function agentOf(
  model: ReActAgentOptions['model'],
  options: Partial<ReActAgentOptions> = {},
  tools: readonly Tool[] = [count, time],
): ReActAgent {
  executions = 0;
  const toolkit = new Toolkit();
  for (const one of tools) toolkit.registerToolFunction(one);
  const agent = new ReActAgent({ name: 'Friday', model, toolkit, ...options });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

const scripted = (
  script: readonly (string | ScriptedTurn)[],
  options?: Partial<ReActAgentOptions>,
): ReActAgent => agentOf(new ScriptedModel(script), options);
const history = async (agent: ReActAgent): Promise<readonly Msg[]> => {
  const msgs = await agent.memory.getMemory();
  expect(findHistoryFaults(msgs)).toEqual([]);
  return msgs;
};
const results = (msgs: readonly Msg[]): { status: string; output: unknown }[] =>
  msgs.flatMap((msg) =>
    msg.getContentBlocks('tool_result').map(({ status, output }) => ({ status, output })),
  );

/** Lets everything run that waits for no timer. */
async function eventLoopTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('a stream that is cut off', () => {
  test('at any byte makes no tool call unless its block was closed', async () => {
    const bytes = readFixtures('openai-chat').get('parallel-tools')!;
    let closed = 0;
    const stride = strideOf('bytes at which a stream to an agent is cut off', 7);
    for (let at = 0; at < bytes.length; at += stride) {
      const pieces = [bytes.subarray(0, at)];
      const model = new OpenAIChatModel({
        vendor: 'openai',
        modelName: 'm',
        apiKey: 'k',
        fetch: fetchOf({ pieces }),
      });
      const agent = agentOf(model, { maxIters: 1 });
      const answer = await agent.call('Go.').catch(() => undefined);
      await history(agent);
      if (answer === undefined) expect(executions, `cut at ${at}`).toBe(0);
      else closed++;
    }
    expect(closed).toBeGreaterThan(0);
    expect(closed).toBeLessThan(bytes.length / stride / 2);
  });
});

describe('arguments', () => {
  test.each([
    ['cut off', '{"country":"Pe'],
    ['a list', '["Peru"]'],
    ['null', 'null'],
    ['of a wrong type', '{"country":{"name":"Peru"}}'],
    ['with another name', '{"land":"Peru"}'],
    ['no JSON', 'Peru, please'],
    ['far too deep', `{"country":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['of 10 MB, cut off', `{"country":"${'x'.repeat(10_000_000)}`],
  ])('that are %s give one error, and nothing is run', async (_, input) => {
    const agent = scripted([{ toolCalls: [{ name: 'get_capital', input }] }, 'Sorry.']);
    expect((await agent.call('Go.')).text).toBe('Sorry.');
    const [result, ...others] = results(await history(agent));
    expect([result?.status, others]).toEqual(['error', []]);
    expect(result?.output).toMatch(/^Arguments Validation Error:/);
    expect(String(result?.output).length).toBeLessThan(2000);
    expect(executions).toBe(0);
  });

  test('named `__proto__` pollute nothing', async () => {
    const agent = scripted([
      { toolCalls: [{ name: 'get_capital', input: '{"country":"Peru","__proto__":{"polluted":1}}' }] },
      'Ok.',
    ]);
    await agent.call('Go.');
    expect(results(await history(agent))).toMatchObject([{ status: 'ok' }]);
    expect(({} as { polluted?: number }).polluted).toBe(undefined);
  });
});

test('ids that are missing, or used twice, in one model message or in two, become unique', async () => {
  const call = (id?: string) => ({ name: 'get_time', input: {}, ...(id !== undefined && { id }) });
  const agent = scripted([
    { toolCalls: [call('a'), call('a'), call(), call('')] },
    { toolCalls: [call('a'), call('b')] },
    'Done.',
  ]);
  await agent.call('Go.');
  const ids = (await history(agent)).flatMap((msg) => msg.getContentBlocks('tool_use').map(({ id }) => id));
  expect(new Set(ids).size).toBe(6);
  expect(executions).toBe(6);
});

test('tools that do not exist, whatever they are called, leave a request that can be sent', async () => {
  const model = new ScriptedModel([
    {
      toolCalls: ['no such tool', 'a\nb', 'x'.repeat(1_000_000), '', '__proto__'].map((name) => ({
        name,
        input: {},
      })),
    },
    'Well.',
  ]);
  const agent = agentOf(model);
  expect((await agent.call('Go.')).text).toBe('Well.');
  const found = results(await history(agent));
  expect(found.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'unavailable'));
  for (const { output } of found) expect(String(output)).toMatch(/^FunctionNotFoundError:[^\n]{0,500}/);
  let body = '';
  const wire = new OpenAIChatModel({
    modelName: 'gpt-4.1',
    apiKey: 'k',
    async fetch(_url, init) {
      body = String(init?.body);
      throw new TypeError('not sent');
    },
  });
  await wire.call({ messages: model.requests[1]!.messages }).catch(() => {});
  expect(openAiChatFaults(JSON.parse(body) as JsonObject)).toEqual([]);
});

test.each<[string, ScriptedTurn, string]>([
  ['an empty answer', { text: '' }, 'error'],
  ['only thinking', { thinking: 'Hm.' }, 'error'],
  ['only white space', { text: ' \n' }, 'error'],
  ['a refusal', { text: 'I will not.', finish: 'refusal' }, 'finished'],
  ['an answer that is cut off', { text: 'Once upon a', finish: 'length' }, 'length'],
  ['an answer that is filtered', { text: 'Once', finish: 'content_filter' }, 'finished'],
])('%s for ever has an end', async (_, turn, reason) => {
  const model = new ScriptedModel([{ when: () => true, ...turn }]);
  const agent = agentOf(model);
  const answer = await agent.call('Go.');
  expect(answer.endReason).toBe(reason);
  expect(answer.text).not.toBe('');
  expect(model.requests.length).toBeLessThanOrEqual(10);
  await history(agent);
});

describe('while a reply runs', () => {
  test('another agent call is refused, observed messages are kept, and no state is loaded', async () => {
    const model = new ScriptedModel([{ text: 'Let me', stall: true }, 'Later.']);
    const agent = agentOf(model);
    const reply = agent.call('First.');
    await eventLoopTurns();
    await expect(agent.call('Second.')).rejects.toMatchObject({ code: 'agent_busy' });
    await agent.observe(Msg.user('By the way.'));
    expect(() => agent.loadStateDict(agent.stateDict())).toThrow(/busy/);
    await agent.interrupt();
    await reply;
    expect((await history(agent)).map((msg) => msg.text)).toEqual([
      'First.',
      'By the way.',
      'Let me',
      'I noticed that you have interrupted me. What can I do for you?',
    ]);
  });
});

describe('a hook', () => {
  const script = [{ text: 'See:', toolCalls: [{ name: 'get_time', input: {} }] }, 'Noon.', 'Again.'];

  test.each([
    'preReply',
    'postReply',
    'preReasoning',
    'postReasoning',
    'preActing',
    'postActing',
    'prePrint',
    'reasoningChunk',
  ] as const)(
    '%s that throws fails the agent call by its name, and the next agent call works',
    async (type) => {
      const agent = scripted(['Hi.', ...script]);
      let isBroken = true;
      agent.registerInstanceHook(type, 'breaker', () => {
        if (isBroken) throw new Error('broken hook');
      });
      const isReached = type !== 'preActing' && type !== 'postActing';
      if (isReached) await expect(agent.call('Go.')).rejects.toThrow(/breaker/);
      else {
        await agent.call('Hello.');
        await expect(agent.call('Go.')).rejects.toThrow(/breaker/);
      }
      await history(agent);
      isBroken = false;
      expect((await agent.call('And now?')).text).not.toBe('');
      await history(agent);
    },
  );

  test.each(['preReply', 'preReasoning', 'postReasoning', 'preActing', 'postActing', 'postReply'] as const)(
    '%s that never settles does not hold up an interrupt',
    async (type) => {
      const agent = scripted(script);
      let isStuck = true;
      agent.registerInstanceHook(type, 'stuck', () => (isStuck ? new Promise<never>(() => {}) : undefined));
      {
        using clock = new FakeClock().install();
        const reply = agent.call('Go.');
        await clock.advance(5);
        void agent.interrupt();
        expect(await timeUntilSettled(clock, reply)).toBeLessThan(100);
      }
      await history(agent);
      isStuck = false;
      await agent.call('And now?');
      await history(agent);
    },
  );
});

describe('an interrupt', () => {
  const endless: ScriptedTurn = { text: 'Let me', stall: true };

  test('before the first await, twice at once, or after the answer is one outcome each', async () => {
    const agent = scripted([endless, 'Fine.', endless]);
    const reply = agent.call('Go.');
    const both = [agent.interrupt('One.'), agent.interrupt('Two.')];
    expect((await reply).endReason).toBe('interrupted');
    expect(await Promise.all(both)).toEqual([true, true]);
    const texts = (await history(agent)).map((msg) => msg.text);
    expect(texts.filter((text) => text === 'Go.')).toHaveLength(1);
    expect(texts).toContain('One.');
    expect(texts).toContain('Two.');
    expect(await agent.interrupt()).toBe(false);
  });

  test('stops a memory that takes its time, and nothing gets out of order', async () => {
    class SlowMemory extends InMemoryMemory {
      delay = 60;
      override async add(msgs: MsgInput): Promise<void> {
        if (this.delay > 0) await sleep(this.delay);
        await super.add(msgs);
      }
    }
    const memory = new SlowMemory();
    const agent = agentOf(
      new ScriptedModel([{ text: 'See:', toolCalls: [{ name: 'get_time', input: {} }] }, 'Fine.']),
      { memory },
    );
    using clock = new FakeClock().install();
    const reply = agent.call('Go.');
    await clock.advance(80); // the input is in; the exchange is being written
    void agent.interrupt();
    expect(await timeUntilSettled(clock, reply)).toBeLessThan(200);
    memory.delay = 0;
    await clock.advance(200); // writes that are still on their way
    expect((await agent.call('And now?')).text).toBe('Fine.');
    const roles = (await history(agent)).map(({ role }) => role).join(' ');
    expect(roles).toMatch(/^user assistant system assistant user assistant$/);
  });
});

test('64 tool calls side by side take as long as the slowest, and their results are in order', async () => {
  let running = 0;
  let most = 0;
  const slow = tool({
    name: 'slow',
    schema: z.object({ n: z.number() }),
    async execute({ n }) {
      most = Math.max(most, ++running);
      for (let i = 0; i < 64 - n; i++) await new Promise((resolve) => setImmediate(resolve));
      running--;
      return String(n);
    },
  });
  const toolCalls = Array.from({ length: 64 }, (_, n) => ({ name: 'slow', input: { n } }));
  const agent = agentOf(new ScriptedModel([{ toolCalls }, 'Done.']), { parallelToolCalls: true }, [slow]);
  await agent.call('Go.');
  expect(most).toBe(64);
  expect(results(await history(agent)).map(({ output }) => output)).toEqual(
    toolCalls.map(({ input }) => String(input.n)),
  );
});

describe('the history is kept', () => {
  const pay: ScriptedTurn = { text: 'Paying.', toolCalls: [{ name: 'get_time', input: {} }] };

  test.each([
    ['postActing', { status: 'error', output: expect.stringContaining('its result is withheld') as string }],
    ['actingChunk', { status: 'ok', output: '1: noon' }],
  ] as const)(
    'when a %s hook fails after a tool has done its work, but no result that a hook had to change',
    async (type, result) => {
      const agent = scripted([pay]);
      agent.toolkit.removeToolFunction('get_time');
      agent.toolkit.registerToolFunction(
        tool({
          name: 'get_time',
          *execute() {
            yield `${++executions}: noon`;
          },
        }),
      );
      agent.registerInstanceHook(type, 'breaker', () => {
        throw new Error('broken');
      });
      await expect(agent.call('Go.')).rejects.toThrow(/breaker/);
      expect(results(await history(agent))).toEqual([result]);
    },
  );

  test('when something beside it ignores an interrupt', async () => {
    class Stubborn extends ReActAgent {
      override async print(msg: Msg, last = true): Promise<void> {
        if (msg.hasContentBlocks('tool_result')) return new Promise(() => {});
        return super.print(msg, last);
      }
    }
    const toolkit = new Toolkit();
    toolkit.registerToolFunction(time);
    const agent = new Stubborn({ name: 'Friday', model: new ScriptedModel([pay, 'Fine.']), toolkit });
    agent.setConsoleOutputEnabled(false);
    const reply = agent.call('Go.');
    await eventLoopTurns();
    await agent.interrupt();
    await reply;
    const msgs = await history(agent);
    expect(msgs[1]?.text).toBe('Paying.');
    expect(results(msgs)).toMatchObject([{ status: 'ok' }]);
  });

  test.each([false, true])(
    'in its order, when the event loop lags (side by side: %s)',
    async (parallelToolCalls) => {
      const deaf = tool({ name: 'deaf', execute: () => new Promise<never>(() => {}) });
      const turn: ScriptedTurn = {
        text: 'Paying.',
        toolCalls: [
          { name: 'get_time', input: {} },
          { name: 'deaf', input: {} },
        ],
      };
      const agent = agentOf(new ScriptedModel([turn]), { parallelToolCalls }, [time, deaf]);
      using clock = new FakeClock().install();
      const reply = agent.call('Go.');
      await eventLoopTurns();
      let isOver = false;
      const stopped = agent.interrupt('Stop.').then(() => (isOver = true));
      while (!isOver) await clock.advance(40); // all timers are late in each turn of the event loop
      await stopped;
      await reply;
      expect((await history(agent)).map(({ role }) => role).join(' ')).toBe(
        'user assistant system system user assistant',
      );
    },
  );

  test('when it was steering that nobody could read', async () => {
    const agent = agentOf(new ScriptedModel([{ text: 'Let me', stall: true }]));
    const abort = new AbortController();
    const reply = agent.call('Go.', { signal: abort.signal });
    await eventLoopTurns();
    expect(agent.steer('Left.')).toBe(true);
    abort.abort(new Error('enough'));
    await expect(reply).rejects.toThrow('enough');
    expect((await history(agent)).map((msg) => msg.text)).toContain('Left.');
  });
});

test('text that a hook removed from the input stays out when the agent call is interrupted', async () => {
  const agent = agentOf(new ScriptedModel([{ text: 'Hm', stall: true }]));
  agent.registerInstanceHook('preReply', 'redact', (_agent, { msgs }) => ({
    msgs: msgs.map((msg) => Msg.user(msg.text.replace('SECRET', '***'))),
  }));
  const reply = agent.call('my SECRET');
  await eventLoopTurns();
  await agent.interrupt();
  await reply;
  expect(JSON.stringify(await history(agent))).not.toContain('SECRET');
});

test('a thousand failing tool calls make no flood of hints', async () => {
  const model = new ScriptedModel([
    {
      when: ({ tools = [] }) => tools.length > 0,
      toolCalls: Array.from({ length: 1000 }, () => ({ name: 'n'.repeat(100_000), input: {} })),
    },
    'Over.',
  ]);
  const agent = agentOf(model, { maxIters: 5 });
  await agent.call('Go.');
  const hints = model.requests[4]!.messages.filter((msg) => msg.text.startsWith('<system-hint>'));
  expect(hints).toHaveLength(1);
  expect(hints[0]!.text.length).toBeLessThan(300);
});

test.each([
  ['is said by a user', (msg: Msg) => Msg.user(msg.text)],
  ['was there already', (_msg: Msg, first: Msg) => first],
  [
    'uses a call id again',
    (_msg: Msg) => Msg.assistant([{ type: 'tool_use', id: 'a', name: 'get_time', input: {} }]),
  ],
])(
  'a model message that a hook replaced by one that %s fails the agent call, and the history is whole',
  async (_, replace) => {
    const agent = scripted([{ toolCalls: [{ name: 'get_time', input: {}, id: 'a' }] }, 'Done.', 'Again.']);
    let first: Msg | undefined;
    const remove = agent.registerInstanceHook('postReasoning', 'replace', (_agent, _args, thought) => {
      if (first !== undefined) return replace(thought, first);
      first = thought;
      return undefined;
    });
    await expect(agent.call('Go.')).rejects.toMatchObject({ code: 'invalid_reply' });
    void remove;
    await history(agent);
  },
);

test('agents that call each other for ever are stopped', async () => {
  let depth = 0;
  const agentAt = (): ReActAgent => {
    depth++;
    const recurse = tool({ name: 'recurse', execute: async () => (await agentAt().call('Go.')).text });
    return agentOf(new ScriptedModel([{ toolCalls: [{ name: 'recurse', input: {} }] }, 'Back.']), {}, [
      recurse,
    ]);
  };
  expect((await agentAt().call('Go.')).text).toBe('Back.');
  expect(depth).toBeLessThan(100);
});

test('an interrupt does not wait for a queue that nobody reads, or for a memory that hangs', async () => {
  class Hanging extends InMemoryMemory {
    hangs = false;
    override async add(msgs: MsgInput): Promise<void> {
      if (this.hangs) return new Promise(() => {});
      return super.add(msgs);
    }
  }
  const memory = new Hanging();
  const agent = agentOf(new ScriptedModel([{ text: 'Hm', stall: true }]), { memory });
  agent.setMsgQueueEnabled(true);
  using clock = new FakeClock().install();
  const reply = agent.call('Go.');
  await clock.advance(5);
  memory.hangs = true;
  void agent.interrupt();
  expect(await timeUntilSettled(clock, reply)).toBeLessThan(500);
});
