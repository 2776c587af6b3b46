import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { displayWidth } from './display-width.ts';
import { LineWrapper } from './line-wrapper.ts';

/** The lines of a text that comes in one piece, or in the given ones. */
function wrapped(columns: number, ...pieces: readonly string[]): string[] {
  const wrapper = new LineWrapper();
  return (pieces.map((piece) => wrapper.push(piece, columns)).join('') + wrapper.flush(columns)).split('\n');
}

test.each([
  ['breaks between words', 10, 'one two three four', ['one two', 'three four']],
  ['fills a line to the last column', 7, 'one two three', ['one two', 'three']],
  ['keeps its own lines', 20, 'one\n\ntwo three\n', ['one', '', 'two three', '']],
  ['keeps spaces between words and before them', 20, '  a   b', ['  a   b']],
  ['leaves out the spaces where a line breaks', 5, 'aaaa    bbbb', ['aaaa', 'bbbb']],
  ['shortens an indentation that leaves no place for the word', 6, '    abcde', [' abcde']],
  ['turns tabs into spaces', 20, 'a\tb\t\tc', ['a       b', 'c']],
  ['breaks a word that is wider than a line', 4, 'a bbbbbbbbbb c', ['a', 'bbbb', 'bbbb', 'bb c']],
  ['counts wide characters twice', 7, '日本語 日本', ['日本語', '日本']],
  ['breaks between wide characters', 7, 'ab日本語', ['ab日本', '語']],
  ['does not begin a line with the end of a sentence', 6, '日本語。日', ['日本', '語。日']],
  ['does not end a line with an opening bracket', 6, '日本「語」', ['日本', '「語」']],
  ['breaks between the characters of a script without spaces', 4, 'สวสดครบ', ['สวสด', 'ครบ']],
  ['keeps joined emoji and accents together', 5, 'aaa👩\u200d💻e\u0301', ['aaa', '👩\u200d💻e\u0301']],
])('%s', (_, columns, text, lines) => {
  expect(wrapped(columns, text)).toEqual(lines);
});

describe('text in pieces', () => {
  test('is written as soon as a word is complete', () => {
    const wrapper = new LineWrapper();
    const written = ['Hel', 'lo wor', 'ld, ', 'how', ' are\n', 'you'].map((piece) => wrapper.push(piece, 12));
    expect([...written, wrapper.flush(12)]).toEqual(['', 'Hello', ' world,', '', '\nhow are\n', '', 'you']);
  });

  test('has the lines of the whole text, however it is cut', () => {
    const char = fc.constantFrom('a', 'b', ' ', '\n', '日', '。', '👍', '\t', 'e\u0301', '(', 'ก');
    const texts = fc.array(fc.string({ unit: char, maxLength: 12 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 12 }), texts, (columns, pieces) => {
        const lines = wrapped(columns, ...pieces);
        expect(lines).toEqual(wrapped(columns, pieces.join('')));
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
        const bare = (text: string): string => text.replaceAll(/\s/g, '');
        expect(bare(lines.join(''))).toBe(bare(pieces.join('')));
      }),
    );
  });

  test('breaks half a character at the end of a piece nowhere', () => {
    expect(wrapped(10, 'a \ud83d', '\udc4d b')).toEqual(['a 👍 b']);
  });

  test('goes on where other text has been written', () => {
    const wrapper = new LineWrapper();
    wrapper.start(6);
    expect(wrapper.push('one two ', 10)).toBe('one\ntwo');
  });

  test('follows a terminal that changes its width', () => {
    const wrapper = new LineWrapper();
    expect(wrapper.push('one two three ', 20)).toBe('one two three');
    expect(wrapper.push('four five ', 10)).toBe('\nfour five');
    expect(wrapper.push('six ', 20)).toBe(' six');
  });

  test('holds back no more than a line of spaces, and of letters', () => {
    const wrapper = new LineWrapper();
    let written = 'x'.length;
    wrapper.push('x', 10);
    for (let i = 0; i < 1000; i++)
      written += wrapper.push(i % 2 === 0 ? ' '.repeat(100) : 'y'.repeat(100), 10).length;
    expect(written).toBeGreaterThan(50_000);
    expect(wrapper.flush(10).length).toBeLessThanOrEqual(11);
  });
});
