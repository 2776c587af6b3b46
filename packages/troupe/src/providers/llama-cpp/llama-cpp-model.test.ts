import { afterEach, describe, expect, test, vi } from 'vitest';

import { AgentBase } from '../../agent/agent-base.ts';
import type { Turn } from '../../agent/turn/turn.ts';
import { TroupeError } from '../../errors.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import { Msg } from '../../message/msg.ts';
import type { ChatModelBase, ModelRequest } from '../../model/chat-model-base.ts';
import { ModelError } from '../../model/model-error.ts';
import {
  abortAtEvery,
  chatModelContract,
  CONTRACT_CALLS,
  CONTRACT_TEXT,
  FakeClock,
  interruptAtEvery,
  leaveAtEvery,
  type ContractScenario,
  type Scenario,
} from '../../testing/index.ts';
import { FakeLlama, type FakeAnswer, type FakeOptions } from '../../../test/local-llm/fake-llama.ts';
import { callText } from './envelope.ts';
import { LlamaCppModel, type LlamaCppModelOptions } from './llama-cpp-model.ts';
import { importLlamaLibrary } from './llama-library.ts';

const weights = import.meta.filename; // any file that exists
const asking = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [Msg.user(text)],
  ...more,
});
const adding = {
  name: 'add',
  parameters: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
};

function make(
  answers: readonly (string | FakeAnswer)[] | string | FakeAnswer,
  options: Partial<LlamaCppModelOptions> & { fake?: FakeOptions } = {},
) {
  const fake = new FakeLlama(answers, options.fake);
  const model = new LlamaCppModel({ modelPath: weights, library: fake.load, ...options });
  return { fake, model };
}

async function deltasOf(stream: AsyncIterable<ModelDelta>): Promise<ModelDelta[]> {
  const all: ModelDelta[] = [];
  for await (const delta of stream) all.push(delta);
  return all;
}

function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}

let cleanUp: Disposable | undefined;
afterEach(() => {
  cleanUp?.[Symbol.dispose]();
  cleanUp = undefined;
});

test('streams text, and tells what it took', async () => {
  const clock = new FakeClock();
  cleanUp = clock.install();
  const { promise, open } = gate();
  const { fake, model } = make([{ pieces: ['Hel', 'lo', '!'], gate: promise }], {
    generation: { temperature: 0.5, stop: ['END'], extra: { minP: 0.1 } },
  });
  const answer = deltasOf(
    model.stream(asking('Hi.', { generation: { seed: 7, frequencyPenalty: 0.2, extra: { xtc: true } } })),
  );
  while (fake.calls.length === 0) await clock.advance(0);
  await clock.advance(1500);
  open();
  expect(await answer).toEqual([
    { type: 'text', text: 'Hel' },
    { type: 'text', text: 'lo' },
    { type: 'text', text: '!' },
    { type: 'usage', usage: { inputTokens: 17, outputTokens: 3, cachedTokens: 0, seconds: 1.5 } },
    { type: 'finish', reason: 'stop' },
  ]);
  const [call] = fake.calls;
  expect(call?.prompt).toBe('<user>Hi.\n<model>');
  const { signal: _signal, contextShift: _shift, onResponseChunk: _told, ...sent } = call!.options;
  expect(sent).toEqual({
    maxTokens: 10_000 - 17 - 16,
    temperature: 0.5,
    seed: 7,
    customStopTriggers: ['END'],
    repeatPenalty: { frequencyPenalty: 0.2 },
    minP: 0.1,
    xtc: true,
  });
  expect(model.modelName).toBe('llama-cpp-model.test.ts');
  expect(model.capabilities).toMatchObject({
    tools: true,
    forcedTools: 'always',
    structured: 'native',
    vision: false,
  });
});

test('loads once, on the first use, with what it was told', async () => {
  const { fake, model } = make(['a', 'b'], { contextSize: 512, threads: 1, parallelCalls: 2, gpu: 'auto' });
  expect(fake.made).toEqual([]);
  await Promise.all([model.load(), model.call(asking('x')), model.call(asking('y'))]);
  expect(fake.made).toEqual([
    {
      getLlama: {
        gpu: 'auto',
        build: 'never',
        skipDownload: true,
        progressLogs: false,
        logger: expect.any(Function),
        maxThreads: 1,
      },
    },
    { loadModel: { modelPath: weights } },
    { createContext: { contextSize: 512, sequences: 2, threads: 1 } },
    { LlamaChat: { chatWrapper: 'auto' } },
    { LlamaChat: { chatWrapper: 'given' } },
  ]);
  expect(fake.mostRunning).toBe(2);
});

test('by default it has a context of 4096 tokens, one call at a time, on the CPU', async () => {
  const { fake, model } = make([]);
  await model.load();
  expect(fake.made.slice(0, 3)).toMatchObject([
    { getLlama: { gpu: false } },
    { loadModel: {} },
    { createContext: { contextSize: { max: 4096 }, sequences: 1 } },
  ]);
});

test('a tool call comes piece by piece, under a grammar', async () => {
  const { fake, model } = make([{ pieces: ['{"tool": "add", "argu', 'ments": {"a"', ': 1}', '}'] }]);
  const request = asking('Add 1.', { tools: [adding], toolChoice: 'required' });
  expect(await deltasOf(model.stream(request))).toMatchObject([
    { type: 'tool_use_start', index: 0, name: 'add' },
    { type: 'tool_input', index: 0, json: '{"a"' },
    { type: 'tool_input', index: 0, json: ': 1}' },
    { type: 'tool_use_end', index: 0 },
    { type: 'usage' },
    { type: 'finish', reason: 'tool_calls' },
  ]);
  const [call] = fake.calls;
  expect(call?.options).toMatchObject({
    repeatPenalty: false,
    grammar: { grammar: expect.stringContaining('root ::= ') },
  });
  expect(call?.prompt).toContain('<system>You can use these tools:\n- add\n');
  expect(call?.options['customStopTriggers']).toBeUndefined();
  expect(call?.history.at(-1)).toEqual({ type: 'model', response: [] });
});

test('with tools it may also speak', async () => {
  const { fake, model } = make(['{"say": "Hi\\n\\"you\\""}', '{"say": "Bye"}']);
  const msg = await model.call(asking('Hi.', { tools: [adding], agentName: 'bob' }));
  expect(msg).toMatchObject({ name: 'bob', text: 'Hi\n"you"', metadata: {}, finishReason: 'stop' });
  await model.call({ messages: [Msg.user('Hi.'), msg, Msg.user('Bye.')], tools: [adding] });
  expect(fake.calls[1]?.prompt).toContain(String.raw`<model>{"say": "Hi\n\"you\""}</model>`);
  expect(fake.made.filter((made) => JSON.stringify(made).includes('createGrammar'))).toHaveLength(1); // kept
});

test('several calls at once, if that is asked for', async () => {
  const two = '{"tool": "add", "arguments": {"a": 1}}\n{"tool": "add", "arguments": {"a": 2}}';
  const { model } = make([two, two], { generation: { parallelToolCalls: true } });
  const ask = (maxTokens: number) => model.call(asking('x', { tools: [adding], generation: { maxTokens } }));
  const inputsOf = (msg: Msg) => msg.getContentBlocks('tool_use').map((call) => call.input);
  const whole = await ask(100);
  expect({ inputs: inputsOf(whole), finishReason: whole.finishReason }).toEqual({
    inputs: [{ a: 1 }, { a: 2 }],
    finishReason: 'tool_calls',
  });
  const cut = await ask(70);
  expect({ inputs: inputsOf(cut), finishReason: cut.finishReason }).toEqual({
    inputs: [{ a: 1 }],
    finishReason: 'length',
  });
});

test('a structured answer is its text', async () => {
  const { model } = make(['{"a": 1}', '{"say": {"a": 2}}']);
  const structured = { schema: adding.parameters };
  expect((await model.call(asking('x', { structured }))).text).toBe('{"a": 1}');
  expect((await model.call(asking('x', { structured, tools: [adding] }))).text).toBe('{"a": 2}');
});

test('an answer that is cut off says so, and its call is not made', async () => {
  const { model } = make([
    'Hello',
    '{"tool": "add", "arguments": {"a": 1}}',
    '{"say": "Hello"}',
    '{"say": "Hi"}',
  ]);
  const cut = (maxTokens: number, more = {}) =>
    model.call(asking('x', { generation: { maxTokens }, ...more }));
  const tools = [adding];
  const answers = [
    await cut(3),
    await cut(36, { tools }),
    await cut(11, { tools }),
    await cut(12, { tools }),
  ];
  expect(answers.map(({ content, finishReason }) => ({ content, finishReason }))).toEqual([
    { content: [{ type: 'text', text: 'Hel' }], finishReason: 'length' },
    { content: [], finishReason: 'length' },
    { content: [{ type: 'text', text: 'He' }], finishReason: 'length' },
    { content: [{ type: 'text', text: 'Hi' }], finishReason: 'stop' }, // only the closing brace is missing
  ]);
});

test('an answer that stops in the middle of its form is malformed', async () => {
  const { model } = make(['{"tool": "add", "arguments": {"a"']);
  await expect(model.call(asking('x', { tools: [adding] }))).rejects.toMatchObject({ kind: 'malformed' });
});

test('a model that thinks does so before free text, and not where it is held or told not to', async () => {
  const { fake, model } = make([{ thought: 'Hm.', pieces: ['Hi'] }, '{"say": "Hi"}', 'Hi', 'Hi', 'Hi'], {
    fake: { thinks: true },
  });
  expect(await deltasOf(model.stream(asking('x', { generation: { thinkingTokens: 50 } })))).toMatchObject([
    { type: 'thinking', thinking: 'Hm.' },
    { type: 'text', text: 'Hi' },
    { type: 'usage' },
    { type: 'finish' },
  ]);
  await model.call(asking('x', { tools: [adding] }));
  await model.call(asking('x', { generation: { thinkingTokens: 0 } }));
  await model.call(asking('x', { generation: { reasoningEffort: 'none' } }));
  await model.call(asking('x'));
  const closed = { type: 'segment', segmentType: 'thought', text: '', ended: true };
  expect(fake.calls.map(({ history }) => history.at(-1))).toEqual([
    { type: 'model', response: [] },
    { type: 'model', response: [closed] },
    { type: 'model', response: [closed] },
    { type: 'model', response: [closed] },
    { type: 'model', response: [] },
  ]);
  expect(fake.calls[0]?.options['budgets']).toEqual({ thoughtTokens: 50 });
  expect(fake.calls[4]?.options['budgets']).toBeUndefined();
});

test('media are replaced by a note, and a history is repaired', async () => {
  const { fake, model } = make(['ok']);
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const;
  const orphan = { type: 'tool_result', id: 'x', name: 'f', output: 'late', status: 'ok' } as const;
  await model.call({ messages: [Msg.user([{ type: 'text', text: 'See' }, image]), Msg.user([orphan])] });
  expect(fake.calls[0]?.prompt).toMatch(/^<user>See\n\[An image was left out here: .*\]\n<model>$/);
});

test('a formatter of the request, or of the model, makes the prompt', async () => {
  const saying = (text: string) => ({
    format: () => ({
      items: [{ role: 'user' as const, name: 'user', content: [{ type: 'text' as const, text }] }],
      repairs: [],
    }),
  });
  const { fake, model } = make(['a', 'b'], { formatter: saying('own') });
  await model.call(asking('x'));
  await model.call(asking('x', { formatter: saying('given') }));
  expect(fake.calls.map((call) => call.prompt)).toEqual(['<user>own\n<model>', '<user>given\n<model>']);
});

test('calls wait for a free sequence, and take the one that has computed most of their prompt', async () => {
  const one = gate();
  const { fake, model } = make([{ pieces: ['1', '1'], gate: one.promise }, '2', '3', '4'], {
    parallelCalls: 2,
  });
  const first = model.call(asking('aaaa first'));
  const second = await model.call(asking('bbbb second'));
  const third = await model.call(asking('cccc third')); // the first one still runs
  one.open();
  await first;
  const fourth = await model.call(asking('aaaa fourth'));
  expect(fake.calls.map(({ sequence }) => sequence)).toEqual([0, 1, 1, 0]);
  expect([second.usage?.cachedTokens, third.usage?.cachedTokens, fourth.usage?.cachedTokens]).toEqual([
    0, 6, 12,
  ]);
});

test('a prompt is computed in parts', async () => {
  const { fake, model } = make(['a']);
  await model.call(asking('x'.repeat(143)));
  expect(fake.batches).toEqual([64, 64, 28]);
});

test('an abort is heard at once, and the sequence can be used again', async () => {
  const stuck = gate();
  const { fake, model } = make([{ pieces: ['He', 'llo'], gate: stuck.promise }, 'next']);
  const caller = new AbortController();
  const reason = new Error('enough');
  const seen: ModelDelta[] = [];
  const reading = (async () => {
    for await (const delta of model.stream(asking('x'), { signal: caller.signal })) {
      seen.push(delta);
      caller.abort(reason);
    }
  })();
  await expect(reading).rejects.toBe(reason); // although the engine still computes a token
  expect(seen).toEqual([{ type: 'text', text: 'He' }]);
  const next = model.call(asking('y'));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(fake.calls).toHaveLength(1);
  stuck.open();
  expect((await next).text).toBe('next');
});

test('an abort stops a long prompt between its parts', async () => {
  const { fake, model } = make(['never', 'next']);
  await model.load();
  const caller = new AbortController();
  const call = model.call(asking('x'.repeat(2000)), { signal: caller.signal });
  while (fake.batches.length < 3) await undefined;
  caller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  await model.call(asking('y'));
  expect(fake.batches.length).toBeLessThan(6);
  expect(fake.calls).toHaveLength(1);
});

test('an abort while waiting for a sequence or for the weights is heard', async () => {
  const stuck = gate();
  const { fake, model } = make([{ pieces: ['a', 'b'], gate: stuck.promise }, 'third']);
  const caller = new AbortController();
  const reason = new Error('enough');
  const atOnce = model.call(asking('x'), { signal: AbortSignal.abort(reason) });
  await expect(atOnce).rejects.toBe(reason);
  expect(fake.made).toEqual([]);
  const loading = model.call(asking('x'), { signal: caller.signal });
  caller.abort(reason);
  await expect(loading).rejects.toBe(reason);
  const first = model.call(asking('x'));
  while (fake.calls.length === 0) await new Promise((resolve) => void setImmediate(resolve));
  const later = new AbortController();
  const waiting = model.call(asking('y'), { signal: later.signal });
  await new Promise((resolve) => void setImmediate(resolve));
  later.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  stuck.open();
  expect((await first).text).toBe('ab');
  expect((await model.call(asking('z'))).text).toBe('third');
});

test('a stream that is left stops the work, also while it waits', async () => {
  const stuck = gate();
  const { fake, model } = make(['abcdefgh', { pieces: ['a', 'b', 'c'], gate: stuck.promise }, 'next']);
  for await (const delta of model.stream(asking('x'))) {
    expect(delta).toEqual({ type: 'text', text: 'a' });
    break;
  }
  const stream = model.stream(asking('y'));
  await stream.next();
  await stream.next();
  const third = stream.next();
  await stream.return();
  expect(await third).toEqual({ done: true, value: undefined });
  expect(fake.calls[1]?.options.signal.aborted).toBe(true);
  stuck.open();
  expect((await model.call(asking('z'))).text).toBe('next');
});

test('a call that is over leaves no listener behind', async () => {
  const { model } = make(['a', 'b'], { fake: { contextSize: 60 } });
  await model.load();
  const added = vi.spyOn(EventTarget.prototype, 'addEventListener');
  const removed = vi.spyOn(EventTarget.prototype, 'removeEventListener');
  try {
    const { signal } = new AbortController();
    await model.call(asking('x'), { signal });
    await expect(model.call(asking('x'.repeat(99)), { signal })).rejects.toThrow(ModelError);
    expect(added.mock.calls.length).toBeGreaterThan(5);
    expect(removed.mock.calls.map(([type, listener]) => [type, listener])).toEqual(
      expect.arrayContaining(added.mock.calls.map(([type, listener]) => [type, listener])),
    );
  } finally {
    vi.restoreAllMocks();
  }
});

test('dispose stops what runs, frees the weights once, and lets nothing in', async () => {
  const stuck = gate();
  const { fake, model } = make([{ pieces: ['a', 'b'], gate: stuck.promise }]);
  const running = model.call(asking('x'));
  while (fake.calls.length === 0) await new Promise((resolve) => void setImmediate(resolve));
  const waiting = model.call(asking('y'));
  const disposal = model.dispose();
  const problem = /was disposed of and takes no more calls/;
  await expect(running).rejects.toThrow(problem);
  await expect(waiting).rejects.toThrow(problem);
  expect(fake.isFreed).toBe(false);
  stuck.open();
  await disposal;
  expect(fake.isFreed).toBe(true);
  expect(model.dispose()).toBe(disposal);
  await expect(model.call(asking('z'))).rejects.toMatchObject({
    kind: 'bad_request',
    message: expect.stringMatching(problem),
  });
  await expect(model.load()).rejects.toThrow(problem);
});

test('a model that was never used has nothing to free', async () => {
  const { fake, model } = make([]);
  {
    await using _model = model;
  }
  expect(fake).toMatchObject({ made: [], isFreed: false });
  await expect(model.load()).rejects.toBeInstanceOf(ModelError);
});

test('a model that is disposed of while it loads is freed', async () => {
  const { fake, model } = make([]);
  const loading = model.load();
  await model.dispose();
  await loading;
  expect(fake.isFreed).toBe(true);
});

test.each([
  ['getLlama', /could not be loaded: getLlama failed/],
  ['loadModel', /could not be loaded: loadModel failed/],
  ['createContext', /could not be loaded: createContext failed/],
  ['createGrammar', /does not accept the grammar of this answer: createGrammar failed/],
  ['template', /chat template of the model does not accept this history: the template failed/],
] as const)('%s that fails is a bad request', async (failing, message) => {
  const { fake, model } = make(['x'], { fake: { failing } });
  const error = await model.call(asking('x', { tools: [adding] })).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({
    kind: 'bad_request',
    isRetryable: false,
    message: expect.stringMatching(message),
  });
  expect(fake.isFreed).toBe(failing === 'loadModel' || failing === 'createContext');
});

test('a missing file is a bad request that names it; once it is there, the model works', async () => {
  const { fake, model } = make([], { modelPath: '/nowhere/model.gguf' });
  expect(model.modelName).toBe('model');
  for (const path of ['/nowhere/model.gguf', import.meta.dirname]) {
    const missing = new LlamaCppModel({ modelPath: path, library: fake.load });
    await expect(missing.load()).rejects.toMatchObject({
      kind: 'bad_request',
      message: `There is no model file at ${path}.`,
    });
  }
  let tries = 0;
  const flaky = new LlamaCppModel({
    modelPath: weights,
    library: async () => (tries++ === 0 ? Promise.reject(new Error('not yet')) : fake.load()),
  });
  await expect(flaky.load()).rejects.toThrow('not yet');
  await flaky.load();
  expect(tries).toBe(2);
});

test('a prompt without space for an answer is a context overflow', async () => {
  const { fake, model } = make(['Hello', 'Hello'], { fake: { contextSize: 40 } });
  await expect(model.call(asking('x'.repeat(10)))).rejects.toMatchObject({
    kind: 'context_overflow',
    isRetryable: false,
  });
  expect(fake.calls).toHaveLength(0);
  const fits = await model.call(asking('x'.repeat(7)));
  expect(fits).toMatchObject({ text: 'Hel', metadata: {}, finishReason: 'length' });
  expect(() => fake.calls[0]?.options.contextShift.strategy()).toThrow(ModelError);
});

test('an error of the engine is a model error, and the sequence can be used again', async () => {
  const { model } = make([{ pieces: ['a'], error: new Error('out of luck') }, 'next']);
  await expect(model.call(asking('x'))).rejects.toMatchObject({
    kind: 'malformed',
    message: 'llama.cpp (llama-cpp-model.test.ts): The engine failed: out of luck',
  });
  expect((await model.call(asking('x'))).text).toBe('next');
});

test('mistakes of the program are told', async () => {
  expect(() => new LlamaCppModel({ modelPath: '' })).toThrow(TroupeError);
  expect(() => new LlamaCppModel({ modelPath: 'a', threads: 0 })).toThrow(
    'threads must be a whole number of 1 or more.',
  );
  expect(() => new LlamaCppModel({ modelPath: 'a', contextSize: 1.5 })).toThrow('contextSize');
  const { model } = make([]);
  await expect(model.call(asking('x', { toolChoice: { name: 'f' } }))).rejects.toThrow('toolChoice');
  const wrong = new LlamaCppModel({ modelPath: weights, library: async () => ({}) });
  await expect(wrong.load()).rejects.toThrow('must load the package node-llama-cpp');
});

test('without the package, the error says how to get it', async () => {
  await expect(importLlamaLibrary()).rejects.toThrow('Run: npm install node-llama-cpp');
});

describe('the contract of chat models', () => {
  const calls = CONTRACT_CALLS.map(({ name, input }) => callText(name, input)).join('\n');
  const broken = new Error('out of luck');
  const answers: Record<ContractScenario, string | FakeAnswer> = {
    text: CONTRACT_TEXT,
    tools: calls,
    stall: { pieces: ['Well, ', 'never.'], stalls: true },
    failure: { pieces: [], error: broken },
    breaks: { pieces: ['Well, '], error: broken },
  };
  const fakes = new WeakMap<ChatModelBase, FakeLlama>();
  const makeFor = (scenario: ContractScenario): LlamaCppModel => {
    const { fake, model } = make(answers[scenario], { generation: { parallelToolCalls: true } });
    fakes.set(model, fake);
    return model;
  };
  const cases = chatModelContract(makeFor, { workOf: (model) => fakes.get(model)?.made.length ?? 0 });
  test('is there', () => expect(cases.length).toBeGreaterThan(20));
  test.each(cases)('$name', ({ run }) => run());
});

/** Answers with one model call, and records input and output. */
class Speaker extends AgentBase {
  readonly history: Msg[] = [];

  constructor(readonly model: LlamaCppModel) {
    super({ name: 'speaker' });
    this.setConsoleOutputEnabled(false);
  }

  async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const draft = new MsgDraft(this.name);
    const request = { messages: msgs, tools: [adding] };
    for await (const delta of this.model.stream(request, { signal: turn.signal })) {
      draft.add(delta);
      await this.print(draft.snapshot(), false);
    }
    return draft.finish();
  }
}

test.each([
  ['interrupted', interruptAtEvery],
  ['aborted', abortAtEvery],
  ['left', leaveAtEvery],
] as const)('%s at every point, the next call works', async (_, drive) => {
  const scenario = async (): Promise<Scenario> => {
    const { fake, model } = make(['{"say": "Hello, how are you?"}', '{"say": "Fine."}', '{"say": "Fine."}']);
    await model.load();
    return {
      agent: new Speaker(model),
      input: 'x',
      async check() {
        const next = await model.call(asking('next', { tools: [adding] }));
        expect(['Fine.', 'Hello, how are you?']).toContain(next.text);
        await model.dispose();
        expect(fake).toMatchObject({ running: 0, isFreed: true, mostRunning: 1 });
      },
    };
  };
  const { points } = await drive(scenario);
  expect(points).toBeGreaterThan(20);
});
