import { afterEach, beforeEach, expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { now } from '../../util/clock.ts';
import type { ModelRequest } from '../chat-model-base.ts';
import { RateLimitModel, type RateLimitOptions } from './rate-limit-model.ts';

let clock: FakeClock;
let restore: Disposable;

beforeEach(() => {
  clock = new FakeClock();
  restore = clock.install();
});

afterEach(() => {
  restore[Symbol.dispose]();
});

const asking = (text: string): ModelRequest => ({ messages: [Msg.user(text)] });
const told = ({ messages }: ModelRequest): string => messages[0]?.text ?? '';

/** A model that answers every request, and records the caller and the time. */
function limited(options: RateLimitOptions, turn: ScriptedTurn = { text: 'hello' }) {
  const start = now();
  const log: string[] = [];
  const inner = new ScriptedModel([
    {
      ...turn,
      when(request) {
        log.push(`${told(request)} at ${(now() - start) / 1000}`);
        return true;
      },
    },
  ]);
  return { model: new RateLimitModel(inner, options), log };
}

/** Reads a whole stream in the background, and ignores errors. */
function ask(model: RateLimitModel, text: string, signal?: AbortSignal): void {
  model.call(asking(text), { signal }).catch(() => {});
}

test('lets so many requests begin in any minute, in the order in which they came', async () => {
  const { model, log } = limited({ requestsPerMinute: 2 });
  for (const name of ['a', 'b', 'c']) ask(model, name);
  await clock.advance(20_000);
  for (const name of ['d', 'e']) ask(model, name);
  await clock.advance(39_999);
  expect([log, model.waiting]).toEqual([['a at 0', 'b at 0'], 3]);
  await clock.advance(1);
  expect(log).toEqual(['a at 0', 'b at 0', 'c at 60', 'd at 60']);
  await clock.advance(60_000);
  expect(log).toEqual(['a at 0', 'b at 0', 'c at 60', 'd at 60', 'e at 120']);
  expect([model.waiting, clock.pendingTimers]).toEqual([0, 0]);
});

test('the minute is counted from each request, not from the full minute', async () => {
  const { model, log } = limited({ requestsPerMinute: 2 });
  ask(model, 'a');
  await clock.advance(50_000);
  for (const name of ['b', 'c', 'd']) ask(model, name);
  await clock.advance(1_000_000);
  expect(log).toEqual(['a at 0', 'b at 50', 'c at 60', 'd at 110']);
});

test('lets so many requests run at the same time, and the next one in when a place is free', async () => {
  const { model, log } = limited({ maxConcurrent: 2 });
  const streams = ['a', 'b', 'c', 'd'].map((name) => model.stream(asking(name)));
  const firsts = streams.map((stream) => stream.next());
  await clock.advance(1000);
  expect([log, model.running, model.waiting]).toEqual([['a at 0', 'b at 0'], 2, 2]);
  expect(clock.pendingTimers).toBe(0);
  await Promise.all([firsts[0], firsts[1]]);
  while (!(await streams[1]?.next())?.done); // b ends first
  await clock.advance(0);
  expect([log, model.running, model.waiting]).toEqual([['a at 0', 'b at 0', 'c at 1'], 2, 1]);
  while (!(await streams[0]?.next())?.done);
  await clock.advance(0);
  expect([log.at(-1), model.running, model.waiting]).toEqual(['d at 1', 2, 0]);
});

const endings: Record<
  string,
  { turn: ScriptedTurn; end: (stream: AsyncGenerator, stop: () => void) => unknown }
> = {
  ends: { turn: { text: 'x' }, end: async (stream) => await stream.next().then(() => stream.next()) },
  fails: { turn: { text: 'x', error: new Error('broken') }, end: (stream) => stream.next().catch(() => {}) },
  'is aborted': {
    turn: { text: 'x', stall: true },
    end(stream, stop) {
      const next = stream.next().catch(() => {});
      stop();
      return next;
    },
  },
  'is left': { turn: { text: 'x' }, end: (stream) => stream.return(undefined) },
  'is left while it stalls': {
    turn: { text: 'x', stall: true },
    end(stream) {
      void stream.next();
      return stream.return(undefined);
    },
  },
};

test.each(['aborted', 'left'])('a model that ignores being %s does not keep the others out', async (way) => {
  const { model, log } = limited({ maxConcurrent: 1 }, { text: 'x', stall: true, stubborn: true });
  const controller = new AbortController();
  const stream = model.stream(asking('a'), { signal: controller.signal });
  await stream.next();
  void stream.next();
  ask(model, 'b');
  await clock.advance(0);
  expect([log, model.waiting]).toEqual([['a at 0'], 1]);
  if (way === 'aborted') controller.abort(new Error('stop'));
  else void stream.return();
  await clock.advance(0);
  expect([log, model.running, model.waiting]).toEqual([['a at 0', 'b at 0'], 1, 0]);
});

test.each(Object.entries(endings))('gives its place back when a stream %s', async (_name, { turn, end }) => {
  const { model, log } = limited({ maxConcurrent: 1 }, turn);
  const controller = new AbortController();
  const stream = model.stream(asking('a'), { signal: controller.signal });
  await stream.next();
  ask(model, 'b');
  await clock.advance(0);
  expect([log, model.running, model.waiting]).toEqual([['a at 0'], 1, 1]);
  await end(stream, () => controller.abort(new Error('stop')));
  await clock.advance(0);
  expect([log, model.waiting]).toEqual([['a at 0', 'b at 0'], 0]);
});

test('an aborted waiting request leaves at once: queue, timer, and the others move up', async () => {
  const { model, log } = limited({ requestsPerMinute: 1 });
  const controller = new AbortController();
  ask(model, 'a');
  await clock.advance(0);
  const waiting = model.call(asking('b'), { signal: controller.signal });
  await clock.advance(0);
  expect([model.waiting, clock.pendingTimers]).toEqual([1, 1]);
  const reason = new Error('stop');
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  expect([model.waiting, clock.pendingTimers]).toEqual([0, 0]);
  ask(model, 'c');
  await clock.advance(60_000);
  expect(log).toEqual(['a at 0', 'c at 60']);
});

test('an abandoned waiting request leaves at once as well', async () => {
  const { model, log } = limited({ requestsPerMinute: 1 });
  ask(model, 'a');
  await clock.advance(0);
  const stream = model.stream(asking('b'));
  const next = stream.next();
  await clock.advance(0);
  expect(model.waiting).toBe(1);
  await stream.return();
  expect(await next).toEqual({ done: true, value: undefined });
  expect([model.waiting, clock.pendingTimers]).toEqual([0, 0]);
  await clock.advance(120_000);
  expect(log).toEqual(['a at 0']);
});

test('an aborted request at the head admits the next that fits', async () => {
  const sizes: Record<string, number> = { a: 60, big: 100, small: 40 };
  const { model, log } = limited({
    tokensPerMinute: 100,
    estimateTokens: (request) => sizes[told(request)] ?? 0,
  });
  const controller = new AbortController();
  ask(model, 'a');
  await clock.advance(0);
  ask(model, 'big', controller.signal);
  await clock.advance(0);
  ask(model, 'small');
  await clock.advance(1000);
  expect([log, model.waiting]).toEqual([['a at 0'], 2]);
  controller.abort(new Error('stop'));
  await clock.advance(0);
  expect([log, model.waiting, clock.pendingTimers]).toEqual([['a at 0', 'small at 1'], 0, 0]);
});

test('a large request is not overtaken by small ones', async () => {
  const sizes: Record<string, number> = { a: 50, big: 100, c: 10, d: 10 };
  const { model, log } = limited({
    tokensPerMinute: 100,
    estimateTokens: (request) => sizes[told(request)] ?? 0,
  });
  for (const name of ['a', 'big', 'c', 'd']) ask(model, name);
  await clock.advance(1_000_000);
  expect(log).toEqual(['a at 0', 'big at 60', 'c at 120', 'd at 120']);
});

test('a request that is larger than the limit goes alone, instead of never', async () => {
  const sizes: Record<string, number> = { a: 1, huge: 1000, c: 1 };
  const { model, log } = limited({
    tokensPerMinute: 100,
    estimateTokens: (request) => sizes[told(request)] ?? 0,
  });
  for (const name of ['a', 'huge', 'c']) ask(model, name);
  await clock.advance(1_000_000);
  expect(log).toEqual(['a at 0', 'huge at 60', 'c at 120']);
});

test('tokens that the model did not use are given back when it reports', async () => {
  const { model, log } = limited(
    { tokensPerMinute: 100, estimateTokens: () => 80 },
    { text: 'hello', usage: { inputTokens: 15, outputTokens: 5 } },
  );
  for (const name of ['a', 'b']) ask(model, name);
  await clock.advance(0);
  expect(log).toEqual(['a at 0', 'b at 0']);
  ask(model, 'c'); // 20 + 20 are used, 80 more do not fit
  await clock.advance(59_999);
  expect(log).toHaveLength(2);
  await clock.advance(1);
  expect(log.at(-1)).toBe('c at 60');
});

test('tokens beyond the estimate count from when they are known', async () => {
  const { model, log } = limited(
    { tokensPerMinute: 100, estimateTokens: () => 20 },
    { text: 'hello', usage: { inputTokens: 70, outputTokens: 35 } },
  );
  const stream = model.stream(asking('a'));
  await stream.next();
  await clock.advance(30_000);
  while (!(await stream.next()).done);
  ask(model, 'b'); // 20 count until 60, and 85 until 90
  await clock.advance(59_999);
  expect([log, model.waiting]).toEqual([['a at 0'], 1]);
  await clock.advance(1);
  expect(log).toEqual(['a at 0', 'b at 90']);
});

test('usage before a reset counts too, once', async () => {
  const usage = (tokens: number): ModelDelta => ({
    type: 'usage',
    usage: { inputTokens: tokens, outputTokens: 0 },
  });
  const reset: ModelDelta = { type: 'reset', reason: 'again' };
  const answers: [deltas: ModelDelta[], spent: number][] = [
    [[usage(20), usage(30), reset, usage(10), usage(60)], 90],
    [[usage(50), reset], 50],
    [[usage(20), reset, usage(20), reset, usage(20)], 60],
  ];
  for (const [deltas, spent] of answers) {
    for (const estimate of [100 - spent, 101 - spent]) {
      const { model, log } = limited({ tokensPerMinute: 100, estimateTokens: () => estimate }, { deltas });
      await model.call(asking('a'));
      ask(model, 'b');
      await clock.advance(0);
      expect(log.length).toBe(spent + estimate > 100 ? 1 : 2);
    }
  }
});

test('a request that tells no usage counts with its estimate', async () => {
  const { model, log } = limited({ tokensPerMinute: 100, estimateTokens: () => 60 });
  for (const name of ['a', 'b']) ask(model, name);
  await clock.advance(60_000);
  expect(log).toEqual(['a at 0', 'b at 60']);
});

test('by default tokens are estimated by the length of the text', async () => {
  const { model, log } = limited({ tokensPerMinute: 1000 });
  const long = 'x'.repeat(3000);
  ask(model, long);
  ask(model, long);
  await clock.advance(59_999);
  expect(log).toHaveLength(1);
  await clock.advance(1);
  expect(log).toHaveLength(2);
});

test('tokens are only estimated where they are limited', async () => {
  const { model } = limited({
    requestsPerMinute: 1,
    estimateTokens() {
      throw new Error('nobody asked for that');
    },
  });
  expect((await model.call(asking('a'))).text).toBe('hello');
});

test('all limits hold together', async () => {
  const { model, log } = limited({
    requestsPerMinute: 3,
    tokensPerMinute: 100,
    maxConcurrent: 1,
    estimateTokens: () => 40,
  });
  for (const name of ['a', 'b', 'c', 'd']) ask(model, name);
  await clock.advance(0);
  expect([log, model.waiting]).toEqual([['a at 0', 'b at 0'], 2]);
  await clock.advance(60_000);
  expect([log, model.waiting]).toEqual([['a at 0', 'b at 0', 'c at 60', 'd at 60'], 0]);
});

test('without limits it only passes on', async () => {
  const { model, log } = limited({});
  for (let i = 0; i < 100; i++) ask(model, `${i}`);
  await clock.advance(0);
  expect([log.length, model.waiting, model.running, clock.pendingTimers]).toEqual([100, 0, 0, 0]);
});

test('a thousand requests, a third of them aborted while they wait: no more than allowed in any minute, none lost', async () => {
  const { model, log } = limited({ requestsPerMinute: 50, maxConcurrent: 7 });
  const outcomes = { answered: 0, aborted: 0 };
  for (let i = 0; i < 1000; i++) {
    const controller = new AbortController();
    model.call(asking(`${i}`), { signal: controller.signal }).then(
      () => outcomes.answered++,
      () => outcomes.aborted++,
    );
    if (i % 3 === 2) {
      await clock.advance(10);
      controller.abort(new Error('stop'));
    }
  }
  await clock.advance(60_000 * 20);
  expect(outcomes.answered + outcomes.aborted).toBe(1000);
  expect(outcomes.aborted).toBeGreaterThan(200);
  expect([log.length, model.waiting, model.running, clock.pendingTimers]).toEqual([
    outcomes.answered,
    0,
    0,
    0,
  ]);
  const starts = log.map((line) => line.split(' at ').map(Number));
  for (const [i, [name = 0, time = 0]] of starts.entries()) {
    const [[next = Infinity] = [], [, later = Infinity] = []] = [starts[i + 1], starts[i + 50]];
    expect(next).toBeGreaterThan(name);
    expect(Math.round((later - time) * 1000)).toBeGreaterThanOrEqual(60_000);
  }
});

test.each<[RateLimitOptions, string]>([
  [{ requestsPerMinute: 0 }, 'requestsPerMinute must be a number of 1 or more.'],
  [{ tokensPerMinute: Number.NaN }, 'tokensPerMinute must be a number of 1 or more.'],
  [{ maxConcurrent: -1 }, 'maxConcurrent must be a number of 1 or more.'],
])('refuses %o', (options, message) => {
  expect(() => new RateLimitModel(new ScriptedModel([]), options)).toThrow(message);
});

test('an estimate that is no number fails the call instead of blocking the queue', async () => {
  const { model } = limited({ tokensPerMinute: 100, estimateTokens: () => Number.NaN });
  await expect(model.call(asking('a'))).rejects.toThrow('The result of estimateTokens must be a number');
  expect(model.waiting).toBe(0);
});
