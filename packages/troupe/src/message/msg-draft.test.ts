import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { countWork, expectLinear } from '../../test/counted-work.ts';
import { anyJsonObject, anyText, isDeepFrozen, nested } from '../../test/arbitraries.ts';
import { InvalidMsgError } from '../errors.ts';
import { useClock } from '../util/clock.ts';
import { newId, useIdSource } from '../util/ids.ts';
import type { BlockChange } from './block-change.ts';
import type { ContentBlock } from './blocks.ts';
import type { ModelDelta } from './model-delta.ts';
import { MsgDraft, type DraftSnapshot, type MsgDraftOptions } from './msg-draft.ts';
import { Msg } from './msg.ts';

const restores: (() => void)[] = [];
afterEach(() =>
  restores
    .splice(0)
    .toReversed()
    .forEach((restore) => restore()),
);

/** Makes ids `id1`, `id2`, … from here on. The first one of a draft is its own. */
function countIds(): void {
  let count = 0;
  restores.push(useIdSource(() => `id${++count}`));
}

beforeEach(() => {
  countIds();
  restores.push(
    useClock({ now: () => Date.UTC(2026, 0, 31), monotonic: () => 0, startTimer: () => () => {} }),
  );
});

const text = (text: string): ModelDelta => ({ type: 'text', text });
const thinking = (thinking: string): ModelDelta => ({ type: 'thinking', thinking });
const start = (index: number, id?: string, name = 'tool'): ModelDelta => ({
  type: 'tool_use_start',
  index,
  name,
  ...(id !== undefined && { id }),
});
const input = (index: number, json: string): ModelDelta => ({ type: 'tool_input', index, json });
const end = (index: number): ModelDelta => ({ type: 'tool_use_end', index });

function draftOf(deltas: readonly ModelDelta[], options?: MsgDraftOptions): MsgDraft {
  const draft = new MsgDraft('Ann', options);
  for (const delta of deltas) draft.add(delta);
  return draft;
}

const contentOf = (deltas: readonly ModelDelta[], options?: MsgDraftOptions): unknown =>
  draftOf(deltas, options).finish().content;

const changesOf = (draft: MsgDraft, msg: Msg, from = 0): readonly BlockChange[] =>
  draft.changesUpTo(msg, from)!;

/** Blocks that a reader makes of the changes alone. */
function replay(changes: readonly BlockChange[]): ContentBlock[] {
  const parts: { type: string; text: string; block?: ContentBlock | undefined; isDropped?: boolean }[] = [];
  for (const change of changes) {
    if (change.type === 'block_start') {
      expect(change.index).toBe(parts.length);
      parts.push({ type: change.blockType, text: '' });
      continue;
    }
    if (change.type === 'msg_reset') {
      parts.length = 0;
      continue;
    }
    const part = parts[change.index]!;
    if (change.type === 'text_delta') part.text += change.text;
    else if (change.type === 'thinking_delta') part.text += change.thinking;
    else if (change.type === 'tool_input_delta') part.text += change.json;
    else if (change.type === 'block_end') {
      part.block = change.block;
      part.isDropped = part.type === 'tool_use' && change.block === undefined;
    }
  }
  return parts.flatMap(({ type, text, block, isDropped }): ContentBlock[] => {
    if (block !== undefined) return [block];
    if (type === 'text') return [{ type, text }];
    if (type === 'thinking') return [{ type, thinking: text }];
    expect(isDropped ?? true).toBe(true);
    return [];
  });
}

/** The same fold, written without any care for its cost: every block is made from all of its deltas at the end. */
function naiveFold(deltas: readonly ModelDelta[], taken: (id: string) => boolean): ContentBlock[] {
  const slots: { deltas: ModelDelta[]; index?: number; id?: string }[] = [];
  const ids = new Set<string>();
  let made = 1; // the draft's own
  const unique = (wanted: string | undefined): string => {
    const id = wanted && !ids.has(wanted) && !taken(wanted) ? wanted : `call_id${++made}`;
    ids.add(id);
    return id;
  };
  const isOver = (slot: { deltas: ModelDelta[] }): boolean => slot.deltas.at(-1)?.type === 'tool_use_end';
  const openSlot = (index: number) => slots.findLast((slot) => slot.index === index && !isOver(slot));

  for (const delta of deltas) {
    switch (delta.type) {
      case 'text':
      case 'thinking': {
        const said = delta.type === 'text' ? delta.text : delta.thinking;
        if (said === '' && !delta.providerMeta) break;
        const last = slots.at(-1);
        const isSealed =
          said !== '' && last?.deltas.some((other) => 'providerMeta' in other && other.providerMeta);
        if (last?.deltas[0]?.type === delta.type && !isSealed) last.deltas.push(delta);
        else slots.push({ deltas: [delta] });
        break;
      }
      case 'tool_use_start':
        if (!openSlot(delta.index)) slots.push({ deltas: [delta], index: delta.index, id: unique(delta.id) });
        break;
      case 'tool_input':
      case 'tool_use_end':
        openSlot(delta.index)?.deltas.push(delta);
        break;
      case 'block':
        slots.push({
          deltas: [delta],
          ...(delta.block.type === 'tool_use' && { id: unique(delta.block.id) }),
        });
        break;
      case 'audio':
      case 'reset':
      case 'usage':
      case 'finish':
      case 'response_id':
      case 'answered_by':
      case 'citations':
      case 'partial_image':
      case 'provider_meta':
        break; // other tests cover deltas with content
    }
  }
  return slots.flatMap((slot): ContentBlock[] => {
    const [first] = slot.deltas;
    const metas = slot.deltas.flatMap((delta) =>
      'providerMeta' in delta && delta.providerMeta ? [delta.providerMeta] : [],
    );
    const meta = metas.length > 0 ? { providerMeta: Object.assign({}, ...metas) as {} } : {};
    if (first?.type === 'text') {
      return [
        {
          type: 'text',
          text: slot.deltas.map((delta) => (delta as { text: string }).text).join(''),
          ...meta,
        },
      ];
    }
    if (first?.type === 'thinking') {
      const thoughts = slot.deltas.map((delta) => (delta as { thinking: string }).thinking);
      return [{ type: 'thinking', thinking: thoughts.join(''), ...meta }];
    }
    if (first?.type === 'block')
      return [slot.id === undefined ? first.block : ({ ...first.block, id: slot.id } as ContentBlock)];
    if (first?.type !== 'tool_use_start' || !isOver(slot)) return [];
    const json = slot.deltas.map((delta) => (delta.type === 'tool_input' ? delta.json : '')).join('');
    const call = { type: 'tool_use' as const, id: slot.id!, name: first.name };
    let value: unknown = {};
    try {
      if (json.trim() !== '') value = JSON.parse(json);
    } catch {
      value = undefined;
    }
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [{ ...call, input: isObject ? (value as {}) : {}, ...(!isObject && { rawInput: json }), ...meta }];
  });
}

const anyIndex = fc.nat(2);
const maybeMeta = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ providerMeta: fc.record({ a: fc.nat(3) }) }) },
  { weight: 1, arbitrary: fc.record({ providerMeta: fc.record({ b: fc.nat(3) }) }) },
);
const withMeta = (delta: fc.Arbitrary<ModelDelta>, meta: fc.Arbitrary<object>): fc.Arbitrary<ModelDelta> =>
  fc.tuple(delta, meta).map(([delta, meta]) => ({ ...delta, ...meta }));
const anyCallId = fc.constantFrom(undefined, '', 'a', 'b', 'taken', '__proto__');

function anyDelta(meta: fc.Arbitrary<object>): fc.Arbitrary<ModelDelta> {
  return fc.oneof(
    { weight: 4, arbitrary: withMeta(fc.oneof(anyText, fc.constant('')).map(text), meta) },
    { weight: 3, arbitrary: withMeta(fc.oneof(anyText, fc.constant('')).map(thinking), meta) },
    {
      weight: 4,
      arbitrary: withMeta(
        fc.tuple(anyIndex, anyCallId).map(([index, id]) => start(index, id)),
        meta,
      ),
    },
    {
      weight: 5,
      arbitrary: fc
        .tuple(
          anyIndex,
          fc.constantFrom('{', '}', '"a":', '1', '{"a":1}', '[]', 'null', ' ', '', '{"__proto__":{}}'),
        )
        .map(([index, json]) => input(index, json)),
    },
    { weight: 4, arbitrary: withMeta(anyIndex.map(end), meta) },
    {
      weight: 1,
      arbitrary: fc.oneof(
        fc.constant<ModelDelta>({ type: 'block', block: { type: 'text', text: 'whole' } }),
        fc.constant<ModelDelta>({
          type: 'block',
          block: { type: 'image', source: { type: 'url', url: 'u' } },
        }),
        fc.constantFrom('a', 'b', '').map((id): ModelDelta => {
          return { type: 'block', block: { type: 'tool_use', id, name: 'whole', input: { x: 1 } } };
        }),
      ),
    },
    { weight: 1, arbitrary: fc.constant<ModelDelta>({ type: 'finish', reason: 'stop' }) },
  );
}

const anyDeltas = fc.array(anyDelta(maybeMeta), { maxLength: 25, size: 'max' });
const plainDeltas = fc.array(anyDelta(fc.constant({})), { maxLength: 25, size: 'max' });

/** Cuts a text into pieces at these places; a place may be inside a character. */
function cut(whole: string, places: readonly number[]): string[] {
  const sorted = [0, ...places.map((place) => place % (whole.length + 1)), whole.length].toSorted(
    (a, b) => a - b,
  );
  return sorted.slice(1).map((to, i) => whole.slice(sorted[i], to));
}

describe('a draft', () => {
  test('says which model answered, and forgets those whose answers are void', () => {
    const by = { model: 'b', vendor: 'Acme', host: 'api.acme.test' };
    const draft = draftOf([
      { type: 'answered_by', model: 'a' },
      text('I th'),
      { type: 'reset', reason: 'a failed (network); b is used instead.' },
      { type: 'answered_by', ...by },
      text('Hello.'),
    ]);
    expect(draft.finish()).toMatchObject({ content: [{ type: 'text', text: 'Hello.' }], answeredBy: by });
    const none = draftOf([
      { type: 'answered_by', model: 'a' },
      { type: 'reset', reason: 'a failed' },
      text('x'),
    ]);
    expect(none.finish().answeredBy).toBeUndefined();
  });

  test('folds deltas into a message', () => {
    const usage = { inputTokens: 3, outputTokens: 5 };
    const draft = draftOf([
      { type: 'response_id', id: 'r1' },
      thinking('Let me '),
      thinking('see.'),
      text('I will '),
      text('add.'),
      start(0, 'c1', 'add'),
      input(0, '{"a":'),
      input(0, '1}'),
      end(0),
      { type: 'usage', usage },
      { type: 'finish', reason: 'tool_calls' },
    ]);
    const msg = draft.finish();
    expect(msg.toJSON()).toStrictEqual({
      id: 'id1',
      name: 'Ann',
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Let me see.' },
        { type: 'text', text: 'I will add.' },
        { type: 'tool_use', id: 'c1', name: 'add', input: { a: 1 } },
      ],
      metadata: {},
      timestamp: '2026-01-31T00:00:00.000Z',
      usage,
      finishReason: 'tool_calls',
      responseId: 'r1',
    });
    expect(msg).toBeInstanceOf(Msg);
    expect(isDeepFrozen(msg)).toBe(true);
    expect([draft.finishReason, draft.responseId, draft.final]).toEqual(['tool_calls', 'r1', msg]);
  });

  test('folds like a naive fold, for all deltas in any order', () => {
    const count = { calls: 0, raw: 0, blocks: 0 };
    fc.assert(
      fc.property(anyDeltas, (deltas) => {
        countIds();
        const taken = (id: string): boolean => id === 'taken';
        const { content } = draftOf(deltas, { isToolCallIdTaken: taken }).finish();
        expect(content).toEqual(naiveFold(deltas, taken));
        for (const block of content as ContentBlock[]) {
          count.blocks++;
          if (block.type === 'tool_use') count.calls++;
          if (block.type === 'tool_use' && block.rawInput !== undefined) count.raw++;
        }
      }),
      { numRuns: 500 },
    );
    expect(count.blocks).toBeGreaterThan(1000);
    expect(count.calls).toBeGreaterThan(100);
    expect(count.raw).toBeGreaterThan(20);
  });

  test('is the same message for every split of text and arguments', () => {
    const places = fc.array(fc.nat(40), { maxLength: 5 });
    const segment = fc.oneof(
      fc.tuple(fc.constant('text' as const), fc.oneof(anyText, fc.constant('a😀b\ud83d')), places),
      fc.tuple(fc.constant('thinking' as const), anyText, places),
      fc.tuple(
        fc.constant('call' as const),
        anyJsonObject.map((value) => JSON.stringify(value)),
        places,
      ),
    );
    let pieces = 0;
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 6 }), (segments) => {
        const fold = (isSplit: boolean): unknown => {
          countIds();
          const deltas = segments.flatMap(([kind, whole, places], index): ModelDelta[] => {
            const parts = isSplit ? cut(whole, places) : [whole];
            pieces += parts.length;
            if (kind !== 'call') return parts.map(kind === 'text' ? text : thinking);
            return [start(index, `c${index}`), ...parts.map((part) => input(index, part)), end(index)];
          });
          return draftOf(deltas).finish().toJSON();
        };
        expect(JSON.stringify(fold(true))).toBe(JSON.stringify(fold(false)));
      }),
    );
    expect(pieces).toBeGreaterThan(500);
  });

  test('folds interleaved tool calls', () => {
    expect(
      contentOf([
        start(0, 'a'),
        start(1, 'b'),
        input(1, '{"b"'),
        input(0, '{"a":1'),
        input(1, ':2}'),
        input(0, '}'),
        end(1),
        end(0),
      ]),
    ).toEqual([
      { type: 'tool_use', id: 'a', name: 'tool', input: { a: 1 } },
      { type: 'tool_use', id: 'b', name: 'tool', input: { b: 2 } },
    ]);
  });

  test('starts a new text block after a block of another type', () => {
    expect(contentOf([text('a'), thinking('b'), text('c'), text(''), text('d')])).toEqual([
      { type: 'text', text: 'a' },
      { type: 'thinking', thinking: 'b' },
      { type: 'text', text: 'cd' },
    ]);
  });

  test('keeps providerMeta, merged per block', () => {
    expect(
      contentOf([
        { type: 'thinking', thinking: 'a', providerMeta: { id: 'r1' } },
        { type: 'thinking', thinking: '', providerMeta: { signature: 's' } },
        { type: 'tool_use_start', index: 0, id: 'a', name: 'tool', providerMeta: { x: 1, y: 1 } },
        { type: 'tool_use_end', index: 0, providerMeta: { y: 2 } },
      ]),
    ).toEqual([
      { type: 'thinking', thinking: 'a', providerMeta: { id: 'r1', signature: 's' } },
      { type: 'tool_use', id: 'a', name: 'tool', input: {}, providerMeta: { x: 1, y: 2 } },
    ]);
  });

  test('copies its deltas', () => {
    const providerMeta = { signature: ['a'] };
    const usage = { inputTokens: 1, outputTokens: 1 };
    const block = { type: 'tool_use' as const, id: 'a', name: 'tool', input: { list: [1] } };
    const draft = draftOf([
      { type: 'tool_use_start', index: 0, id: 'b', name: 'tool', providerMeta },
      { type: 'block', block },
      { type: 'usage', usage },
    ]);
    providerMeta.signature.push('b');
    usage.inputTokens = 99;
    block.input.list.push(2);
    draft.add(end(0));
    expect([draft.finish().content, draft.finish().usage]).toEqual([
      [
        { type: 'tool_use', id: 'b', name: 'tool', input: {}, providerMeta: { signature: ['a'] } },
        { type: 'tool_use', id: 'a', name: 'tool', input: { list: [1] } },
      ],
      { inputTokens: 1, outputTokens: 1 },
    ]);
  });

  test('refuses an invalid usage, block or name at once, and can still be finished', () => {
    const draft = draftOf([text('so far')]);
    expect(() => draft.add({ type: 'usage', usage: { inputTokens: NaN, outputTokens: 1 } })).toThrow(
      new InvalidMsgError("usage.inputTokens is NaN, which JSON can't hold."),
    );
    expect(() => draft.add({ type: 'block', block: { type: 'text' } as never })).toThrow(
      new InvalidMsgError('block.text must be a string, not undefined.'),
    );
    expect(draft.cutShort()?.content).toEqual([{ type: 'text', text: 'so far' }]);
  });
});

describe('tool call ids', () => {
  test('stay as the model sent them if unique, and are replaced if not', () => {
    const deltas = [
      start(0, 'a'),
      start(1, 'a'),
      start(2),
      start(3, ''),
      start(4, 'old'),
      ...[0, 1, 2, 3, 4].map(end),
      { type: 'block', block: { type: 'tool_use', id: 'a', name: 'tool', input: {} } } as const,
    ];
    const blocks = contentOf(deltas, { isToolCallIdTaken: (id) => id === 'old' }) as { id: string }[];
    expect(blocks.map(({ id }) => id)).toEqual([
      'a',
      'call_id2',
      'call_id3',
      'call_id4',
      'call_id5',
      'call_id6',
    ]);
  });

  test('are unique even if the id source repeats ids', () => {
    restores.push(useIdSource(() => 'same'));
    const blocks = contentOf([start(0), end(0), start(1), end(1), start(2, 'call_same'), end(2)]) as {
      id: string;
    }[];
    expect(blocks.map(({ id }) => id)).toEqual(['call_same', 'call_same_', 'call_same__']);
  });

  test('are unique for a thousand tool calls with one id', () => {
    restores
      .splice(0)
      .toReversed()
      .forEach((restore) => restore());
    const deltas = Array.from({ length: 1000 }, (_, i) => [start(i, 'a'), end(i)]).flat();
    const blocks = contentOf(deltas) as { id: string }[];
    expect(new Set(blocks.map(({ id }) => id)).size).toBe(1000);
    expect(newId()).toHaveLength(22);
  });

  test('a reused index means another tool call', () => {
    expect(
      contentOf([start(0, 'a'), input(0, '{"n":1}'), end(0), start(0, 'b'), input(0, '{"n":2}'), end(0)]),
    ).toEqual([
      { type: 'tool_use', id: 'a', name: 'tool', input: { n: 1 } },
      { type: 'tool_use', id: 'b', name: 'tool', input: { n: 2 } },
    ]);
  });

  test('a repeated start counts once', () => {
    expect(
      contentOf([
        start(0, 'a'),
        input(0, '{"n":'),
        start(0, 'a'),
        input(0, '1}'),
        end(0),
        end(0),
        input(0, 'x'),
      ]),
    ).toEqual([{ type: 'tool_use', id: 'a', name: 'tool', input: { n: 1 } }]);
  });

  test('deltas of a tool call without a start are ignored', () => {
    expect(contentOf([input(7, '{}'), end(7)])).toEqual([]);
  });
});

test('text after a signature is a new block with its own signature', () => {
  const thinking = (thinking: string): ModelDelta => ({ type: 'thinking', thinking });
  const signed = (signature: string): ModelDelta => ({
    type: 'thinking',
    thinking: '',
    providerMeta: { signature },
  });
  expect(contentOf([thinking('A'), thinking('B'), signed('1'), thinking('C'), signed('2')])).toEqual([
    { type: 'thinking', thinking: 'AB', providerMeta: { signature: '1' } },
    { type: 'thinking', thinking: 'C', providerMeta: { signature: '2' } },
  ]);
});

describe('sound', () => {
  const audio = (data: string): ModelDelta => ({ type: 'audio', data, mediaType: 'audio/pcm' });

  test('consists of pieces encoded one by one, and becomes one block', () => {
    const pieces = ['abcd', 'e', 'fg', 'hijkl'].map((piece) => btoa(piece));
    const source = { type: 'base64', mediaType: 'audio/pcm', data: btoa('abcdefghijkl') };
    expect(contentOf([text('Hear:'), ...pieces.map(audio), text('So.')])).toEqual([
      { type: 'text', text: 'Hear:' },
      { type: 'audio', source },
      { type: 'text', text: 'So.' },
    ]);
  });

  test('has one change for each piece', () => {
    const draft = draftOf([audio('YWJj'), audio('ZGVm')]);
    const types = changesOf(draft, draft.finish()).map(({ type }) => type);
    expect(types).toEqual(['block_start', 'audio_delta', 'audio_delta', 'block_end']);
    expect(draft.finish().getContentBlocks('audio')[0]?.source).toMatchObject({ data: 'YWJjZGVm' });
  });
});

describe('a reset', () => {
  const usage = (inputTokens: number): ModelDelta => ({
    type: 'usage',
    usage: { inputTokens, outputTokens: 1 },
  });
  const deltas: ModelDelta[] = [
    text('Half an ans'),
    start(0, 'a'),
    input(0, '{}'),
    end(0),
    usage(10),
    { type: 'finish', reason: 'length' },
    { type: 'reset', reason: 'another model' },
    text('Whole.'),
    start(0, 'a'),
    end(0),
    usage(5),
  ];

  test('removes the blocks so far, but not their usage', () => {
    const draft = draftOf(deltas);
    const msg = draft.finish();
    expect(msg.content).toEqual([
      { type: 'text', text: 'Whole.' },
      { type: 'tool_use', id: 'a', name: 'tool', input: {} },
    ]);
    expect(msg.usage).toEqual({ inputTokens: 15, outputTokens: 2 });
    expect(draft.finishReason).toBe(undefined);
  });

  test('is a change, so that a display can start again', () => {
    const draft = draftOf(deltas);
    const msg = draft.finish();
    expect(changesOf(draft, msg)).toContainEqual({
      type: 'msg_reset',
      msgId: draft.id,
      reason: 'another model',
    });
    expect(replay(changesOf(draft, msg))).toEqual(msg.content);
  });
});

describe('arguments', () => {
  const read = (json: string, options?: MsgDraftOptions): unknown =>
    (contentOf([start(0, 'a'), input(0, json), end(0)], options) as unknown[])[0];
  const call = { type: 'tool_use', id: 'a', name: 'tool', input: {} };

  test('are dropped with an unfinished tool call, even if they are valid JSON', () => {
    expect(contentOf([text('So:'), start(0, 'a'), input(0, '{"path":"/"}')])).toEqual([
      { type: 'text', text: 'So:' },
    ]);
  });

  test('that are empty become an empty object', () => {
    expect(read('')).toEqual(call);
    expect(read(' \n')).toEqual(call);
    expect(contentOf([start(0, 'a'), end(0)])).toEqual([call]);
  });

  test.each([
    ['cut off', '{"a":1'],
    ['cut off in a text', '{"a":"/tmp'],
    ['cut off behind a comma', '{"a":1,'],
    ['that are null', 'null'],
    ['that are a list', '[{"a":1}]'],
    ['that are text', '"a"'],
    ['twice', '{"a":1}{"a":1}'],
    ['that JSON can not hold', '{"a":1e999}'],
    ['nested too deep', `{"a":${JSON.stringify(nested(99))}}`],
    ['nested far too deep', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('%s are kept as they came', (_, json) => {
    expect(read(json)).toEqual({ ...call, rawInput: json });
  });

  test.each([
    ['a comma too many', '{"a":1,}'],
    ['single quotes', "{'a':1}"],
    ['keys without quotes', '{a:1}'],
    ['a comment', '{"a":1 /* one */}'],
    ['a code fence', '```json\n{"a":1}\n```'],
  ])('with %s are understood', (_, json) => {
    expect(read(json)).toEqual({ ...call, input: { a: 1 } });
  });

  test('may be nested as deep as a message', () => {
    const json = `{"a":${JSON.stringify(nested(98))}}`;
    const block = read(json) as { input: unknown; rawInput?: string };
    expect(JSON.stringify(block.input)).toBe(json);
    expect(block.rawInput).toBe(undefined);
  });

  test('of 10 MB that are not JSON are read without a look at each character', async () => {
    const json = `{"a":"${'x'.repeat(10_000_000)}`;
    const { steps } = await countWork(() => {
      expect((read(json) as { rawInput: string }).rawInput).toHaveLength(json.length);
    });
    expect(steps).toBeLessThan(10_000);
  });

  test('named `__proto__` are an ordinary property', () => {
    const block = read('{"__proto__":{"polluted":true}}') as { input: object };
    expect(JSON.stringify(block.input)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(block.input)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBe(undefined);
  });

  test('can be read by the option parseInput; its errors run no tool', () => {
    expect(read("{'a':1}", { parseInput: () => ({ a: 1 }) })).toEqual({ ...call, input: { a: 1 } });
    for (const nonsense of [null, [], 'x', { f: () => {} }, undefined]) {
      expect(read('{"a":1}', { parseInput: () => nonsense as never })).toEqual({
        ...call,
        rawInput: '{"a":1}',
      });
    }
  });
});

describe('a snapshot', () => {
  test('is the message so far, without unfinished tool calls', () => {
    const draft = draftOf([text('Hel')]);
    const first = draft.snapshot();
    draft.add(text('lo'));
    draft.add(start(0, 'a'));
    draft.add(input(0, '{}'));
    const second = draft.snapshot();
    draft.add(end(0));
    expect([first.content, second.content, draft.snapshot().content]).toEqual([
      [{ type: 'text', text: 'Hel' }],
      [{ type: 'text', text: 'Hello' }],
      [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'a', name: 'tool', input: {} },
      ],
    ]);
    expect([first.id, second.id, draft.finish().id]).toEqual([draft.id, draft.id, draft.id]);
  });

  test('has all properties of a message', () => {
    const draft = draftOf([text('Hello')]);
    const snapshot = draft.snapshot();
    expect(snapshot).toBeInstanceOf(Msg);
    expect(isDeepFrozen(snapshot)).toBe(true);
    expect(() => ((snapshot as { name: string }).name = 'Bob')).toThrow(TypeError);
    expect(JSON.stringify(snapshot)).toBe(JSON.stringify(Msg.from(JSON.parse(JSON.stringify(snapshot)))));
    expect(snapshot.with({ name: 'Bob' }).text).toBe('Hello');
    expect((snapshot as DraftSnapshot).draft).toBe(draft);
  });

  test('after finish is the final message', () => {
    const draft = draftOf([text('Hello')]);
    const final = draft.finish();
    draft.add(text(' again'));
    expect([draft.snapshot(), draft.finish(), draft.final]).toEqual([final, final, final]);
    expect(final.text).toBe('Hello');
    expect(changesOf(draft, final)).toHaveLength(3);
  });
});

describe('cutting short', () => {
  test('keeps text, thinking and finished tool calls, and drops unfinished tool calls', () => {
    expect(
      draftOf([thinking('a'), text('b'), start(0, 'c'), end(0), start(1, 'd'), input(1, '{}')]).cutShort()
        ?.content,
    ).toEqual([
      { type: 'thinking', thinking: 'a' },
      { type: 'text', text: 'b' },
      { type: 'tool_use', id: 'c', name: 'tool', input: {} },
    ]);
  });

  test.each<[string, ModelDelta[]]>([
    ['nothing', []],
    ['half a call', [start(0, 'a'), input(0, '{}')]],
    ['no more than an empty text', [text('')]],
    ['no more than a usage', [{ type: 'usage', usage: { inputTokens: 1, outputTokens: 0 } }]],
  ])('leaves nothing of %s', (_, deltas) => {
    expect(draftOf(deltas).cutShort()).toBe(undefined);
  });
});

describe('the changes', () => {
  test('contain every change, in order', () => {
    const draft = draftOf([
      text('a'),
      text('b'),
      start(0, 'c', 'add'),
      input(0, '{}'),
      end(0),
      start(1, 'd'),
      thinking('e'),
    ]);
    const at = (index: number) => ({ msgId: 'id1', index });
    expect(changesOf(draft, draft.finish())).toEqual([
      { type: 'block_start', ...at(0), blockType: 'text' },
      { type: 'text_delta', ...at(0), text: 'a' },
      { type: 'text_delta', ...at(0), text: 'b' },
      { type: 'block_end', ...at(0) },
      { type: 'block_start', ...at(1), blockType: 'tool_use', toolCallId: 'c', name: 'add' },
      { type: 'tool_input_delta', ...at(1), json: '{}' },
      { type: 'block_end', ...at(1), block: { type: 'tool_use', id: 'c', name: 'add', input: {} } },
      { type: 'block_start', ...at(2), blockType: 'tool_use', toolCallId: 'd', name: 'tool' },
      { type: 'block_start', ...at(3), blockType: 'thinking' },
      { type: 'thinking_delta', ...at(3), thinking: 'e' },
      { type: 'block_end', ...at(3) },
      { type: 'block_end', ...at(2) },
    ]);
  });

  test('of a text with providerMeta end with the whole block', () => {
    const draft = draftOf([{ type: 'thinking', thinking: 'a', providerMeta: { signature: 's' } }]);
    expect(changesOf(draft, draft.finish()).at(-1)).toEqual({
      type: 'block_end',
      msgId: 'id1',
      index: 0,
      block: { type: 'thinking', thinking: 'a', providerMeta: { signature: 's' } },
    });
  });

  test('of a whole block contain its text too', () => {
    const at = { msgId: 'id1', index: 0 };
    const told = (block: ContentBlock): readonly BlockChange[] => {
      countIds();
      const draft = draftOf([{ type: 'block', block }]);
      return changesOf(draft, draft.finish());
    };
    const [text, thinking, image]: ContentBlock[] = [
      { type: 'text', text: 'a' },
      { type: 'thinking', thinking: 'b' },
      { type: 'image', source: { type: 'url', url: 'u' } },
    ];
    expect(told(text!)).toEqual([
      { type: 'block_start', ...at, blockType: 'text' },
      { type: 'text_delta', ...at, text: 'a' },
      { type: 'block_end', ...at, block: text },
    ]);
    expect(told(thinking!)).toEqual([
      { type: 'block_start', ...at, blockType: 'thinking' },
      { type: 'thinking_delta', ...at, thinking: 'b' },
      { type: 'block_end', ...at, block: thinking },
    ]);
    expect(told(image!)).toEqual([
      { type: 'block_start', ...at, blockType: 'image' },
      { type: 'block_end', ...at, block: image },
    ]);
  });

  test('give the same message when they are replayed, and start and end every block once', () => {
    let changed = 0;
    fc.assert(
      fc.property(anyDeltas, (deltas) => {
        const draft = draftOf(deltas);
        const msg = draft.finish();
        const changes = changesOf(draft, msg);
        expect(replay(changes)).toEqual(msg.content);
        const starts = changes.flatMap((change) => (change.type === 'block_start' ? change.index : []));
        const ends = changes.flatMap((change) => (change.type === 'block_end' ? change.index : []));
        expect(ends.toSorted((a, b) => a - b)).toEqual(starts);
        expect(changes.every(({ msgId }) => msgId === draft.id)).toBe(true);
        changed += changes.length;
      }),
      { numRuns: 300 },
    );
    expect(changed).toBeGreaterThan(2000);
  });

  test('up to a snapshot give the snapshot, each change once', () => {
    fc.assert(
      fc.property(plainDeltas, (deltas) => {
        const draft = new MsgDraft('Ann');
        const told: BlockChange[] = [];
        const tell = (msg: Msg): void => {
          told.push(...changesOf(draft, msg, told.length));
          expect(replay(told)).toEqual(msg.content);
        };
        for (const delta of deltas) {
          draft.add(delta);
          tell(draft.snapshot());
        }
        tell(draft.finish());
        const again = draftOf(deltas);
        const bare = (changes: readonly BlockChange[]): unknown =>
          changes.map((change) => ({
            type: change.type,
            index: 'index' in change ? change.index : undefined,
          }));
        expect(bare(told)).toEqual(bare(changesOf(again, again.finish())));
      }),
    );
  });

  test('are dropped once they were read', () => {
    const draft = draftOf([text('a'), text('b')]);
    const early = draft.snapshot();
    draft.add(text('c'));
    const late = draft.snapshot();
    expect(changesOf(draft, early)).toHaveLength(3);
    expect(changesOf(draft, early)).toHaveLength(3);
    expect(changesOf(draft, late, 3)).toEqual([{ type: 'text_delta', msgId: 'id1', index: 0, text: 'c' }]);
    expect(draft.changesUpTo(late, 0)).toBe(undefined);
    expect(draft.changesUpTo(early, 2)).toBe(undefined);
    expect(changesOf(draft, draft.finish(), 4)).toEqual([{ type: 'block_end', msgId: 'id1', index: 0 }]);
  });

  test('up to a snapshot older than the last read are none', () => {
    const draft = draftOf([text('a')]);
    const early = draft.snapshot();
    draft.add(text('b'));
    draft.add(text('c'));
    expect(changesOf(draft, draft.snapshot())).toHaveLength(4);
    draft.add(text('d'));
    draft.add(text('e'));
    draft.add(text('f'));
    expect(changesOf(draft, early, 4)).toEqual([]);
    expect(changesOf(draft, draft.snapshot(), 4)).toHaveLength(3);
  });
});

test.each([0, 40])(
  'a snapshot stays as it was taken, whenever it is looked at (behind %i blocks)',
  (count) => {
    const before = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? thinking('b') : text('a')));
    const draft = draftOf([...before, thinking('b'), text('c')]);
    const early = draft.snapshot();
    draft.add(text('d'));
    draft.add(thinking('e'));
    const late = draft.snapshot();
    draft.add({ type: 'reset', reason: 'again' });
    draft.add(text('anew'));
    const settled = [...before, thinking('b')];
    expect(early.content).toStrictEqual([...settled, { type: 'text', text: 'c' }]);
    expect(late.content).toStrictEqual([...settled, { type: 'text', text: 'cd' }, thinking('e')]);
    expect(late.toJSON()['content']).toBe(late.content);
    expect(Object.isFrozen(late.content)).toBe(true);
    expect(draft.finish().content).toStrictEqual([{ type: 'text', text: 'anew' }]);
  },
);

test('the cost of a delta does not depend on the number of earlier deltas', async () => {
  await expectLinear(5_000, (deltas) => {
    const draft = draftOf([start(0, 'a')]);
    let told = 0;
    for (let i = 0; i < deltas / 2; i++) {
      draft.add(text('word '));
      told += changesOf(draft, draft.snapshot(), told).length;
      draft.add(input(0, '1'));
    }
    expect(draft.finish().text).toHaveLength((deltas / 2) * 'word '.length);
    expect(told).toBe(deltas + 1);
  });
});
