import { expect, test } from 'vitest';

import { TroupeError } from '../errors.ts';
import { checkNumber, MAX_TIMER_MS } from './check-number.ts';

test('takes a number in its range, the ends included', () => {
  for (const value of [1, 1.5, 2]) checkNumber('n', value, { least: 1, most: 2 });
  checkNumber('n', 3, { least: 1, whole: true });
  checkNumber('n', Infinity, { least: 1 });
  checkNumber('n', MAX_TIMER_MS, { least: 0, most: MAX_TIMER_MS, whole: undefined });
});

test.each([
  [0, { least: 1 }, 'n must be a number of 1 or more.'],
  [NaN, { least: 1 }, 'n must be a number of 1 or more.'],
  [2.5, { least: 1, most: 2 }, 'n must be a number from 1 to 2.'],
  [1.5, { least: 1, whole: true }, 'n must be a whole number of 1 or more.'],
  [Infinity, { least: 1, whole: true }, 'n must be a whole number of 1 or more.'],
])('refuses %s in %j, and names the option', (value, range, message) => {
  expect(() => checkNumber('n', value, range)).toThrow(new TroupeError('invalid_config', message));
});
