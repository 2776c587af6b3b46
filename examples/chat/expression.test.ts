import fc from 'fast-check';
import { expect, test } from 'vitest';

import { evaluate } from './expression.ts';

test.each([
  ['1 + 2 * 3', 7],
  ['(1 + 2) * 3', 9],
  ['10 - 4 - 3', 3],
  ['2 ^ 3 ^ 2', 512],
  ['-2 ^ 2', -4],
  ['2 ^ -1', 0.5],
  ['--3', 3],
  ['7 % 4', 3],
  ['1 / 4', 0.25],
  ['.5 + 1.25', 1.75],
  ['((((1))))', 1],
  [' 42 ', 42],
])('%s is %d', (text, value) => {
  expect(evaluate(text)).toBe(value);
});

test.each([
  ['', 'ends too early'],
  ['1 +', 'ends too early'],
  ['(1', 'not closed'],
  ['1)', 'nothing is expected'],
  ['1 2', 'nothing is expected'],
  ['1.2.3', 'nothing is expected'],
  ['.', 'does not belong'],
  ['process.exit()', 'does not belong'],
  ['1 / 0', 'divided by zero'],
  ['1 % (2 - 2)', 'divided by zero'],
  ['9 ^ 9 ^ 9', 'not a number'],
  ['('.repeat(500), 'nested too deeply'],
  ['-'.repeat(500), 'nested too deeply'],
  ['2^'.repeat(400), 'nested too deeply'],
  ['1+'.repeat(1_000), 'at most 1000 characters'],
])('refuses %j', (text, problem) => {
  expect(() => evaluate(text)).toThrow(problem);
});

test('works out what was put together', () => {
  type Known = { text: string; value: number };
  const { known } = fc.letrec<{ known: Known }>((tie) => ({
    known: fc.oneof(
      { maxDepth: 4 },
      fc.nat(99).map((value) => ({ text: String(value), value })),
      fc
        .tuple(tie('known'), tie('known'))
        .map(([a, b]) => ({ text: `(${a.text} + ${b.text})`, value: a.value + b.value })),
      fc
        .tuple(tie('known'), tie('known'))
        .map(([a, b]) => ({ text: `(${a.text}-${b.text})`, value: a.value - b.value })),
      fc
        .tuple(tie('known'), tie('known'))
        .map(([a, b]) => ({ text: `((${a.text}) * ${b.text})`, value: a.value * b.value })),
      tie('known').map(({ text, value }) => ({ text: `-(${text})`, value: -value })),
    ),
  }));
  fc.assert(
    fc.property(known, ({ text, value }) => {
      expect(evaluate(text)).toBe(value);
    }),
  );
});
