// An interrupt from anywhere, also from inside: one outcome, nothing said is lost, and the next call works.
import assert from 'node:assert/strict';

import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import type { AgentEvent } from '../src/event/agent-event.ts';
import { LongTermMemoryBase } from '../src/longterm/long-term-memory-base.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg } from '../src/message/msg.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { validateWith } from '../src/util/schema.ts';
import { rejectionsOf } from './five-wires.ts';
import { strideOf } from './fair-sample.ts';

const eventLoop = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
let clock: Disposable | undefined;
beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // is loaded when it is first needed
beforeEach(() => {
  process.on('unhandledRejection', onUnhandled);
  clock = new FakeClock().install(); // the clock stands still: everything settles at once
});
afterEach(async () => {
  clock?.[Symbol.dispose]();
  await eventLoop();
  process.off('unhandledRejection', onUnhandled);
  assert.deepEqual(unhandled.splice(0), []);
});

const schema = z.object({ x: z.number() });
const TOOLS: readonly Tool[] = [
  tool({ name: 'fine', schema, execute: async () => 'fine' }),
  tool({ name: 'throwing', schema, execute: () => Promise.reject(new Error('broken')) }),
  tool({
    name: 'streaming',
    schema,
    async *execute() {
      yield 'a';
      yield 'ab';
    },
  }),
  tool({ name: 'endless', schema, execute: () => new Promise<never>(() => {}) }),
  tool({
    name: 'yields_for_ever',
    schema,
    async *execute() {
      for (;;) {
        yield 'more';
        await eventLoop();
      }
    },
  }),
];

const call = (name: string, id?: string): { name: string; input: { x: number }; id: string | undefined } => ({
  name,
  input: { x: 1 },
  id,
});

function agentOf(
  script: readonly (string | ScriptedTurn)[],
  options: Partial<ReActAgentOptions> = {},
): ReActAgent {
  const toolkit = new Toolkit({ tools: TOOLS });
  const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(script), toolkit, ...options });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

/** Histories that were sent already, by their form: the ids of calls are made up anew each time. */
const sent = new Set<string>();

/** The history, which every provider has to accept. */
async function historyOf(agent: ReActAgent): Promise<readonly Msg[]> {
  const msgs = await agent.memory.getMemory();
  expect(findHistoryFaults(msgs)).toEqual([]);
  const form = JSON.stringify(
    msgs.map(({ role, content }) => [role, content]),
    (key, value: unknown) => (key === 'id' ? '' : value),
  );
  if (!sent.has(form)) expect(await rejectionsOf([...msgs, Msg.user('And now?')])).toEqual([]);
  sent.add(form);
  return msgs;
}

describe.each([
  ['in turn', false],
  ['side by side', true],
])('tools that are fine, throw, stream, do not exist and never end, %s', (_, parallelToolCalls) => {
  const thought: ScriptedTurn = {
    when: ({ messages }) => messages.at(-1)?.text === 'go',
    text: 'I look it up.',
    chunkSize: 4,
    toolCalls: [
      call('fine', 'a'),
      call('throwing', 'b'),
      call('streaming', 'b'),
      call('unknown'),
      call('endless'),
      call('yields_for_ever'),
    ],
  };

  test('interrupted at every tick, each tool call has one result and the text so far is kept', async () => {
    const statuses = new Set<string>();
    let wasStuck = 0;
    const stride = strideOf('ticks of a reply with tools of all kinds at which it is stopped', 5);
    for (let point = 0; wasStuck < 40; point += stride) {
      const agent = agentOf([thought, { when: () => true, text: 'Fine.' }], { parallelToolCalls });
      let shown = '';
      agent.registerInstanceHook('prePrint', 'watch', (_agent, { msg }) => {
        if (msg.role === 'assistant' && msg.metadata['_is_interrupted'] === undefined) shown = msg.text;
      });
      const reply = agent.call('go');
      for (let tick = 0; tick < point; tick++) await undefined;
      const wasRunning = agent.toolkit.abandonedCalls;
      const interrupted = agent.interrupt('stop');
      const answer = await reply;
      expect(await interrupted).toBe(true);
      expect(answer.endReason).toBe('interrupted');
      const msgs = await historyOf(agent);
      expect(msgs.filter((msg) => msg.text === 'go')).toHaveLength(1);
      expect(msgs.filter((msg) => msg.metadata['_is_interrupted'] === true)).toHaveLength(1);
      expect(msgs.at(-2)?.text).toBe('stop');
      const first = msgs.find((msg) => msg.role === 'assistant');
      const said = first?.id === answer.id ? '' : (first?.text ?? '');
      expect(said.startsWith(shown), `kept '${said}' of '${shown}'`).toBe(true);
      expect('I look it up.'.startsWith(said)).toBe(true);
      for (const { status } of msgs.flatMap((msg) => msg.getContentBlocks('tool_result')))
        statuses.add(status);
      await eventLoop();
      if (agent.toolkit.abandonedCalls > wasRunning) wasStuck++;
      expect([agent.isRunning, agent.abandonedReplies]).toEqual([false, 0]);
      expect((await agent.call('and now?')).text).toBe('Fine.');
      expect(point).toBeLessThan(2000);
    }
    expect(statuses).toEqual(new Set(['ok', 'error', 'interrupted', 'unavailable']));
  });
});

describe('from inside of a hook', () => {
  const thought: ScriptedTurn = { text: 'Let me see.', toolCalls: [call('streaming'), call('fine')] };
  const TYPES = [
    'preCall',
    'preReply',
    'preReasoning',
    'reasoningChunk',
    'postReasoning',
    'preActing',
    'actingChunk',
    'postActing',
    'preSummary',
    'postSummary',
    'prePrint',
    'postPrint',
    'postReply',
    'postCall',
  ] as const;

  const KINDS = TYPES.flatMap((type) => [false, true].map((waits) => [type, waits] as const));

  test.each(KINDS)('%s (which waits for it: %s) it is one outcome', async (type, waits) => {
    for (const parallelToolCalls of [false, true]) {
      const agent = agentOf([thought, 'That is it.', 'Fine.'], { parallelToolCalls, maxIters: 1 });
      let calls = 0;
      let accepted: boolean | undefined;
      agent.registerInstanceHook(type, 'stop', async () => {
        if (calls++ > 0) return;
        const interrupted = agent.interrupt('stop').then((is) => (accepted = is));
        if (waits) await interrupted;
      });
      const events: AgentEvent[] = [];
      const stream = agent.stream('go');
      let item = await stream.next();
      for (; item.done !== true; item = await stream.next()) events.push(item.value);
      const answer = item.value;
      expect(calls).toBeGreaterThan(0);
      const isLate = type === 'postReply' || type === 'postCall';
      expect(answer.endReason).toBe(isLate ? 'max_iters' : 'interrupted');
      expect(accepted).toBe(!isLate);
      const ends = events.filter((event) => event.type === 'run_end' || event.type === 'reply_end');
      expect(ends.map(({ type }) => type)).toEqual(['reply_end', 'run_end']);
      const msgs = await historyOf(agent);
      expect(msgs.filter((msg) => msg.text === 'go')).toHaveLength(1);
      expect(msgs.filter((msg) => msg.text === 'stop')).toHaveLength(isLate ? 0 : 1);
      expect(msgs.filter((msg) => msg.endReason !== undefined)).toEqual([answer]);
      expect([agent.isRunning, agent.abandonedReplies]).toEqual([false, 0]);
      expect((await agent.call('and now?')).text).not.toBe('');
      await historyOf(agent);
    }
  });
});

test('after the answer was stored it comes too late: there is one answer, and nobody waits for the rest', async () => {
  let isRecording = (): void => {};
  const recording = new Promise<void>((resolve) => (isRecording = resolve));
  class SlowMemory extends LongTermMemoryBase {
    override async retrieve(): Promise<string> {
      return '';
    }
    override record(): Promise<never> {
      isRecording();
      return new Promise(() => {});
    }
  }
  const agent = agentOf(['There.', 'Fine.'], { longTermMemory: new SlowMemory() });
  const reply = agent.call('go');
  await recording;
  expect(await agent.interrupt('stop')).toBe(false);
  const answer = await reply;
  expect(answer.text).toBe('There.');
  expect((await historyOf(agent)).map((msg) => msg.text)).toEqual(['go', 'There.']);
});
