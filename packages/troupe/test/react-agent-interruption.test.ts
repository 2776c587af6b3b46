// The real loop, disturbed at every point: after every kind of stop, every provider accepts the history.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { ReActAgent } from '../src/react/react-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { ModelDelta } from '../src/message/model-delta.ts';
import type { CallOptions } from '../src/agent/agent-base.ts';
import { Msg, type MsgInput } from '../src/message/msg.ts';
import { ChatModelBase, type ModelRequest } from '../src/model/chat-model-base.ts';
import {
  abortAtEvery,
  failAtEvery,
  InjectedFault,
  interruptAtEvery,
  leaveAtEvery,
  type Outcome,
  type Scenario,
} from '../src/testing/drivers.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { validateWith } from '../src/util/schema.ts';
import { rejectionsOf } from './five-wires.ts';
import { strideOf } from './fair-sample.ts';

const call = (index: number, name: string, id?: string, json = '{"x":1}'): ModelDelta[] => [
  { type: 'tool_use_start', index, name, ...(id !== undefined && { id }) },
  { type: 'tool_input', index, json: json.slice(0, 3) },
  { type: 'tool_input', index, json: json.slice(3) },
  { type: 'tool_use_end', index },
];

/** Five calls of five kinds, two with the same id, and one that is cut off. */
const THOUGHT: readonly ModelDelta[] = [
  { type: 'thinking', thinking: 'Let me see.' },
  { type: 'text', text: 'I look ' },
  { type: 'text', text: 'it up.' },
  ...call(0, 'fine', 'a'),
  ...call(1, 'throwing', 'b'),
  ...call(2, 'streaming', 'b'),
  ...call(3, 'unknown', 'd'),
  { type: 'tool_use_start', index: 4, name: 'fine', id: 'half' },
  { type: 'tool_input', index: 4, json: '{}' },
];
const ANSWER: readonly ModelDelta[] = [
  { type: 'text', text: 'It is ' },
  { type: 'text', text: 'done.' },
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 2 } },
  { type: 'finish', reason: 'stop' },
];
const FORM = call(0, 'generate_response', 'form', '{"city":"Lima"}');

/** Answers 'go' with a model message that calls tools, a structured question with the form, and everything else with the answer. */
class TapeModel extends ChatModelBase {
  constructor(readonly thought: readonly ModelDelta[] = THOUGHT) {
    super('tape');
  }

  override async *stream({ messages, tools = [] }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const newest = messages.at(-1);
    if (newest?.role === 'user' && newest.text === 'go') return yield* this.thought;
    yield* tools.some(({ name }) => name === 'generate_response') ? FORM : ANSWER;
  }
}

const schema = z.object({ x: z.number() });
const TOOLS: readonly Tool[] = [
  tool({ name: 'fine', schema, execute: async () => 'fine' }),
  tool({
    name: 'throwing',
    schema,
    async execute() {
      await undefined;
      throw new Error('broken');
    },
  }),
  tool({
    name: 'streaming',
    schema,
    async *execute() {
      yield 'a';
      yield 'ab';
    },
  }),
];

function agentWith(parallelToolCalls: boolean, model = new TapeModel(), tools = TOOLS): ReActAgent {
  const toolkit = new Toolkit();
  for (const one of tools) toolkit.registerToolFunction(one);
  const agent = new ReActAgent({ name: 'Friday', model, toolkit, parallelToolCalls, sysPrompt: 'Be good.' });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

/** An agent that calls another agent with this reply. */
function nestedAgent(parallel: boolean): { outer: ReActAgent; inner: ReActAgent } {
  const inner = agentWith(parallel);
  const ask = tool({ name: 'ask', schema, execute: async () => (await inner.call('go')).text });
  const outer = agentWith(parallel, new TapeModel([...call(0, 'ask', 'x'), ...call(1, 'fine', 'y')]), [
    ...TOOLS,
    ask,
  ]);
  return { outer, inner };
}

/** Histories that were sent already, by their form. */
const sent = new Set<string>();

/** Faults of the next request by the rules of any of the five wires. */
async function rejections(messages: readonly Msg[]): Promise<string[]> {
  const form = JSON.stringify(messages.map(({ role, content }) => [role, content]));
  if (sent.has(form)) return [];
  sent.add(form);
  return rejectionsOf([...messages, Msg.user('And now?')]);
}

async function checkHistory(agent: ReActAgent): Promise<readonly Msg[]> {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  expect(await rejections(history)).toEqual([]);
  expect(agent.isRunning).toBe(false);
  expect(agent.abandonedReplies).toBe(0);
  expect(history.flatMap((msg) => msg.getContentBlocks('tool_use')).map(({ id }) => id)).not.toContain(
    'half',
  );
  return history;
}

type Kind = 'plain' | 'structured' | 'nested';

interface LoopScenario extends Scenario {
  readonly agent: ReActAgent;
}

function scenario(
  kind: Kind,
  parallel: boolean,
  expectOutcome: (outcome: Outcome) => void,
): () => LoopScenario {
  return () => {
    const { outer: agent, inner } =
      kind === 'nested' ? nestedAgent(parallel) : { outer: agentWith(parallel), inner: undefined };
    if (kind === 'structured') askForShape(agent);
    return {
      agent,
      input: 'go',
      async check(outcome) {
        const history = await checkHistory(agent);
        if (inner !== undefined) await checkHistory(inner);
        expect(
          history.filter((msg) => msg.text === 'go'),
          'the input is in memory exactly once',
        ).toHaveLength(1);
        expectOutcome(outcome);
        expect((await agent.call('and now?')).endReason).toMatch(/finished|structured/);
        await checkHistory(agent);
      },
    };
  };
}

/** Makes every call of an agent one for a shape. */
function askForShape(agent: ReActAgent): void {
  const plainCall = agent.call.bind(agent);
  const plainStream = agent.stream.bind(agent);
  const structuredModel = z.object({ city: z.string() });
  Object.assign(agent, {
    call: (input: MsgInput, options?: CallOptions) => plainCall(input, { ...options, structuredModel }),
    stream: (input: MsgInput, options?: CallOptions) => plainStream(input, { ...options, structuredModel }),
  });
}

const KINDS = (['plain', 'structured', 'nested'] as const).flatMap((kind) => [
  [kind, 'in turn', false] as const,
  [kind, 'side by side', true] as const,
]);

// The validator of schemas is loaded at its first use, which takes no fixed number of ticks.
beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

// Everything here stops by itself. A clock that stands still keeps a busy machine from being taken for stubborn code.
let clock: Disposable | undefined;
beforeEach(() => {
  clock = new FakeClock().install();
});
afterEach(() => clock?.[Symbol.dispose]());

const EVERY = { stride: strideOf('ticks of a ReAct loop at which it is stopped', 23) };
const EVENTS = { stride: strideOf('events of a ReAct loop after which its stream is left', 3) };

describe.each(KINDS)('%s, %s', (kind, _, parallel) => {
  test('interrupted at every point, it answers', async () => {
    const { points } = await interruptAtEvery(
      scenario(kind, parallel, ({ msg, error }) => {
        expect(error).toBe(undefined);
        expect(msg?.endReason).toMatch(/finished|structured|interrupted/);
      }),
      EVERY,
    );
    expect(points).toBeGreaterThan(100);
  });

  test('aborted at every point, it rejects with the reason, or had answered', async () => {
    await abortAtEvery(
      scenario(kind, parallel, ({ msg, error }) => {
        if (msg === undefined) expect(error).toBeInstanceOf(InjectedFault);
      }),
      EVERY,
    );
  });

  test('left after every event, it is in order', async () => {
    const { points } = await leaveAtEvery(
      scenario(kind, parallel, () => {}),
      EVENTS,
    );
    expect(points).toBeGreaterThan(20);
  });

  test('with a fault in every step, it fails clearly or goes on', async () => {
    const { points } = await failAtEvery(() => {
      const { agent, input, check } = scenario(kind, parallel, () => {})();
      return {
        agent,
        input,
        async check(outcome) {
          if (outcome.error !== undefined) expect(outcome.error).toBeInstanceOf(InjectedFault);
          const history = await agent.memory.getMemory();
          if (history.some((msg) => msg.text === 'go')) await check(outcome); // else the fault was in that very write
        },
      };
    });
    expect(points).toBeGreaterThan(10);
  });
});
