import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { anyMsgJson, canonical, isDeepFrozen, nested } from '../../test/arbitraries.ts';
import { InvalidMsgError, TroupeError } from '../errors.ts';
import { useClock } from '../util/clock.ts';
import { useIdSource } from '../util/ids.ts';
import type { JsonObject } from '../util/json.ts';
import type { ContentBlock } from './blocks.ts';
import { Msg, type MsgInit } from './msg.ts';

const text: ContentBlock = { type: 'text', text: 'Hello' };
const thinking: ContentBlock = { type: 'thinking', thinking: 'Hm.' };
const call: ContentBlock = { type: 'tool_use', id: 'c1', name: 'add', input: { a: [1] } };
const result: ContentBlock = { type: 'tool_result', id: 'c1', name: 'add', output: '2', status: 'ok' };

const restores: (() => void)[] = [];
afterEach(() =>
  restores
    .splice(0)
    .toReversed()
    .forEach((restore) => restore()),
);

function fixIdsAndTime(): void {
  let count = 0;
  restores.push(
    useIdSource(() => `id${++count}`),
    useClock({ now: () => Date.UTC(2026, 0, 31), monotonic: () => 0, startTimer: () => () => {} }),
  );
}

describe('a message', () => {
  test('gets an id, a time and empty metadata of its own', () => {
    fixIdsAndTime();
    expect(new Msg({ name: 'Ann', role: 'user', content: 'Hi' }).toJSON()).toStrictEqual({
      id: 'id1',
      name: 'Ann',
      role: 'user',
      content: 'Hi',
      metadata: {},
      timestamp: '2026-01-31T00:00:00.000Z',
    });
  });

  test('keeps the given fields', () => {
    const init: MsgInit = {
      id: 'm1',
      name: 'Ann',
      role: 'assistant',
      content: [text, call],
      metadata: { a: { b: [1] } },
      timestamp: 'then',
      usage: { inputTokens: 1, outputTokens: 2, cachedTokens: 3, reasoningTokens: 4, seconds: 0.5 },
    };
    const msg = new Msg(init);
    expect(Object.fromEntries(Object.entries(msg))).toStrictEqual(init);
    expect(msg.toJSON()).toStrictEqual(init);
    expect(JSON.parse(JSON.stringify(msg))).toStrictEqual(init);
  });

  test('has no usage key without usage', () => {
    expect(Object.keys(Msg.user('Hi'))).toEqual(['id', 'name', 'role', 'content', 'metadata', 'timestamp']);
  });

  test('has shorthands with a fixed role and an optional name', () => {
    fixIdsAndTime();
    const role = { role: 'system' } as object;
    expect(
      [Msg.user('a'), Msg.assistant('b'), Msg.system('c')].map(({ name, role }) => [name, role]),
    ).toEqual([
      ['user', 'user'],
      ['assistant', 'assistant'],
      ['system', 'system'],
    ]);
    expect(Msg.user([text], { name: 'Ann', id: 'm1', metadata: { a: 1 }, ...role }).toJSON()).toStrictEqual({
      id: 'm1',
      name: 'Ann',
      role: 'user',
      content: [text],
      metadata: { a: 1 },
      timestamp: '2026-01-31T00:00:00.000Z',
    });
  });
});

describe('immutability', () => {
  const msg = Msg.from({
    ...Msg.assistant([text, call, result], {
      metadata: { a: { b: [1] } },
      usage: { inputTokens: 1, outputTokens: 2 },
    }).toJSON(),
    extra: { deep: [1] },
  });

  test.each<[string, (msg: any) => void]>([
    ['a field', (msg) => (msg.name = 'other')],
    ['the content', (msg) => (msg.content = 'other')],
    ['a new property', (msg) => (msg.other = 1)],
    ['a removed property', (msg) => delete msg.usage],
    ['the list of blocks', (msg) => msg.content.push(text)],
    ['the order of blocks', (msg) => msg.content.reverse()],
    ['a block', (msg) => (msg.content[0].text = 'other')],
    ['a tool input', (msg) => msg.content[1].input.a.push(2)],
    ['metadata', (msg) => (msg.metadata.c = 1)],
    ['nested metadata', (msg) => msg.metadata.a.b.push(1)],
    ['usage', (msg) => (msg.usage.inputTokens = 9)],
    ['an unknown key', (msg) => msg.toJSON().extra.deep.push(2)],
    ['the empty metadata that messages share', () => ((Msg.user('a').metadata as any).leak = 1)],
  ])('writing to %s throws', (_, write) => {
    const before = JSON.stringify(msg);
    expect(() => write(msg)).toThrow(TypeError);
    expect(JSON.stringify(msg)).toBe(before);
  });

  test('applies to all nested values', () => {
    expect(isDeepFrozen(msg)).toBe(true);
    expect(msg.content).toHaveLength(3);
  });

  test('the message is a copy of its content', () => {
    const metadata = { list: [1] };
    const block = { type: 'text' as const, text: 'before' };
    const content = [block];
    const made = Msg.user(content, { metadata });
    metadata.list.push(2);
    block.text = 'after';
    content.pop();
    expect([made.metadata, made.content]).toEqual([{ list: [1] }, [{ type: 'text', text: 'before' }]]);
  });

  test('changing the object from `toJSON` does not change the message', () => {
    const json = msg.toJSON() as { name: string };
    json.name = 'other';
    expect(msg.name).toBe('assistant');
  });
});

describe('saving and loading', () => {
  test('are exact inverses for every message', () => {
    let extras = 0;
    fc.assert(
      fc.property(anyMsgJson, (json) => {
        const msg = Msg.from(json);
        expect(canonical(msg.toJSON())).toBe(canonical(json));
        const loaded = Msg.from(JSON.parse(JSON.stringify(msg)));
        expect(JSON.stringify(loaded)).toBe(JSON.stringify(msg));
        expect(Object.entries(loaded)).toEqual(Object.entries(msg));
        expect(isDeepFrozen(msg)).toBe(true);
        extras += Object.keys(json).length > 7 ? 1 : 0;
      }),
      { numRuns: 300 },
    );
    expect(extras).toBeGreaterThan(10);
  });

  test('unknown keys survive at every level, and stay out of the fields', () => {
    const json = {
      ...Msg.user([text], { id: 'm1', timestamp: 't' }).toJSON(),
      content: [{ type: 'text', text: 'Hello', block: { unknown: true } }],
      invocation_id: 'chatcmpl-1',
      toJSON: 'a string',
    };
    const msg = Msg.from(json);
    expect(msg.toJSON()).toStrictEqual({ ...json });
    expect(Object.keys(msg)).toEqual(['id', 'name', 'role', 'content', 'metadata', 'timestamp']);
    expect(msg.with({ name: 'Ann' }).toJSON()).toStrictEqual({ ...json, name: 'Ann' });
  });

  test('lone surrogates and `__proto__` come back byte for byte', () => {
    const saved =
      '{"id":"m\\ud800","name":"\\udc00","role":"user","content":[{"type":"text","text":"a\\ud83d","__proto__":{"x":1}}],' +
      '"metadata":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}},"timestamp":"t","__proto__":{"y":[2]}}';
    const msg = Msg.from(JSON.parse(saved));
    expect(JSON.stringify(msg)).toBe(saved);
    expect(JSON.stringify(msg.with({ name: '\udc00' }))).toBe(saved);
    expect(({} as { polluted?: boolean }).polluted).toBe(undefined);
    expect(Object.getPrototypeOf(msg.metadata)).toBe(Object.prototype);
  });

  test('every message that can be made can be loaded, at the maximum depth too', () => {
    const metadata = { deep: nested(99) };
    const input = { deep: nested(98) } as JsonObject;
    const msg = Msg.assistant([{ ...call, input }], { metadata });
    expect(JSON.stringify(Msg.from(JSON.parse(JSON.stringify(msg))))).toBe(JSON.stringify(msg));
    expect(() => Msg.user('a', { metadata: { deep: nested(100) } })).toThrow(
      'is nested deeper than 100 levels',
    );
    expect(() => Msg.assistant([{ ...call, input: { deep: nested(99) } }])).toThrow(
      'is nested deeper than 100 levels',
    );
    let chain = Msg.user('a');
    expect(() => {
      for (let i = 0; i < 200; i++) chain = chain.with({ metadata: { before: chain.metadata } });
    }).toThrow(InvalidMsgError);
    expect(Msg.from(JSON.parse(JSON.stringify(chain))).toJSON()).toEqual(chain.toJSON());
  });

  const good = { id: 'm1', name: 'Ann', role: 'user', content: 'Hi', metadata: {}, timestamp: 't' };
  test.each<[string, unknown, string]>([
    ['nothing', undefined, "the message is undefined, which JSON can't hold."],
    ['null', null, 'the message is null, not an object.'],
    ['text', 'Hi', 'the message is a string, not an object.'],
    ['a list', [good], 'the message is an array, not an object.'],
    ['a message', Msg.user('Hi'), 'the message is a Msg, not a plain object.'],
    ['no id', { ...good, id: undefined }, 'id must be a string, not undefined.'],
    ['a null id', { ...good, id: null }, 'id must be a string, not null.'],
    ['no timestamp', { ...good, timestamp: undefined }, 'timestamp must be a string, not undefined.'],
    ['a Date', { ...good, timestamp: new Date(0) }, 'the message.timestamp is a Date, not a plain object.'],
    ['no name', { ...good, name: undefined }, 'name must be a string, not undefined.'],
    ['a name that is a number', { ...good, name: 7 }, 'name must be a string, not a number.'],
    ['no role', { ...good, role: undefined }, 'role must be one of user, assistant, system.'],
    ['an unknown role', { ...good, role: 'tool' }, 'role must be one of user, assistant, system.'],
    ['a role in a list', { ...good, role: ['user'] }, 'role must be one of user, assistant, system.'],
    [
      'no content',
      { ...good, content: undefined },
      'content must be a string or a list of blocks, not undefined.',
    ],
    ['one block', { ...good, content: text }, 'content must be a string or a list of blocks, not an object.'],
    [
      'a bad block',
      { ...good, content: [text, { type: 'text' }] },
      'content[1].text must be a string, not undefined.',
    ],
    ['a hole', { ...good, content: Array(1) }, "the message.content[0] is undefined, which JSON can't hold."],
    ['metadata that is a list', { ...good, metadata: [] }, 'metadata is an array, not an object.'],
    ['metadata that is null', { ...good, metadata: null }, 'metadata is null, not an object.'],
    [
      'a function',
      { ...good, metadata: { f: () => {} } },
      "the message.metadata.f is a function, which JSON can't hold.",
    ],
    ['usage that is a number', { ...good, usage: 7 }, 'usage is a number, not an object.'],
    [
      'usage without a count',
      { ...good, usage: { inputTokens: 1 } },
      'usage.outputTokens must be a number, not undefined.',
    ],
    [
      'usage with a bad count',
      { ...good, usage: { inputTokens: 1, outputTokens: 1, cachedTokens: '1' } },
      'usage.cachedTokens must be a number, not a string.',
    ],
    [
      'an unknown key that is no JSON',
      { ...good, other: 1n },
      "the message.other is a bigint, which JSON can't hold.",
    ],
  ])('%s is refused', (_, json, message) => {
    expect(() => Msg.from(json)).toThrow(new InvalidMsgError(message));
  });
});

describe('making a message', () => {
  const make = (init: unknown): Msg => new Msg(init as MsgInit);
  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'A message must be an object, not undefined.'],
    ['text', 'Hi', 'A message must be an object, not a string.'],
    ['a bad id', { name: 'a', role: 'user', content: '', id: 1 }, 'id must be a string, not a number.'],
    [
      'metadata of a class',
      { name: 'a', role: 'user', content: '', metadata: { m: new Map() } },
      'metadata.m is a Map, not a plain object.',
    ],
    [
      'a hole',
      { name: 'a', role: 'user', content: Array(1) },
      "content[0] is undefined, which JSON can't hold.",
    ],
    [
      'a usage of NaN',
      { name: 'a', role: 'user', content: '', usage: { inputTokens: NaN, outputTokens: 1 } },
      "usage.inputTokens is NaN, which JSON can't hold.",
    ],
  ])('of %s is refused', (_, init, message) => {
    expect(() => make(init)).toThrow(new InvalidMsgError(message));
  });

  test('fails with an InvalidMsgError', () => {
    const error = (() => {
      try {
        return make({ name: 'a', role: 'user', content: '', metadata: { at: new Date(0) } });
      } catch (error) {
        return error as InvalidMsgError;
      }
    })() as InvalidMsgError;
    expect(TroupeError.isInstance(error)).toBe(true);
    expect([error.name, error.code, (error.cause as Error).name]).toEqual([
      'InvalidMsgError',
      'invalid_msg',
      'NotJsonError',
    ]);
  });
});

describe('reading the content', () => {
  const mixed = Msg.assistant([thinking, text, call, { type: 'text', text: 'World' }]);

  test('the text of a string is the string', () => {
    expect(Msg.user('Hi').getTextContent()).toBe('Hi');
    expect(Msg.user('').getTextContent()).toBe('');
  });

  test('the text of blocks is the joined text of the text blocks', () => {
    expect(mixed.getTextContent()).toBe('Hello\nWorld');
    expect(mixed.getTextContent('')).toBe('HelloWorld');
    expect(mixed.text).toBe('Hello\nWorld');
  });

  test('without a text block there is no text', () => {
    for (const msg of [Msg.user([]), Msg.assistant([thinking, call])]) {
      expect([msg.getTextContent(), msg.text]).toEqual([undefined, '']);
    }
    expect(Msg.user([{ type: 'text', text: '' }]).getTextContent()).toBe('');
  });

  test('a string counts as one text block, even the empty one', () => {
    expect(Msg.user('Hi').getContentBlocks()).toEqual([{ type: 'text', text: 'Hi' }]);
    expect(Msg.user('').getContentBlocks('text')).toEqual([{ type: 'text', text: '' }]);
    expect(Msg.user('Hi').getContentBlocks('tool_use')).toEqual([]);
    expect(Msg.user('').hasContentBlocks()).toBe(true);
    expect(Msg.user('').hasContentBlocks('text')).toBe(true);
    expect(Msg.user('').hasContentBlocks('image')).toBe(false);
  });

  test('blocks are selected by one or several types, in their order', () => {
    expect(mixed.getContentBlocks()).toBe(mixed.content);
    expect(mixed.getContentBlocks('text')).toEqual([text, { type: 'text', text: 'World' }]);
    expect(mixed.getContentBlocks(['tool_use', 'thinking'])).toEqual([thinking, call]);
    expect(mixed.getContentBlocks([])).toEqual([]);
    expect(mixed.getContentBlocks('tool_use')[0]?.input).toEqual({ a: [1] });
  });

  test('hasContentBlocks tells whether there are blocks', () => {
    expect(mixed.hasContentBlocks()).toBe(true);
    expect(mixed.hasContentBlocks('tool_use')).toBe(true);
    expect(mixed.hasContentBlocks(['image', 'thinking'])).toBe(true);
    expect(mixed.hasContentBlocks(['image', 'tool_result'])).toBe(false);
    expect(Msg.user([]).hasContentBlocks()).toBe(false);
  });
});

describe('with', () => {
  const msg = Msg.assistant('a', {
    id: 'm1',
    name: 'Ann',
    timestamp: 't',
    usage: { inputTokens: 1, outputTokens: 2 },
  });

  test('changes some fields, and keeps the rest and the id', () => {
    expect(msg.with({ content: [text], metadata: { a: 1 } }).toJSON()).toStrictEqual({
      id: 'm1',
      name: 'Ann',
      role: 'assistant',
      content: [text],
      metadata: { a: 1 },
      timestamp: 't',
      usage: { inputTokens: 1, outputTokens: 2 },
    });
    expect(msg.toJSON()).toMatchObject({ content: 'a', metadata: {} });
  });

  test('takes undefined as no change', () => {
    expect(msg.with({ id: undefined, metadata: undefined, usage: undefined }).toJSON()).toStrictEqual(
      msg.toJSON(),
    );
    expect(msg.with({ id: 'm2' }).id).toBe('m2');
  });

  test('checks the changed fields', () => {
    expect(() => msg.with({ role: 'tool' as never })).toThrow(
      new InvalidMsgError('role must be one of user, assistant, system.'),
    );
  });
});

describe('Msg.list', () => {
  const a = Msg.user('a');
  const b = Msg.assistant('b');

  test('makes a list of every accepted input', () => {
    expect(Msg.list(undefined)).toEqual([]);
    expect(Msg.list(null)).toEqual([]);
    expect(Msg.list([])).toEqual([]);
    expect(Msg.list(a)).toEqual([a]);
    expect(Msg.list([a, b])).toEqual([a, b]);
    expect(Msg.list('Hi').map((msg) => [msg.name, msg.role, msg.content])).toEqual([['user', 'user', 'Hi']]);
    expect(Msg.list('')).toHaveLength(1);
  });

  test('the list is a frozen copy', () => {
    const given = [a];
    const list = Msg.list(given);
    given.push(b);
    expect(list).toEqual([a]);
    expect(() => (list as Msg[]).push(b)).toThrow(TypeError);
  });

  test.each<[unknown, string]>([
    [7, 'Expected a Msg, a list of Msg, a string or nothing, not a number.'],
    [
      { name: 'a', role: 'user', content: 'a' },
      'Expected a Msg, a list of Msg, a string or nothing, not an object.',
    ],
    [[a, 'b'], 'Expected a list of Msg, but number 1 is a string.'],
    [[undefined, a], 'Expected a list of Msg, but number 0 is undefined.'],
    [Array(1), 'Expected a list of Msg, but number 0 is undefined.'],
  ])('refuses %j', (input, message) => {
    expect(() => Msg.list(input as Msg)).toThrow(new InvalidMsgError(message));
  });
});
