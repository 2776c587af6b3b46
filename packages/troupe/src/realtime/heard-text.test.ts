import { describe, expect, it } from 'vitest';

import { HeardText } from './heard-text.ts';

function textOf(pieces: readonly string[], ms: number, isWhole = true): HeardText {
  const heard = new HeardText();
  for (const piece of pieces) heard.addText(piece);
  heard.addSound(ms);
  if (isWhole) heard.endPiece();
  return heard;
}

describe('HeardText', () => {
  it.each([
    [0, ''],
    [299, ''],
    [300, 'One'],
    [699, 'One'],
    [700, 'One two'],
    [1299, 'One two'],
    [1300, 'One two three'],
  ])('divides the time of a whole sound by the length of the words: %i ms', (ms, words) => {
    for (const pieces of [['One two three'], ['O', 'ne t', 'wo', ' three']])
      expect(textOf(pieces, 1300).at(ms)).toBe(words);
  });

  it('divides syllables that are written without spaces', () => {
    const heard = textOf(['你好', '世界。'], 1500);
    expect([0, 350, 700, 1499, 1500].map((ms) => heard.at(ms))).toEqual([
      '',
      '你',
      '你好',
      '你好世界',
      '你好世界。',
    ]);
  });

  it('assumes the usual speed before the sound is complete', () => {
    expect(textOf(['One two three four five six'], 600, false).at(500)).toBe('One two'); // 7.5 letters
  });

  it('counts sentence by sentence', () => {
    const heard = textOf(['Hello there. '], 1000);
    heard.addText('And good bye.');
    heard.addSound(2000);
    heard.endPiece();
    expect([999, 1000, 2000, 3000].map((ms) => heard.at(ms))).toEqual([
      'Hello there.',
      'Hello there. ',
      'Hello there. And',
      'Hello there. And good bye.',
    ]);
    expect([heard.text, heard.totalMs]).toEqual(['Hello there. And good bye.', 3000]);
  });
});
