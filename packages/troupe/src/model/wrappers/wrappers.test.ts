import { afterEach, beforeEach, expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { sleep } from '../../util/clock.ts';
import { CacheModel } from './cache-model.ts';
import { ChatModelBase, type ModelCallOptions, type ModelRequest } from '../chat-model-base.ts';
import { FallbackModel } from './fallback-model.ts';
import { ModelError } from '../model-error.ts';
import { RateLimitModel } from './rate-limit-model.ts';
import { RecordingModel } from './recording-model.ts';
import { ReplayModel } from './replay-model.ts';
import { RetryModel } from './retry-model.ts';

let clock: FakeClock;
let restore: Disposable;

beforeEach(() => {
  clock = new FakeClock();
  restore = clock.install();
});

afterEach(() => {
  restore[Symbol.dispose]();
});

const request: ModelRequest = { messages: [Msg.user('hi')] };
const busy = new ModelError('busy', { kind: 'overloaded' });

/** Counts how many of its streams are open. Each fails, or says a and b and waits between them. */
class Watched extends ChatModelBase {
  asked = 0;
  open = 0;
  readonly #isFailing: (asked: number) => boolean;

  constructor(name: string, isFailing: (asked: number) => boolean = () => false) {
    super(name);
    this.#isFailing = isFailing;
  }

  override async *stream(
    _request: ModelRequest,
    { signal }: ModelCallOptions = {},
  ): AsyncGenerator<ModelDelta> {
    signal?.throwIfAborted();
    this.asked++;
    this.open++;
    try {
      if (this.#isFailing(this.asked)) throw busy;
      yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } };
      yield { type: 'text', text: 'a' };
      await sleep(1000, signal);
      yield { type: 'text', text: 'b' };
      yield { type: 'finish', reason: 'stop' };
    } finally {
      this.open--;
    }
  }
}

const ANSWER: ModelDelta[] = [
  { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } },
  { type: 'text', text: 'a' },
  { type: 'text', text: 'b' },
  { type: 'finish', reason: 'stop' },
];

const retry = (model: ChatModelBase): RetryModel => new RetryModel(model);
const limit = (model: ChatModelBase): RateLimitModel => new RateLimitModel(model, { maxConcurrent: 1 });
const cache = (model: ChatModelBase): CacheModel => new CacheModel(model, { key: () => 'key' });
const tape = (model: ChatModelBase): RecordingModel => new RecordingModel(model, { write: () => {} });
const fallback = (...models: ChatModelBase[]): FallbackModel => new FallbackModel(models);
const never = (): ChatModelBase => new ScriptedModel([], 'never');

const stacks: Record<string, (model: ChatModelBase) => ChatModelBase> = {
  Retry: retry,
  Fallback: (model) => fallback(model, never()),
  RateLimit: limit,
  Cache: cache,
  Recording: tape,
  'Retry(Fallback([Retry(a), b]))': (model) => retry(fallback(retry(model), never())),
  'RateLimit(Cache(Recording(m)))': (model) => limit(cache(tape(model))),
  'Cache(Recording(RateLimit(Retry(Fallback([a, RateLimit(b)])))))': (model) =>
    cache(tape(limit(retry(fallback(new Watched('bad', () => true), limit(model)))))),
  'five of each': (model) => {
    let outer = model;
    for (let i = 0; i < 5; i++) outer = retry(fallback(limit(cache(tape(outer))), never()));
    return outer;
  },
};

async function read(model: ChatModelBase, options?: ModelCallOptions): Promise<ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream(request, options)) deltas.push(delta);
  return deltas;
}

const names = Object.keys(stacks);
/** The answer with its sender, which is not the first model in one of the stacks. */
const answerOf = (name: string): readonly ModelDelta[] =>
  name.startsWith('Cache(Recording(') ? [{ type: 'answered_by', model: 'inner' }, ...ANSWER] : ANSWER;
const around = (name: string, model: ChatModelBase): ChatModelBase => stacks[name]!(model);

test.each(names)('%s passes an answer on as it is', async (name) => {
  const inner = new Watched('inner');
  const answer = read(around(name, inner));
  await clock.advance(1000);
  expect([await answer, inner.asked, inner.open]).toEqual([answerOf(name), 1, 0]);
});

test.each(names)('%s: leaving after any delta closes the model inside', async (name) => {
  for (let count = 1; count <= answerOf(name).length; count++) {
    const inner = new Watched('inner');
    const seen: ModelDelta[] = [];
    const reading = (async () => {
      for await (const delta of around(name, inner).stream(request)) if (seen.push(delta) === count) break;
    })();
    await clock.advance(1000);
    await reading;
    expect([seen, inner.asked, inner.open]).toEqual([answerOf(name).slice(0, count), 1, 0]);
  }
});

test.each(names)('%s: leaving while the model inside is silent closes it at once', async (name) => {
  const inner = new Watched('inner');
  const stream = around(name, inner).stream(request)[Symbol.asyncIterator]();
  while ((await stream.next()).value?.type !== 'text');
  const next = stream.next();
  await clock.advance(10);
  expect([inner.open, clock.pendingTimers]).toEqual([1, 1]);
  await stream.return?.();
  expect(await next).toEqual({ done: true, value: undefined });
  expect([inner.open, clock.pendingTimers]).toEqual([0, 0]);
});

test.each(names)('%s: an abort rejects with its reason and closes the model inside', async (name) => {
  const inner = new Watched('inner');
  const controller = new AbortController();
  const answer = read(around(name, inner), { signal: controller.signal });
  await clock.advance(10);
  expect(inner.open).toBe(1);
  const reason = new Error('stop');
  controller.abort(reason);
  await expect(answer).rejects.toBe(reason);
  expect([inner.asked, inner.open, clock.pendingTimers]).toEqual([1, 0, 0]);
});

test.each(names)('%s: nobody is asked once the caller has stopped', async (name) => {
  const inner = new Watched('inner');
  const signal = AbortSignal.abort(new Error('too late'));
  await expect(read(around(name, inner), { signal })).rejects.toThrow('too late');
  expect(inner.asked).toBe(0);
});

test.each(names)('%s: aborted at any tick, it settles and leaves nothing behind', async (name) => {
  const outcomes = { answered: 0, stopped: 0 };
  for (let ticks = 0; outcomes.answered === 0; ticks++) {
    const inner = new ScriptedModel([{ text: 'abc', chunkSize: 1 }]);
    let open = 0;
    const stream = inner.stream.bind(inner);
    inner.stream = async function* (...args) {
      open++;
      try {
        yield* stream(...args);
      } finally {
        open--;
      }
    };
    const model = around(name, inner);
    const controller = new AbortController();
    const reason = new Error('stop');
    let outcome: unknown = 'nothing';
    const reading = read(model, { signal: controller.signal }).then(
      () => (outcome = 'answered'),
      (error: unknown) => (outcome = error),
    );
    for (let tick = 0; tick < ticks; tick++) await undefined;
    const wasOver = outcome !== 'nothing';
    controller.abort(reason);
    await clock.advance(1000); // a fallback may have to wait before it is tried
    await reading;
    if (wasOver) outcomes.answered++;
    else outcomes.stopped++;
    if (outcome !== 'answered') expect(outcome).toBe(reason);
    expect([open, clock.pendingTimers]).toEqual([0, 0]);
    if (model instanceof RateLimitModel) expect([model.running, model.waiting]).toEqual([0, 0]);
    expect(ticks).toBeLessThan(5000);
  }
  expect(outcomes.stopped).toBeGreaterThan(5);
});

test('Retry(Fallback([Retry(a), b])): a is tried three times, then b, and all of that again', async () => {
  const a = new Watched('a', () => true);
  const b = new Watched('b', (asked) => asked < 2);
  const answer = read(retry(fallback(retry(a), b)));
  await clock.advance(1_000_000);
  expect([await answer, a.asked, b.asked]).toEqual([[{ type: 'answered_by', model: 'b' }, ...ANSWER], 6, 2]);
});

test('a retry around a fallback tries again as long as nothing was shown, and keeps all costs', async () => {
  const usage: ModelDelta = { type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } };
  const a = new ScriptedModel([{ deltas: [usage], error: busy }, 'hello'], 'a');
  const b = new ScriptedModel([{ deltas: [usage], error: busy }], 'b');
  const answer = retry(fallback(a, b)).call(request);
  await clock.advance(1_000_000);
  expect(await answer).toMatchObject({
    content: [{ type: 'text', text: 'hello' }],
    usage: { inputTokens: 2, outputTokens: 0 },
  });
});

test('a retry around a fallback waits as long as the models ask for', async () => {
  const limited = (ms: number): ScriptedModel => {
    const error = new ModelError('slow', { kind: 'rate_limit', retryAfterMs: ms });
    return new ScriptedModel([{ error }, 'hello']);
  };
  const [a, b] = [limited(9000), limited(5000)];
  const answer = retry(fallback(a, b)).call(request);
  await clock.advance(4999);
  expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
  await clock.advance(1);
  expect([(await answer).text, a.requests.length, b.requests.length]).toEqual(['hello', 2, 1]);
});

test('a failed attempt gives its place back, so that the next one gets in', async () => {
  const a = new Watched('a', (asked) => asked < 3);
  const limited = limit(a);
  const answers = [read(retry(limited)), read(retry(limited))];
  await clock.advance(1_000_000);
  expect(await Promise.all(answers)).toEqual([ANSWER, ANSWER]);
  expect([a.asked, limited.running, limited.waiting]).toEqual([4, 0, 0]);
});

test('a cached answer waits for no limit inside and is not recorded again', async () => {
  const lines: string[] = [];
  const inner = new ScriptedModel(['hello']);
  const recorded = new RecordingModel(inner, { write: (line) => void lines.push(line) });
  const model = cache(new RateLimitModel(recorded, { requestsPerMinute: 1 }));
  for (let i = 0; i < 5; i++) expect((await model.call(request)).text).toBe('hello');
  expect([inner.requests.length, lines.length]).toEqual([1, 2]);
});

test('a tape of a model that fails and recovers drives the same retries', async () => {
  let text = '';
  const inner = new Watched('inner', (asked) => asked < 3);
  const live = read(retry(new RecordingModel(inner, { write: (line) => void (text += line) })));
  await clock.advance(1_000_000);
  const replay = new ReplayModel(text);
  const replayed = read(retry(replay));
  await clock.advance(1_000_000);
  expect(await replayed).toEqual(await live);
  replay.assertUsedUp();
});
