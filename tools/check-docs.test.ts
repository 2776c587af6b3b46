import { expect, test } from 'vitest';
import { readMarkdown } from './check-docs.ts';

test('fences and links are read with their lines', () => {
  const text = [
    'See [the guide](docs/guide.md#top "title"), ![picture](<a.png>) and `[no](no.md)`.', // 1
    '```ts', // 2
    "const a = '[no](no.md)';", // 3
    '```',
    '- In a list:', // 5
    '  ```js no-run', // 6
    '  if (a) {', // 7
    '    b();',
    '  }',
    '  ```',
    '~~~~text', // 11
    '```',
    '~~~~',
    '[ref]: ./other.md', // 14
  ].join('\n');
  expect(readMarkdown(text)).toEqual({
    fences: [
      { line: 2, language: 'ts', flags: [], code: "const a = '[no](no.md)';" },
      { line: 6, language: 'js', flags: ['no-run'], code: 'if (a) {\n  b();\n}' },
      { line: 11, language: 'text', flags: [], code: '```' },
    ],
    links: [
      { line: 1, target: 'docs/guide.md#top' },
      { line: 1, target: 'a.png' },
      { line: 14, target: './other.md' },
    ],
  });
});

test('a fence that is never closed is told', () => {
  expect(readMarkdown('text\n```ts\nlost();').fences).toEqual([
    { line: 2, language: 'unclosed', flags: [], code: '' },
  ]);
});
