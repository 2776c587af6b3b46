import { describe, expect, it } from 'vitest';
import { MarkdownSpeech, SentenceSplitter } from './speech-text.ts';

function spoken(pieces: readonly string[]): string {
  const filter = new MarkdownSpeech();
  return pieces.map((piece) => filter.feed(piece)).join('') + filter.end();
}

function sentences(pieces: readonly string[]): readonly string[] {
  const splitter = new SentenceSplitter();
  return [...pieces.flatMap((piece) => splitter.feed(piece)), ...splitter.end()];
}

const MARKDOWN = [
  '# The **weather**',
  '',
  'It is _sunny_ in [Lisbon](https://example.com/lisbon_(city)): see `forecast.json`, snake_case and 2 * 3.',
  '',
  '| city | °C |',
  '|---|---|',
  '| Lisbon | 21 |',
  '```ts',
  'const secret = "do not read";',
  '```',
  '- Take *sunglasses*!',
  '---',
  '> Read https://weather.example.com/today?x=1 <b>now</b>.',
].join('\n');

describe('MarkdownSpeech', () => {
  const expected = [
    'The weather',
    '',
    'It is sunny in Lisbon): see forecast.json, snake_case and 2  3.',
    '',
    'Take sunglasses!',
    '',
    'Read weather.example.com now.',
  ].join('\n');

  it('leaves out code, tables, rules and marks', () => {
    expect(spoken([MARKDOWN])).toBe(expected);
  });

  it('gives the same text for every split in two, and character by character', () => {
    expect(spoken([...MARKDOWN])).toBe(expected);
    for (let i = 1; i < MARKDOWN.length; i++)
      expect([i, spoken([MARKDOWN.slice(0, i), MARKDOWN.slice(i)])]).toEqual([i, expected]);
  });

  it('passes the start of a line on before its end', () => {
    const filter = new MarkdownSpeech();
    expect(filter.feed('It is sunny in Lis')).toBe('It is sunny in ');
  });

  it('says nothing of a code block that is never closed', () => {
    expect(spoken(['Look:\n```\nrm -rf\nmore'])).toBe('Look:\n');
  });

  // Each open mark was followed to the end of the text: seconds for one answer of this length, and the process stood still.
  it.each(['![', '[a](', '<a '])('reads many open %s in one pass', (mark) => {
    const filter = new MarkdownSpeech();
    const spoken = filter.feed(`Hello ${mark.repeat(150_000)}`) + filter.end();
    expect(spoken.startsWith('Hello')).toBe(true);
  });
});

describe('SentenceSplitter', () => {
  it.each([
    ['The year was 1980. Then it ended.', ['The year was 1980.', 'Then it ended.']],
    [
      'Mr. Smith paid 1.05 dollars to J. Doe. He left at once.',
      ['Mr. Smith paid 1.05 dollars to J. Doe.', 'He left at once.'],
    ],
    ['Hi. I am here to help you. What now?', ['Hi.', 'I am here to help you.', 'What now?']],
    ['First line\nsecond line', ['First line', 'second line']],
    ['今天是晴天。明天会下雨吗？会的。', ['今天是晴天。', '明天会下雨吗？会的。']],
    [
      'Three points:\n1. Open the door and go in.\n2. Close it.',
      ['Three points:', '1. Open the door and go in.', '2. Close it.'],
    ],
    ['*** --- !!!', []],
  ])('cuts %j', (text, expected) => {
    expect(sentences([text])).toEqual(expected);
  });

  it('gives the first sentence as soon as the second begins', () => {
    const splitter = new SentenceSplitter();
    expect(splitter.feed('It is sunny. ')).toEqual([]);
    expect(splitter.feed('W')).toEqual(['It is sunny.']);
  });

  it('cuts text without an end, and loses no word', () => {
    const words = Array.from({ length: 500 }, (_, i) => `word${i}`);
    const cut = sentences(words.map((word) => `${word} `));
    expect(cut.join(' ').split(' ')).toEqual(words);
    expect(Math.max(...cut.map(({ length }) => length))).toBeLessThanOrEqual(400);
  });

  it('says every word once, whatever the pieces', () => {
    const text = 'Hello there! How are you today? I am fine, thank you. Dr. Who said so. 好的。再见。\nBye';
    for (let size = 1; size < 30; size++) {
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
      expect(sentences(pieces).join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
    }
  });

  it('reads hundreds of thousands of empty lines in linear time', () => {
    expect(sentences([`One.${'\n'.repeat(300_000)}x${' '.repeat(300_000)}y. Two.`])).toEqual([
      'One.',
      'x y.',
      'Two.',
    ]);
  });
});
