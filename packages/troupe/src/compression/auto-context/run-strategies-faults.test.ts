// A conversation stays valid despite failing models, counters and listeners, and interrupts.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { StepInit } from '../../event/step.ts';
import { findHistoryFaults } from '../../message/history.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { ChatModelBase } from '../../model/chat-model-base.ts';
import { AutoContextTokenCounter } from './auto-context-token-counter.ts';
import { CalibratedTokenCounter } from '../../token/calibrated-token-counter.ts';
import { sleep } from '../../util/clock.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { fakeIds } from '../../testing/fake-ids.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { TokenCounterBase } from '../../token/token-counter-base.ts';
import { pair, pairs, summingModel, taskWith } from '../../../test/compression-task.ts';
import { AutoContextMemory } from './auto-context-memory.ts';
import type { AutoContextOptions } from './auto-context-options.ts';
import { withoutTags } from './stubs.ts';
import { pointsOf } from '../../../test/fair-sample.ts';

let clock = new FakeClock();
let installed: Disposable[] = [];
beforeEach(() => {
  clock = new FakeClock();
  installed = [fakeIds(), clock.install()];
});
afterEach(() => installed.forEach((one) => one[Symbol.dispose]()));

const EAGER: AutoContextOptions = {
  msgThreshold: 8,
  minConsecutiveToolMessages: 3,
  lastKeep: 0,
  minCompressionTokenThreshold: 0,
};

/** Two previous rounds and a current one, with work for every strategy. */
function talk(): Msg[] {
  const rounds = [1, 2].flatMap((i) => [
    Msg.user(`q${i}`),
    ...pairs(`r${i}_`, 3, 'x'.repeat(200)),
    Msg.assistant(`a${i}`),
  ]);
  return [...rounds, Msg.user('and now?'), ...pairs('now', 2, 'y'.repeat(6000))];
}

async function memoryOf(
  msgs: readonly Msg[],
  options: AutoContextOptions = EAGER,
): Promise<AutoContextMemory> {
  const memory = new AutoContextMemory(options);
  await memory.add(msgs);
  return memory;
}

const FAULTS: [string, ScriptedTurn][] = [
  ['fails', { error: new Error('broken') }],
  ['fails half way', { text: 'So far', error: new Error('broken') }],
  ['says nothing', { text: ' \n' }],
  ['calls tools instead', { toolCalls: [{ name: 'search', input: {} }] }],
  ['says more than it was given', { text: 'Once upon a time '.repeat(5000) }],
  ['says nothing but a tag', { text: '<!-- CONTEXT_OFFLOAD: uuid=x -->' }],
];

describe.each(FAULTS)('a model that %s', (_, turn) => {
  test('changes nothing, and the next strategy is tried', async () => {
    const msgs = talk();
    const memory = await memoryOf(msgs);
    const before = JSON.stringify(memory.stateDict());
    const task = taskWith(summingModel(turn));
    expect(await memory.compress(task)).toBe(false);
    expect(JSON.stringify(memory.stateDict())).toBe(before);
    expect(memory.getOffloadContext().size).toBe(0);
    const failed = task.events.filter(({ phase }) => phase === 'failed');
    expect(failed.map(({ strategy }) => strategy)).toEqual([
      'tool_invocation_compress',
      'previous_round_conversation_summary', // of a round
      'previous_round_conversation_summary', // of the history
    ]);
    expect(failed.every(({ problem = '' }) => problem !== '')).toBe(true);
  });

  test('does not keep the prompt from fitting', async () => {
    const memory = await memoryOf(talk(), { ...EAGER, maxToken: 2000 });
    const task = taskWith(summingModel(turn));
    expect(await memory.compress(task)).toBe(true);
    expect(task.events.flatMap(({ phase, strategy }) => (phase === 'failed' ? [strategy] : []))).toEqual([
      'tool_invocation_compress',
      'previous_round_conversation_summary', // of a round
      'previous_round_conversation_summary', // of the history
      'current_round_large_message_summary',
      'current_round_message_compress',
      'previous_round_conversation_summary', // of the history with the newest round
    ]);
    const shown = await memory.getMemory();
    expect(findHistoryFaults(shown)).toEqual([]);
    expect(await new AutoContextTokenCounter().count(shown)).toBeLessThan(1500);
    expect(memory.getCompressionEvents().map(({ eventType }) => eventType)).toContain('LAST_RESORT_OFFLOAD');
  });
});

test('a hanging model is stopped at the time limit, and its late answer is ignored', async () => {
  const memory = await memoryOf(talk(), { ...EAGER, timeoutMs: 1000 });
  const task = taskWith(summingModel({ text: 'Well,', stall: true, stubborn: true }));
  const made = memory.compress(task);
  await clock.advance(999);
  expect(task.events.map(({ phase }) => phase)).toEqual(['start', 'progress']);
  await clock.advance(1);
  expect(task.events[2]).toMatchObject({
    phase: 'failed',
    problem: 'It took longer than 1 s.',
    durationMs: 1000,
  });
  await clock.advance(3000);
  expect(await made).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});

test('a model that hangs is waited for once in an attempt, whatever is left to do', async () => {
  const msgs = talk();
  const memory = await memoryOf(msgs, {
    ...EAGER,
    maxToken: 3000,
    timeoutMs: 100,
    largePayloadThreshold: 1000,
  });
  const model = summingModel({ stall: true });
  const made = memory.compress(taskWith(model));
  await clock.advance(100);
  expect(await made).toBe(true);
  expect(model.requests.length).toBe(1);
  expect(memory.getCompressionEvents().map(({ eventType }) => eventType)).toContain('LAST_RESORT_OFFLOAD');
});

describe('a model that never ends and never waits', () => {
  class Endless extends ChatModelBase {
    count = 0;

    constructor(readonly delta: ModelDelta) {
      super('endless');
    }

    override async *stream(): AsyncGenerator<ModelDelta, void, void> {
      for (; this.count < 500_000; this.count++) yield this.delta;
    }
  }

  test('is stopped when its summary is longer than the original', async () => {
    const model = new Endless({ type: 'text', text: 'x' });
    const memory = await memoryOf([Msg.user('q'), ...pairs('p', 5, 'x'.repeat(1500))], {
      maxToken: 2000,
      model,
    });
    const task = taskWith(summingModel());
    expect(await memory.compress(task)).toBe(true);
    expect(model.count).toBeLessThan(30_000);
    expect(task.events.find(({ phase }) => phase === 'failed')?.problem).toBe(
      'The summary is longer than the messages it replaces.',
    );
  });

  test('can be interrupted, and does not think for ever', async () => {
    const nothing = new Endless({ type: 'text', text: '' });
    const memory = await memoryOf(talk(), { maxToken: 2000, model: nothing });
    const stop = new AbortController();
    const task = taskWith(summingModel(), { signal: stop.signal });
    const made = memory.compress(task);
    setImmediate(() => stop.abort(new Error('stop')));
    await expect(made).rejects.toThrow('stop');
    expect(nothing.count).toBeLessThan(10_000);
    const thinker = new Endless({ type: 'thinking', thinking: 'Hm. '.repeat(100) });
    await (await memoryOf(talk(), { maxToken: 2000, model: thinker })).compress(taskWith(summingModel()));
    expect(thinker.count).toBeLessThan(20_000);
  });
});

// Quadratic time would exceed the timeout of the test.
test('100 000 tags without an end are taken out of a summary', () => {
  const text = '<!--CONTEXT_OFFLOAD uuid='.repeat(100_000);
  expect(withoutTags(`${text}a --> b`)).toBe(`${'<!--CONTEXT_OFFLOAD uuid='.repeat(99_999)} b`);
});

test('the time of a slow listener is not that of the model', async () => {
  const memory = await memoryOf(talk(), { ...EAGER, timeoutMs: 1000 });
  const emit = ({ phase }: { readonly phase: string }): Promise<void> | void => {
    if (phase === 'progress') return sleep(5000);
  };
  const made = memory.compress(taskWith(summingModel(), { emit }));
  await clock.advance(100_000);
  expect(await made).toBe(true);
});

test('a failing step is a failed summary', async () => {
  const memory = await memoryOf(talk());
  const task = taskWith(summingModel(), { step: () => Promise.reject(new Error('no step')) });
  expect(await memory.compress(task)).toBe(false);
  expect(task.events.find(({ phase }) => phase === 'failed')?.problem).toBe('no step');
});

test('a step gives JSON, so that it can be replayed', async () => {
  const answers: unknown[] = [];
  const step = async <T>(_step: StepInit, body: () => Promise<T>): Promise<T> => {
    const answer = JSON.parse(JSON.stringify(await body())) as T;
    answers.push(answer);
    return answer;
  };
  const memory = await memoryOf(talk());
  expect(
    await memory.compress(
      taskWith(summingModel({ text: 'So.', usage: { inputTokens: 1, outputTokens: 2 } }), { step }),
    ),
  ).toBe(true);
  expect(answers[0]).toEqual({ text: 'So.', durationMs: 0, usage: { inputTokens: 1, outputTokens: 2 } });
});

test('throwing listeners have no effect', async () => {
  const memory = await memoryOf(talk());
  const broken = (): never => {
    throw new Error('deaf');
  };
  expect(await memory.compress(taskWith(summingModel(), { emit: broken, addUsage: broken }))).toBe(true);
});

test('a throwing strategy, at any point, leaves no partial change', async () => {
  const msgs = talk();
  for (let limit = 0; limit < 100; limit += 3) {
    let asked = 0;
    const isPinned = (): boolean => {
      if (asked++ === limit) throw new Error('no rule');
      return false;
    };
    const memory = await memoryOf(msgs, { ...EAGER, largePayloadThreshold: 100, isPinned });
    await memory.compress(taskWith(summingModel()));
    const shown = await memory.getMemory();
    expect(findHistoryFaults(shown)).toEqual([]);
    await memory.add(msgs); // all are duplicates, so nothing is added
    expect(await memory.getMemory()).toEqual(shown);
  }
});

describe('token counters', () => {
  class Broken extends TokenCounterBase {
    override count(): Promise<number> {
      return Promise.reject(new Error('no such host'));
    }
  }
  class Hanging extends TokenCounterBase {
    override count(): Promise<number> {
      return new Promise(() => {});
    }
  }

  test('a failing counter is not used', async () => {
    const memory = await memoryOf(talk(), { maxToken: 2000, tokenCounter: new Broken() });
    expect(await memory.compress(taskWith(summingModel()))).toBe(true);
    expect(await new AutoContextTokenCounter().count(await memory.getMemory())).toBeLessThan(1500);
  });

  test('a hanging counter is not used', async () => {
    const memory = await memoryOf(talk(), { maxToken: 2000, tokenCounter: new Hanging(), timeoutMs: 100 });
    const made = memory.compress(taskWith(summingModel()));
    await clock.advance(10_000);
    expect(await made).toBe(true);
  });

  test('a counter that hangs is waited for once in some minutes, not in every step', async () => {
    const tokenCounter = new Hanging();
    const counted = vi.spyOn(tokenCounter, 'count');
    const memory = await memoryOf(talk(), { maxToken: 2000, tokenCounter, timeoutMs: 100 });
    const startedAt = clock.now();
    for (let step = 0; step < 3; step++) {
      const made = memory.compress(taskWith(summingModel()));
      if (step === 0) await clock.advance(100);
      await made;
      await memory.add(pair(`more${step}`, 'x'.repeat(4000)));
    }
    expect([clock.now() - startedAt, counted.mock.calls.length]).toEqual([100, 1]);
    await clock.advance(5 * 60_000);
    const made = memory.compress(taskWith(summingModel()));
    await clock.advance(100);
    await made;
    expect(counted.mock.calls.length).toBe(2);
  });

  test.each([NaN, Infinity, -1])('a counter that gives %d is not used', async (tokens) => {
    class Odd extends TokenCounterBase {
      override async count(): Promise<number> {
        return tokens;
      }
    }
    const memory = await memoryOf(talk(), { maxToken: 2000, tokenCounter: new Odd() });
    expect(await memory.compress(taskWith(summingModel()))).toBe(true);
    expect(await new AutoContextTokenCounter().count(await memory.getMemory())).toBeLessThan(1500);
  });

  test('a counter that has learned counts again', async () => {
    const tokenCounter = new CalibratedTokenCounter(new AutoContextTokenCounter());
    const msgs = [Msg.user('x'.repeat(1500)), Msg.assistant('fine'), Msg.user('and?')]; // 634 tokens
    const memory = await memoryOf(msgs, { maxToken: 1200, largePayloadThreshold: 100, tokenCounter });
    expect(await memory.compress(taskWith(summingModel()))).toBe(false);
    await tokenCounter.learn(msgs, undefined, { inputTokens: 1300, outputTokens: 1 });
    expect(await memory.compress(taskWith(summingModel()))).toBe(true);
  });
});

describe('while a summary is made', () => {
  test('messages added meanwhile are kept in their place', async () => {
    const strategies = { current_round_large_message_summary: false, current_round_message_compress: false };
    const memory = await memoryOf(talk(), { ...EAGER, strategies });
    const late = [Msg.user('late'), ...pair('late')];
    const step = async <T>(_step: StepInit, body: () => Promise<T>): Promise<T> => {
      if (late[0] && !memory.getOriginalMemoryMsgs().includes(late[0])) await memory.add(late);
      return body();
    };
    expect(await memory.compress(taskWith(summingModel(), { step }))).toBe(true);
    expect((await memory.getMemory()).slice(-3)).toEqual(late);
    expect(findHistoryFaults(await memory.getMemory())).toEqual([]);
  });

  test('messages added meanwhile count', async () => {
    const memory = await memoryOf(talk(), { ...EAGER, maxToken: 4000 });
    const late = [Msg.user('q'), ...pair('late', 'z'.repeat(9000)), Msg.assistant('a'), Msg.user('late')];
    const step = async <T>(_step: StepInit, body: () => Promise<T>): Promise<T> => {
      await memory.add(late);
      return body();
    };
    await memory.compress(taskWith(summingModel(), { step }));
    const shown = await memory.getMemory();
    expect(shown).toContain(late.at(-1));
    expect(await new AutoContextTokenCounter().count(shown)).toBeLessThan(3000);
  });

  test.each([
    ['deleted', (memory: AutoContextMemory, msg: Msg) => memory.delete([msg.id])],
    [
      'pinned',
      (memory: AutoContextMemory, msg: Msg) =>
        memory.updateMessagesMark({ newMark: 'pinned', msgIds: [msg.id] }),
    ],
    ['cleared', (memory: AutoContextMemory) => memory.clear()],
    [
      'loaded',
      async (memory: AutoContextMemory) => memory.loadStateDict(new AutoContextMemory().stateDict()),
    ],
  ])('a summary is dropped if its messages are %s', async (_, change) => {
    const msgs = talk();
    const memory = await memoryOf(msgs, {
      ...EAGER,
      strategies: { previous_round_conversation_summary: false },
    });
    let expected: readonly Msg[] = [];
    let steps = 0;
    const step = async <T>(_step: StepInit, body: () => Promise<T>): Promise<T> => {
      if (steps++ > 0) throw new Error('enough');
      await change(memory, msgs[2] as Msg);
      expected = await memory.getMemory();
      return body();
    };
    expect(await memory.compress(taskWith(summingModel(), { step }))).toBe(false);
    expect(await memory.getMemory()).toEqual(expected);
    expect(memory.getOffloadContext().size).toBe(0);
    expect(memory.getCompressionEvents()).toEqual([]);
  });

  test('a second one waits for the first, and finds little to do', async () => {
    const memory = await memoryOf(talk());
    const models = [summingModel('S.'), summingModel('S.')];
    let running = 0;
    let most = 0;
    const step = async <T>(_step: StepInit, body: () => Promise<T>): Promise<T> => {
      most = Math.max(most, ++running);
      try {
        return await body();
      } finally {
        running--;
      }
    };
    const made = await Promise.all(models.map((model) => memory.compress(taskWith(model, { step }))));
    expect(made).toEqual([true, false]);
    expect(most).toBe(1);
    expect(models.map(({ requests }) => requests.length > 0)).toEqual([true, false]);
  });

  test('a waiting call can be aborted, and the next one runs', async () => {
    const memory = await memoryOf(talk(), { ...EAGER, timeoutMs: 1000 });
    const first = memory.compress(taskWith(summingModel({ stall: true })));
    const leaving = new AbortController();
    const second = memory.compress(taskWith(summingModel(), { signal: leaving.signal }));
    const third = memory.compress(taskWith(summingModel(), { force: true }));
    leaving.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    await clock.advance(10_000);
    expect([await first, await third]).toEqual([false, true]);
  });
});

test('after an attempt without effect, the next attempt waits for more messages', async () => {
  const rounds = Array.from({ length: 50 }, (_, i) => [Msg.user(`q${i}`), Msg.assistant(`a${i}`)]).flat();
  const asked: boolean[] = [];
  const isPinned = (): boolean => (asked.push(true), false);
  const watched = new AutoContextMemory({ ...EAGER, isPinned });
  await watched.add(rounds);
  const tries: number[] = [];
  for (let i = 0; i < 20; i++) {
    asked.length = 0;
    await watched.compress(taskWith(summingModel({ error: new Error('down') })));
    if (asked.length > 0) tries.push(i);
    await watched.add(`more ${i}`);
  }
  expect(tries).toEqual([0, 7, 14]);
});

interface Run {
  /** All states visible from outside, and the last one. */
  readonly states: readonly string[];
  readonly state: string;
  /** The state at the interrupt. */
  readonly stateThen: string;
  readonly ticks: number;
  readonly outcome: unknown;
  readonly memory: AutoContextMemory;
}

/** Lines and answers that are summarized in several parts. */
function plainChat(): Msg[] {
  const rounds = Array.from({ length: 60 }, (_, i) => [
    Msg.user(`q${i}`.padEnd(150, '.')),
    Msg.assistant(`a${i}`.padEnd(150, '.')),
  ]);
  return [...rounds.flat(), Msg.user('and now?')];
}

test.each([
  ['a conversation with tools', talk],
  ['a plain chat', plainChat],
])(
  'interrupted at every point of %s, it has changed all of something or nothing',
  async (_, conversation) => {
    const msgs = conversation();
    const stateOf = (memory: AutoContextMemory): string => JSON.stringify(memory.stateDict());
    const run = async (abortAt: number): Promise<Run> => {
      installed.forEach((one) => one[Symbol.dispose]());
      installed = [fakeIds('new-'), clock.install()];
      const memory = await memoryOf(msgs, { ...EAGER, maxToken: 3000 });
      const stop = new AbortController();
      const states = [stateOf(memory)];
      const model = summingModel({ text: 'In short.', chunkSize: 4 });
      let outcome: unknown;
      let isOver = false;
      const over = memory
        .compress(taskWith(model, { signal: stop.signal }))
        .then(
          (hasChanged) => void (outcome = hasChanged),
          (error: unknown) => void (outcome = error),
        )
        .finally(() => void (isOver = true));
      let ticks = 0;
      let stateThen = '';
      for (; !isOver; ticks++) {
        if (ticks === abortAt) {
          stop.abort(new Error('stop'));
          stateThen = stateOf(memory);
        }
        await undefined;
        if (abortAt !== Infinity) continue;
        const state = stateOf(memory);
        if (state !== states.at(-1)) states.push(state);
      }
      await over;
      return { states, state: stateOf(memory), stateThen, ticks, outcome, memory };
    };
    const whole = await run(Infinity);
    expect(whole.outcome).toBe(true);
    expect(whole.states.length, 'there is something in between').toBeGreaterThan(3);
    expect(whole.ticks).toBeGreaterThan(50);
    let interrupted = 0;
    const points = pointsOf('ticks of a compression at which it is aborted', whole.ticks - 1, 60);
    for (const point of points) {
      const { state, stateThen, outcome, memory } = await run(point);
      if (outcome !== true) {
        expect(outcome).toEqual(new Error('stop'));
        interrupted++;
      }
      if (stateThen !== '') expect(state).toBe(stateThen);
      expect(whole.states).toContain(state);
      expect(findHistoryFaults(await memory.getMemory())).toEqual([]);
    }
    expect(interrupted).toBeGreaterThan(points.length / 2);
  },
);

test('a model that fails for one round is still asked for the history: the last resort comes last', async () => {
  const rounds = [1, 2, 3].flatMap((i) => [
    Msg.user(`q${i}`),
    ...pair(`r${i}`, 'x'.repeat(900)),
    Msg.assistant(`a${i}`),
  ]);
  const memory = await memoryOf([...rounds, Msg.user('and now?')], {
    maxToken: 1500,
    largePayloadThreshold: 5000,
    minCompressionTokenThreshold: 100,
  });
  const model = new ScriptedModel([{ error: new Error('busy') }, 'In short: they count.']);
  const task = taskWith(model);
  expect(await memory.compress(task)).toBe(true);
  expect(task.events.flatMap(({ phase }) => (phase === 'progress' ? [] : [phase]))).toEqual([
    'start',
    'failed',
    'start',
    'end',
  ]);
  expect(memory.getCompressionEvents().map(({ eventType }) => eventType)).toEqual([
    'PREVIOUS_ROUND_CONVERSATION_SUMMARY',
  ]);
});
