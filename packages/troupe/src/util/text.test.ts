import { expect, test } from 'vitest';

import { cutText } from './text.ts';

test.each([
  ['short', 5, 'short'],
  ['longer', 5, 'long…'],
  ['abc👍d', 5, 'abc…'], // no half a thumb
  ['ab👍cd', 5, 'ab👍…'],
])('%j cut to %i characters is %j', (text, maxChars, expected) => {
  expect(cutText(text, maxChars)).toBe(expected);
});
