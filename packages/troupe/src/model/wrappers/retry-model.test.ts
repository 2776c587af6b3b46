import { afterEach, beforeEach, expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { now } from '../../util/clock.ts';
import { useRandomSource } from '../../util/ids.ts';
import type { ModelCallOptions, ModelRequest } from '../chat-model-base.ts';
import { ModelError, type ModelErrorDetails } from '../model-error.ts';
import { parseRetryAfter } from '../retry-after.ts';
import { RetryModel, type Retry, type RetryOptions } from './retry-model.ts';

const request: ModelRequest = { messages: [Msg.user('hi')] };

let clock: FakeClock;
let restore: Disposable;

beforeEach(() => {
  clock = new FakeClock();
  restore = clock.install();
});

afterEach(() => {
  restore[Symbol.dispose]();
});

const failing = (details: ModelErrorDetails, rest: ScriptedTurn = {}): ScriptedTurn => ({
  ...rest,
  error: new ModelError(`It failed: ${details.kind}.`, details),
});
const busy = failing({ kind: 'overloaded', status: 503 });

interface Read {
  readonly deltas: ModelDelta[];
  isDone: boolean;
  error: unknown;
}

/** Reads a stream in the background. */
function read(model: RetryModel, options?: ModelCallOptions): Read {
  const result: Read = { deltas: [], isDone: false, error: undefined };
  void (async () => {
    try {
      for await (const delta of model.stream(request, options)) result.deltas.push(delta);
    } catch (error) {
      result.error = error;
    }
    result.isDone = true;
  })();
  return result;
}

/** A model whose attempts are timed. */
function timed(script: (string | ScriptedTurn)[], options?: RetryOptions) {
  const start = now();
  const times: number[] = [];
  const inner = new ScriptedModel(script);
  const turns = inner.stream.bind(inner);
  inner.stream = (...args) => {
    times.push(now() - start);
    return turns(...args);
  };
  return { model: new RetryModel(inner, options), inner, times };
}

const HELLO: ModelDelta[] = [
  { type: 'text', text: 'hello' },
  { type: 'finish', reason: 'stop' },
];

test.each([
  ['Retry-After: 2', { 'Retry-After': '2' }, 2000],
  ['Retry-After: 0.5', { 'Retry-After': '0.5' }, 500],
  ['retry-after-ms: 1234', { 'retry-after-ms': '1234' }, 1234],
  ['an HTTP date', { 'Retry-After': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7000],
  ['Retry-After: 60', { 'Retry-After': '60' }, 60_000],
])('waits exactly as long as the provider asks for by %s', async (_name, headers, expected) => {
  const retryAfterMs = parseRetryAfter(new Headers(headers), now());
  const limited = failing({ kind: 'rate_limit', status: 429, retryAfterMs });
  // A chance that, if it were asked, would make any wait longer or shorter.
  const { model, times } = timed([limited, limited, 'hello'], { random: () => 0.1 });
  const result = read(model);
  await clock.advance(expected - 1);
  expect(times).toEqual([0]);
  await clock.advance(1);
  expect(times).toEqual([0, expected]);
  await clock.advance(expected - 1);
  expect(result).toEqual({ deltas: [], isDone: false, error: undefined });
  await clock.advance(1);
  expect(times).toEqual([0, expected, 2 * expected]);
  expect(result).toEqual({ deltas: HELLO, isDone: true, error: undefined });
});

test('fails at once when the provider asks for more than 60 seconds, and says for how much', async () => {
  const retryAfterMs = parseRetryAfter(new Headers({ 'Retry-After': '3600' }), now());
  const details = {
    kind: 'rate_limit',
    status: 429,
    retryAfterMs,
    requestId: 'req_1',
    body: 'slow',
  } as const;
  const limited = failing(details);
  const { model, times } = timed([limited, 'never']);
  const result = read(model);
  await clock.advance(0);
  expect(result.isDone).toBe(true);
  expect(result.error).toBeInstanceOf(ModelError);
  expect(result.error).toMatchObject({
    ...details,
    retryAfterMs: 3_600_000,
    isRetryable: true,
    message:
      'It failed: rate_limit. It asks to wait for 3600 s, and maxRetryAfterMs allows 60 s. Raise maxRetryAfterMs. Wrap the model in a FallbackModel with another model.',
    cause: limited.error,
  });
  expect([times, clock.pendingTimers]).toEqual([[0], 0]);
});

test('the longest wait that a provider may ask for can be set', async () => {
  const limited = failing({ kind: 'rate_limit', retryAfterMs: 90_000 });
  const { model, times } = timed([limited, 'hello'], { maxRetryAfterMs: 90_000 });
  const result = read(model);
  await clock.advance(90_000);
  expect([times, result.deltas]).toEqual([[0, 90_000], HELLO]);
});

test('makes at most 3 attempts, and throws the last error as it is', async () => {
  const errors = [1, 2, 3].map((n) => failing({ kind: 'overloaded', status: 500 + n }));
  const { model, times } = timed([...errors, 'never']);
  const result = read(model);
  await clock.advance(1_000_000);
  expect(times).toHaveLength(3);
  expect(result).toEqual({ deltas: [], isDone: true, error: errors[2]?.error });
});

test.each([1, 2, 5])('makes at most %i attempts when told so', async (maxAttempts) => {
  const { model, times } = timed(Array<ScriptedTurn>(10).fill(busy), { maxAttempts });
  const result = read(model);
  await clock.advance(1_000_000);
  expect(times).toHaveLength(maxAttempts);
  expect(result.error).toBe(busy.error);
});

test('waits for a random part of a limit that doubles, up to an upper limit', async () => {
  const fractions = [0.5, 1, 0.25, 1, 1];
  const { model, times } = timed(Array<ScriptedTurn>(6).fill(busy), {
    maxAttempts: 6,
    baseDelayMs: 100,
    maxDelayMs: 1000,
    random: () => fractions.shift() ?? 0,
  });
  read(model);
  await clock.advance(1_000_000);
  const waits = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  expect(waits).toEqual([50, 200, 100, 800, 1000]);
});

test('by default no two clients come back at the same time', async () => {
  const results = Array.from({ length: 20 }, () => {
    const { model, times } = timed([busy, 'hello']);
    read(model);
    return times;
  });
  await clock.advance(500);
  const returns = results.map(([, second]) => second ?? Infinity);
  expect(returns.every((time) => time >= 0 && time <= 500)).toBe(true);
  expect(new Set(returns).size).toBeGreaterThan(10);
});

test('chance can be fixed for the whole library', async () => {
  const restoreChance = useRandomSource(() => 0.5);
  const { model, times } = timed([busy, busy, 'hello']);
  const result = read(model);
  await clock.advance(250 + 500);
  restoreChance();
  expect([times, result.deltas]).toEqual([[0, 250, 750], HELLO]);
});

const failures: Record<string, ModelErrorDetails> = {
  'status 500': { kind: 'overloaded', status: 500 },
  'status 502': { kind: 'overloaded', status: 502 },
  'status 503': { kind: 'overloaded', status: 503 },
  'a timeout': { kind: 'timeout', deadline: 'first_byte' },
  ECONNRESET: { kind: 'network', cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) },
  'a TLS error': { kind: 'network', cause: Object.assign(new Error('tls'), { code: 'CERT_HAS_EXPIRED' }) },
  'a DNS failure': { kind: 'network', cause: Object.assign(new Error('dns'), { code: 'ENOTFOUND' }) },
};

test.each(Object.entries(failures))('%s before the first delta is tried again', async (_name, details) => {
  const { model, times } = timed([failing(details), 'hello']);
  const result = read(model);
  await clock.advance(500);
  expect(times).toHaveLength(2);
  expect(result).toEqual({ deltas: HELLO, isDone: true, error: undefined });
});

const beginnings: Record<string, ModelDelta[]> = {
  text: [{ type: 'text', text: 'I th' }],
  thinking: [{ type: 'thinking', thinking: 'Hm' }],
  'the start of a call': [{ type: 'tool_use_start', index: 0, name: 'pay' }],
  sound: [{ type: 'audio', data: 'AAAA', mediaType: 'audio/wav' }],
  'a block': [{ type: 'block', block: { type: 'text', text: 'x' } }],
  'the end': [{ type: 'finish', reason: 'stop' }],
  'text behind usage': [
    { type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } },
    { type: 'text', text: 'I th' },
  ],
};

for (const [name, details] of Object.entries(failures)) {
  test.each(Object.entries(beginnings))(
    `${name} after %s is never tried again: what came is kept, and the error goes to the caller`,
    async (_beginning, deltas) => {
      const broken = failing(details, { deltas });
      const { model, times } = timed([broken, 'never']);
      const result = read(model);
      await clock.advance(1_000_000);
      expect(times).toEqual([0]);
      expect(result).toEqual({ deltas, isDone: true, error: broken.error });
    },
  );
}

test.each(['auth', 'context_overflow', 'content_filter', 'bad_request', 'malformed'] as const)(
  'an error of the kind %s is not tried again',
  async (kind) => {
    const broken = failing({ kind });
    const { model, times } = timed([broken, 'never']);
    const result = read(model);
    await clock.advance(1_000_000);
    expect([times, result.error]).toEqual([[0], broken.error]);
  },
);

test('whether it may pass is for the error to say, and an error of another kind is not ours', async () => {
  const broke = failing({ kind: 'rate_limit', isRetryable: false });
  const bug: ScriptedTurn = { error: new TypeError('a bug') };
  const hopeful = failing({ kind: 'malformed', isRetryable: true });
  const { model, times } = timed([broke, bug, hopeful, 'hello']);
  expect((await model.call(request).catch((error: unknown) => error)) === broke.error).toBe(true);
  expect((await model.call(request).catch((error: unknown) => error)) === bug.error).toBe(true);
  const result = read(model);
  await clock.advance(500);
  expect([times.length, result.deltas]).toEqual([4, HELLO]);
});

test('the usage of a failed attempt is kept', async () => {
  const start: ModelDelta[] = [
    { type: 'response_id', id: 'r1' },
    { type: 'usage', usage: { inputTokens: 10, outputTokens: 1 } },
  ];
  const { model } = timed([
    failing({ kind: 'overloaded' }, { deltas: start }),
    { text: 'hello', usage: { inputTokens: 10, outputTokens: 5 } },
  ]);
  const result = read(model);
  await clock.advance(500);
  expect(result.deltas).toEqual([
    ...start,
    { type: 'reset', reason: 'Attempt 1 failed (overloaded); trying again.' },
    { type: 'text', text: 'hello' },
    { type: 'usage', usage: { inputTokens: 10, outputTokens: 5 } },
    { type: 'finish', reason: 'stop' },
  ]);
  const draft = new MsgDraft('assistant');
  for (const delta of result.deltas) draft.add(delta);
  expect(draft.finish()).toMatchObject({
    content: [{ type: 'text', text: 'hello' }],
    usage: { inputTokens: 20, outputTokens: 6 },
  });
  expect(draft.responseId).toBeUndefined();
});

test('usage reported several times counts once per attempt', async () => {
  const told = (inputTokens: number, outputTokens: number): ModelDelta => ({
    type: 'usage',
    usage: { inputTokens, outputTokens },
  });
  const { model, times } = timed([
    failing({ kind: 'overloaded' }, { deltas: [told(10, 0), told(10, 1)] }),
    failing({ kind: 'network' }, { deltas: [told(20, 0)] }),
    failing({ kind: 'network' }, { deltas: [told(30, 0), { type: 'text', text: 'I th' }, told(30, 5)] }),
  ]);
  const result = read(model);
  await clock.advance(10_000);
  expect([times.length, result.error]).toEqual([3, expect.objectContaining({ kind: 'network' })]);
  const draft = new MsgDraft('assistant');
  for (const delta of result.deltas) draft.add(delta);
  expect(draft.cutShort()).toMatchObject({
    content: [{ type: 'text', text: 'I th' }],
    usage: { inputTokens: 60, outputTokens: 6 },
  });
});

test('an abort during the wait rejects at once with its reason, and leaves no timer behind', async () => {
  const { model, times } = timed([failing({ kind: 'rate_limit', retryAfterMs: 30_000 }), 'never']);
  const controller = new AbortController();
  const result = read(model, { signal: controller.signal });
  await clock.advance(10);
  expect(clock.pendingTimers).toBe(1);
  const reason = new Error('stop');
  controller.abort(reason);
  await clock.advance(0);
  expect(result).toEqual({ deltas: [], isDone: true, error: reason });
  expect([times, clock.pendingTimers]).toEqual([[0], 0]);
});

test('leaving during the wait ends it, and leaves no timer behind', async () => {
  const { model, times } = timed([failing({ kind: 'rate_limit', retryAfterMs: 30_000 }), 'never']);
  const stream = model.stream(request);
  const next = stream.next();
  await clock.advance(10);
  expect(clock.pendingTimers).toBe(1);
  await stream.return();
  expect([await next, times, clock.pendingTimers]).toEqual([{ done: true, value: undefined }, [0], 0]);
});

test('an attempt aborted by the caller is not repeated', async () => {
  const controller = new AbortController();
  const reason = new Error('stop');
  const inner = new ScriptedModel([
    {
      when: () => {
        controller.abort(reason);
        return true;
      },
      ...failing({ kind: 'network' }),
    },
  ]);
  const retries: Retry[] = [];
  const model = new RetryModel(inner, { onRetry: (retry) => retries.push(retry) });
  await expect(model.call(request, { signal: controller.signal })).rejects.toBe(reason);
  expect([inner.requests.length, retries]).toEqual([1, []]);
});

test('tells about every further attempt, and logs it without the words of the provider', async () => {
  const retries: Retry[] = [];
  const lines: unknown[] = [];
  const limited = failing({ kind: 'rate_limit', retryAfterMs: 2000 });
  const { model } = timed([limited, busy, 'hello'], {
    onRetry: (retry) => retries.push(retry),
    random: () => 0.5,
  });
  const logger = { log: (...line: unknown[]) => void lines.push(line) };
  const result = withRunConfig({ logging: logger }, () => read(model));
  await clock.advance(2500);
  expect(result.deltas).toEqual(HELLO);
  expect(retries).toEqual([
    { attempt: 1, delayMs: 2000, error: limited.error },
    { attempt: 2, delayMs: 500, error: busy.error },
  ]);
  expect(lines).toEqual([
    ['warn', 'scripted failed (rate_limit) and is retried.', { attempt: 1, delayMs: 2000 }],
    ['warn', 'scripted failed (overloaded) and is retried.', { attempt: 2, delayMs: 500 }],
  ]);
});

test('every call has its own attempts', async () => {
  const { model, times } = timed([busy, busy, 'hello', busy, busy, 'hello']);
  const first = read(model);
  await clock.advance(10_000);
  const second = read(model);
  await clock.advance(10_000);
  expect([times.length, first.deltas, second.deltas]).toEqual([6, HELLO, HELLO]);
});

test.each<[RetryOptions, string]>([
  [{ maxAttempts: 0 }, 'maxAttempts must be a whole number of 1 or more.'],
  [{ maxAttempts: 1.5 }, 'maxAttempts must be a whole number of 1 or more.'],
  [{ maxAttempts: Number.NaN }, 'maxAttempts must be a whole number of 1 or more.'],
  [{ baseDelayMs: -1 }, 'baseDelayMs must be a number from 0 to 2147483647.'],
  [{ maxDelayMs: Infinity }, 'maxDelayMs must be a number from 0 to 2147483647.'],
  [{ maxRetryAfterMs: 2 ** 31 }, 'maxRetryAfterMs must be a number from 0 to 2147483647.'],
])('refuses %o', (options, message) => {
  expect(() => new RetryModel(new ScriptedModel([]), options)).toThrow(message);
});
