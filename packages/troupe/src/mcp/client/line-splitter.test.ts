import fc from 'fast-check';
import { expect, test, vi } from 'vitest';

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

test('each byte of a long line is searched once, decoded once and never copied', () => {
  using searches = vi.spyOn(Buffer.prototype, 'indexOf');
  using decodings = vi.spyOn(TextDecoder.prototype, 'decode');
  using copies = vi.spyOn(Buffer, 'concat');
  const splitter = new LineSplitter(2 ** 30);
  const piece = Buffer.alloc(4096, 'x');
  for (let i = 0; i < 1000; i++) expect(splitter.push(piece)).toEqual([]);
  expect(splitter.push(Buffer.from('\n'))).toEqual(['x'.repeat(4_096_000)]);
  const searched = searches.mock.contexts.map(
    (bytes, i) => bytes.length - (Number(searches.mock.calls[i]?.[1]) || 0),
  );
  const decoded = decodings.mock.calls.map(([bytes]) => bytes?.byteLength ?? 0);
  const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);
  expect([sum(searched), sum(decoded), copies.mock.calls]).toEqual([4_096_001, 4_096_000, []]);
});
