import { expect, test } from 'vitest';

import { REDACTED, redactKeys } from './key-patterns.ts';

test('keys are taken out of a text, and the rest stays', () => {
  expect(redactKeys('use sk-abcdefgh12345678 and {"token":"hush","n":1}')).toBe(
    `use ${REDACTED} and {"token":"${REDACTED}","n":1}`,
  );
});

test('nothing is left of a text that is too long for a pattern', () => {
  expect(redactKeys(`sk-${'a'.repeat(20_000_000)}`)).toBe(REDACTED);
  expect(redactKeys(`{"token":"${'a'.repeat(20_000_000)}"}`)).not.toContain('aaaa');
});
