import { expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import {
  PLAIN_CAPABILITIES,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
} from '../chat-model-base.ts';
import { CacheModel } from './cache-model.ts';
import { RetryModel } from './retry-model.ts';
import { FallbackModel, type Fallback } from './fallback-model.ts';
import { ModelError, type ModelErrorDetails, type ModelErrorKind } from '../model-error.ts';

const request: ModelRequest = { messages: [Msg.user('hi')] };

const failing = (details: ModelErrorDetails, rest: ScriptedTurn = {}): ScriptedTurn => ({
  ...rest,
  error: new ModelError(`key sk-secret failed: ${details.kind}`, details),
});

/** Models called a, b, …, each with one turn. */
const models = (...turns: (string | ScriptedTurn)[]): ScriptedModel[] =>
  turns.map((turn, i) => new ScriptedModel([turn], String.fromCharCode(97 + i)));

interface Read {
  readonly deltas: ModelDelta[];
  readonly error: unknown;
}

async function read(model: FallbackModel, options?: ModelCallOptions): Promise<Read> {
  const deltas: ModelDelta[] = [];
  try {
    for await (const delta of model.stream(request, options)) deltas.push(delta);
    return { deltas, error: undefined };
  } catch (error) {
    return { deltas, error };
  }
}

const asked = (all: readonly ScriptedModel[]): number[] => all.map((model) => model.requests.length);
const text = (text: string): ModelDelta => ({ type: 'text', text });
const by = (model: string): ModelDelta => ({ type: 'answered_by', model });
const STOP: ModelDelta = { type: 'finish', reason: 'stop' };

test('asks only the first model while that one answers', async () => {
  const all = models('hello', 'never');
  expect(await read(new FallbackModel(all))).toEqual({ deltas: [text('hello'), STOP], error: undefined });
  expect(asked(all)).toEqual([1, 0]);
});

test('asks the next one in order, with the same request, without a reset if nothing was said', async () => {
  const all = models(failing({ kind: 'overloaded' }), failing({ kind: 'rate_limit' }), 'hello', 'never');
  expect(await read(new FallbackModel(all))).toEqual({
    deltas: [by('c'), text('hello'), STOP],
    error: undefined,
  });
  expect(asked(all)).toEqual([1, 1, 1, 0]);
  expect(all[2]?.requests).toEqual([request]);
});

test('sends a reset with a reason of one line without secrets', async () => {
  const beginning: ModelDelta[] = [
    { type: 'response_id', id: 'r1' },
    { type: 'thinking', thinking: 'Hm' },
    text('I th'),
    { type: 'tool_use_start', index: 0, name: 'pay' },
    { type: 'tool_input', index: 0, json: '{"amount":' },
    { type: 'usage', usage: { inputTokens: 10, outputTokens: 4 } },
  ];
  const all = models(
    failing({ kind: 'network' }, { deltas: beginning }),
    failing({ kind: 'timeout' }),
    failing({ kind: 'overloaded' }, { text: 'Well' }),
    { text: 'hello', usage: { inputTokens: 12, outputTokens: 5 } },
  );
  const { deltas, error } = await read(new FallbackModel(all));
  expect(error).toBeUndefined();
  expect(deltas).toEqual([
    ...beginning,
    { type: 'reset', reason: 'a failed (network); b is used instead.' },
    by('c'),
    text('Well'),
    { type: 'reset', reason: 'c failed (overloaded); d is used instead.' },
    by('d'),
    text('hello'),
    { type: 'usage', usage: { inputTokens: 12, outputTokens: 5 } },
    STOP,
  ]);
  const draft = new MsgDraft('assistant');
  for (const delta of deltas) draft.add(delta);
  expect(draft.finish()).toMatchObject({
    content: [text('hello')],
    usage: { inputTokens: 22, outputTokens: 9 },
  });
});

test('a model name that is more than one line does not forge a second one', async () => {
  const first = new ScriptedModel([failing({ kind: 'network' }, { text: 'x' })], 'a\nb');
  const { deltas } = await read(new FallbackModel([first, ...models('hello')]));
  expect(deltas[1]).toEqual({ type: 'reset', reason: 'a b failed (network); a is used instead.' });
});

const curable: Record<ModelErrorKind, boolean> = {
  auth: true,
  rate_limit: true,
  overloaded: true,
  context_overflow: true,
  network: true,
  timeout: true,
  malformed: true,
  content_filter: false,
  bad_request: false,
};

test.each(Object.entries(curable))('after %s, another model is asked: %s', async (kind, isAsked) => {
  const broken = failing({ kind: kind as ModelErrorKind });
  const all = models(broken, 'hello');
  const { error } = await read(new FallbackModel(all));
  expect([asked(all), error]).toEqual(isAsked ? [[1, 1], undefined] : [[1, 0], broken.error]);
});

test('an error other than a ModelError is thrown unchanged', async () => {
  const bug: ScriptedTurn = { error: new TypeError('a bug') };
  const all = models(bug, 'never');
  expect((await read(new FallbackModel(all))).error).toBe(bug.error);
  expect(asked(all)).toEqual([1, 0]);
});

test('when to ask another model can be decided by error and place', async () => {
  const seen: unknown[] = [];
  const turns = [
    failing({ kind: 'content_filter' }),
    { error: new TypeError('a bug') },
    failing({ kind: 'overloaded' }),
    'never',
  ] satisfies (string | ScriptedTurn)[];
  const all = models(...turns);
  const shouldFallBack = (error: unknown, index: number): boolean => {
    seen.push([error, index]);
    return index < 2;
  };
  const { error } = await read(new FallbackModel(all, { shouldFallBack }));
  const errors = turns.slice(0, 3).map((turn) => (turn as ScriptedTurn).error);
  expect(seen).toEqual(errors.map((error, i) => [error, i]));
  expect([error, asked(all)]).toEqual([errors[2], [1, 1, 1, 0]]);
});

test('reports both models of a fallback, and logs it', async () => {
  const fallbacks: Fallback[] = [];
  const lines: unknown[] = [];
  const broken = failing({ kind: 'overloaded' });
  const all = models(broken, 'hello');
  const model = new FallbackModel(all, { onFallback: (fallback) => fallbacks.push(fallback) });
  await withRunConfig({ logging: { log: (...line) => void lines.push(line) } }, () => read(model));
  expect(fallbacks).toEqual([{ from: all[0], to: all[1], error: broken.error }]);
  expect(lines).toEqual([['warn', 'a failed (overloaded); b is used instead.']]);
});

test('when all have failed, the error says who and why, and holds all errors', async () => {
  const turns = [
    failing({ kind: 'rate_limit', status: 429, retryAfterMs: 9000 }),
    failing({ kind: 'rate_limit', status: 429, retryAfterMs: 5000 }),
    failing({ kind: 'auth', status: 401 }),
  ];
  const { error } = await read(new FallbackModel(models(...turns)));
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({
    message: 'All 3 models failed: a (rate_limit), b (rate_limit), c (auth).',
    kind: 'auth',
    status: 401,
    isRetryable: true,
    retryAfterMs: 5000,
  });
  expect((error as { cause: AggregateError }).cause.errors).toEqual(turns.map((turn) => turn.error));
});

test('all together are retryable if one is, and name a time only if all of those do', async () => {
  const hopeless = models(failing({ kind: 'auth' }), failing({ kind: 'malformed' }));
  const vague = models(failing({ kind: 'rate_limit', retryAfterMs: 5000 }), failing({ kind: 'overloaded' }));
  const errors = await Promise.all([hopeless, vague].map((all) => read(new FallbackModel(all))));
  const [first, second] = errors.map(({ error }) => error as ModelError);
  expect([first?.isRetryable, first?.retryAfterMs]).toEqual([false, undefined]);
  expect([second?.isRetryable, second?.retryAfterMs]).toEqual([true, undefined]);
});

test('the error of a single model, and a last one that is no ModelError, are thrown as they are', async () => {
  const broken = failing({ kind: 'overloaded' });
  const bug: ScriptedTurn = { error: new TypeError('a bug') };
  expect((await read(new FallbackModel(models(broken)))).error).toBe(broken.error);
  expect((await read(new FallbackModel(models(broken, bug)))).error).toBe(bug.error);
});

test('an answer that fails at the last model is kept as far as it came', async () => {
  const all = models(failing({ kind: 'overloaded' }), failing({ kind: 'network' }, { text: 'I th' }));
  const { deltas, error } = await read(new FallbackModel(all));
  expect(deltas).toEqual([by('b'), text('I th')]);
  expect(error).toMatchObject({ kind: 'network' });
});

test('an abort of the caller starts no other model, for any error', async () => {
  const controller = new AbortController();
  const reason = new Error('stop');
  const stop = (): boolean => {
    controller.abort(reason);
    return true;
  };
  const all = models({ when: stop, ...failing({ kind: 'network' }, { stubborn: true }) }, 'never');
  const fallbacks: Fallback[] = [];
  const model = new FallbackModel(all, { onFallback: (fallback) => fallbacks.push(fallback) });
  const { error } = await read(model, { signal: controller.signal });
  expect([error, asked(all), fallbacks]).toEqual([reason, [1, 0], []]);
});

test('an abort stops the current model', async () => {
  const controller = new AbortController();
  const all = models(failing({ kind: 'overloaded' }), { text: 'I th', stall: true }, 'never');
  const stream = new FallbackModel(all).stream(request, { signal: controller.signal });
  expect([(await stream.next()).value, (await stream.next()).value]).toEqual([by('b'), text('I th')]);
  const next = stream.next();
  controller.abort(new Error('stop'));
  await expect(next).rejects.toThrow('stop');
  expect(asked(all)).toEqual([1, 1, 0]);
});

test('every model has a signal of its own: that of a failed one is aborted, those of the others are not', async () => {
  const signals: AbortSignal[] = [];
  const all = models(failing({ kind: 'timeout' }), failing({ kind: 'network' }), 'hello');
  for (const model of all) {
    const answer = model.stream.bind(model);
    model.stream = (request, options) => {
      if (options?.signal) signals.push(options.signal);
      return answer(request, options);
    };
  }
  const controller = new AbortController();
  expect((await read(new FallbackModel(all), { signal: controller.signal })).error).toBeUndefined();
  expect(new Set([controller.signal, ...signals]).size).toBe(4);
  expect(signals.map((signal) => signal.aborted)).toEqual([true, true, false]);
  expect(controller.signal.aborted).toBe(false);
});

const strong: ModelCapabilities = {
  vision: true,
  audio: true,
  video: true,
  files: true,
  tools: true,
  forcedTools: 'always',
  structured: 'native',
};
const weak: ModelCapabilities = {
  vision: false,
  audio: false,
  video: false,
  files: false,
  tools: false,
  forcedTools: 'never',
  structured: 'none',
};

class Able extends ScriptedModel {
  override readonly capabilities: ModelCapabilities;
  override readonly vendorName: string;
  override readonly generation: GenerationOptions;

  constructor(name: string, capabilities: ModelCapabilities, generation: GenerationOptions = {}) {
    super([], name);
    this.capabilities = capabilities;
    this.vendorName = `the vendor of ${name}`;
    this.generation = generation;
  }
}

const ability = (...all: ModelCapabilities[]): ModelCapabilities =>
  new FallbackModel(all.map((capabilities, i) => new Able(`${i}`, capabilities))).capabilities;

test('can do what all of its models can, and is called like the first', () => {
  expect(ability(strong, strong)).toEqual(strong);
  for (const key of Object.keys(strong) as (keyof ModelCapabilities)[]) {
    const lacking = { ...strong, [key]: weak[key] };
    expect(ability(lacking, strong)).toEqual(lacking);
    expect(ability(strong, lacking)).toEqual(lacking);
  }
  const { forcedTools } = ability(strong, { ...strong, forcedTools: 'without_thinking' });
  expect(forcedTools).toBe('without_thinking');
  expect(ability({ ...strong, forcedTools: 'without_thinking' }, weak)).toEqual(weak);
  const model = new FallbackModel(models('x', 'y'));
  expect([model.modelName, model.capabilities]).toEqual(['a', PLAIN_CAPABILITIES]);
});

test('has the vendor and the options of the first model', () => {
  const all = [new Able('a', strong, { topK: 1 }), new Able('b', strong, { topK: 2, seed: 3 })];
  const { vendorName, generation } = new FallbackModel(all);
  expect([vendorName, generation]).toEqual(['the vendor of a', { topK: 1 }]);
});

test('can not be forced to call a tool if one of its models was set up to think, and can not while it does', () => {
  const thinker: ModelCapabilities = { ...strong, forcedTools: 'without_thinking' };
  const forced = (...all: Able[]): string => new FallbackModel(all).capabilities.forcedTools;
  const other = new Able('a', strong);
  expect(forced(other, new Able('b', thinker, { reasoningEffort: 'low' }))).toBe('never');
  expect(forced(new Able('b', thinker, { thinkingTokens: 1024 }), other)).toBe('never');
  expect(forced(other, new Able('b', thinker, { thinkingTokens: 0 }))).toBe('without_thinking');
  expect(forced(other, new Able('b', strong, { reasoningEffort: 'high' }))).toBe('always');
});

test('keeps the last reported usage of a model that fails', async () => {
  const told = (inputTokens: number, outputTokens: number): ModelDelta => ({
    type: 'usage',
    usage: { inputTokens, outputTokens },
  });
  const all = models(
    failing({ kind: 'network' }, { deltas: [told(10, 1), text('I th'), told(10, 4)] }),
    failing({ kind: 'overloaded' }, { deltas: [told(20, 0)] }),
    { deltas: [told(30, 1), text('hello'), told(30, 7), STOP] },
  );
  expect(await new FallbackModel(all).call(request)).toMatchObject({
    content: [text('hello')],
    usage: { inputTokens: 60, outputTokens: 11 },
  });
  expect(asked(all)).toEqual([1, 1, 1]);
});

test('the usage of an interrupted call is known to its reader', async () => {
  const early: ModelDelta = { type: 'usage', usage: { inputTokens: 10, outputTokens: 1 } };
  const all = models(failing({ kind: 'network' }, { deltas: [early] }), {
    deltas: [early, text('I th')],
    stall: true,
  });
  const draft = new MsgDraft('assistant');
  for await (const delta of new FallbackModel(all).stream(request)) {
    draft.add(delta);
    if (delta.type === 'text') break;
  }
  expect(draft.cutShort()).toMatchObject({
    content: [text('I th')],
    usage: { inputTokens: 20, outputTokens: 2 },
  });
});

test('needs a model, and does not notice what happens to the list later', async () => {
  expect(() => new FallbackModel([])).toThrow('A FallbackModel needs a model.');
  const list = models('hello');
  const model = new FallbackModel(list);
  list.length = 0;
  expect((await model.call(request)).text).toBe('hello');
});

/** A model behind a server. */
class ServedModel extends ScriptedModel {
  override readonly vendorName = 'Acme';
  override readonly host = 'api.acme.test';
}

test('says before the first delta of another model than the first which one answers', async () => {
  const model = new FallbackModel([
    ...models(failing({ kind: 'network' }, { text: 'I th' }), failing({ kind: 'auth' })),
    new ServedModel(['hello'], 'served'),
  ]);
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream(request)) deltas.push(delta);
  expect(deltas).toEqual([
    text('I th'),
    { type: 'reset', reason: 'a failed (network); b is used instead.' },
    { type: 'answered_by', model: 'served', vendor: 'Acme', host: 'api.acme.test' },
    text('hello'),
    STOP,
  ]);
});

test('the answer of one among others says the innermost, and keeps it when it is saved', async () => {
  const inner = new FallbackModel([
    ...models(failing({ kind: 'network' })),
    new ServedModel(['hello'], 'served'),
  ]);
  const answer = await new FallbackModel([new RetryModel(inner)]).call(request);
  const answeredBy = { model: 'served', vendor: 'Acme', host: 'api.acme.test' };
  expect(answer.answeredBy).toEqual(answeredBy);
  expect(Msg.from(JSON.parse(JSON.stringify(answer))).answeredBy).toEqual(answeredBy);
});

test('a RetryModel around it tries again, though a failed model has been named', async () => {
  const usage: ModelDelta = { type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } };
  const lost = failing({ kind: 'network' });
  const second = new ScriptedModel([failing({ kind: 'network' }, { deltas: [usage] }), 'hello'], 'b');
  const model = new FallbackModel([new ScriptedModel([lost, lost], 'a'), second]);
  const answer = await new RetryModel(model, { baseDelayMs: 0 }).call(request);
  expect([answer.text, answer.answeredBy, second.requests.length]).toEqual(['hello', { model: 'b' }, 2]);
});

test('a RetryModel around it tries again, and the first model is not named', async () => {
  const usage: ModelDelta = { type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } };
  const first = new ScriptedModel([failing({ kind: 'network' }, { deltas: [usage] }), 'hello'], 'a');
  const answer = await new RetryModel(new FallbackModel([first]), { baseDelayMs: 0 }).call(request);
  expect([answer.text, answer.answeredBy, first.requests.length]).toEqual(['hello', undefined, 2]);
});

test('an answer from a cache says who gave it', async () => {
  const model = new CacheModel(new FallbackModel(models(failing({ kind: 'network' }), 'hello')));
  const answers = [await model.call(request), await model.call(request)];
  expect(answers.map(({ answeredBy }) => answeredBy)).toEqual([{ model: 'b' }, { model: 'b' }]);
});

test('a key of one call goes to the host of the first model only', async () => {
  class Hosted extends ScriptedModel {
    constructor(
      override readonly host: string,
      turn: string | ScriptedTurn,
    ) {
      super([turn], host);
    }
  }
  const failure = failing({ kind: 'overloaded' });
  const all = [new Hosted('a.test', failure), new Hosted('a.test', failure), new Hosted('b.test', 'hello')];
  const http = { apiKey: 'sk-of-a', headers: { 'x-own': '1' }, baseUrl: 'https://a.test', stream: false };
  await new FallbackModel(all).call({ ...request, http });
  expect(all.map((model) => model.requests[0]?.http)).toEqual([http, http, { stream: false }]);
});
