import { expect, test } from 'vitest';

import { charWidth, cutToWidth, displayWidth } from './display-width.ts';

test.each([
  ['plain', 5],
  ['日本語', 6],
  ['한국어', 6],
  ['ｆｕｌｌ', 8],
  ['e\u0301', 1], // an accent on its letter
  ['👍', 2],
  ['𠀀', 2],
  ['→ … ä €', 7],
])('%s is as wide as %i columns', (text, columns) => {
  expect(displayWidth(text)).toBe(columns);
});

test('a line of a box, a joiner and a variation selector are narrow', () => {
  expect(['─', '\u200d', '\ufe0f'].map(charWidth)).toEqual([1, 0, 0]);
});

test.each([
  ['short', 5, 'short'],
  ['longer', 5, 'long…'],
  ['日本語', 6, '日本語'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['ab👍cd', 5, 'ab👍…'],
  ['ab👍cd', 4, 'ab…'],
  ['', 0, ''],
])('%j cut to %i columns is %j', (text, columns, expected) => {
  expect(cutToWidth(text, columns)).toBe(expected);
});
