import { expect, test } from 'vitest';

import { withoutSecrets } from './http-error.ts';

const SAID = 'Incorrect API key: k. Ask for a key; check, or look.';

test.each([
  ['a key of one letter stays, as it would be in every other word', SAID, ['k'], SAID],
  [
    'a short key goes where it stands alone',
    'test: a tested test-key',
    ['test'],
    '[redacted]: a tested [redacted]-key',
  ],
  ['a long key goes wherever it stands', 'xxhunter2-4711xx', ['hunter2-4711'], 'xx[redacted]xx'],
  ['no key is none', SAID, [''], SAID],
  ['signs of a key mean themselves', 'a+b.c$ and aab.c$', ['a+b.c$'], '[redacted] and aab.c$'],
])('%s', (_, text, secrets, expected) => {
  expect(withoutSecrets(text, secrets)).toBe(expected);
});
