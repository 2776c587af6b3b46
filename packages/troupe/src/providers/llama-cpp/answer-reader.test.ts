import { expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { EnvelopeReader, TextReader, type AnswerReader } from './answer-reader.ts';
import { callText, sayText } from './envelope.ts';

/** Deltas of a reader with adjacent texts joined, comparable for every split. */
function readAll(reader: AnswerReader, pieces: readonly string[]) {
  const deltas: ModelDelta[] = [];
  for (const delta of pieces.flatMap((piece) => reader.read(piece))) {
    const last = deltas.at(-1);
    if (delta.type === 'text' && last?.type === 'text')
      deltas.splice(-1, 1, { ...last, text: last.text + delta.text });
    else if (delta.type === 'tool_input' && last?.type === 'tool_input') {
      deltas.splice(-1, 1, { ...last, json: last.json + delta.json });
    } else deltas.push(delta);
  }
  return { deltas, isOver: reader.isOver, hasCall: reader.hasCall };
}

const said = 'A "quote", a \\ backslash, {braces}],\ttab\n\u0001 é 😀 \u2028 end';
const input = { text: 'a "}" in \\" text', list: [{ a: [1, []] }, {}], empty: '' };
const structured = { answer: '{"', list: [['}']], '"': {} };

const cases = {
  'what is said': {
    isStructured: false,
    text: sayText(said),
    deltas: [{ type: 'text', text: said }],
    hasCall: false,
  },
  'escapes of every kind': {
    isStructured: false,
    text: String.raw`{"say": "\u0041\/\b\f\r\u00e9\\u0041\""}`,
    deltas: [{ type: 'text', text: 'A/\b\f\ré\\u0041"' }],
    hasCall: false,
  },
  'a call': {
    isStructured: false,
    text: callText('do_it', input),
    deltas: [
      { type: 'tool_use_start', index: 0, name: 'do_it' },
      { type: 'tool_input', index: 0, json: callText('do_it', input).slice(31, -1) },
      { type: 'tool_use_end', index: 0 },
    ],
    hasCall: true,
  },
  'a call of a tool with an odd name, without arguments': {
    isStructured: true,
    text: callText('say "x", "arguments": {', {}),
    deltas: [
      { type: 'tool_use_start', index: 0, name: 'say "x", "arguments": {' },
      { type: 'tool_input', index: 0, json: '{}' },
      { type: 'tool_use_end', index: 0 },
    ],
    hasCall: true,
  },
  'several calls': {
    isStructured: false,
    text: `${callText('f', { a: '\n}' })}\n${callText('g', {})}\n${callText('f', { b: [[]] })}`,
    deltas: [
      { type: 'tool_use_start', index: 0, name: 'f' },
      { type: 'tool_input', index: 0, json: '{"a": "\\n}"}' },
      { type: 'tool_use_end', index: 0 },
      { type: 'tool_use_start', index: 1, name: 'g' },
      { type: 'tool_input', index: 1, json: '{}' },
      { type: 'tool_use_end', index: 1 },
      { type: 'tool_use_start', index: 2, name: 'f' },
      { type: 'tool_input', index: 2, json: '{"b": [[]]}' },
      { type: 'tool_use_end', index: 2 },
    ],
    hasCall: true,
  },
  'JSON of a schema': {
    isStructured: true,
    text: `{"say": ${JSON.stringify(structured)}}`,
    deltas: [{ type: 'text', text: JSON.stringify(structured) }],
    hasCall: false,
  },
  'JSON that is a string': {
    isStructured: true,
    text: '{"say": "a \\" }"}',
    deltas: [{ type: 'text', text: '"a \\" }"' }],
    hasCall: false,
  },
} as const;

test.each(Object.entries(cases))('%s: whole, at every split, character by character', (_, answer) => {
  const { isStructured, text, deltas, hasCall } = answer;
  const expected = { deltas, isOver: true, hasCall };
  expect(readAll(new EnvelopeReader(isStructured), [text])).toEqual(expected);
  for (let at = 1; at < text.length; at++) {
    const pieces = [text.slice(0, at), text.slice(at)];
    expect(readAll(new EnvelopeReader(isStructured), pieces), `split at ${at}`).toEqual(expected);
  }
  expect(readAll(new EnvelopeReader(isStructured), [...text])).toEqual(expected);
});

test('the arguments of the call are the JSON that they were', () => {
  expect(JSON.parse(callText('do_it', input).slice(31, -1))).toEqual(input);
});

test('text is told as soon as it is known', () => {
  const reader = new EnvelopeReader(false);
  expect(reader.read('{"say')).toEqual([]);
  expect(reader.read('": "He')).toEqual([{ type: 'text', text: 'He' }]);
  expect(reader.read('llo\\')).toEqual([{ type: 'text', text: 'llo' }]);
  expect(reader.read('u00')).toEqual([]);
  expect(reader.read('21 ')).toEqual([{ type: 'text', text: '! ' }]);
  expect(reader.isOver).toBe(false);
  expect(reader.read('"')).toEqual([]);
  expect(reader.isOver).toBe(true);
  expect(reader.read('}')).toEqual([]);
});

test('a call that is cut off has no end', () => {
  const text = callText('f', { a: '}' });
  for (let at = 0; at < text.length; at++) {
    const { deltas, isOver, hasCall } = readAll(new EnvelopeReader(false), [text.slice(0, at)]);
    expect({ isOver, hasCall }, `cut at ${at}`).toEqual({ isOver: false, hasCall: false });
    expect(deltas.filter((delta) => delta.type === 'tool_use_end')).toEqual([]);
  }
});

test('behind a line break another call is missing', () => {
  const one = callText('f', {});
  expect(readAll(new EnvelopeReader(false), [one])).toMatchObject({ isOver: true, hasCall: true });
  expect(readAll(new EnvelopeReader(false), [one, '\n'])).toMatchObject({ isOver: false, hasCall: true });
  expect(readAll(new EnvelopeReader(false), [`${one}\n${one.slice(0, -1)}`])).toMatchObject({
    isOver: false,
  });
});

test('plain text is passed on as it is', () => {
  expect(readAll(new TextReader(), ['{"say', '', '": "x"}'])).toEqual({
    deltas: [{ type: 'text', text: '{"say": "x"}' }],
    isOver: false,
    hasCall: false,
  });
});
