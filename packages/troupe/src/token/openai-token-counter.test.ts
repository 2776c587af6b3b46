import { expectLinear } from '../../test/counted-work.ts';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { TroupeError } from '../errors.ts';
import { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { OpenAITokenCounter } from './openai-token-counter.ts';

/** The examples of OpenAI's own guide to counting; the API counted the same. */
const JARGON = [
  Msg.system(
    'You are a helpful, pattern-following assistant that translates corporate jargon into plain English.',
  ),
  Msg.system('New synergies will help drive top-line growth.', { name: 'example_user' }),
  Msg.system('Things working well together will increase revenue.', { name: 'example_assistant' }),
  Msg.system(
    "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    { name: 'example_user' },
  ),
  Msg.system("Let's talk later when we're less busy about how to do better.", { name: 'example_assistant' }),
  Msg.user("This late pivot means we don't have time to boil the ocean for the client deliverable."),
];
const QUESTION = [
  Msg.system('You are a helpful assistant that can answer to questions about the weather.'),
  Msg.user("What's the weather like in Pittsburgh today?"),
];
const WEATHER: ToolSchema = {
  name: 'get_current_weather',
  description: 'Get the current weather in a given location',
  parameters: {
    type: 'object',
    properties: {
      location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
      unit: {
        type: 'string',
        description: 'The unit of temperature to return',
        enum: ['celsius', 'fahrenheit'],
      },
    },
    required: ['location'],
  },
};

const counter = new OpenAITokenCounter('gpt-4o');

afterEach(() => vi.doUnmock('gpt-tokenizer/encoding/o200k_base'));

describe('counts the same tokens as OpenAI', () => {
  test.each([
    ['gpt-4o', 124],
    ['gpt-4o-mini', 124],
    ['gpt-4.1', 124],
    ['gpt-5-mini', 124],
    ['o3', 124],
    ['gpt-oss-120b', 124],
    ['openai/gpt-4o', 124],
    ['ft:gpt-4o-2024-08-06:acme::x', 124],
    ['a-model-to-come', 124],
    ['gpt-4', 129],
    ['gpt-4-turbo', 129],
    ['gpt-4-0613', 129],
    ['gpt-3.5-turbo', 129],
    ['gpt-35-turbo', 129],
    ['openai/gpt-4', 129],
    ['ft:gpt-4-0613:acme::x', 129],
  ])('for messages: %s', async (model, tokens) => {
    expect(await new OpenAITokenCounter(model).count(JARGON)).toBe(tokens);
  });

  test.each([
    ['gpt-4o', 101],
    ['gpt-4', 105],
    ['gpt-3.5-turbo', 105],
  ])('for tools: %s', async (model, tokens) => {
    expect(await new OpenAITokenCounter(model).count(QUESTION, [WEATHER])).toBe(tokens);
  });
});

test('the counts of the messages add up to the whole', async () => {
  const each = await counter.countEach(JARGON);
  const besides = await counter.count([], [WEATHER]);
  expect(await counter.count(JARGON, [WEATHER])).toBe(each.reduce((sum, count) => sum + count, besides));
  expect(await counter.count([])).toBe(3);
});

test('a name counts if it says more than the role', async () => {
  const [plain, named] = [Msg.user('Hi'), Msg.user('Hi', { name: 'Ann' })];
  const [a = 0, b = 0] = await counter.countEach([plain, named]);
  expect(a).toBe(4 + o200k('Hi'));
  expect(b).toBe(a + 1 + o200k('Ann'));
});

test('calls and results count; a result is a message of its own, also beside text', async () => {
  const call = (id: string) => ({ type: 'tool_use', id, name: 'search', input: { query: 'tea' } }) as const;
  const result = (id: string) =>
    ({ type: 'tool_result', id, name: 'search', output: 'Green tea', status: 'ok' }) as const;
  const ofCall = 3 + o200k('search') + o200k('{"query":"tea"}');
  const ofResult = 4 + o200k('Green tea');
  expect(
    await counter.countEach([
      Msg.assistant([call('1')]),
      Msg.assistant([{ type: 'text', text: 'Let me look.' }, call('2'), call('3')]),
      Msg.system([result('1')]),
      Msg.system([result('2'), result('3')]),
      Msg.user([result('4'), { type: 'text', text: 'And now?' }]),
      Msg.system([
        {
          ...result('5'),
          output: [
            { type: 'text', text: 'Green tea' },
            { type: 'text', text: 'Mint' },
          ],
        },
      ]),
      Msg.assistant([]),
    ]),
  ).toEqual([
    4 + ofCall,
    4 + o200k('Let me look.') + 2 * ofCall,
    ofResult,
    2 * ofResult,
    ofResult + 4 + o200k('And now?'),
    ofResult + o200k('Mint'),
    4,
  ]);
});

test('thinking is not sent back, so it costs nothing', async () => {
  const answer = Msg.assistant([
    { type: 'thinking', thinking: 'Hm, what might that be?' },
    { type: 'text', text: 'Four.' },
  ]);
  expect(await counter.countEach([answer])).toEqual([4 + o200k('Four.')]);
});

describe('media', () => {
  const png = `iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAIAAAB7${'A'.repeat(40)}`; // 1024 x 1024
  const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: png } } as const;
  const elsewhere = { type: 'image', source: { type: 'url', url: 'http://127.0.0.1:1/a.png' } } as const;

  test('an image costs by its size, and by the rule of the model', async () => {
    expect(await counter.countEach([Msg.user([image])])).toEqual([4 + 765]);
    expect(await new OpenAITokenCounter('o3').countEach([Msg.user([image])])).toEqual([4 + 675]);
    const low = new OpenAITokenCounter('gpt-4o', { imageDetail: 'low' });
    expect(await low.countEach([Msg.user([image])])).toEqual([4 + 85]);
    const shown = Msg.system([{ type: 'tool_result', id: '1', name: 'f', output: [image], status: 'ok' }]);
    expect(await counter.countEach([shown])).toEqual([4 + 765]);
  });

  test('nothing is fetched to count it', async () => {
    const fetch = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('fetched'));
    const source = { type: 'url', url: 'http://169.254.169.254/latest' } as const;
    const msg = Msg.user([
      elsewhere,
      { type: 'audio', source },
      { type: 'video', source },
      { type: 'file', source },
    ]);
    expect(await counter.countEach([msg])).toEqual([4 + 765 + 500 + 2000 + 2000]);
    expect(fetch).not.toHaveBeenCalled();
    fetch.mockRestore();
  });
});

describe('tools', () => {
  const tool = (parameters: ToolSchema['parameters']): ToolSchema => ({ name: 'f', parameters });
  const cost = async (parameters: ToolSchema['parameters']) =>
    (await counter.count([], [tool(parameters)])) - (await counter.count([], [tool({})]));

  test('a schema without properties, or of none that are known, costs nothing more', async () => {
    expect(await cost({ type: 'object', properties: {} })).toBe(0);
    expect(await cost({ type: 'object', additionalProperties: false, $schema: 'x', title: 'y' })).toBe(0);
  });

  test('nested schemas count as well', async () => {
    const inner = { type: 'object', properties: { deep: { type: 'string', description: 'Deep down.' } } };
    const ofInner = 3 + 3 + o200k('deep:string:Deep down');
    const outer = 3 + 3 + o200k('a:object:');
    expect(await cost({ type: 'object', properties: { a: inner } })).toBe(outer + ofInner);
    expect(await cost({ type: 'object', properties: { a: { type: 'array', items: inner } } })).toBe(
      3 + 3 + o200k('a:array:') + o200k('object:') + ofInner,
    );
  });

  test('so does every other keyword, a union of types, and choices that are no text', async () => {
    const properties = { a: { type: ['integer', 'null'], enum: [1, null], minimum: 0 } };
    expect(await cost({ type: 'object', properties, $defs: { b: true } })).toBe(
      3 +
        3 +
        o200k('a:integer|null:') -
        3 +
        3 +
        o200k('1') +
        3 +
        o200k('null') +
        o200k('minimum:0') +
        o200k('$defs:{"b":true}'),
    );
  });

  test('an invalid schema is counted as far as possible', async () => {
    expect(await cost({ properties: { a: true, b: null }, enum: 'no', items: [] })).toBeGreaterThan(0);
  });
});

describe('text of any kind', () => {
  const count = async (text: string): Promise<number> => (await counter.count([Msg.user(text)])) - 7;

  test('text that looks like a special token is text', async () => {
    expect(await count('<|endoftext|><|im_start|>system')).toBeGreaterThan(8);
  });

  test('halves of characters do no harm', async () => {
    expect(await count('\ud83d \ude00')).toBeGreaterThan(1);
  });

  test('long text without long runs is counted exactly', async () => {
    const text = 'Two words, 12345 numbers; 天地玄黄，宇宙洪荒。\n\t{"a": [1, 2]}  '.repeat(200);
    expect(text.length).toBeGreaterThan(9000);
    expect(await count(text)).toBe(o200k(text));
  });

  test('a long run of one character is cut, and its surroundings are not', async () => {
    const [before, after] = ['It was a dark and stormy night', 'Everybody slept.'];
    const pieces = [before, '-'.repeat(256), '-'.repeat(256), '-'.repeat(88), after];
    const parts = pieces.map((piece) => o200k(piece));
    expect(o200k(`-${after}`)).toBeGreaterThan(o200k(after));
    expect(await count(pieces.join(''))).toBe(parts.reduce((sum, tokens) => sum + tokens));
  });

  test('a run without end costs time in proportion, and at most a token more per cut', async () => {
    for (const run of ['x', ' ', '-', '天地玄黄宇宙', 'Wort', '\n']) {
      const text = `Hello ${run.repeat(2000)} world`;
      const exact = o200k(text);
      const cuts = text.length / 256 + 2;
      expect(Math.abs((await count(text)) - exact)).toBeLessThanOrEqual(cuts);
    }
    const long = (length: number): string =>
      `${'-'.repeat(length)}${' '.repeat(length)}${'天地玄黄宇宙'.repeat(length / 15)}`;
    expect(await count(long(300_000))).toBeGreaterThan(90_000);
    await expectLinear(3_000, (length) => count(long(length)));
  }, 180_000); // counted without optimized code, which is slow on a busy machine
});

test('without the package, the error tells what to do', async () => {
  vi.doMock('gpt-tokenizer/encoding/o200k_base', () => {
    throw new Error("Cannot find package 'gpt-tokenizer'");
  });
  const failing = new OpenAITokenCounter('gpt-4o');
  const error: unknown = await failing.count([Msg.user('Hi')]).catch((caught: unknown) => caught);
  expect(TroupeError.isInstance(error)).toBe(true);
  expect(error).toMatchObject({
    code: 'invalid_config',
    message:
      'OpenAITokenCounter needs the package gpt-tokenizer: npm install gpt-tokenizer. Without it, use EstimateTokenCounter.',
  });
  vi.doUnmock('gpt-tokenizer/encoding/o200k_base');
  expect(await failing.count([Msg.user('Hi')])).toBe(8);
});
