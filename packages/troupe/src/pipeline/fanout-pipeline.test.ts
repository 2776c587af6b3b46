import { getEventListeners } from 'node:events';
import { scheduler } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { AgentBase } from '../agent/agent-base.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { abortable } from '../util/abort.ts';
import { FanoutError, FanoutPipeline, fanoutPipeline } from './fanout-pipeline.ts';

type Reply = (msgs: readonly Msg[], turn: Turn) => Promise<Msg>;

/** Counts its calls and gives prepared answers. */
class Worker extends AgentBase {
  calls = 0;
  readonly #answer: Reply;

  constructor(name: string, answer: Reply) {
    super({ name });
    this.#answer = answer;
    this.setConsoleOutputEnabled(false);
  }

  async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    this.calls++;
    return this.#answer(msgs, turn);
  }
}

const forever = new Promise<never>(() => {});
const number = (result: number): Msg => Msg.assistant('', { metadata: { result } });
const calculator = (compute: (n: number) => number): Worker =>
  new Worker('calculator', async (msgs) => number(compute(Number(msgs.at(-1)?.metadata['result'] ?? 0))));
const stuck = (name: string): Worker => new Worker(name, (_msgs, { signal }) => abortable(forever, signal));
const deaf = (name: string): Worker => new Worker(name, () => forever);
const broken = (): Worker => new Worker('broken', async () => Promise.reject(new Error('I broke')));
const results = (answers: readonly Msg[]): unknown[] => answers.map((msg) => msg.metadata['result']);

/** Runs all promises as far as they go without the clock. */
async function letPromisesSettle(): Promise<void> {
  for (let i = 0; i < 10; i++) await scheduler.yield();
}

const zero = Msg.user('', { metadata: { result: 0 } });

test.each([{ concurrent: true }, { concurrent: false }, { maxConcurrent: 2 }])(
  'every agent starts from the same input: %o',
  async (options) => {
    const agents = [calculator((n) => n + 1), calculator((n) => n + 2), calculator((n) => n * 3)];
    expect(results(await fanoutPipeline(agents, zero, options))).toEqual([1, 2, 0]);
    expect(results(await new FanoutPipeline(agents, options).call(zero))).toEqual([1, 2, 0]);
  },
);

test('without input the agents are called with an empty list', async () => {
  const count = (): Worker => new Worker('count', async (msgs) => number(msgs.length));
  expect(results(await fanoutPipeline([count(), count()]))).toEqual([0, 0]);
});

test('without agents the list of answers is empty', async () => {
  expect(await fanoutPipeline([], zero)).toEqual([]);
  expect(await new FanoutPipeline([], { concurrent: false }).call()).toEqual([]);
});

test('a text becomes one message for all agents, in a separate list for each', async () => {
  const seen: (readonly Msg[])[] = [];
  const reader = (): Worker => new Worker('reader', async (msgs) => number(seen.push(msgs)));
  await fanoutPipeline([reader(), reader()], 'Hello');
  const [first, second] = seen;
  expect(first?.map((msg) => msg.text)).toEqual(['Hello']);
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
});

test.each([
  { options: {}, most: 5 },
  { options: { maxConcurrent: 2 }, most: 2 },
  { options: { concurrent: false }, most: 1 },
  { options: { concurrent: false, maxConcurrent: 3 }, most: 1 },
])('at most $most of five answer at the same time: $options', async ({ options, most }) => {
  let running = 0;
  const seen: number[] = [];
  const gates: (() => void)[] = [];
  const agents = [0, 1, 2, 3, 4].map(
    (i) =>
      new Worker(`${i}`, async () => {
        seen.push(++running);
        await new Promise<void>((resolve) => gates.push(resolve));
        running--;
        return number(i);
      }),
  );
  const answers = new FanoutPipeline(agents, options).call(zero);
  for (let opened = 0; opened < agents.length;) {
    await letPromisesSettle();
    opened++;
    gates.pop()?.(); // the last to start is the first to answer
  }
  expect(results(await answers)).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...seen)).toBe(most);
});

test.each([0, -1, 1.5, Number.NaN])('a maxConcurrent of %d is refused', async (maxConcurrent) => {
  const problem = 'maxConcurrent must be a whole number of 1 or more.';
  await expect(fanoutPipeline([stuck('a')], zero, { maxConcurrent })).rejects.toThrow(problem);
  expect(() => new FanoutPipeline([stuck('a')], { maxConcurrent })).toThrow(problem);
});

test('a failing agent leaves the others to finish; its error is thrown then', async () => {
  const door = Promise.withResolvers<void>();
  const waiting = new Worker('waiting', async () => {
    await door.promise;
    return number(1);
  });
  const last = calculator((n) => n + 1);
  const fanout = fanoutPipeline([waiting, broken(), last], zero, { maxConcurrent: 2 });
  let hasEnded = false;
  const failure = fanout.catch((error: unknown) => ((hasEnded = true), error));
  await letPromisesSettle();
  expect([hasEnded, waiting.isRunning, last.calls]).toEqual([false, true, 1]);
  door.resolve();
  expect(await failure).toEqual(new Error('I broke'));
});

test('the error of the only failing agent is thrown as it is', async () => {
  const failure = new TypeError('mistaken');
  const failing = new Worker('failing', async () => Promise.reject(failure));
  await expect(fanoutPipeline([calculator((n) => n), failing], zero)).rejects.toBe(failure);
});

test('a failing agent stops the others if onError says so; its error is thrown after they have ended', async () => {
  const unwound: string[] = [];
  const tidy = new Worker('tidy', async (_msgs, { signal }) => {
    await abortable(forever, signal).catch(async () => {
      await Promise.resolve();
      unwound.push('tidy');
    });
    throw new Error('a second error, which nobody sees');
  });
  const waiting = stuck('waiting');
  await expect(fanoutPipeline([tidy, broken(), waiting], zero, { onError: 'stop' })).rejects.toThrow(
    'I broke',
  );
  expect(unwound).toEqual(['tidy']);
  expect([tidy.isRunning, waiting.isRunning]).toEqual([false, false]);
});

test.each(['finish', 'stop'] as const)(
  'all errors are reported with the names of the agents: %s',
  async (onError) => {
    const errors = [new Error('I broke too'), new Error('I broke')] as const;
    const failing = (name: string, error: Error): Worker =>
      new Worker(name, async () => Promise.reject(error));
    const agents = [failing('a', errors[0]), calculator((n) => n), failing('b', errors[1])];
    const fanout = fanoutPipeline(agents, zero, { onError });
    const error = await fanout.catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(FanoutError);
    expect(error).toMatchObject({
      code: 'fanout_failed',
      message: '2 agents failed. a: I broke too | b: I broke',
      cause: errors[0],
      errors,
      failures: [
        { agentName: 'a', error: errors[0] },
        { agentName: 'b', error: errors[1] },
      ],
    });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'FanoutError',
      code: 'fanout_failed',
      message: '2 agents failed. a: I broke too | b: I broke',
      failures: [
        { agentName: 'a', message: 'I broke too' },
        { agentName: 'b', message: 'I broke' },
      ],
    });
  },
);

test.each([{ concurrent: false }, { maxConcurrent: 1 }])(
  'agents whose turn has not come when one fails are left alone if onError says so: %o',
  async (options) => {
    const next = stuck('next');
    const busy = next.call('something else');
    const fanout = fanoutPipeline([broken(), next], zero, {
      ...options,
      onBusy: 'interrupt',
      onError: 'stop',
    });
    await expect(fanout).rejects.toThrow('I broke');
    expect(next.calls).toBe(1);
    expect(await next.interrupt()).toBe(true); // not interrupted before
    await busy;
  },
);

test('a late answer after the failure that stops the others starts no queued agent', async () => {
  using _ = new FakeClock().install();
  let fail = (): void => {};
  let finish = (): void => {};
  const failing = new Worker(
    'failing',
    () => new Promise((_, reject) => (fail = () => reject(new Error('I broke')))),
  );
  const late = calculator((n) => n);
  late.registerInstanceHook('postCall', 'dawdle', () => new Promise((resolve) => (finish = resolve)));
  const next = stuck('next');
  const busy = next.call('something else');
  const fanout = fanoutPipeline([failing, late, next], zero, {
    maxConcurrent: 2,
    onBusy: 'interrupt',
    onError: 'stop',
  });
  const failure = fanout.catch((error: unknown) => error);
  await letPromisesSettle();
  fail();
  await letPromisesSettle();
  finish();
  expect(await failure).toEqual(new Error('I broke'));
  expect(next.calls).toBe(1);
  expect(await next.interrupt()).toBe(true); // not interrupted before
  await busy;
});

test('an agent that ignores its signal is not awaited', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const ignorant = deaf('ignorant');
  const [fanout] = await Promise.allSettled([
    fanoutPipeline([ignorant, broken()], zero, { onError: 'stop' }),
    clock.advance(50),
  ]);
  expect(fanout).toEqual({ status: 'rejected', reason: new Error('I broke') });
  expect([ignorant.isRunning, ignorant.abandonedReplies, clock.pendingTimers]).toEqual([false, 1, 0]);
});

test('a caller’s signal aborts all, and is left without listeners', async () => {
  const agents = [stuck('a'), stuck('b')];
  const controller = new AbortController();
  const fanout = fanoutPipeline(agents, zero, { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(fanout).rejects.toThrow('enough');
  expect(agents.map((agent) => agent.isRunning)).toEqual([false, false]);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  await expect(fanoutPipeline(agents, zero, { signal: controller.signal })).rejects.toThrow('enough');
  expect(agents.map((agent) => agent.calls)).toEqual([1, 1]);
});

test('an interrupted agent answers with its interrupt reply; the others continue', async () => {
  const interrupted = stuck('interrupted');
  const fanout = fanoutPipeline([interrupted, calculator((n) => n + 1)], zero);
  await interrupted.interrupt();
  expect((await fanout).map((msg) => msg.metadata)).toEqual([{ _is_interrupted: true }, { result: 1 }]);
});

test('an interrupt stops a nested fan-out of ten agents, also agents that ignore the signal', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const crew = Array.from({ length: 10 }, (_, i) => (i % 2 ? deaf : stuck)(`worker ${i}`));
  const leader = new Worker('leader', async (msgs) => {
    const [first = zero] = await fanoutPipeline(crew, msgs);
    return first;
  });
  const answer = leader.call(zero);
  await clock.advance(0);
  expect(crew.every((agent) => agent.isRunning)).toBe(true);

  const stopped = leader.interrupt();
  await clock.advance(50);
  await letPromisesSettle();
  expect(await stopped).toBe(true);
  expect((await answer).metadata).toEqual({ _is_interrupted: true });
  expect(crew.map((agent) => agent.isRunning)).toEqual(crew.map(() => false));
  expect(clock.pendingTimers).toBe(0);
});

test('a fan-out of a hundred raises no listener warning', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  const agents = Array.from({ length: 100 }, (_, i) => stuck(`${i}`));
  const controller = new AbortController();
  const fanout = fanoutPipeline(agents, zero, { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(fanout).rejects.toThrow('enough');
  await letPromisesSettle();
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
