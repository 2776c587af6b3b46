import fc from 'fast-check';
import { expect, test } from 'vitest';

import { linesOf } from '../filesystem/file-text.ts';
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

test('a replacement keeps the other lines, the line ends and a byte order mark', () => {
  const line = fc.constantFrom('', 'a', 'b c', '\t', 'é');
  let changes = 0;
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 5 }),
      fc.array(line, { minLength: 1, maxLength: 3 }),
      fc.record({
        mark: fc.constantFrom('', '\uFEFF'),
        end: fc.constantFrom('\n', '\r\n'),
        isClosed: fc.boolean(),
      }),
      fc.tuple(fc.nat(5), fc.nat(5)),
      (lines, added, { mark, end, isClosed }, [from, count]) => {
        const close = isClosed || lines.at(-1) === '' ? end : ''; // an empty last line is visible only by its line end
        const text = mark + (lines.length === 0 ? '' : lines.join(end) + close);
        const start = Math.min(from, lines.length) + 1;
        const changed = replaceLines(text, start, start - 1 + count, `${added.join('\n')}\n`);
        const expected = [...lines.slice(0, start - 1), ...added, ...lines.slice(start - 1 + count)];
        expect(linesOf(changed)).toEqual(expected);
        expect(changed.lastIndexOf('\uFEFF')).toBe(mark === '' ? -1 : 0);
        if (text.includes('\n')) expect(changed.match(/\r?\n/g)?.every((one) => one === end)).toBe(true);
        changes++;
      },
    ),
    { numRuns: 500 },
  );
  expect(changes).toBeGreaterThan(400);
});
