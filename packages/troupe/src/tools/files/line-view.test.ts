import { expect, test } from 'vitest';

import { replaceLines } from './line-view.ts';

test.each([
  // text, first and last line, content, result
  ['', 1, 0, 'a', 'a'],
  ['', 1, 0, 'a\n', 'a\n'],
  ['a\nb\n', 1, 0, 'x', 'x\na\nb\n'],
  ['a\nb\n', 3, 2, 'x', 'a\nb\nx\n'],
  ['a\nb', 3, 2, 'x', 'a\nb\nx'],
  ['a\nb', 3, 2, 'x\n', 'a\nb\nx\n'],
  ['a\nb\nc\n', 2, 2, 'x', 'a\nx\nc\n'],
  ['a\nb\nc\n', 2, 2, 'x\ny\n', 'a\nx\ny\nc\n'],
  ['a\nb\nc\n', 2, 3, '', 'a\n'],
  ['a\nb\nc\n', 1, 3, 'x', 'x\n'],
  ['a\nb\nc', 3, 3, 'x', 'a\nb\nx'],
  ['a\r\nb\r\n', 2, 2, 'x\ny', 'a\r\nx\r\ny\r\n'],
])('in %j, lines %i to %i become %j', (text, start, end, content, expected) => {
  expect(replaceLines(text, start, end, content)).toBe(expected);
});
