import type { Section } from '../document/chunk.ts';
import { markdownSections } from '../document/markdown-sections.ts';
import type { PdfLine } from './parser-worker.ts';

/** Lines are headings if their letters are this much larger than most letters of the document. */
const HEADING_RATIO = 1.15;
const MAX_HEADING_CHARS = 150;

/** Sections of the pages of a PDF. Lines in larger letters are headings, and stay so over the next pages. */
export function pageSections(pages: readonly (readonly PdfLine[])[]): readonly Section[] {
  const body = commonSize(pages.flat());
  const isHeading = ([text, size]: PdfLine): boolean =>
    size > body * HEADING_RATIO && text.length <= MAX_HEADING_CHARS && /\p{L}/u.test(text);
  const sizes = [
    ...new Set(
      pages
        .flat()
        .filter(isHeading)
        .map(([, size]) => size),
    ),
  ].sort((a, b) => b - a);
  let path: readonly string[] = [];
  return pages.flatMap((lines, index) => {
    const text = lines
      .map((line) => (isHeading(line) ? `${'#'.repeat(levelOf(line, sizes))} ${line[0]}` : escaped(line[0])))
      .join('\n');
    return markdownSections(text, path).map(({ content, metadata }) => {
      const heading = metadata?.['heading'];
      path = typeof heading === 'string' ? heading.split(' > ') : [];
      return { content, metadata: { ...metadata, page: index + 1 } };
    });
  });
}

function levelOf([, size]: PdfLine, sizes: readonly number[]): number {
  return Math.min(6, sizes.indexOf(size) + 1);
}

/** A line of text that would be a heading or a fence in Markdown. */
function escaped(line: string): string {
  return /^(?:#{1,6}\s|```|~~~)/.test(line) ? `\\${line}` : line;
}

/** Size of most letters. */
function commonSize(lines: readonly PdfLine[]): number {
  const chars = new Map<number, number>();
  for (const [text, size] of lines) chars.set(size, (chars.get(size) ?? 0) + text.length);
  return [...chars].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}
