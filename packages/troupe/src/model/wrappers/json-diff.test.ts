import { expect, test } from 'vitest';

import { jsonDiff } from './json-diff.ts';

test('equal values have no differences', () => {
  const value = { a: [1, { b: null, c: 'x' }], d: true };
  expect(jsonDiff(value, structuredClone(value))).toEqual([]);
  expect(jsonDiff({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([]);
});

test('lists every difference with path, expected and actual value', () => {
  expect(
    jsonDiff(
      { a: [1, 2, 3], i: [1], b: { c: 'x', d: null }, e: [], f: { g: 1 }, h: 'same' },
      { a: [1, 5], i: [1, 2], b: { c: 'y', d: false, n: [1] }, e: {}, f: 'text', h: 'same' },
    ),
  ).toEqual([
    'a[1]: expected 2, actual 5',
    'a[2]: expected 3, actual nothing',
    'i[1]: expected nothing, actual 2',
    'b.c: expected "x", actual "y"',
    'b.d: expected null, actual false',
    'b.n: expected nothing, actual [1]',
    'e: expected [], actual {}',
    'f: expected {"g":1}, actual "text"',
  ]);
  expect(jsonDiff(1, 2)).toEqual(['the value: expected 1, actual 2']);
});

test('of long texts, the place where they part is shown', () => {
  const [line] = jsonDiff(
    { text: `${'same '.repeat(100)}one${' rest'.repeat(100)}` },
    { text: `${'same '.repeat(100)}two` },
  );
  expect(line).toBe(
    `text: expected "…ame same same same same one${' rest'.repeat(10)} re…", actual "…ame same same same same two"`,
  );
});

test('long values are cut', () => {
  const [line = ''] = jsonDiff({ a: Array(100).fill(1) }, { a: 'x'.repeat(1000) });
  expect(line.length).toBeLessThan(250);
  expect(line).toMatch(/^a: expected \[1,1,.*…, actual "x{80}…"$/);
});

test('keys of objects that were never asked for are no difference', () => {
  expect(jsonDiff({}, {})).toEqual([]);
  expect(jsonDiff({ toString: 1 }, {})).toEqual(['toString: expected 1, actual nothing']);
});
