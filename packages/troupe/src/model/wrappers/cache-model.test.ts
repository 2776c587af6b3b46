import { expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import { ChatFormatter } from '../../formatter/chat-formatter.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { CacheModel } from './cache-model.ts';
import type { ChatModelBase, GenerationOptions, ModelCallOptions, ModelRequest } from '../chat-model-base.ts';
import { FallbackModel } from './fallback-model.ts';
import { MemoryCacheStore, type CacheStore } from './memory-cache-store.ts';
import { ModelError } from '../model-error.ts';
import { RetryModel } from './retry-model.ts';

const asking = (text: string, rest: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [Msg.user(text)],
  ...rest,
});

async function read(
  model: CacheModel,
  request: ModelRequest = asking('hi'),
  options?: ModelCallOptions,
): Promise<ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream(request, options)) deltas.push(delta);
  return deltas;
}

/** A store that keeps JSON, as one outside of the process does. */
class JsonStore implements CacheStore {
  readonly entries = new Map<string, string>();

  async get(key: string): Promise<ModelDelta[] | null> {
    const text = this.entries.get(key);
    return text === undefined ? null : (JSON.parse(text) as ModelDelta[]);
  }

  async set(key: string, answer: readonly ModelDelta[]): Promise<void> {
    this.entries.set(key, JSON.stringify(answer));
  }
}

const answer: ScriptedTurn = {
  thinking: 'Hm.',
  text: 'Let me see.',
  toolCalls: [{ name: 'add', input: { a: 1 }, id: 'call_1' }],
  chunkSize: 4,
  usage: { inputTokens: 10, outputTokens: 20, cost: 0.5 },
};

test.each([new MemoryCacheStore(), new JsonStore()])(
  'gives the same answer to the same request, delta by delta, and says that it took no tokens',
  async (store) => {
    const inner = new ScriptedModel([answer]);
    const model = new CacheModel(inner, { store });
    const first = await read(model);
    expect(first).toContainEqual({ type: 'usage', usage: answer.usage });
    const second = await read(model);
    expect(second).toEqual(
      first.map((delta) =>
        delta.type === 'usage' ? { type: 'usage', usage: { inputTokens: 0, outputTokens: 0 } } : delta,
      ),
    );
    expect(second.length).toBeGreaterThan(8);
    expect(inner.requests).toHaveLength(1);
  },
);

const base = asking('hi', { tools: [{ name: 'add', parameters: {} }], generation: { temperature: 0 } });
const others: Record<string, ModelRequest> = {
  'another text': { ...base, messages: [Msg.user('ho')] },
  'another role': { ...base, messages: [Msg.assistant('hi', { name: 'user' })] },
  'another name': { ...base, messages: [Msg.user('hi', { name: 'Ann' })] },
  'other tools': { ...base, tools: [{ name: 'sub', parameters: {} }] },
  'another tool choice': { ...base, toolChoice: 'required' },
  'another shape': { ...base, structured: { schema: {} } },
  'another temperature': { ...base, generation: { temperature: 1 } },
  'another agent': { ...base, agentName: 'Bob' },
  'another formatter': { ...base, formatter: new ChatFormatter() },
};

test.each(Object.entries(others))('%s makes another request', async (_name, other) => {
  const inner = new ScriptedModel(['one', 'two']);
  const model = new CacheModel(inner);
  const texts: string[] = [];
  for (const request of [base, other, base, other]) texts.push((await model.call(request)).text);
  expect(texts).toEqual(['one', 'two', 'one', 'two']);
  inner.assertUsedUp();
});

test('other ids and times of messages do not make another request', async () => {
  const inner = new ScriptedModel(['one']);
  const model = new CacheModel(inner);
  const again = { ...base, messages: [Msg.user('hi', { timestamp: 'later', metadata: { seen: true } })] };
  expect([(await model.call(base)).text, (await model.call(again)).text]).toEqual(['one', 'one']);
});

test('models of different names can share a store', async () => {
  const store = new MemoryCacheStore();
  const models = ['a', 'b'].map((name) => new CacheModel(new ScriptedModel([name], name), { store }));
  const texts: string[] = [];
  for (const model of [...models, ...models]) texts.push((await model.call(base)).text);
  expect([texts, store.size]).toEqual([['a', 'b', 'a', 'b'], 2]);
});

class Offered extends ScriptedModel {
  override readonly vendorName: string | undefined;
  override readonly generation: GenerationOptions;

  constructor(text: string, vendorName?: string, generation: GenerationOptions = {}) {
    super([text], 'm');
    this.vendorName = vendorName;
    this.generation = generation;
  }
}

class Resold extends Offered {}

const pairs: Record<string, readonly [ChatModelBase, ChatModelBase]> = {
  'of another vendor': [new Offered('one', 'Ann'), new Offered('two', 'Bob')],
  'with other options': [
    new Offered('one', 'Ann', { temperature: 0 }),
    new Offered('two', 'Ann', { temperature: 1 }),
  ],
  'of another class': [new Offered('one', 'Ann'), new Resold('two', 'Ann')],
  'of another vendor, in a wrapper': [
    new RetryModel(new Offered('one', 'Ann')),
    new RetryModel(new Offered('two', 'Bob')),
  ],
  'of another class, in a wrapper': [
    new RetryModel(new Offered('one', 'Ann')),
    new RetryModel(new Resold('two', 'Ann')),
  ],
  'in another wrapper': [new Offered('one'), new RetryModel(new Offered('two'))],
  'before another one': [
    new FallbackModel([new Offered('one', 'Ann'), new Offered('x', 'Bob')]),
    new FallbackModel([new Offered('two', 'Ann'), new Offered('x', 'Cid')]),
  ],
};

test.each(Object.entries(pairs))(
  'a model of the same name, but %s, has other answers',
  async (_how, pair) => {
    const store = new MemoryCacheStore();
    const models = pair.map((model) => new CacheModel(model, { store }));
    const texts: string[] = [];
    for (const model of [...models, ...models]) texts.push((await model.call(base)).text);
    expect([texts, store.size]).toEqual([['one', 'two', 'one', 'two'], 2]);
  },
);

test('models that are the same share their answers, in whatever order their options are', async () => {
  const store = new MemoryCacheStore();
  const [first, second] = [
    new Offered('one', 'Ann', { topK: 1, topP: 0.5, seed: undefined }),
    new Offered('two', 'Ann', { topP: 0.5, topK: 1 }),
  ].map((model) => new CacheModel(model, { store }));
  expect([(await first!.call(base)).text, (await second!.call(base)).text]).toEqual(['one', 'one']);
});

/** Classes of two builds of one program: a minifier gives them other names, and a name to another class. */
const [before, after] = [
  class a extends Offered {
    static override readonly className: string = 'Shop';
  },
  class b extends Offered {
    static override readonly className: string = 'Shop';
  },
];

test('a minified build finds the answers of another build by fixed class names', async () => {
  const store = new MemoryCacheStore();
  const [first, second] = [new before('one'), new after('two')].map(
    (model) => new CacheModel(model, { store }),
  );
  expect([(await first!.call(base)).text, (await second!.call(base)).text]).toEqual(['one', 'one']);
});

test('formatters of one minified name do not share answers', async () => {
  const store = new MemoryCacheStore();
  const model = new CacheModel(new ScriptedModel(['one', 'two']), { store });
  const formatters = [
    class a extends ChatFormatter {
      static override readonly className: string = 'Short';
    },
    class a extends ChatFormatter {
      static override readonly className: string = 'Long';
    },
  ];
  const texts: string[] = [];
  for (const Formatter of formatters)
    texts.push((await model.call({ ...base, formatter: new Formatter() })).text);
  expect(texts).toEqual(['one', 'two']);
});

test('changing returned deltas does not change the cache', async () => {
  const store = new MemoryCacheStore();
  const model = new CacheModel(new ScriptedModel([answer]), { store });
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream(base)) {
    deltas.push(structuredClone(delta));
    for (const key of Object.keys(delta)) if (key !== 'type') Reflect.set(delta, key, 'changed');
  }
  const free = { type: 'usage', usage: { inputTokens: 0, outputTokens: 0 } };
  const expected = deltas.map((delta) => (delta.type === 'usage' ? free : delta));
  for (let i = 0; i < 2; i++) {
    const again = await read(model, base);
    expect(again).toEqual(expected);
    for (const delta of again) Reflect.set(delta, 'text', 'changed');
  }
});

test('an answer that is no JSON is not kept, and fails no call', async () => {
  const lines: unknown[] = [];
  const store = new MemoryCacheStore();
  const odd = { type: 'text', text: 'hi', at: new Date(0) } as ModelDelta;
  const end: ModelDelta = { type: 'finish', reason: 'stop' };
  const inner = new ScriptedModel([{ deltas: [odd, odd, end] }]);
  await withRunConfig({ logging: { log: (...line) => void lines.push(line) } }, async () => {
    expect(await read(new CacheModel(inner, { store }))).toEqual([odd, odd, end]);
  });
  const warning = 'The cache of scripted could not write: a delta.at is a Date, not a plain object';
  expect([lines, store.size]).toEqual([[['warn', warning]], 0]);
});

test('a key tells nothing of the prompt', async () => {
  const store = new JsonStore();
  await read(new CacheModel(new ScriptedModel(['hello']), { store }), asking('my secret'));
  expect([...store.entries.keys()]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
});

test('the key of a request is an option', async () => {
  const inner = new ScriptedModel(['one', 'two']);
  const model = new CacheModel(inner, { key: ({ messages }) => messages.at(-1)?.text.toLowerCase() ?? '' });
  const texts: string[] = [];
  for (const text of ['Hi', 'hi', 'ho', 'HI']) texts.push((await model.call(asking(text))).text);
  expect(texts).toEqual(['one', 'one', 'two', 'one']);
});

const unfinished: Record<string, ScriptedTurn> = {
  'has no end': { deltas: [{ type: 'text', text: 'x' }] },
  ...Object.fromEntries(
    (['length', 'content_filter', 'refusal', 'other'] satisfies FinishReason[]).map((finish) => [
      `ends for ${finish}`,
      { text: 'x', finish },
    ]),
  ),
  fails: { text: 'x', error: new ModelError('lost', { kind: 'network' }) },
  'fails behind its end': {
    deltas: [{ type: 'finish', reason: 'stop' }],
    error: new ModelError('lost', { kind: 'network' }),
  },
};

test.each(Object.entries(unfinished))('an answer that %s is not kept', async (_name, turn) => {
  const inner = new ScriptedModel([turn, 'whole']);
  const store = new MemoryCacheStore();
  const model = new CacheModel(inner, { store });
  await read(model).catch(() => {});
  expect(store.size).toBe(0);
  expect((await model.call(asking('hi'))).text).toBe('whole');
  expect([store.size, inner.requests.length]).toEqual([1, 2]);
});

test('an answer that is left or aborted is not kept, not even right before its end', async () => {
  const script: ScriptedTurn[] = Array(4).fill({ text: 'ab', chunkSize: 1 });
  const inner = new ScriptedModel(script);
  const store = new MemoryCacheStore();
  const model = new CacheModel(inner, { store });
  for (const count of [1, 3]) {
    let seen = 0;
    for await (const _delta of model.stream(asking('hi'))) if (++seen === count) break;
    expect(seen).toBe(count);
  }
  const controller = new AbortController();
  const stream = model.stream(asking('hi'), { signal: controller.signal });
  await stream.next();
  controller.abort(new Error('stop'));
  await expect(stream.next()).rejects.toThrow('stop');
  expect(store.size).toBe(0);
  await read(model);
  expect([store.size, inner.requests.length]).toEqual([1, 4]);
});

test('deltas before a reset are not cached', async () => {
  const inner = new ScriptedModel([
    {
      deltas: [
        { type: 'text', text: 'void' },
        { type: 'finish', reason: 'stop' },
        { type: 'reset', reason: 'another model' },
        { type: 'text', text: 'hello' },
        { type: 'finish', reason: 'stop' },
      ],
    },
    {
      deltas: [
        { type: 'finish', reason: 'stop' },
        { type: 'reset', reason: 'again' },
        { type: 'text', text: 'x' },
      ],
    },
  ]);
  const store = new MemoryCacheStore();
  const model = new CacheModel(inner, { store });
  expect(await read(model)).toHaveLength(5);
  expect(await read(model)).toEqual([
    { type: 'text', text: 'hello' },
    { type: 'finish', reason: 'stop' },
  ]);
  await read(model, asking('other')); // its end was void
  expect(store.size).toBe(1);
});

test('a cached answer stops when it is aborted', async () => {
  const model = new CacheModel(new ScriptedModel([{ text: 'abc', chunkSize: 1 }]));
  await read(model);
  const controller = new AbortController();
  const stream = model.stream(asking('hi'), { signal: controller.signal });
  expect((await stream.next()).value).toEqual({ type: 'text', text: 'a' });
  controller.abort(new Error('stop'));
  await expect(stream.next()).rejects.toThrow('stop');
});

const broken: Record<string, CacheStore & { warning: string }> = {
  'throws on reading': {
    get() {
      throw new Error('get!');
    },
    set: () => {},
    warning: 'The cache of scripted could not read: get!',
  },
  'rejects on reading': {
    get: () => Promise.reject(new Error('get!')),
    set: () => {},
    warning: 'The cache of scripted could not read: get!',
  },
  'throws on writing': {
    get: () => undefined,
    set() {
      throw new Error('set!');
    },
    warning: 'The cache of scripted could not write: set!',
  },
  'rejects on writing': {
    get: () => undefined,
    set: () => Promise.reject(new Error('set!')),
    warning: 'The cache of scripted could not write: set!',
  },
};

test.each(Object.entries(broken))('a store that %s fails no call, but is logged', async (_name, store) => {
  const lines: unknown[] = [];
  const model = new CacheModel(new ScriptedModel(['one', 'two']), { store });
  await withRunConfig({ logging: { log: (...line) => void lines.push(line) } }, async () => {
    expect((await model.call(asking('hi'))).text).toBe('one');
    expect((await model.call(asking('hi'))).text).toBe('two');
  });
  expect(lines).toEqual([
    ['warn', store.warning],
    ['warn', store.warning],
  ]);
});

test('a key that can not be made fails no call either', async () => {
  const lines: unknown[] = [];
  const store = new MemoryCacheStore();
  const model = new CacheModel(new ScriptedModel(['one']), {
    store,
    key() {
      throw new Error('no key');
    },
  });
  await withRunConfig({ logging: { log: (...line) => void lines.push(line) } }, async () => {
    expect((await model.call(asking('hi'))).text).toBe('one');
  });
  expect([lines, store.size]).toEqual([[['warn', 'The cache of scripted could not make a key: no key']], 0]);
});

test.each(['get', 'set'] as const)('a store that hangs in %s does not outlast an abort', async (verb) => {
  let arrive = (): void => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const hang = (): Promise<never> => {
    arrive();
    return new Promise(() => {});
  };
  const store: CacheStore = { get: () => undefined, set: () => {}, [verb]: hang };
  const controller = new AbortController();
  const call = new CacheModel(new ScriptedModel(['one']), { store }).call(asking('hi'), {
    signal: controller.signal,
  });
  await arrived;
  controller.abort(new Error('stop'));
  await expect(call).rejects.toThrow('stop');
});

test('two identical requests at the same time may both go through', async () => {
  const inner = new ScriptedModel(['one', 'two']);
  const model = new CacheModel(inner, { key: () => 'same' });
  const msgs = await Promise.all([model.call(asking('hi')), model.call(asking('hi'))]);
  expect(msgs.map((msg) => msg.text)).toEqual(['one', 'two']);
  expect((await model.call(asking('hi'))).text).toBe('two');
});
