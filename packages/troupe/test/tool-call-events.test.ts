// The event tool_result sees every tool call exactly once, with its final status and duration, whatever becomes of the tool call.
import { beforeAll, describe, expect, test } from 'vitest';

import type { AgentEvent, EventOf } from '../src/event/agent-event.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import { Msg, type MsgInput } from '../src/message/msg.ts';
import type { PendingDecision } from '../src/message/pending-call.ts';
import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { agentTool } from '../src/subagent/agent-tool.ts';
import { abortAtEvery, failAtEvery, interruptAtEvery, leaveAtEvery } from '../src/testing/drivers.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { externalTool } from '../src/toolkit/tool/external-tool.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { sleep } from '../src/util/clock.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';
import { validateWith } from '../src/util/schema.ts';
import { strideOf } from './fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a reply that tells its tool calls at which it is stopped', 5) };

beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // the validator is loaded when it is first needed

const call = (name: string, id: string) => ({ name, id, input: {} });
const says = (...toolCalls: NonNullable<ScriptedTurn['toolCalls']>): ScriptedTurn => ({ toolCalls });

const work = tool({
  name: 'work',
  execute: async () => {
    await sleep(30);
    return 'worked';
  },
});
const broken = tool({
  name: 'broken',
  execute: async () => {
    await sleep(5);
    throw new Error('out of order');
  },
});
const sign: Tool = { ...work, name: 'sign' };

function agentOf(
  script: readonly (string | ScriptedTurn)[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  return new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    tools: [work, broken, sign, externalTool({ name: 'measure', schema: { type: 'object' } })],
    permissionPolicy: {
      decide: ({ call: { name } }) => ({
        behavior: name === 'sign' ? 'ask' : name === 'forbidden' ? 'deny' : 'allow',
      }),
    },
    console: false,
    ...options,
  });
}

type ToolEvent = EventOf<'tool_start' | 'tool_result'>;

/** Tool events so far, in their order. */
function listen(agent: ReActAgent): ToolEvent[] {
  const events: ToolEvent[] = [];
  agent.on('tool_start', (event) => void events.push(event));
  agent.on('tool_result', (event) => void events.push(event));
  return events;
}

const seen = (events: readonly ToolEvent[]): unknown[] =>
  events.map((event) =>
    event.type === 'tool_start'
      ? ['start', event.call.id]
      : ['result', event.result.id, event.result.status, event.durationMs],
  );

/** Calls the agent, and lets a fake clock run on until it has answered. */
async function run(clock: FakeClock, answer: Promise<Msg>): Promise<Msg> {
  let isDone = false;
  const settled = answer.finally(() => (isDone = true));
  settled.catch(() => {});
  while (!isDone) await clock.advance(5);
  return settled;
}

const decisions = (agent: ReActAgent, verdict: 'allow' | 'deny'): readonly PendingDecision[] =>
  agent.pendingCalls.map(({ id }) => ({ id, verdict }));
const saved = (agent: ReActAgent): JsonObject => parseJson(JSON.stringify(agent.stateDict())) as JsonObject;

describe('a tool call is told once, with its status and duration', () => {
  test('when it runs, fails, is refused, is unknown or is one too many', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const forbidden = tool({ name: 'forbidden', execute: () => 'never' });
    const ids = ['work', 'broken', 'forbidden', 'unknown', 'work'];
    const agent = agentOf([says(...ids.map((name, i) => call(name, `c${i}`))), 'Done.'], {
      tools: [work, broken, forbidden],
      maxToolCalls: 4,
    });
    const events = listen(agent);
    await run(clock, agent.call('go'));
    expect(seen(events)).toEqual([
      ['start', 'c0'],
      ['result', 'c0', 'ok', 30],
      ['start', 'c1'],
      ['result', 'c1', 'error', 5],
      ['start', 'c2'],
      ['result', 'c2', 'denied', 0],
      ['start', 'c3'],
      ['result', 'c3', 'unavailable', 0],
      ['start', 'c4'],
      ['result', 'c4', 'error', 0],
    ]);
    expect(events[1]).toMatchObject({
      type: 'tool_result',
      call: { type: 'tool_use', id: 'c0', name: 'work', input: {} },
      result: { type: 'tool_result', id: 'c0', name: 'work', output: 'worked', status: 'ok' },
      durationMs: 30,
    });
  });

  test.each([
    ['allow', 'ok', 30],
    ['deny', 'denied', 0],
  ] as const)(
    'when a person decides: %s; the time of the question does not count',
    async (verdict, status, ms) => {
      const clock = new FakeClock();
      using _ = clock.install();
      const agent = agentOf([says(call('sign', 'c1')), 'Done.']);
      const events = listen(agent);
      await run(clock, agent.call('go'));
      expect(seen(events)).toEqual([['start', 'c1']]);
      await clock.advance(60_000);
      await run(clock, agent.call(undefined, { decisions: decisions(agent, verdict) }));
      expect(seen(events)).toEqual([
        ['start', 'c1'],
        ['result', 'c1', status, ms],
      ]);
      expect(events[1]).toMatchObject({ call: { id: 'c1', name: 'sign', input: {} } });
    },
  );

  test('when its result comes from outside, also with a message that closes the exchange', async () => {
    for (const more of [undefined, 'And be quick.']) {
      const agent = agentOf([says(call('measure', 'c1')), 'Done.']);
      const events = listen(agent);
      await agent.call('go');
      const output = '12 cm';
      const given = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'result', output }) as const);
      await agent.call(more, { decisions: given });
      expect(seen(events)).toEqual([
        ['start', 'c1'],
        ['result', 'c1', 'ok', expect.any(Number)],
      ]);
    }
  });

  test('when a decision about another tool call allows its tool for the whole run', async () => {
    const agent = agentOf([says(call('sign', 'c1'), call('sign', 'c2')), 'Done.'], {
      parallelToolCalls: true,
      tools: [tool({ name: 'sign', execute: () => 'signed' })],
    });
    const events = listen(agent);
    await agent.call('go');
    const [first] = agent.pendingCalls;
    const scoped: readonly PendingDecision[] = [{ id: String(first?.id), verdict: 'allow', scope: 'run' }];
    await agent.call(undefined, { decisions: scoped });
    expect(seen(events)).toEqual([
      ['start', 'c1'],
      ['start', 'c2'],
      ['result', 'c1', 'ok', expect.any(Number)],
      ['result', 'c2', 'ok', expect.any(Number)],
    ]);
  });

  test('when an agent in its tool waits for a person: the work before and after counts', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const make = (script: 'before' | 'after') => {
      const inner = agentOf(
        script === 'before' ? [says(call('work', 'i1'), call('sign', 'i2'))] : ['Signed.'],
        {
          name: 'inner',
        },
      );
      const outer = agentOf(
        script === 'before' ? [says({ name: 'inner', id: 'c1', input: { query: 'x' } })] : ['Done.'],
        {
          tools: [agentTool(inner, { description: 'Signs.' })],
        },
      );
      return { outer, events: listen(outer), innerEvents: listen(inner) };
    };
    const first = make('before');
    await run(clock, first.outer.call('go'));
    expect(seen(first.events)).toEqual([['start', 'c1']]);
    expect(seen(first.innerEvents)).toEqual([
      ['start', 'i1'],
      ['result', 'i1', 'ok', 30],
      ['start', 'i2'],
    ]);
    await clock.advance(60_000);
    const second = make('after'); // another process
    second.outer.loadStateDict(saved(first.outer));
    await run(clock, second.outer.call(undefined, { decisions: decisions(second.outer, 'allow') }));
    expect(seen(second.events)).toEqual([['result', 'c1', 'ok', 60]]);
    expect(seen(second.innerEvents)).toEqual([['result', 'i2', 'ok', 30]]);
  });

  test('when it is interrupted, in any state', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const hang = tool({ name: 'hang', execute: () => new Promise<never>(() => {}) });
    const agent = agentOf([says(call('work', 'c1'), call('hang', 'c2'), call('work', 'c3'))], {
      tools: [work, hang],
    });
    const events = listen(agent);
    const answer = agent.call('go');
    await clock.advance(100);
    void agent.interrupt();
    await run(clock, answer);
    expect(seen(events)).toEqual([
      ['start', 'c1'],
      ['result', 'c1', 'ok', 30],
      ['start', 'c2'],
      ['result', 'c2', 'interrupted', 70],
      ['result', 'c3', 'interrupted', 0],
    ]);
  });

  test('when the model call that made it is interrupted', async () => {
    const agent = agentOf([{ toolCalls: [call('work', 'c1')], stall: true }]);
    const events = listen(agent);
    const answer = agent.call('go');
    agent.on('block_end', () => void agent.interrupt());
    await answer;
    expect(await resultsOf(agent)).toEqual([['c1', 'interrupted']]);
    expect(seen(events)).toEqual([['result', 'c1', 'interrupted', 0]]);
  });

  test('when a hook after its model message, or after itself, fails', async () => {
    for (const type of ['postReasoning', 'postActing'] as const) {
      const agent = agentOf([says(call('unknown', 'c1'), call('unknown', 'c2'))]);
      const events = listen(agent);
      agent.registerInstanceHook(type, 'broken', () => {
        throw new Error('broken');
      });
      await expect(agent.call('go')).rejects.toThrow('broken');
      const results = events.filter(({ type }) => type === 'tool_result');
      expect(results.map((event) => 'result' in event && [event.result.id, event.result.status])).toEqual(
        await resultsOf(agent),
      );
    }
  });

  test('when it is closed, by new input or outside of an agent call', async () => {
    for (const how of ['input', 'closePending'] as const) {
      const agent = agentOf([says(call('sign', 'c1')), 'Fine.'], { onPending: 'close' });
      const events = listen(agent);
      await agent.call('go');
      if (how === 'input') await agent.call('Never mind.');
      else await agent.closePending();
      await agent.closePending();
      expect(seen(events)).toEqual([
        ['start', 'c1'],
        ['result', 'c1', 'interrupted', expect.any(Number)],
      ]);
    }
  });

  test('when the process ended while it ran: told by the next process, with an unknown outcome', async () => {
    const started = Promise.withResolvers<void>();
    const pay = (execute: () => unknown): Tool => tool({ name: 'pay', sideEffect: true, execute });
    const first = agentOf([says(call('unknown', 'c0'), call('pay', 'c1'))], {
      tools: [
        pay(() => {
          started.resolve();
          return new Promise<never>(() => {});
        }),
      ],
    });
    void first.call('go');
    await started.promise;
    const second = agentOf(['Let me check.'], { tools: [pay(() => 'paid')] });
    const events = listen(second);
    second.loadStateDict(saved(first));
    await second.call();
    expect(seen(events)).toEqual([['result', 'c1', 'interrupted', 0]]);
    await first.interrupt();
  });

  test('when its memory hangs and the reply is left behind: told by that run or by the next', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    let isStuck = false;
    class Stuck extends InMemoryMemory {
      override async add(msgs: MsgInput): Promise<void> {
        if (isStuck && Msg.list(msgs).some((msg) => msg.hasContentBlocks('tool_result'))) await sleep(1000);
        await super.add(msgs);
      }
    }
    const agent = agentOf([says(call('work', 'c1'), call('work', 'c2')), 'Fine.'], { memory: new Stuck() });
    const events = listen(agent);
    const answer = agent.call('go');
    await clock.advance(35);
    isStuck = true;
    void agent.interrupt();
    await run(clock, answer);
    isStuck = false;
    await run(clock, agent.call('and now?'));
    expect(seen(events)).toEqual([
      ['start', 'c1'],
      ['result', 'c1', 'ok', 30],
      ['start', 'c2'],
      ['result', 'c2', 'interrupted', 5],
    ]);
    expect(await resultsOf(agent)).toEqual([
      ['c1', 'ok'],
      ['c2', 'interrupted'],
    ]);
  });
});

async function resultsOf(agent: ReActAgent): Promise<unknown[]> {
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  return results.map(({ id, status }) => [id, status]);
}

describe('disturbed at every point, each tool result in memory was told once, and nothing else', () => {
  const quick = tool({ name: 'quick', execute: async () => 'done' });
  const streaming = tool({
    name: 'streaming',
    async *execute() {
      yield 'a';
      yield 'ab';
    },
  });
  const quickSign = tool({ name: 'sign', execute: async () => 'signed' });
  const toolCalls = [call('quick', 'c1'), call('streaming', 'c2'), call('unknown', 'c3'), call('sign', 'c4')];
  const script = (): readonly (string | ScriptedTurn)[] => [
    { text: 'Let me see.', toolCalls, chunkSize: 4 },
    'Done.',
    'Next.',
    'Next.',
  ];
  const make = (parallelToolCalls: boolean): { agent: ReActAgent; events: ToolEvent[] } => {
    const agent = agentOf(script(), {
      tools: [quick, streaming, quickSign],
      parallelToolCalls,
      onPending: 'close',
    });
    agent.registerInstanceHook('postActing', 'note', async () => undefined);
    return { agent, events: listen(agent) };
  };
  /** Results as told, and as stored, by tool call id. */
  const compare = async (agent: ReActAgent, events: readonly ToolEvent[]): Promise<number> => {
    const history = await agent.memory.getMemory();
    expect(findHistoryFaults(history)).toEqual([]);
    const stored = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
    const told = events.flatMap((event) => (event.type === 'tool_result' ? [event.result] : []));
    const byId = (a: { id: string }, b: { id: string }): number => a.id.localeCompare(b.id);
    expect(told.toSorted(byId)).toEqual(stored.toSorted(byId));
    const starts = events
      .filter(({ type }) => type === 'tool_start')
      .map((event) => 'call' in event && event.call.id);
    expect(new Set(starts).size).toBe(starts.length);
    return stored.length;
  };

  describe.each([
    ['in turn', false],
    ['side by side', true],
  ])('tool calls %s', (_, parallel) => {
    let results = 0;
    const scenario = () => {
      const { agent, events } = make(parallel);
      return {
        agent,
        input: 'go',
        check: async () => {
          await agent.call('and now?').catch(() => {}); // closes what is pending, and may ask anew
          await agent.closePending();
          results += await compare(agent, events);
        },
      };
    };
    const resumed = async () => {
      const { agent, events } = make(parallel);
      await agent.call('go');
      const answers = decisions(agent, 'allow');
      const [call] = agent.pendingCalls;
      expect(call?.call.id).toBe('c4');
      const original = agent.call.bind(agent);
      let isFirst = true;
      const decide = (input: MsgInput, options = {}): Promise<Msg> => {
        if (!isFirst) return original(input, options);
        isFirst = false;
        return original(undefined, { ...options, decisions: answers });
      };
      Object.defineProperty(agent, 'call', { value: decide });
      return {
        agent,
        input: undefined,
        check: async () => {
          await original('and now?').catch(() => {});
          await agent.closePending();
          results += await compare(agent, events);
        },
      };
    };

    test('by an interrupt', async () => {
      expect((await interruptAtEvery(scenario, EVERY)).points).toBeGreaterThan(50);
      expect((await interruptAtEvery(resumed, EVERY)).points).toBeGreaterThan(20);
      expect(results).toBeGreaterThan(100);
    });
    test('by the caller', async () => {
      expect((await abortAtEvery(scenario, EVERY)).points).toBeGreaterThan(50);
      expect((await abortAtEvery(resumed, EVERY)).points).toBeGreaterThan(20);
    });
    test('by a consumer that leaves', async () => {
      expect((await leaveAtEvery(scenario)).points).toBeGreaterThan(10);
    });
    test('by a fault in every step', async () => {
      expect((await failAtEvery(scenario)).points).toBeGreaterThan(6);
    });
  });
});

test('the events of a stream and of listeners are the same', async () => {
  const agent = agentOf([says(call('unknown', 'c1')), 'Done.']);
  const heard = listen(agent);
  const streamed: AgentEvent[] = [];
  for await (const event of agent.stream('go')) streamed.push(event);
  expect(streamed.filter(({ type }) => type === 'tool_start' || type === 'tool_result')).toEqual(heard);
  expect(heard).toHaveLength(2);
});
