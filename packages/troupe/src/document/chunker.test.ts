import fc from 'fast-check';
import { expect, test } from 'vitest';

import { chunkDocument, splitText } from './chunker.ts';
import { markdownSections } from './markdown-sections.ts';
import { splitSentences } from './sentences.ts';
import { estimateTextTokens } from './text-tokens.ts';

const text = (content: string) => ({ content: { type: 'text', text: content } }) as const;

test('ids come from document and content, so that they are the same everywhere', async () => {
  const document = {
    id: 'a.md',
    metadata: { source: 'a.md' },
    sections: [text('Same.'), text('Same.'), text('Other.')],
  };
  const chunks = await chunkDocument(document);
  expect(chunks.map(({ id, index, metadata }) => [id.length, index, metadata])).toEqual([
    [32, 0, { source: 'a.md' }],
    [32, 1, { source: 'a.md' }],
    [32, 2, { source: 'a.md' }],
  ]);
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(3);
  expect(await chunkDocument(document)).toEqual(chunks);
  const [other] = await chunkDocument({ ...document, id: 'b.md' });
  expect(other?.id).not.toBe(chunks[0]?.id);
});

test('sentences stay whole, and the end of a chunk is repeated in the next', () => {
  const sentences = Array.from({ length: 12 }, (_, i) => `Sentence number ${i} has some words in it.`);
  const parts = splitText(sentences.join(' '), { maxTokens: 40, overlapTokens: 12, splitBy: 'sentence' });
  expect(parts.length).toBeGreaterThan(3);
  for (const part of parts) expect(part).toMatch(/^Sentence.*in it\.$/);
  for (let i = 1; i < parts.length; i++) {
    const first = /^Sentence number \d+/.exec(parts[i] ?? '')?.[0] ?? '?';
    expect(parts[i - 1]).toContain(first);
  }
});

test('abbreviations end no sentence, and Chinese needs no spaces', () => {
  expect(splitSentences('Dr. Watson came. He sat down! 你好。再见。')).toEqual([
    'Dr. Watson came. ',
    'He sat down! ',
    '你好。',
    '再见。',
  ]);
});

test('any text: no chunk is too long, no character is lost or cut', () => {
  const words = fc.array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 90 }),
      fc.constantFrom('. ', '\n\n', '漢字漢字漢字', ' '),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(words, fc.constantFrom('sentence', 'paragraph', 'word'), (pieces, splitBy) => {
      const whole = pieces.join('').toWellFormed().replaceAll('\0', '');
      const parts = splitText(whole, { maxTokens: 16, overlapTokens: 0, splitBy });
      for (const part of parts) {
        expect(estimateTextTokens(part)).toBeLessThanOrEqual(17);
        expect(part.isWellFormed()).toBe(true);
      }
      expect(parts.join('').replace(/\s/g, '')).toBe(whole.replace(/\s/g, ''));
    }),
    { seed: 19, numRuns: 300 },
  );
});

test('hostile texts of a megabyte are split in linear time', { timeout: 20_000 }, () => {
  const settings = { maxTokens: 64, overlapTokens: 8, splitBy: 'sentence' } as const;
  const texts = {
    'no space at all': 'x'.repeat(2e6),
    'only abbreviations': 'A. '.repeat(5e5),
    'wide characters': '漢'.repeat(5e5),
    'blank lines': '\n \n'.repeat(3e5) + 'x',
  };
  for (const [name, text] of Object.entries(texts)) {
    const parts = splitText(text, settings);
    expect(Math.max(...parts.slice(0, 1000).map(estimateTextTokens)), name).toBeLessThanOrEqual(64);
  }
  const spaces = `# a${' '.repeat(1e5)}b${'#'.repeat(1e5)}`;
  expect(markdownSections(spaces)[0]?.metadata?.['heading']).toBe(spaces.slice(2));
});

test('marks at the end of a heading belong to it only without a space', () => {
  const headings = ['# C#', '## Plain ##', '# #', '#No', '### a b ### '].map(
    (line) => markdownSections(line)[0]?.metadata?.['heading'],
  );
  expect(headings).toEqual(['C#', 'Plain', undefined, undefined, 'a b']);
});

test('a document that is a bare text is refused with the form that it needs', async () => {
  await expect(chunkDocument('text' as never)).rejects.toThrow('A document has an id and sections');
});

test('Markdown: one section below each heading, with the path of headings; code is no heading', () => {
  const sections = markdownSections('Intro\n# Guide\nA\n## Install\n```\n# not a heading\n```\n# End\nB');
  expect(
    sections.map(({ content, metadata }) => [content.type === 'text' && content.text, metadata?.['heading']]),
  ).toEqual([
    ['Intro', undefined],
    ['# Guide\nA', 'Guide'],
    ['## Install\n```\n# not a heading\n```', 'Guide > Install'],
    ['# End\nB', 'End'],
  ]);
});
