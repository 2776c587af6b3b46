import { expect, test } from 'vitest';

import { NOTHING_SPLIT, splitBlocks } from './split-blocks.ts';

const TEXT = `# Title

A paragraph
of two lines.

- one

  more of one

- two

Text behind.

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quote

> the same quote

The end.
`;

const BLOCKS = [
  '# Title\n\n',
  'A paragraph\nof two lines.\n\n- one\n\n  more of one\n\n- two\n\n',
  'Text behind.\n\n',
  '```ts\nconst a = 1;\n\nconst b = 2;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\n> the same quote\n\n',
];

test('settles blocks at blank lines that nothing continues', () => {
  expect(splitBlocks(TEXT, NOTHING_SPLIT)).toEqual({ blocks: BLOCKS, end: BLOCKS.join('').length });
});

test('settles the same blocks for every way in which the text grows', () => {
  let split = NOTHING_SPLIT;
  for (let length = 0; length <= TEXT.length; length++) {
    const next = splitBlocks(TEXT.slice(0, length), split);
    expect(next.blocks.slice(0, split.blocks.length)).toEqual(split.blocks);
    split = next;
  }
  expect(split.blocks).toEqual(BLOCKS);
});

test('keeps the same object while nothing is settled', () => {
  const split = splitBlocks('A\n\nB\n', NOTHING_SPLIT);
  expect(splitBlocks('A\n\nB\nmore', split)).toBe(split);
});

test('does not settle inside a fence that is open', () => {
  expect(splitBlocks('```\na\n\nb\n\nc\n', NOTHING_SPLIT)).toBe(NOTHING_SPLIT);
});
