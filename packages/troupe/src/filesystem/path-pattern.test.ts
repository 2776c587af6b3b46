import fc from 'fast-check';
import { expect, test } from 'vitest';

import { PathPattern } from './path-pattern.ts';

test.each([
  ['a.ts', 'a.ts', true],
  ['a.ts', 'b/a.ts', false],
  ['*.ts', 'a.ts', true],
  ['*.ts', '.ts', true],
  ['*.ts', 'a.tsx', false],
  ['*.ts', 'b/a.ts', false],
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', 'b/c/a.ts', true],
  ['/**/*.ts', 'b/a.ts', true],
  ['src/**', 'src/a/b', true],
  ['src/**', 'lib/a', false],
  ['src/**/test/*', 'src/a/b/test/c', true],
  ['src/**/test/*', 'src/test/a/b', false],
  ['**/**/a', 'a', true],
  ['a*b*c', 'aXXbYYbZc', true],
  ['a*b*c', 'aXXbYY', false],
  ['?.ts', '👍.ts', true],
  ['a?', 'a', false],
  ['*.{ts,tsx}', 'a.tsx', true],
  ['{a,b}/{c,d}', 'b/c', true],
  ['{a,b}/{c,d}', 'b/e', false],
  ['{a}', '{a}', true],
  ['[id].ts', '[id].ts', true],
  ['[id].ts', 'i.ts', false],
  ['cafe\u0301*', 'caf\u00e9.txt', true],
  ['a.b', 'axb', false],
])('%s means %s: %s', (pattern, path, isMeant) => {
  expect(new PathPattern(pattern).matches(path.split('/'))).toBe(isMeant);
});

test.each(['', 'x'.repeat(1001), '{a,b}'.repeat(7), `${'*/'.repeat(20)}${'{a,b}'.repeat(6)}`])(
  '%j is refused',
  (pattern) => {
    expect(() => new PathPattern(pattern)).toThrow(expect.objectContaining({ kind: 'invalid_argument' }));
  },
);

test('stars are no burden', () => {
  expect(new PathPattern('*a'.repeat(100)).matches(['a'.repeat(99)])).toBe(false);
  expect(new PathPattern('**/'.repeat(300) + 'x').matches(Array.from({ length: 300 }, () => 'a'))).toBe(
    false,
  );
});

test('no pattern takes more than a comparison for each of its parts and names', () => {
  for (const pattern of ['**/'.repeat(300) + '*', `**/${'{a,b}'.repeat(6)}/*`, `${'*/**/'.repeat(150)}x`]) {
    let progress = new PathPattern(pattern).start;
    for (let i = 0; i < 100; i++) {
      progress = progress.into('a');
      expect(progress.work).toBeLessThanOrEqual(1_000 * 110);
    }
  }
  const [many, one] = ['**/'.repeat(300) + '*', '**/*'].map((text) => new PathPattern(text).start.into('a'));
  expect(many?.work).toBe(one?.work); // repeated `**` equal a single one
});

test('the steps of a comparison are limited, with any number of stars', () => {
  const work = (pattern: string, name: string): number => new PathPattern(pattern).start.into(name).work;
  expect(work(`*${'a'.repeat(100)}b`, 'a'.repeat(200))).toBeGreaterThan(100 * 100);
  expect(work('*b', 'a'.repeat(200))).toBeLessThan(1_000);
});

test('every match lies in a folder that the pattern reaches', () => {
  const part = fc.constantFrom('a', 'b', '*', '**', '?', '{a,b}', 'a*');
  const name = fc.constantFrom('a', 'b', 'ab');
  let meant = 0;
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 4 }),
      fc.array(name, { minLength: 1, maxLength: 4 }),
      (parts, names) => {
        const pattern = new PathPattern(parts.join('/'));
        // Simple reference implementation.
        const expected = new RegExp(
          `^${parts
            .map((part) =>
              part === '**'
                ? '(?:[^/]+/)*'
                : `${part.replace('*', '[^/]*').replace('?', '[^/]').replace('{a,b}', '[ab]')}/`,
            )
            .join('')}$`,
        ).test(`${names.join('/')}/`);
        expect(pattern.matches(names)).toBe(expected);
        if (!expected) return;
        meant++;
        names.forEach((_, i) => expect(pattern.reachesInto(names.slice(0, i))).toBe(true));
      },
    ),
    { numRuns: 1_000 },
  );
  expect(meant).toBeGreaterThan(50);
  expect(new PathPattern('src/*.ts').reachesInto(['lib'])).toBe(false);
  expect(new PathPattern('src/*.ts').reachesInto(['src', 'a'])).toBe(false);
});
