import { expect, test } from 'vitest';

import { ScriptedModel } from '../../testing/scripted-model.ts';
import { PLAIN_CAPABILITIES } from '../chat-model-base.ts';
import { parseTape, tapeHeader } from './tape.ts';

const HEADER = '{"tape":1,"model":"m"}';
const CALL = '{"request":{"messages":[]},"deltas":[[5,{"type":"text","text":"x"}]],"ms":7}';

test('reads the header and the calls', () => {
  const failed = '{"request":{"b":1,"a":2},"deltas":[],"error":{"message":"no","kind":"auth","status":401}}';
  const aborted = '{"request":{},"deltas":[],"ms":1,"aborted":true}';
  expect(parseTape([HEADER, CALL, failed, aborted, ''].join('\n'))).toEqual({
    model: 'm',
    capabilities: PLAIN_CAPABILITIES,
    calls: [
      { request: { messages: [] }, deltas: [[5, { type: 'text', text: 'x' }]], ms: 7 },
      { request: { a: 2, b: 1 }, deltas: [], ms: 0, error: { message: 'no', kind: 'auth', status: 401 } },
      { request: {}, deltas: [], ms: 1, aborted: true },
    ],
  });
});

test('puts the keys of a request in order, as whoever edits a tape may not', () => {
  const [call] = parseTape(`${HEADER}\n{"request":{"b":{"d":1,"c":2},"a":3},"deltas":[]}`).calls;
  expect(JSON.stringify(call?.request)).toBe('{"a":3,"b":{"c":2,"d":1}}');
});

test('the header of a model tells its name and what it can do', () => {
  class Seeing extends ScriptedModel {
    override readonly capabilities = { ...PLAIN_CAPABILITIES, vision: true };
  }
  const header = tapeHeader(new Seeing([], 'my model'));
  expect(header.endsWith('\n')).toBe(true);
  expect(parseTape(header)).toEqual({
    model: 'my model',
    capabilities: { ...PLAIN_CAPABILITIES, vision: true },
    calls: [],
  });
});

test('empty lines, a BOM, CRLF and a second header do not disturb it', () => {
  const text = `\uFEFF${HEADER}\r\n\r\n${CALL}\r\n{"tape":1,"model":"again"}\n\n${CALL}\n`;
  expect(parseTape(text)).toMatchObject({ model: 'm', calls: [{ ms: 7 }, { ms: 7 }] });
});

test.each([
  ['', 'The tape is empty.'],
  ['\n \n', 'The tape is empty.'],
  [CALL, 'Line 1 of the tape is not the header of a tape'],
  ['{"tape":2,"model":"m"}', 'Line 1 of the tape is of version 2, and this library reads version 1.'],
  ['{"tape":1}', 'Line 1 of the tape needs a model, which is a string, not undefined.'],
  [`${HEADER}\n${CALL}\n{"request":{"mess`, 'Line 3 of the tape is not JSON; it may be truncated.'],
  [`${HEADER}\n\n[1]`, 'Line 3 of the tape is an array, not an object.'],
  [`${HEADER}\n{"deltas":[]}`, 'Line 2 of the tape needs a request, which is an object, not undefined.'],
  [`${HEADER}\n{"request":{}}`, 'Line 2 of the tape needs deltas, which are a list, not undefined.'],
  [`${HEADER}\n{"request":{},"deltas":[],"ms":"1"}`, 'Line 2 of the tape needs ms, which is a number'],
  [`${HEADER}\n{"request":{},"deltas":[[1]]}`, 'Line 2 of the tape has an invalid delta 1'],
  [`${HEADER}\n{"request":{},"deltas":[{"type":"text"}]}`, 'has an invalid delta 1'],
  [`${HEADER}\n{"request":{},"deltas":[[1,{"type":"toString"}]]}`, 'has an invalid delta 1'],
  [`${HEADER}\n{"request":{},"deltas":[],"error":"x"}`, 'Line 2 of the tape has an invalid error'],
])('of a corrupt tape, the line is named: %j', (text, message) => {
  expect(() => parseTape(text)).toThrow(expect.objectContaining({ code: 'script_failed' }));
  expect(() => parseTape(text)).toThrow(message);
});

test('a tape that is cut anywhere gives its first calls or names the line, and nothing else happens', () => {
  const whole = `${HEADER}\n${CALL}\n${CALL}\n`;
  const outcomes = new Set<string>();
  for (let end = 0; end <= whole.length; end++) {
    try {
      outcomes.add(`${parseTape(whole.slice(0, end)).calls.length} calls`);
    } catch (error) {
      outcomes.add((error as Error).message);
    }
  }
  expect([...outcomes].sort()).toEqual([
    '0 calls',
    '1 calls',
    '2 calls',
    'Line 1 of the tape is not JSON; it may be truncated.',
    'Line 2 of the tape is not JSON; it may be truncated.',
    'Line 3 of the tape is not JSON; it may be truncated.',
    'The tape is empty.',
  ]);
});
