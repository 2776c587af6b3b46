import fc from 'fast-check';
import { expect, test } from 'vitest';

import { LineSplitter } from './line-splitter.ts';

test('the lines are the same, however the bytes are cut', () => {
  const lines = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', '')));
  fc.assert(
    fc.property(lines, fc.array(fc.nat({ max: 20 }), { minLength: 1 }), (lines, sizes) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const splitter = new LineSplitter(10_000);
      const found: string[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = Math.max(1, sizes[i % sizes.length] ?? 1);
        found.push(...splitter.push(bytes.subarray(at, at + size)));
        at += size;
      }
      expect(found).toEqual(lines);
    }),
  );
});

test('a line may be as long as the limit, and not longer', () => {
  const splitter = new LineSplitter(4);
  expect(splitter.push(Buffer.from('1234\n123'))).toEqual(['1234']);
  expect(splitter.push(Buffer.from('4\n'))).toEqual(['1234']);
  expect(() => splitter.push(Buffer.from('12345'))).toThrow('The line is too long.');
});

test('takes time in proportion to the length of a line', () => {
  const time = (pieces: number): number => {
    const splitter = new LineSplitter(2 ** 30);
    const piece = Buffer.alloc(4096, 'x');
    const start = performance.now();
    for (let i = 0; i < pieces; i++) splitter.push(piece);
    splitter.push(Buffer.from('\n'));
    return performance.now() - start;
  };
  time(1000);
  expect(time(8000)).toBeLessThan(40 * Math.max(time(1000), 2)); // quadratic work would take 64 times as long
});
