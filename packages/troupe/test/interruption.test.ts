import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { AgentBase } from '../src/agent/agent-base.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { ModelDelta } from '../src/message/model-delta.ts';
import { Msg } from '../src/message/msg.ts';
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
import { ReferenceAgent, type Tool } from './reference-agent.ts';

/** Six calls of five kinds, two with the same id, and one that is cut off; then an answer. */
const THOUGHT: readonly ModelDelta[] = [
  { type: 'thinking', thinking: 'Let me ' },
  { type: 'thinking', thinking: 'see.' },
  { type: 'text', text: 'I look ' },
  { type: 'text', text: 'it up.' },
  ...call(0, 'fine', 'a'),
  ...call(1, 'throwing', 'b'),
  ...call(2, 'streaming', 'c'),
  ...call(3, 'endless', 'c'),
  ...call(4, 'unknown', 'd'),
  ...call(5, 'fine', undefined),
  { type: 'tool_use_start', index: 6, name: 'fine', id: 'half' },
  { type: 'tool_input', index: 6, json: '{}' },
];
const ANSWER: readonly ModelDelta[] = [
  { type: 'text', text: 'It is ' },
  { type: 'text', text: 'done.' },
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 2 } },
  { type: 'finish', reason: 'stop' },
];

function call(index: number, name: string, id: string | undefined): ModelDelta[] {
  return [
    { type: 'tool_use_start', index, name, ...(id !== undefined && { id }) },
    { type: 'tool_input', index, json: '{"x":' },
    { type: 'tool_input', index, json: '1}' },
    { type: 'tool_use_end', index },
  ];
}

/** Answers 'go' with a model message that calls tools, and everything else with the answer. */
class TapeModel extends ChatModelBase {
  constructor(readonly thought = THOUGHT) {
    super('tape');
  }

  override async *stream(request: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const newest = request.messages.at(-1);
    yield* newest?.role === 'user' && newest.text === 'go' ? this.thought : ANSWER;
  }
}

const TOOLS: Readonly<Record<string, Tool>> = {
  fine: async () => 'fine',
  throwing: async () => {
    await undefined;
    throw new Error('broken');
  },
  async *streaming() {
    yield 'a';
    yield 'b';
  },
  async *endless() {
    for (;;) yield '.';
  },
};

const started = (agent: ReferenceAgent): number => agent.history.filter((msg) => msg.text === 'go').length;

/** The reference scenario, with checks that hold for every disturbance. */
function scenario(
  parallel: boolean,
  expectOutcome: (outcome: Outcome, agent: ReferenceAgent) => void,
): () => Scenario {
  return () => {
    const agent = new ReferenceAgent({ model: new TapeModel(), tools: TOOLS, parallel });
    return {
      agent,
      input: 'go',
      async check(outcome) {
        expect(findHistoryFaults(agent.history), `history after point ${outcome.point}`).toEqual([]);
        expect(agent.isRunning).toBe(false);
        expect(agent.abandonedReplies).toBe(0);
        expect(started(agent), 'the input is in memory exactly once').toBe(1);
        expect(
          agent.history.flatMap((msg) => msg.getContentBlocks('tool_use')).map((block) => block.id),
        ).not.toContain('half');
        expectOutcome(outcome, agent);

        const before = agent.history.length;
        expect((await agent.call('and now?')).text).toBe('It is done.');
        expect(findHistoryFaults(agent.history)).toEqual([]);
        expect(agent.history.slice(before).map((msg) => msg.text)).toEqual(['and now?', 'It is done.']);
      },
    };
  };
}

function finished(agent: ReferenceAgent): void {
  const statuses = agent.history
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .map((block) => [block.name, block.status]);
  expect(statuses).toEqual([
    ['fine', 'ok'],
    ['throwing', 'error'],
    ['streaming', 'ok'],
    ['endless', 'ok'],
    ['unknown', 'error'],
    ['fine', 'ok'],
  ]);
}

// Everything here stops by itself. A clock that stands still keeps a busy machine from being taken for stubborn code.
let clock: Disposable | undefined;
beforeEach(() => {
  clock = new FakeClock().install();
});
afterEach(() => clock?.[Symbol.dispose]());

describe.each([
  ['in turn', false],
  ['side by side', true],
])('with tools that run %s', (_name, parallel) => {
  test('an interrupt at every await point leaves a valid history and a free agent', async () => {
    let interrupted = 0;
    const { points } = await interruptAtEvery(
      scenario(parallel, ({ msg, error }, agent) => {
        expect(error).toBeUndefined();
        if (msg?.metadata['_is_interrupted'] !== true) return finished(agent);
        interrupted++;
        expect(agent.history.at(-1)).toBe(msg);
        expect(agent.history.at(-2)?.text, 'what was said with the interrupt').toBe('stop');
      }),
    );
    expect(points).toBeGreaterThan(100);
    expect(interrupted).toBeGreaterThan(points * 0.9);
  });

  test('a foreign abort at every await point rejects with its reason', async () => {
    let aborted = 0;
    const { points } = await abortAtEvery(
      scenario(parallel, ({ msg, error }, agent) => {
        if (msg !== undefined) return finished(agent);
        aborted++;
        expect(error).toBeInstanceOf(InjectedFault);
        expect(agent.history.some((entry) => entry.metadata['_is_interrupted'])).toBe(false);
      }),
    );
    expect(points).toBeGreaterThan(100);
    expect(aborted).toBeGreaterThan(points * 0.9);
  });

  test('a consumer that leaves after any event leaves a valid history behind', async () => {
    const { points } = await leaveAtEvery(scenario(parallel, () => {}));
    expect(points).toBeGreaterThan(30);
  });

  test('a fault before or after any step ends in a valid history', async () => {
    let failed = 0;
    const { points } = await failAtEvery(
      scenario(parallel, ({ error }) => {
        if (error === undefined) return;
        failed++;
        expect(error).toBeInstanceOf(InjectedFault);
      }),
    );
    expect(points).toBe(14); // two model calls and five tools, before and after each
    expect(failed).toBe(4); // a model that fails ends the call; a tool that fails is a result
  });
});

describe('nested agents', () => {
  /** An agent whose only tool asks another agent. */
  function supervisor(name: string, worker: ReferenceAgent): ReferenceAgent {
    const tools: Readonly<Record<string, Tool>> = { delegate: async () => (await worker.call('go')).text };
    return new ReferenceAgent({ name, model: new TapeModel(call(0, 'delegate', 'x')), tools });
  }

  function nest(): { outer: ReferenceAgent; middle: ReferenceAgent; inner: ReferenceAgent } {
    const inner = new ReferenceAgent({ name: 'inner', model: new TapeModel(), tools: TOOLS, parallel: true });
    const middle = supervisor('middle', inner);
    const outer = supervisor('outer', middle);
    return { outer, middle, inner };
  }

  test('stop with their parent at every await point, three deep, each with a valid history', async () => {
    let innerStopped = 0;
    const { points } = await interruptAtEvery(() => {
      const { outer, middle, inner } = nest();
      return {
        agent: outer,
        input: 'go',
        check({ msg, error }) {
          expect(error).toBeUndefined();
          for (const agent of [outer, middle, inner]) {
            expect(agent.isRunning, agent.name).toBe(false);
            expect(findHistoryFaults(agent.history), agent.name).toEqual([]);
          }
          // Only the agent that was interrupted apologises.
          for (const agent of [middle, inner]) {
            expect(agent.history.some((entry) => entry.metadata['_is_interrupted'])).toBe(false);
          }
          const wasInInner = inner.history.length > 0 && inner.history.at(-1)?.text !== 'It is done.';
          if (msg?.metadata['_is_interrupted'] === true && wasInInner) innerStopped++;
        },
      };
    });
    expect(points).toBeGreaterThan(500);
    expect(innerStopped).toBeGreaterThan(50);
  });
});

test('a run with 64 parallel tool calls runs the acting hooks 64 times', async () => {
  class Wide extends ChatModelBase {
    override async *stream(request: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
      if (request.messages.length > 1) return yield* ANSWER;
      for (let i = 0; i < 64; i++) yield* call(i, 'fine', `call-${i}`);
    }
  }
  const agent = new ReferenceAgent({ model: new Wide('wide'), tools: TOOLS, parallel: true });
  const seen: string[] = [];
  agent.registerInstanceHook('preActing', 'count', (_agent, { call }) => void seen.push(`pre ${call.id}`));
  agent.registerInstanceHook('postActing', 'count', (_agent, { call }, result) => {
    seen.push(`post ${call.id}`);
    return { ...result, output: `${String(result.output)}!` };
  });
  await agent.call('go');
  expect(seen.length).toBe(128);
  expect(new Set(seen).size).toBe(128);
  const outputs = agent.history.flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(outputs.map((block) => [block.id, block.output])).toEqual(
    Array.from({ length: 64 }, (_, i) => [`call-${i}`, 'fine!']),
  );
});

/** Waits in one place for ever, and does not listen to its signal. */
class Stubborn extends AgentBase {
  resume: () => void = () => {};

  constructor() {
    super({ name: 'stubborn' });
    this.setConsoleOutputEnabled(false);
  }

  override async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    await new Promise<void>((resolve) => {
      this.resume = resolve;
    });
    await this.print(Msg.assistant('late'));
    await turn.emit({ type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } });
    return Msg.assistant('late');
  }
}

test('a reply that ignores its signal is left behind, and what it does later has no effect', async () => {
  clock?.[Symbol.dispose](); // the time until a reply is abandoned is real
  const agent = new Stubborn();
  agent.setMsgQueueEnabled(true);
  const call = agent.call('go');
  expect(await agent.interrupt()).toBe(true);
  expect((await call).metadata).toEqual({ _is_interrupted: true });
  expect(agent.abandonedReplies).toBe(1);
  expect(agent.isRunning).toBe(false);

  agent.resume();
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(agent.abandonedReplies).toBe(0);
  expect(agent.msgQueue?.size, 'only the interrupt reply was printed').toBe(1);
});
