import { expect, test } from 'vitest';

import { findArithmetic } from './arithmetic.ts';

test.each([
  ['What is 12 * (3 + 4)?', '12 * (3 + 4)'],
  ['2+3', '2 + 3'],
  ['What is 12 plus 7?', '12 + 7'],
  ['144 divided by 12, please', '144 / 12'],
  ['6 times 7', '6 * 7'],
  ['3x4', '3 * 4'],
  ['3 × 4 ÷ 2', '3 * 4 / 2'],
  ['2 ** 10', '2 ^ 10'],
  ['1,234.5 + 1', '1234.5 + 1'],
  ['-3 - -4', '-3 - -4'],
  ['-(2 + 3) * 4', '-(2 + 3) * 4'],
  ['What is 15% of 80?', '15 / 100 * 80'],
  ['15 percent of 80', '15 / 100 * 80'],
  ['Item 2: 3 + 4', '3 + 4'],
  ['3 + 4 - and nothing', '3 + 4'],
  ['计算3*4', '3 * 4'],
])('finds the expression in %j', (text, expression) => {
  expect(findArithmetic(text)?.expression).toBe(expression);
});

test.each([
  'There are 3 files',
  'What happened on 2026-01-31?',
  'report-2024-01.txt',
  'v2.0-3',
  '(3 + ',
  '(3 + 4',
  '2 * (3 + 4',
  '3 +',
  '+ 4',
  'a plus b',
  '* 3',
  '()',
  '',
])('finds none in %j', (text) => {
  expect(findArithmetic(text)).toBeUndefined();
});

test('gives the operands and operators of a flat expression, and no operands of one with brackets', () => {
  expect(findArithmetic('8 - -2 + 1')).toEqual({
    expression: '8 - -2 + 1',
    operands: [8, -2, 1],
    operators: ['-', '+'],
  });
  expect(findArithmetic('2 * (3 + 4)')).toMatchObject({ operands: [], operators: ['*', '+'] });
});

test('names of object members are no operators', () => {
  expect(findArithmetic('3 constructor 4')).toBeUndefined();
  expect(findArithmetic('3 __proto__ 4')).toBeUndefined();
});
