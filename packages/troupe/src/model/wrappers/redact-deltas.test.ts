import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import { redactDeltas } from './redact-deltas.ts';
import { Redactor } from './redactor.ts';
import type { TimedDelta } from './tape.ts';

const redactor = new Redactor({ secrets: ['hunter2'] });

const timed = (deltas: readonly ModelDelta[]): TimedDelta[] => deltas.map((delta, i) => [i, delta]);
const redacted = (deltas: readonly ModelDelta[]): unknown[] => redactDeltas(timed(deltas), redactor);

const text = (text: string): ModelDelta => ({ type: 'text', text });
const thinking = (thinking: string): ModelDelta => ({ type: 'thinking', thinking });
const input = (index: number, json: string): ModelDelta => ({ type: 'tool_input', index, json });
const start = (index: number): ModelDelta => ({ type: 'tool_use_start', index, name: 'f' });
const end = (index: number): ModelDelta => ({ type: 'tool_use_end', index });
const usage: ModelDelta = { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } };

test('deltas without a secret stay as they are, one by one', () => {
  const deltas: ModelDelta[] = [
    { type: 'response_id', id: 'r' },
    thinking('a'),
    text('hun'),
    text(''),
    text('ter'),
    start(0),
    input(0, '{"a"'),
    input(0, ':1}'),
    end(0),
    { type: 'audio', data: 'AAAA', mediaType: 'audio/wav' },
    { type: 'block', block: { type: 'text', text: 'x' } },
    usage,
    { type: 'reset', reason: 'r' },
    { type: 'finish', reason: 'stop' },
  ];
  expect(redacted(deltas)).toEqual(timed(deltas));
});

test('a secret in pieces is found: its text is left in one piece, at the time of the first', () => {
  expect(redacted([text('my hun'), text('ter'), usage, text('2!'), thinking('x')])).toEqual([
    [0, text('my [redacted]!')],
    [2, usage],
    [4, thinking('x')],
  ]);
});

test('cut at any place, in text, thinking and arguments', () => {
  const whole = '{"password":"hunter2"}';
  const kinds: ((piece: string) => ModelDelta)[] = [text, thinking, (piece) => input(3, piece)];
  let cuts = 0;
  for (const kind of kinds) {
    for (let cut = 0; cut <= whole.length; cut++) {
      const out = JSON.stringify(
        redacted([start(3), kind(whole.slice(0, cut)), kind(whole.slice(cut)), end(3)]),
      );
      expect(out).toContain('[redacted]');
      expect(out.replaceAll(/[^a-z0-9]/g, '')).not.toMatch(/hunter|unter2/);
      cuts++;
    }
  }
  expect(cuts).toBe(69);
});

test('the arguments of parallel calls are told apart, wherever they begin and end', () => {
  const deltas = [
    start(0),
    input(0, '"hun'),
    start(1),
    input(1, '"ok"'),
    input(0, 'te'),
    end(1),
    input(0, 'r2"'),
    end(0),
  ];
  expect(redacted(deltas)).toEqual([
    [0, start(0)],
    [1, input(0, '"[redacted]"')],
    [2, start(1)],
    [3, input(1, '"ok"')],
    [5, end(1)],
    [7, end(0)],
  ]);
});

test('texts that do not belong together are not put together', () => {
  const apart: ModelDelta[][] = [
    [text('hun'), thinking('x'), text('ter2')],
    [text('hun'), start(0), end(0), text('ter2')],
    [text('hun'), { type: 'audio', data: 'AAAA', mediaType: 'audio/wav' }, text('ter2')],
    [text('hun'), { type: 'block', block: { type: 'text', text: 'x' } }, text('ter2')],
    [{ type: 'text', text: 'hun', providerMeta: { v: 1 } }, text('ter2')],
    [text('hun'), { type: 'text', text: '', providerMeta: { v: 1 } }, text('ter2')],
    [text('hun'), { type: 'reset', reason: 'again' }, text('ter2')],
    [start(0), { type: 'reset', reason: 'again' }, text('hun'), start(0), text('ter2')],
    [start(0), input(0, 'hun'), end(0), start(0), input(0, 'ter2'), end(0)],
    [start(0), input(0, 'hun'), { type: 'reset', reason: 'again' }, input(0, 'ter2')],
  ];
  for (const deltas of apart) expect(redacted(deltas)).toEqual(timed(deltas));
});

test('deltas that do not end a text hide no secret', () => {
  const between: Record<string, ModelDelta[]> = {
    'arguments of an open call': [input(0, '{}')],
    'the end of an open call': [end(0)],
    'a start that is said twice': [start(0)],
    'empty thinking': [thinking('')],
    'what is told about the answer': [
      usage,
      { type: 'response_id', id: 'r' },
      { type: 'finish', reason: 'stop' },
    ],
  };
  for (const [what, deltas] of Object.entries(between)) {
    expect([what, redacted([start(0), text('hun'), ...deltas, text('ter2'), end(0)])]).toEqual([
      what,
      [
        [0, start(0)],
        [1, text('[redacted]')],
        ...deltas.map((delta, i) => [i + 2, delta]),
        [deltas.length + 3, end(0)],
      ],
    ]);
  }
});

test('for any deltas, the message of the taped deltas is the redacted message', () => {
  const pieces = fc.constantFrom('', 'hun', 'ter', '2', 'hunter2', 'x');
  const index = fc.nat(1);
  const meta = fc.constantFrom({}, {}, { providerMeta: { v: { sealed: true } } });
  const anyDelta: fc.Arbitrary<ModelDelta> = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(pieces, meta).map(([piece, more]) => ({ ...text(piece), ...more })) },
    {
      weight: 3,
      arbitrary: fc.tuple(pieces, meta).map(([piece, more]) => ({ ...thinking(piece), ...more })),
    },
    { weight: 4, arbitrary: fc.tuple(index, pieces).map(([i, piece]) => input(i, piece)) },
    index.map(start),
    index.map(end),
    fc.constantFrom<ModelDelta>(
      usage,
      { type: 'finish', reason: 'stop' },
      { type: 'response_id', id: 'r' },
      { type: 'reset', reason: 'again' },
      { type: 'audio', data: 'AAAA', mediaType: 'audio/wav' },
      { type: 'block', block: { type: 'text', text: 'hunter2' } },
    ),
  );
  const contentOf = (deltas: readonly ModelDelta[]): JsonValue[] => {
    const draft = new MsgDraft('Ann', { parseInput: (json) => ({ json }) });
    for (const delta of deltas) draft.add(delta);
    return draft
      .finish()
      .getContentBlocks()
      .map((block) => ({ ...block, ...('id' in block && { id: '' }) }) as JsonObject);
  };
  let found = 0;
  fc.assert(
    fc.property(fc.array(anyDelta, { maxLength: 12 }), (deltas) => {
      const before = contentOf(deltas);
      const taped = contentOf(redactDeltas(timed(deltas), redactor).map(([, delta]) => delta as never));
      expect(taped).toEqual(before.map((block) => redactor.json(block)));
      if (JSON.stringify(before).includes('hunter2')) found++;
    }),
    { numRuns: 2000 },
  );
  expect(found).toBeGreaterThan(100);
});

test('a piece with providerMeta stays', () => {
  const signed: ModelDelta = { type: 'thinking', thinking: '2', providerMeta: { signature: 'hunter2 sig' } };
  expect(redacted([thinking('hunter'), signed])).toEqual([
    [0, thinking('[redacted]')],
    [1, { type: 'thinking', thinking: '', providerMeta: { signature: '[redacted] sig' } }],
  ]);
});

test('secrets anywhere else in a delta are taken out', () => {
  expect(
    redacted([
      { type: 'response_id', id: 'hunter2' },
      { type: 'tool_use_start', index: 0, name: 'hunter2', id: 'hunter2' },
      { type: 'block', block: { type: 'tool_use', id: '1', name: 'f', input: { a: ['hunter2'] } } },
      { type: 'reset', reason: 'hunter2' },
    ]),
  ).toEqual([
    [0, { type: 'response_id', id: '[redacted]' }],
    [1, { type: 'tool_use_start', index: 0, name: '[redacted]', id: '[redacted]' }],
    [2, { type: 'block', block: { type: 'tool_use', id: '1', name: 'f', input: { a: ['[redacted]'] } } }],
    [3, { type: 'reset', reason: '[redacted]' }],
  ]);
});
