import { createHash } from 'node:crypto';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { anyText } from '../../../test/arbitraries.ts';
import { isStoredId, keyName, idOfStored, toSessionKey, toStoredId } from './session-key.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test.each([
  ['chat', 'chat'],
  ['anna@example.com', 'anna@example.com'],
  ['2f1c9a52-6e0d-4c4e-9d4b-2a1f0b7f8a11', '2f1c9a52-6e0d-4c4e-9d4b-2a1f0b7f8a11'],
  ['A.b_C-d@e', 'A.b_C-d@e'],
  ['x'.repeat(128), 'x'.repeat(128)],
  ['auth0|123', 'auth0=7c123'],
  ['a/b', 'a=2fb'],
  ['a=b', 'a=3db'],
  ['..', '=2e=2e'],
  ['../x', '=2e.=2fx'],
  ['a..b', 'a.=2eb'],
  ['a...b', 'a.=2e.b'],
  ['a.', 'a=2e'],
  ['.a', '=2ea'],
  ['-rf', '=2drf'],
  ['con', '=63on'],
  ['NUL.txt', '=4eUL.txt'],
  ['naïve', 'na=c3=afve'],
  ['nai\u0308ve', 'nai=cc=88ve'],
  ['\0', '=00'],
  ['x'.repeat(129), `${'x'.repeat(40)}==${sha256('x'.repeat(129))}`],
  [`con.${'ü'.repeat(60)}`, `=63on.${'=c3=bc'.repeat(5)}=c3==${sha256(`con.${'ü'.repeat(60)}`)}`],
])('the id %j is stored as %j', async (id, stored) => {
  expect(await toStoredId(id)).toBe(stored);
  expect(idOfStored(stored)).toBe(stored.includes('==') ? undefined : id);
});

test('stored ids are safe names, differ where ids differ, and tell the id unless it is long', async () => {
  const seen = new Map<string, string>();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        anyText,
        anyText.map((text) => `${text}=`.repeat(20)),
        fc.string({ unit: fc.constantFrom(...Array.from('aAcCoOnN.=@_-~/2e')) }),
      ),
      async (text) => {
        const id = text.toWellFormed();
        if (id === '' || id.length > 1024) return;
        const stored = await toStoredId(id);
        expect(stored).toMatch(/^[A-Za-z0-9=]([A-Za-z0-9@._=-]*[A-Za-z0-9@_=-])?$/);
        expect([isStoredId(stored), stored.includes('..'), stored.length <= 128]).toEqual([
          true,
          false,
          true,
        ]);
        expect(seen.get(stored) ?? id).toBe(id);
        if (!stored.includes('==')) expect(idOfStored(stored)).toBe(id);
        seen.set(stored, id);
      },
    ),
    { numRuns: 2000 },
  );
  expect(seen.size).toBeGreaterThan(500);
});

test.each(['', '.', '..', 'a/b', 'a..b', 'a.', 'con', 'é', '-a', '~', 'x'.repeat(201)])(
  'the text %j is no stored id',
  (text) => expect(isStoredId(text)).toBe(false),
);

test.each(['a=', 'a=2', 'a=2F', 'a=61', 'a=c3', 'a=ff'])('the stored text %j tells no id', (text) => {
  expect(idOfStored(text)).toBeUndefined();
});

test('messages show ids as they were given, and the beginning of long ones', async () => {
  expect(keyName(await toSessionKey('a/b'))).toBe("'a/b'");
  const long = { user: 'Jürgen', session: 'y'.repeat(300) };
  expect(keyName(await toSessionKey(long))).toBe(`'${'y'.repeat(40)}…' of user 'Jürgen'`);
});
