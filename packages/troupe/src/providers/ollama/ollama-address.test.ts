import { expect, test } from 'vitest';
import { ollamaAddress } from './ollama-address.ts';

test.each([
  ['', 'http://127.0.0.1:11434'],
  [' box ', 'http://box:11434'],
  ['box/ollama/', 'http://box:11434/ollama'],
  ['box:80', 'http://box'],
  [':4711', 'http://127.0.0.1:4711'],
  ['0.0.0.0', 'http://127.0.0.1:11434'],
  [':0', 'http://127.0.0.1:0'],
  ['[::]', 'http://[::1]:11434'],
  ['[fe80::1]:4711', 'http://[fe80::1]:4711'],
  ['http://box', 'http://box'],
  ['https://box/', 'https://box'],
  ['http://0.0.0.0:4711/x', 'http://127.0.0.1:4711/x'],
  ['box?a=1', 'http://box:11434?a=1'],
  ['box:80/x/?a=1', 'http://box/x?a=1'],
  ['https://0.0.0.0/?a=1', 'https://127.0.0.1?a=1'],
  ['0.0.0.0.example.com', 'http://0.0.0.0.example.com:11434'],
])("'%s' is %s", (text, address) => {
  expect(ollamaAddress(text)).toBe(address);
});

test.each([['http://'], ['a b'], ['ftp://box'], ['box:x'], ['me:pw@box'], ['http://me:pw@box'], ['::1']])(
  "'%s' is refused, and not shown",
  (text) => {
    expect(() => ollamaAddress(text)).toThrow(/^The baseUrl of Ollama must [^']*$/);
  },
);
