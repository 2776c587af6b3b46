import fc from 'fast-check';
import { expect, test } from 'vitest';

import { LinePattern } from './line-pattern.ts';

test.each([
  ['foo', 'a foo b', true],
  ['foo', 'a fo b', false],
  ['^foo$', 'foo', true],
  ['^foo$', 'foo ', false],
  ['class \\w+Tool', 'export class FileTool {', true],
  ['\\bif\\b', 'elif', false],
  ['\\bif\\b', 'else if (', true],
  ['a\\Bb', 'ab', true],
  ['TODO|FIXME', '// FIXME', true],
  ['(a|bc)+d', 'xabcad', true],
  ['a{2,3}b', 'xaab', true],
  ['^a{2,3}$', 'aaaa', false],
  ['a{2,}$', 'aaaa', true],
  ['a{2}$', 'ba', false],
  ['[^a-z]', 'abc', false],
  ['[\\w\\-]+@', 'a-b@', true],
  ['[a\\]]x', ']x', true],
  ['\\d{3}', '12a456', true],
  ['fn \\{', 'fn {', true],
  ['fn {', 'fn {', true],
  ['a{,2}', 'a{,2}', true],
  ['\\"x\\"', '"x"', true],
  ['\\/\\/', '//', true],
  ['/a', '/a', true],
  ['(?:a)(?<n>b)', 'ab', true],
  ['a.c', 'a👍c', true],
  ['^.$', '👍', true],
  ['\\u{1F44D}', '👍', true],
  ['\\p{Lu}', 'aBc', true],
  ['a*?b', 'aab', true],
  ['()', '', true],
  ['x|', 'anything', true],
  ['(a*)*b', 'aac', false],
  ['(|a)+$', 'aa', true],
])('%s in %j: %s', (pattern, line, isMatch) => {
  expect(new LinePattern(pattern).test(line)).toBe(isMatch);
});

test('upper and lower case match with ignoreCase', () => {
  expect(new LinePattern('straße|[a-c]{2}', { ignoreCase: true }).test('STRAßE')).toBe(true);
  expect(new LinePattern('foo', { ignoreCase: true }).test('FOO')).toBe(true);
  expect(new LinePattern('foo').test('FOO')).toBe(false);
});

test.each([
  ['', 'is empty'],
  ['(a', "has a '(' without its ')'"],
  ['a)', "has a ')' without its '('"],
  ['[a', "has a '[' without its ']'"],
  ['a\\', 'ends in a backslash'],
  ['*a', 'repeats nothing'],
  ['(+)', 'repeats nothing'],
  ['{2}', 'repeats nothing'],
  ['a**', 'repeats a repetition'],
  ['a{2}{3}', 'repeats a repetition'],
  ['^*', 'repeats an assertion, which has no length'],
  ['a{3,2}', 'out of order'],
  ['[z-a]', "has the invalid part '[z-a]'"],
  ['(a)\\1', 'has a back-reference'],
  ['\\k<a>', 'has a back-reference'],
  ['a(?=b)', 'has a lookaround'],
  ['(?<!b)a', 'has a lookaround'],
  ['(?i)a', 'sets flags such as (?i), which is not supported. To ignore case, use the option for it.'],
  ['(?-s:a)', 'sets flags'],
  ['(?P<n>a)', 'not supported'],
  ['\\Aa', "has '\\A', which is not supported"],
  ['[\\h]', "has '\\h', which is not supported"],
  ['\\cA', 'not supported'],
  ['\\p{Greek}', "has the invalid part '\\p{Greek}'"],
  ['\\u{110000}', 'has the invalid part'],
  ['\\<a\\>', "has '\\<'. The edge of a word is \\b."],
  ['[[:alpha:]]+', "has '[[:alpha:]', which is not supported. Use \\w, \\d, \\s or ranges."],
  ['(?<a', 'not supported'],
  ['((a{50}){50}){50}', 'repeats too much'],
  ['a{99999999}', 'repeats too much'],
  ['('.repeat(200) + 'a' + ')'.repeat(200), 'nested too deeply'],
  ['x'.repeat(1001), 'longer than 1000'],
])('%s is refused', (pattern, problem) => {
  expect(() => new LinePattern(pattern)).toThrow(problem);
  expect(() => new LinePattern(pattern)).toThrow(expect.objectContaining({ kind: 'invalid_argument' }));
});

test.each([
  '(a+)+$',
  '^(a|a)*$',
  '(a|aa)+$',
  '(.*)*x',
  'a*a*a*a*a*a*x',
  '(a?){20}a{20}$',
  '^(([a-z])+.)+[A-Z]$',
])('%s takes no longer for being hard', (pattern) => {
  // JavaScript's own engine would practically never finish these.
  expect(new LinePattern(pattern).test(`${'a'.repeat(3_000)}!`)).toBe(false);
});

test.each(['(){99999999999}x', '((){99999}){99999}x', '(?:a{0}){999999999}x', '((|){0}){999999999,}x'])(
  '%s is no more than what it repeats',
  (pattern) => {
    expect(new LinePattern(pattern).test('ax')).toBe(true);
    expect(new LinePattern(pattern).test('a')).toBe(false);
  },
);

test('hard patterns run in slices, with more pauses for harder ones', () => {
  let seed = 1;
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647);
  const line = Array.from({ length: 20_000 }, () => 'ab'[(next() >> 8) % 2]).join('');
  const pausesOf = (pattern: string): number => {
    const search = new LinePattern(pattern).search(line);
    let pauses = 0;
    for (let step = search.next(); !step.done; step = search.next()) {
      expect(step.value).toBeLessThan(150_000);
      pauses++;
    }
    return pauses;
  };
  expect(pausesOf('(a|b)c')).toBe(0);
  expect(pausesOf('[ab]*a[ab]{1000}x')).toBeGreaterThan(100);
});

test('a long text without signs is sought bit by bit, too, and found', () => {
  const wanted = `${'a'.repeat(500)}b${'a'.repeat(499)}`;
  const line = 'a'.repeat(99_000);
  expect(new LinePattern(wanted).search(line).next()).toMatchObject({ done: false });
  expect(new LinePattern(wanted).test(line)).toBe(false);
  expect(new LinePattern(wanted).test(line + wanted)).toBe(true);
});

test('the state cache is limited, and matching continues', () => {
  const pattern = new LinePattern('(?:a|b)[ab]{10}c$');
  const expected = /(?:a|b)[ab]{10}c$/;
  let matches = 0;
  for (let i = 0; i < 60; i++) {
    const chars = Array.from({ length: 400 }, (_, j) => 'abé'[(i * j * j + j) % 3] ?? '');
    const line = `${chars.join('')}${String.fromCodePoint(0x4e00 + i * 7)}${'ab'.repeat(i % 12)}c`;
    const words = Array.from({ length: 400 }, (_, j) => String.fromCodePoint(0x5000 + i * 400 + j)).join('');
    expect(pattern.test(words + line)).toBe(expected.test(words + line));
    matches += Number(pattern.test(line));
  }
  expect(matches).toBeGreaterThan(5);
});

test('finds the same matches as JavaScript', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\w',
    '\\W',
    '\\d',
    '\\s',
    '^',
    '$',
    '\\b',
    '\\B',
    '-',
    '1',
  );
  const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
    pattern: fc.array(tie('piece'), { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join('')),
    piece: fc.oneof(
      { maxDepth: 3 },
      atom,
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,2}', '{0,}', '*?', ''))
        .map(([inner, range]) => `(?:${inner})${range}`),
      fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(${one}|${other})`),
    ),
  }));
  // No surrogate pairs: V8 finds a \B inside them.
  const line = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', '-', 'é'), maxLength: 8 });
  let matches = 0;
  fc.assert(
    fc.property(pattern, line, fc.boolean(), (pattern, line, ignoreCase) => {
      const expected = new RegExp(pattern, ignoreCase ? 'ui' : 'u').test(line);
      matches += Number(expected);
      expect(new LinePattern(pattern, { ignoreCase }).test(line)).toBe(expected);
    }),
    { numRuns: 1_500 },
  );
  expect(matches).toBeGreaterThan(300);
});
