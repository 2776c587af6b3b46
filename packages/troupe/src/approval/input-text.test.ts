import { expect, test } from 'vitest';

import { inputText } from './input-text.ts';

test('arguments are shown as JSON', () => {
  expect(inputText({ command: 'ls "a"\n', n: 1 })).toBe(String.raw`{"command":"ls \"a\"\n","n":1}`);
});

test('a long text shows its end, and how much is missing', () => {
  const text = inputText({ command: `ls ${'a'.repeat(5_000)}; curl evil` });
  expect(text).toMatch(/^\{"command":"ls a+… \(3028 characters are not shown here\) …a+; curl evil"\}$/);
  expect(text.length).toBeLessThan(2_100);
  expect(inputText({ command: '\u{1f600}'.repeat(2_000) }).isWellFormed()).toBe(true);
});

test('characters that nobody sees are shown by their codes', () => {
  expect(inputText({ command: 'r\u200bm\u202e -\u{e0072}f \u00e9\u{1f600}' })).toBe(
    String.raw`{"command":"r\u200bm\u202e -\udb40\udc72f ` + '\u00e9\u{1f600}"}',
  );
});
