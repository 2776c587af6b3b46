import fc from 'fast-check';
import { expect, test } from 'vitest';

import { anyText } from '../../test/arbitraries.ts';
import { textKey } from './text-key.ts';

test.each([
  ['session-1', 'session-1'],
  ["O'Neil; 日本語 👩‍🚀", "O'Neil; 日本語 👩‍🚀"],
  ['', ''],
  ['a\\b', 'a\\005cb'],
  ['a\u0000b', 'a\\0000b'],
  ['\ud83d', '\\d83d'],
  ['\udc00\ud800', '\\dc00\\d800'],
  ['l'.repeat(200), 'l'.repeat(200)],
  ['l'.repeat(201), '\\sha256:d8437cec2f4aac3b1c1405ba758a1896a5035f3420c386c3c6ae53c72a115979'],
])('the key of %j', async (text, key) => {
  expect(await textKey(text)).toBe(key);
});

test('other texts have other keys, which any database keeps as they are', async () => {
  const seen = new Map<string, string>();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        anyText,
        anyText.map((text) => `${text}\\`.repeat(40)),
      ),
      async (text) => {
        const key = await textKey(text);
        expect(key.isWellFormed() && !key.includes('\0') && key.length <= 200).toBe(true);
        expect(seen.get(key) ?? text).toBe(text);
        seen.set(key, text);
      },
    ),
    { numRuns: 500 },
  );
  expect(seen.size).toBeGreaterThan(200);
});
