import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContentBlock } from './blocks.ts';
import { findHistoryFaults } from './history.ts';
import { Msg } from './msg.ts';

const call = (id: string): ContentBlock => ({ type: 'tool_use', id, name: 'tool', input: {} });
const result = (id: string): ContentBlock => ({
  type: 'tool_result',
  id,
  name: 'tool',
  output: '',
  status: 'ok',
});
const text: ContentBlock = { type: 'text', text: '…' };

/** `'a?'` is a call, `'a!'` a result, anything else text. */
function block(word: string): ContentBlock {
  if (word.endsWith('?')) return call(word.slice(0, -1));
  return word.endsWith('!') ? result(word.slice(0, -1)) : text;
}

/** Each string is a message, each word in it a block: `history('hi', 'a? b?', 'b! a!')`. */
const history = (...msgs: string[]): Msg[] =>
  msgs.map((words) => Msg.assistant(words === '' ? [] : words.split(' ').map(block)));

test.each<[string, string[]]>([
  ['nothing', []],
  ['no calls', ['hi', 'hello']],
  ['a call and its result', ['hi', 'a?', 'a!', 'done']],
  ['a result beside text', ['a?', 'a! text', 'done']],
  ['several results in one message', ['a? b?', 'b! a!']],
  ['several results in several messages', ['a? b? c?', 'b!', 'c!', 'a!', 'hi']],
  ['the next calls in the message of the last result', ['a? b?', 'a!', 'b! c?', 'c!']],
  ['two turns', ['a?', 'a!', 'b?', 'b!']],
])('%s is valid', (_, msgs) => {
  expect(findHistoryFaults(history(...msgs))).toEqual([]);
});

test.each<[string, string[], string[]]>([
  ['a call at the end', ['hi', 'a?'], ["the tool call 'a' at the end has no result"]],
  ['half the results', ['a? b?', 'b!'], ["the tool call 'a' at the end has no result"]],
  ['no result', ['a?', 'hi'], ["message 1 comes before the result of the tool call 'a'"]],
  [
    'a result that is not next to its call',
    ['a?', 'hi', 'a!'],
    [
      "message 1 comes before the result of the tool call 'a'",
      "message 2 has a result for 'a', but no tool call waits for it",
    ],
  ],
  [
    'an empty message in between',
    ['a?', '', 'a!'],
    [
      "message 1 comes before the result of the tool call 'a'",
      "message 2 has a result for 'a', but no tool call waits for it",
    ],
  ],
  [
    'a result without a call',
    ['hi', 'a!'],
    ["message 1 has a result for 'a', but no tool call waits for it"],
  ],
  [
    'a result before its call',
    ['a!', 'a?', 'a!'],
    ["message 0 has a result for 'a', but no tool call waits for it"],
  ],
  [
    'a result beside its call',
    ['a? a!'],
    [
      "message 0 has a result for 'a', but no tool call waits for it",
      "the tool call 'a' at the end has no result",
    ],
  ],
  ['two results', ['a?', 'a! a!'], ["message 1 has a result for 'a', but no tool call waits for it"]],
  [
    'two results in two messages',
    ['a?', 'a!', 'a!'],
    ["message 2 has a result for 'a', but no tool call waits for it"],
  ],
  ['an id twice in a message', ['a? a?', 'a!'], ["message 0 uses the tool call id 'a' again"]],
  ['an id again later', ['a?', 'a!', 'a?', 'a!'], ["message 2 uses the tool call id 'a' again"]],
  [
    'a new call before the results are there',
    ['a? b?', 'a! c?', 'b!', 'c!'],
    [
      "message 1 comes before the result of the tool call 'b'",
      "message 2 has a result for 'b', but no tool call waits for it",
    ],
  ],
  [
    'ids of JavaScript',
    ['__proto__?', 'constructor!'],
    [
      "message 1 has a result for 'constructor', but no tool call waits for it",
      "the tool call '__proto__' at the end has no result",
    ],
  ],
])('%s is a fault', (_, msgs, faults) => {
  expect(findHistoryFaults(history(...msgs))).toEqual(faults);
});

/** Rules of a strict provider, written a second time and slowly. */
function isValid(msgs: readonly string[]): boolean {
  const blocks = msgs.flatMap((words, at) => words.split(' ').map((word) => ({ word, at })));
  const calls = blocks
    .filter(({ word }) => word.endsWith('?'))
    .map(({ word, at }) => ({ id: word.slice(0, -1), at }));
  const results = blocks
    .filter(({ word }) => word.endsWith('!'))
    .map(({ word, at }) => ({ id: word.slice(0, -1), at }));
  const has = (at: number, mark: string): boolean =>
    msgs[at]?.split(' ').some((word) => word.endsWith(mark)) ?? false;

  const idsAreUnique = new Set(calls.map(({ id }) => id)).size === calls.length;
  const allCallsHaveOneResult = calls.every(
    ({ id }) => results.filter((result) => result.id === id).length === 1,
  );
  const allResultsHaveACall = results.every(({ id }) => calls.some((call) => call.id === id));
  const allAreNextToTheirCalls = calls.every((call) => {
    const result = results.find(({ id }) => id === call.id);
    if (result === undefined || result.at <= call.at) return false;
    for (let at = call.at + 1; at <= result.at; at++) {
      if (!has(at, '!') || (at < result.at && has(at, '?'))) return false;
    }
    return true;
  });
  return idsAreUnique && allCallsHaveOneResult && allResultsHaveACall && allAreNextToTheirCalls;
}

const anyId = fc.constantFrom('a', 'b', 'c', 'd');
const anyWord = fc.oneof(
  { weight: 2, arbitrary: anyId.map((id) => `${id}?`) },
  { weight: 2, arbitrary: anyId.map((id) => `${id}!`) },
  { weight: 1, arbitrary: fc.constant('text') },
);
const anything = fc.array(
  fc.array(anyWord, { maxLength: 3 }).map((words) => words.join(' ')),
  { maxLength: 6 },
);

/** Valid histories, of which some are then spoilt by one change. */
const nearlyValid = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.boolean()), { maxLength: 4 })
  .chain((turns) => {
    const msgs: string[] = [];
    let next = 0;
    for (const [count, isSplit, isReversed] of turns) {
      const ids = Array.from({ length: count }, () => `x${next++}`);
      msgs.push(['text', ...ids.map((id) => `${id}?`)].join(' '));
      const results = (isReversed ? ids.toReversed() : ids).map((id) => `${id}!`);
      if (isSplit) msgs.push(...results);
      else if (results.length > 0) msgs.push(results.join(' '));
    }
    return fc.tuple(
      fc.constant(msgs),
      fc.nat(12),
      fc.constantFrom('nothing', 'drop', 'double', 'swap', 'talk'),
    );
  })
  .map(([msgs, at, spoil]) => {
    const spoilt = [...msgs];
    const [here, next] = [spoilt[at], spoilt[at + 1]];
    if (here === undefined) return spoilt;
    if (spoil === 'drop') spoilt.splice(at, 1);
    if (spoil === 'double') spoilt.splice(at, 0, here);
    if (spoil === 'talk') spoilt.splice(at, 0, 'text');
    if (spoil === 'swap' && next !== undefined) spoilt.splice(at, 2, next, here);
    return spoilt;
  });

test('finds the same faults as a slower definition', () => {
  const count = { valid: 0, faulty: 0 };
  fc.assert(
    fc.property(fc.oneof(anything, nearlyValid), (msgs) => {
      const faults = findHistoryFaults(history(...msgs));
      expect(faults.length === 0).toBe(isValid(msgs));
      count[faults.length === 0 ? 'valid' : 'faulty']++;
    }),
    { numRuns: 1000 },
  );
  expect(count.valid).toBeGreaterThan(100);
  expect(count.faulty).toBeGreaterThan(100);
});
