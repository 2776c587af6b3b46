import fc from 'fast-check';
import { expect, test } from 'vitest';

import { countOccurrences, replaceAll } from './occurrences.ts';

test('long texts are found and replaced as short ones are', () => {
  let several = 0;
  const piece = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(piece, fc.array(piece, { maxLength: 12 }), (wanted, around) => {
      const text = around.flatMap((part) => [part, wanted]).join('');
      const long = (short: string): string =>
        short.replaceAll('a', 'A'.repeat(101)).replaceAll('b', 'B$&'.repeat(40));
      const expected = countOccurrences(wanted, text);
      if (expected.count > 1) several++;
      expect(replaceAll(text, wanted, '$&x')).toBe(text.split(wanted).join('$&x'));
      expect(expected.count).toBe(text.split(wanted).length - 1);
      expect(replaceAll(long(text), long(wanted), '$&x')).toBe(long(text).split(long(wanted)).join('$&x'));
      expect(countOccurrences(long(wanted), long(text)).count).toBe(
        long(text).split(long(wanted)).length - 1,
      );
    }),
    { numRuns: 300 },
  );
  expect(several).toBeGreaterThan(50);
});

test('overlapping places are several', () => {
  const long = `x${'y'.repeat(200)}x`;
  expect(countOccurrences('aa', 'aaa')).toEqual({ count: 1, isUnique: false });
  expect(countOccurrences(long, `${long}${long.slice(1)}`)).toEqual({ count: 1, isUnique: false });
  expect(countOccurrences(long, `..${long}..`)).toEqual({ count: 1, isUnique: true });
  expect(countOccurrences(long, long.slice(1))).toEqual({ count: 0, isUnique: false });
});

test('a long text with many partial matches is found in linear time', () => {
  // The engine's own search would take half a minute.
  const wanted = `${'a'.repeat(100_000)}b${'a'.repeat(100_000)}`;
  expect(countOccurrences(wanted, 'a'.repeat(1_500_000)).count).toBe(0);
});
