// The fields of every event, the events of model calls, and events of the program's own.
import { describe, expect, test } from 'vitest';

import { AgentBase } from '../src/agent/agent-base.ts';
import { currentTurn } from '../src/agent/turn/current-turn.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import type { AgentEvent, EventOf } from '../src/event/agent-event.ts';
import { Msg } from '../src/message/msg.ts';
import { ModelError } from '../src/model/model-error.ts';
import { KnowledgeBase } from '../src/rag/knowledge-base.ts';
import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { agentTool } from '../src/subagent/agent-tool.ts';
import { abortAtEvery, failAtEvery, interruptAtEvery } from '../src/testing/drivers.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { StepJournal } from '../src/testing/step-journal.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { sleep } from '../src/util/clock.ts';
import { strideOf } from './fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a reply whose events are looked at, at which it is stopped', 5) };

type Script = readonly (string | ScriptedTurn)[];

function agentOf(script: Script, options: Partial<ReActAgentOptions> = {}): ReActAgent {
  return new ReActAgent({ name: 'Friday', model: new ScriptedModel(script), console: false, ...options });
}

async function collect(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Reads a stream while a fake clock runs on. */
async function collectIn(clock: FakeClock, stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  let isDone = false;
  const events = collect(stream).finally(() => (isDone = true));
  while (!isDone) await clock.advance(10);
  return events;
}

const of = <Type extends AgentEvent['type']>(
  events: readonly AgentEvent[],
  ...types: readonly Type[]
): EventOf<Type>[] =>
  events.filter((event): event is EventOf<Type> => types.some((type) => type === event.type));

/** The event without its origin. */
function bodyOf(event: AgentEvent): object {
  const { id: _id, runId: _r, replyId: _p, agentPath: _a, seq: _s, timestamp: _t, ...body } = event;
  return body;
}

const slow = tool({
  name: 'slow',
  execute: async () => {
    await sleep(40);
    return 'slow';
  },
});
const useSlow: ScriptedTurn = { toolCalls: [{ name: 'slow', id: 'c1', input: {} }] };

describe('every event', () => {
  test('has an id of its own and the time', async () => {
    const clock = new FakeClock(Date.UTC(2026, 5, 1));
    using _ = clock.install();
    const inner = agentOf([useSlow, 'Inside.'], { name: 'inner', tools: [slow] });
    const outer = agentOf([{ toolCalls: [{ name: 'inner', id: 'c2', input: { query: 'x' } }] }, 'Outside.'], {
      tools: [agentTool(inner, { description: 'Helps.' })],
    });
    const events = await collectIn(clock, outer.stream('go', { nested: true }));
    const again = await collectIn(clock, agentOf(['Hi.']).stream('go'));
    const ids = [...events, ...again].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => typeof id === 'string' && id.length > 10)).toBe(true);
    for (const { id, runId, seq } of events) expect(id).toBe(`${runId}:${seq}`);
    expect(events[0]?.timestamp).toBe('2026-06-01T00:00:00.000Z');
    const [start, result] = [of(events, 'tool_start')[1], of(events, 'tool_result')[0]];
    expect(Date.parse(result?.timestamp ?? '') - Date.parse(start?.timestamp ?? '')).toBe(40);
    const times = events.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted());
  });

  test('that starts the block of a tool call names the tool call apart from itself', async () => {
    const events = await collect(agentOf([useSlow, 'Done.']).stream('go'));
    const [start] = of(events, 'block_start').filter(({ blockType }) => blockType === 'tool_use');
    expect(start).toMatchObject({ toolCallId: 'c1', name: 'slow' });
    expect(start?.id).toBe(`${start?.runId}:${start?.seq}`);
  });

  test('that ends something has the duration: a reply, a run and a tool call', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const agent = agentOf([useSlow, 'One.', 'Two.'], { tools: [slow] });
    agent.on('tool_start', () => void agent.followUp('And then?'));
    const events = await collectIn(clock, agent.stream('go'));
    expect(of(events, 'tool_result', 'reply_end', 'run_end').map(bodyOf)).toMatchObject([
      { type: 'tool_result', durationMs: 40 },
      { type: 'reply_end', status: 'finished', durationMs: 40 },
      { type: 'reply_end', status: 'finished', durationMs: 0 },
      { type: 'run_end', status: 'finished', durationMs: 40 },
    ]);
  });

  test('has durations after a failure too, also when the clock was set back', async () => {
    const clock = new FakeClock(1_000_000);
    let back = 0;
    using _ = clock.install();
    const now = clock.now.bind(clock);
    clock.now = () => now() - back;
    class Failing extends AgentBase {
      async reply(): Promise<Msg> {
        back = 500_000;
        throw new Error('broken');
      }
    }
    const events: AgentEvent[] = [];
    const agent = new Failing({ name: 'failing', console: false });
    agent.on('*', (event) => void events.push(event));
    await expect(agent.call('go')).rejects.toThrow('broken');
    expect(events.map(bodyOf)).toEqual([
      { type: 'reply_start', name: 'failing' },
      { type: 'reply_end', status: 'failed', durationMs: 0 },
      { type: 'run_end', status: 'failed', error: { message: 'broken' }, durationMs: 0 },
    ]);
  });
});

describe('a model call', () => {
  const usage = { inputTokens: 10, outputTokens: 2 };
  const stop = { type: 'model_start', purpose: 'reasoning', modelName: 'scripted' };

  test('has one start and one end, with model, usage, finish reason and duration', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    class Slow extends ScriptedModel {
      override async *stream(...args: Parameters<ScriptedModel['stream']>) {
        await sleep(25);
        yield* super.stream(...args);
      }
    }
    const agent = agentOf([], {
      model: new Slow(
        [
          { ...useSlow, usage },
          { text: 'Cut', finish: 'length', usage },
        ],
        'slow-model',
      ),
      tools: [slow],
    });
    const events = await collectIn(clock, agent.stream('go'));
    const msgIds = of(events, 'usage').map(({ msgId }) => msgId);
    const common = { purpose: 'reasoning', modelName: 'slow-model' };
    const end = { type: 'model_end', ...common, status: 'finished', usage, durationMs: 25 };
    expect(of(events, 'model_start', 'model_end').map(bodyOf)).toEqual([
      { type: 'model_start', ...common },
      { ...end, msgId: msgIds[0], finishReason: 'tool_calls' },
      { type: 'model_start', ...common },
      { ...end, msgId: msgIds[1], finishReason: 'length' },
    ]);
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 3)).toEqual(['reply_start', 'model_start', 'block_start']);
    expect(types.indexOf('tool_start')).toBeGreaterThan(types.indexOf('model_end'));
  });

  test('that fails says how', async () => {
    const error = new ModelError('Slow down.', { kind: 'rate_limit', status: 429 });
    const events: AgentEvent[] = [];
    const agent = agentOf([{ text: 'Let', error }]);
    agent.on('*', (event) => void events.push(event));
    await expect(agent.call('go')).rejects.toThrow('Slow down.');
    const told = { message: 'Slow down.', code: 'model_failed', kind: 'rate_limit' };
    expect(of(events, 'model_start', 'model_end', 'run_end').map(bodyOf)).toEqual([
      stop,
      { ...stop, type: 'model_end', status: 'failed', error: told, durationMs: expect.any(Number) },
      { type: 'run_end', status: 'failed', error: told, durationMs: expect.any(Number) },
    ]);
  });

  test.each([
    ['interrupted', (agent: ReActAgent) => void agent.interrupt()],
    ['aborted', (_: ReActAgent, caller: AbortController) => caller.abort(new Error('left'))],
  ] as const)('that is stopped is %s', async (status, stopIt) => {
    const agent = agentOf([{ text: 'Half', stall: true }]);
    const caller = new AbortController();
    const events: AgentEvent[] = [];
    agent.on('*', (event) => void events.push(event));
    agent.on('text_delta', () => stopIt(agent, caller));
    await agent.call('go', { signal: caller.signal }).catch(() => {});
    expect(of(events, 'model_start', 'model_end').map(bodyOf)).toEqual([
      stop,
      { ...stop, type: 'model_end', status, durationMs: expect.any(Number) },
    ]);
  });

  test('is told too when it sums up, rewrites a query or compresses', async () => {
    class Library extends KnowledgeBase {
      override async retrieve(): Promise<[]> {
        return [];
      }
    }
    const rewritten = { toolCalls: [{ name: 'generate_response', input: { rewritten_query: 'x' } }] };
    const agent = agentOf([rewritten, { ...rewritten, toolCalls: [{ name: 'no', input: {} }] }, 'Sum.'], {
      knowledge: new Library(),
      maxIters: 1,
      compression: {
        triggerThreshold: 1,
        keepRecent: 1,
        model: new ScriptedModel([{ when: () => true, text: 'A summary.' }], 'small'),
      },
    });
    await agent.observe([Msg.user('A long story. '.repeat(200)), Msg.assistant('Indeed. '.repeat(200))]);
    const events = await collect(agent.stream('go'));
    const calls = of(events, 'model_start').map(({ purpose, modelName }) => [purpose, modelName]);
    expect(calls).toContainEqual(['rewrite query', 'scripted']);
    expect(calls).toContainEqual(['compression', 'small']);
    expect(calls.filter(([, name]) => name === 'scripted')).toEqual([
      ['rewrite query', 'scripted'],
      ['reasoning', 'scripted'],
      ['summary', 'scripted'],
    ]);
    const ends = of(events, 'model_end').map(({ purpose, modelName }) => [purpose, modelName]);
    expect(ends).toEqual(calls);
  });

  test('of an agent of one’s own is told if its step names the model', async () => {
    class Own extends AgentBase {
      async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
        const step = { kind: 'model', name: 'guess', modelName: 'oracle' } as const;
        await turn.step({ kind: 'model', name: 'silent' }, async () => null);
        return turn.step(step, async () => Msg.assistant('Yes.', { usage, finishReason: 'stop', id: 'm1' }));
      }
    }
    const events = await collect(new Own({ name: 'own', console: false }).stream('go'));
    expect(of(events, 'model_start', 'model_end').map(bodyOf)).toEqual([
      { type: 'model_start', purpose: 'guess', modelName: 'oracle' },
      {
        type: 'model_end',
        purpose: 'guess',
        modelName: 'oracle',
        status: 'finished',
        msgId: 'm1',
        usage,
        finishReason: 'stop',
        durationMs: expect.any(Number),
      },
    ]);
  });

  test('is told the same when it is replayed, with the same step keys', async () => {
    const journal = new StepJournal();
    const told: object[][] = [];
    const keys: string[][] = [];
    const input = Msg.user('go');
    for (const script of [
      [
        { ...useSlow, usage },
        { text: 'Done.', usage },
      ],
      [],
    ] as const) {
      const agent = agentOf(script, { tools: [tool({ name: 'slow', execute: () => 'ok' })] });
      const events: AgentEvent[] = [];
      agent.on('*', (event) => void events.push(event));
      const runStep = journal.attempt();
      const used: string[] = [];
      await agent.call(input, {
        runStep: (step, body) => {
          used.push(step.key);
          return runStep(step, body);
        },
      });
      told.push(
        of(events, 'model_start', 'model_end', 'tool_start', 'tool_result').map((event) => ({
          ...bodyOf(event),
          durationMs: 0,
        })),
      );
      keys.push(used);
    }
    expect(told[0]).toHaveLength(6);
    expect(told[1]).toEqual(told[0]);
    expect(keys[1]).toEqual(keys[0]);
    expect(keys[0]?.filter((key) => key.startsWith('model'))).toEqual([
      'model:reasoning#1',
      'model:reasoning#2',
    ]);
  });

  test('of a summary keeps the key that it had', async () => {
    const keys: string[] = [];
    const agent = agentOf([{ toolCalls: [{ name: 'no', input: {} }] }, 'Sum.'], { maxIters: 1 });
    await agent.call('go', {
      runStep: (step, body) => {
        keys.push(`${step.name} ${step.key}`);
        return body();
      },
    });
    expect(keys.filter((key) => key.includes('model:'))).toEqual([
      'reasoning model:reasoning#1',
      'summary model:reasoning#2',
    ]);
  });

  describe('disturbed at every point, has one end for each start', () => {
    const scenario = () => {
      const agent = agentOf([{ ...useSlow, text: 'Let me see.', chunkSize: 3 }, 'Done.', 'Next.', 'Next.'], {
        tools: [tool({ name: 'slow', execute: async () => 'ok' })],
      });
      const open: string[] = [];
      let starts = 0;
      agent.on('model_start', ({ purpose }) => {
        starts++;
        open.push(purpose);
      });
      agent.on('model_end', () => void open.pop());
      agent.on('run_end', () => expect(open).toEqual([]));
      return {
        agent,
        input: 'go',
        check: async () => {
          expect(open).toEqual([]);
          await agent.call('and now?').catch(() => {});
          expect(starts).toBeGreaterThan(0);
          expect(open).toEqual([]);
        },
      };
    };
    test('by an interrupt', async () => {
      expect((await interruptAtEvery(scenario, EVERY)).points).toBeGreaterThan(30);
    });
    test('by the caller', async () => {
      expect((await abortAtEvery(scenario, EVERY)).points).toBeGreaterThan(30);
    });
    test('by a fault in every step', async () => {
      expect((await failAtEvery(scenario)).points).toBeGreaterThan(6);
    });
  });
});

test('an event of the program’s own comes through, from a reply and from a tool', async () => {
  const count = tool({
    name: 'slow',
    execute: async () => {
      await currentTurn()?.emit({ type: 'custom', name: 'progress', data: { percent: 50 } });
      return 'done';
    },
  });
  const agent = agentOf([useSlow, 'Done.'], { tools: [count] });
  const heard: unknown[] = [];
  agent.on('custom', ({ name, data }) => void heard.push([name, data]));
  const events = await collect(agent.stream('go'));
  expect(of(events, 'custom').map(bodyOf)).toEqual([
    { type: 'custom', name: 'progress', data: { percent: 50 } },
  ]);
  expect(heard).toEqual([['progress', { percent: 50 }]]);
});

test('the answer tells that it was cut, also as a summary', async () => {
  const cut = { text: 'It was a dark and', finish: 'length' } as const;
  expect((await agentOf([cut]).call('go')).finishReason).toBe('length');
  const summed = agentOf([{ toolCalls: [{ name: 'no', input: {} }] }, cut], { maxIters: 1 });
  const answer = await summed.call('go');
  expect([answer.endReason, answer.finishReason]).toEqual(['max_iters', 'length']);
});
