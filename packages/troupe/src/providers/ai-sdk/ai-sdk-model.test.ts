import { getEventListeners } from 'node:events';

import { describe, expect, test } from 'vitest';

import { withRunConfig } from '../../config/run-config.ts';
import { FormatterBase } from '../../formatter/formatter-base.ts';
import type { Prompt } from '../../formatter/prompt.ts';
import { Msg } from '../../message/msg.ts';
import { PLAIN_CAPABILITIES } from '../../model/chat-model-base.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { AiSdkModel } from './ai-sdk-model.ts';
import type { AiSdkCallOptions, AiSdkLanguageModel } from './language-model.ts';

const ASK = { messages: [Msg.user('Hi.')] };
const text = (delta: string): object => ({ type: 'text-delta', id: '0', delta });
const FINISH = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: { total: 1000 }, outputTokens: { total: 500 } },
};

/** A language model that streams the given parts, and then blocks if there is no finish part. */
class FakeLanguageModel implements AiSdkLanguageModel {
  readonly specificationVersion = 'v4';
  readonly modelId = 'acme-1';
  readonly calls: AiSdkCallOptions[] = [];
  provider = 'acme.chat';
  supportedUrls: NonNullable<AiSdkLanguageModel['supportedUrls']> = {};
  pulled = 0;
  cancelled = 0;
  /** Settles before the stream exists. */
  opening: Promise<unknown> = Promise.resolve();
  /** Breaks the stream after the given parts. */
  break: (error: Error) => void = () => {};
  readonly #parts: readonly object[];

  constructor(...parts: readonly object[]) {
    this.#parts = parts;
  }

  async doStream(options: AiSdkCallOptions): Promise<{ stream: ReadableStream<object> }> {
    this.calls.push(options);
    await this.opening;
    return { stream: this.#stream() };
  }

  #stream(): ReadableStream<object> {
    const parts = [...this.#parts];
    return new ReadableStream<object>(
      {
        pull: (controller) => {
          const part = parts.shift();
          if (part !== undefined) {
            this.pulled++;
            return controller.enqueue(part);
          }
          return this.#parts.includes(FINISH) && this.provider !== 'acme.hanging'
            ? controller.close()
            : new Promise<void>((_, reject) => (this.break = reject));
        },
        cancel: () => void this.cancelled++,
      },
      { highWaterMark: 0 },
    );
  }
}

describe('a model that can not be wrapped', () => {
  test.each([
    ['gpt-5', /^AiSdkModel needs a language model .*, not a string\.$/],
    [undefined, /not undefined\.$/],
    [{}, /^AiSdkModel needs a language model/],
    [{ specificationVersion: 'v1' }, /knows the versions v2, v3, v4 of language models, not v1\.$/],
  ])('%j', (model, message) => {
    expect(() => new AiSdkModel(model as never)).toThrow(
      expect.objectContaining({
        code: 'invalid_config',
        message: expect.stringMatching(message) as string,
      }) as Error,
    );
  });
});

describe('capabilities', () => {
  const capabilitiesOf = (provider: string, capabilities = {}): object =>
    new AiSdkModel(Object.assign(new FakeLanguageModel(), { provider }), { capabilities }).capabilities;

  test.each([
    ['acme.chat', {}],
    ['openai.responses', { files: true, structured: 'native' }],
    ['anthropic.messages', { files: true, forcedTools: 'without_thinking' }],
    ['google.generative-ai', { audio: true, video: true, files: true, structured: 'native' }],
    ['openaiish', {}],
  ])('of %s', (provider, known) => {
    expect(capabilitiesOf(provider)).toEqual({ ...PLAIN_CAPABILITIES, vision: true, ...known });
  });

  test('are what the user says they are', () => {
    expect(capabilitiesOf('openai.chat', { vision: false, audio: true })).toMatchObject({
      vision: false,
      audio: true,
      files: true,
    });
  });
});

describe('a call', () => {
  test('hands over the prompt, the options of both sides, headers and a signal', async () => {
    const fake = new FakeLanguageModel(text('Hello.'), FINISH);
    const model = new AiSdkModel(fake, {
      generation: { temperature: 1, maxTokens: 5, extra: { acme: { a: 1, b: 1 } } },
      headers: { 'x-team': 'blue' },
    });
    const generation = { temperature: 0, extra: { acme: { b: 2 } } };
    const msg = await model.call({ ...ASK, generation });
    expect(msg.text).toBe('Hello.');
    expect(model.modelName).toBe('acme-1');
    expect(fake.calls).toEqual([
      {
        prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }],
        temperature: 0,
        maxOutputTokens: 5,
        providerOptions: { acme: { a: 1, b: 2 } },
        headers: { 'x-team': 'blue' },
        abortSignal: expect.any(AbortSignal) as AbortSignal,
      },
    ]);
  });

  test.each([
    ['openai.responses', undefined, { openai: { store: false } }],
    ['openai.responses', { openai: { user: 'ann' } }, { openai: { store: false, user: 'ann' } }],
    ['openai.responses', { openai: { store: true } }, { openai: { store: true } }],
    ['openai.chat', undefined, undefined],
  ])('of %s with %j stores %j', async (provider, extra, providerOptions) => {
    const fake = Object.assign(new FakeLanguageModel(FINISH), { provider });
    await new AiSdkModel(fake).call({ ...ASK, ...(extra && { generation: { extra } }) });
    expect(fake.calls[0]?.providerOptions).toEqual(providerOptions);
  });

  test('tells what it took and what it cost', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const fake = new FakeLanguageModel(text('Hello.'), FINISH);
    let open = (_: unknown): void => {};
    fake.opening = new Promise((resolve) => (open = resolve));
    const calling = new AiSdkModel(fake, { pricing: { input: 2, output: 10 } }).call(ASK);
    await clock.advance(2500);
    open(undefined);
    expect((await calling).usage).toEqual({
      inputTokens: 1000,
      outputTokens: 500,
      seconds: 2.5,
      cost: 0.007,
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test('tells what had to be repaired', async () => {
    const messages = [...ASK.messages, Msg.user('')];
    const repairs: string[] = [];
    const onRepair = (list: readonly string[]): void => void repairs.push(...list);
    await new AiSdkModel(new FakeLanguageModel(FINISH), { onRepair }).call({ messages });
    expect(repairs).toEqual([expect.stringContaining('empty message')]);

    const lines: string[] = [];
    const logger = { log: (_level: string, line: string) => void lines.push(line) };
    await withRunConfig({ logging: logger }, () =>
      new AiSdkModel(new FakeLanguageModel(FINISH)).call({ messages }),
    );
    expect(lines).toEqual([expect.stringMatching(/^The history was repaired for acme-1: /)]);
  });

  test('uses the formatter of the request, else that of the model', async () => {
    class Shouting extends FormatterBase {
      readonly #word: string;
      constructor(word: string) {
        super();
        this.#word = word;
      }
      override format(): Prompt {
        return { items: [{ role: 'system', text: this.#word }], repairs: [] };
      }
    }
    const fake = new FakeLanguageModel(FINISH);
    const model = new AiSdkModel(fake, { formatter: new Shouting('MODEL') });
    await model.call(ASK);
    await model.call({ ...ASK, formatter: new Shouting('REQUEST') });
    expect(fake.calls.map((call) => JSON.stringify(call.prompt))).toEqual([
      expect.stringContaining('MODEL'),
      expect.stringContaining('REQUEST'),
    ]);
  });

  test('with a choice of tools that there are not is not made', async () => {
    const fake = new FakeLanguageModel(FINISH);
    await expect(new AiSdkModel(fake).call({ ...ASK, toolChoice: { name: 'look' } })).rejects.toMatchObject({
      code: 'invalid_input',
    });
    expect(fake.calls).toEqual([]);
  });

  test('leaves nothing behind on the signal of its caller', async () => {
    const fake = new FakeLanguageModel(text('Hello.'), FINISH);
    const { signal } = new AbortController();
    expect((await new AiSdkModel(fake).call(ASK, { signal })).text).toBe('Hello.');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('reads no further than it is read', async () => {
    const fake = new FakeLanguageModel(text('a'), text('b'), text('c'), FINISH);
    const deltas = new AiSdkModel(fake).stream(ASK);
    expect(await deltas.next()).toEqual({ done: false, value: { type: 'text', text: 'a' } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.pulled).toBe(1);
    await deltas.return();
  });
});

describe('media by their addresses', () => {
  const image = (url: string): Msg => Msg.user([{ type: 'image', source: { type: 'url', url } }]);
  const sentFor = async (msg: Msg, supportedUrls: AiSdkLanguageModel['supportedUrls']): Promise<string> => {
    const fake = Object.assign(new FakeLanguageModel(FINISH), { supportedUrls });
    await new AiSdkModel(fake).call({ messages: [msg] });
    return JSON.stringify(fake.calls[0]?.prompt);
  };
  const map = image('https://example.com/Map.png');

  test.each([
    ['any type', { '*': [/^https:/] }],
    ['any type, in another way', { '*/*': [/^https:/] }],
    ['its kind', { 'image/*': [/^https:/] }],
    ['its type', { 'image/png': [/Map/g, /^nothing/] }],
    ['a promise', Promise.resolve({ 'IMAGE/*': [/^https:/] })],
  ])('are handed on if the provider takes them: %s', async (_what, urls) => {
    expect(await sentFor(map, urls)).toContain('"url":"https://example.com/Map.png"');
  });

  test.each([
    ['nothing is said', undefined],
    ['nothing is taken', {}],
    ['another type is', { 'image/jpeg': [/^https:/] }],
    ['another kind is', { 'audio/*': [/^https:/] }],
    ['another address is', { '*': [/^https:\/\/files\.acme/] }],
  ])('are not if %s', async (_what, urls) => {
    expect(await sentFor(map, urls)).toMatch(/An image was left out here: .*downloads are off/);
  });

  test('are not if nobody can tell', async () => {
    expect(await sentFor(map, Promise.reject(new Error('offline')))).toContain('An image was left out here');
  });

  test('that are none are never handed on', async () => {
    expect(await sentFor(image('https://'), { '*': [/./] })).toContain('An image was left out here');
  });
});

describe('a model that does not listen', () => {
  test('is not waited for when it is aborted in the middle, and its stream is cancelled', async () => {
    const fake = new FakeLanguageModel(text('Hel'));
    const controller = new AbortController();
    const deltas = new AiSdkModel(fake).stream(ASK, controller);
    expect((await deltas.next()).value).toEqual({ type: 'text', text: 'Hel' });
    const next = deltas.next();
    controller.abort('enough');
    await expect(next).rejects.toBe('enough');
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.cancelled).toBe(1);
    expect(fake.calls[0]?.abortSignal?.aborted).toBe(true);
  });

  test('is not waited for when it has not even begun; a stream that comes late is cancelled', async () => {
    const fake = new FakeLanguageModel(text('Hel'));
    let open = (_: unknown): void => {};
    fake.opening = new Promise((resolve) => (open = resolve));
    const controller = new AbortController();
    const calling = new AiSdkModel(fake).call(ASK, controller);
    calling.catch(() => {});
    while (fake.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort('enough');
    await expect(calling).rejects.toBe('enough');
    expect(fake.cancelled).toBe(0);
    open(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.cancelled).toBe(1);
  });

  test('is never asked when it is aborted beforehand', async () => {
    const fake = new FakeLanguageModel(FINISH);
    await expect(new AiSdkModel(fake).call(ASK, { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    expect(fake.calls).toEqual([]);
  });

  test('can be left, also while somebody waits for it', async () => {
    const fake = new FakeLanguageModel(text('Hel'));
    const between = new AiSdkModel(fake).stream(ASK);
    await between.next();
    await between.return();
    const waiting = new AiSdkModel(fake).stream(ASK);
    await waiting.next();
    const next = waiting.next();
    await waiting.return();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(fake.cancelled).toBe(2);
    expect(fake.calls.every((call) => call.abortSignal?.aborted)).toBe(true);
  });
});

describe('a model that fails', () => {
  test('at once, and not even by a promise', async () => {
    const fake = new FakeLanguageModel();
    fake.doStream = () => {
      throw new Error("'topK' functionality not supported.");
    };
    await expect(new AiSdkModel(fake).call(ASK)).rejects.toMatchObject({ kind: 'bad_request' });
  });

  test('inside of its stream is left alone', async () => {
    const fake = new FakeLanguageModel(text('Hel'), { type: 'error', error: 'overloaded' });
    await expect(new AiSdkModel(fake).call(ASK)).rejects.toMatchObject({ kind: 'overloaded' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.cancelled).toBe(1);
    expect(fake.calls[0]?.abortSignal?.aborted).toBe(true);
  });

  test('behind its finish has failed nobody', async () => {
    const fake = Object.assign(new FakeLanguageModel(text('Hello.'), FINISH), { provider: 'acme.hanging' });
    const calling = new AiSdkModel(fake).call(ASK);
    while (fake.pulled < 2) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    fake.break(new Error('terminated'));
    expect((await calling).text).toBe('Hello.');
  });

  test('to end its stream can be aborted', async () => {
    const fake = Object.assign(new FakeLanguageModel(text('Hello.'), FINISH), { provider: 'acme.hanging' });
    const controller = new AbortController();
    const calling = new AiSdkModel(fake).call(ASK, controller);
    while (fake.pulled < 2) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort('enough');
    await expect(calling).rejects.toBe('enough');
  });

  test('to be read in time has not failed', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const fake = new FakeLanguageModel(text('Hel'), text('lo.'), FINISH);
    const deltas = new AiSdkModel(fake, { deadlines: { firstByteMs: 100, idleMs: 100 } }).stream(ASK);
    await deltas.next();
    await clock.advance(1000);
    await deltas.next();
    await clock.advance(1000);
    expect((await deltas.next()).value).toMatchObject({ type: 'usage' });
  });

  test('to end its stream is not waited for longer than an answer may be silent', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const fake = Object.assign(new FakeLanguageModel(text('Hello.'), FINISH), { provider: 'acme.hanging' });
    const calling = new AiSdkModel(fake, { deadlines: { idleMs: 100 } }).call(ASK);
    await clock.advance(100);
    expect((await calling).text).toBe('Hello.');
    expect(fake.cancelled).toBe(1);
  });

  test.each([
    ['connect', 'connectMs', new Promise(() => {})],
    ['first_byte', 'firstByteMs', Promise.resolve()],
    ['total', 'totalMs', Promise.resolve()],
  ] as const)('to answer in time: %s', async (deadline, option, opening) => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const fake = new FakeLanguageModel();
    fake.opening = opening;
    const calling = new AiSdkModel(fake, { deadlines: { [option]: 100 } }).call(ASK);
    calling.catch(() => {});
    await clock.advance(100);
    await expect(calling).rejects.toMatchObject({ kind: 'timeout', deadline });
    expect(fake.calls).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });
});
