import { countWork } from '../../../test/counted-work.ts';
import { expect, test } from 'vitest';

import { readFacts } from './facts.ts';

test('reads all that a message has', () => {
  const { words, ...facts } = readFacts(
    'Read "my notes" and ./a.txt from https://x.org/y in docs/guide at 5 Europe/Berlin.',
  );
  expect(facts).toEqual({
    text: 'Read "my notes" and ./a.txt from https://x.org/y in docs/guide at 5 Europe/Berlin.',
    arithmetic: undefined,
    numbers: [5],
    quoted: ['my notes'],
    fileNames: ['./a.txt'],
    folder: 'docs/guide',
    urls: ['https://x.org/y'],
    timeZone: 'Europe/Berlin',
  });
  expect(words.has('berlin')).toBe(true);
});

test.each([
  ["What's up? It's late.", []],
  [`say 'one two' and "three"`, ['one two', 'three']],
  ['“curly” and `code`', ['curly', 'code']],
  ['an open "quote', []],
])('the quoted parts of %j', (text, quoted) => {
  expect(readFacts(text).quoted).toEqual(quoted);
});

test.each([
  ['read notes.txt, please', ['notes.txt']],
  ['cat ../up/a.b.ts!', ['../up/a.b.ts']],
  ['Show me package.json.', ['package.json']],
  ['It costs 3.50, e.g. today. And that is it.', []],
  ['either and/or both, 24/7', []],
])('the file names of %j', (text, fileNames) => {
  expect(readFacts(text).fileNames).toEqual(fileNames);
});

test.each([
  ['list the files in src', 'src'],
  ['list the files in the src folder', 'src'],
  ['what is in packages/troupe today?', 'packages/troupe'],
  ['list the files in this folder', undefined],
  ['list the files in the current directory', undefined],
  ['list files in alphabetical order', undefined],
  ['list files', undefined],
])('the folder of %j', (text, folder) => {
  expect(readFacts(text).folder).toBe(folder);
});

test('the operands of arithmetic are its numbers, signs included', () => {
  expect(readFacts('-3 + 4').numbers).toEqual([-3, 4]);
});

test('only the start of a long message counts', () => {
  expect(readFacts(`${'x '.repeat(5_000)}2 + 3`).arithmetic).toBeUndefined();
});

test.each(['"', "'", '“', '`', '(', '-', '1,', '1.', 'x ', '% of ', '/', '.', ' ', '\n', 'a.', "a'"])(
  'a message of nothing but %j takes few steps',
  async (piece) => {
    const { steps } = await countWork(() => readFacts(piece.repeat(100_000)));
    expect(steps).toBeLessThan(100_000);
  },
);
