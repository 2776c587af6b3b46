import type { Section } from './chunk.ts';

const FENCE = /^\s*(```|~~~)/;

/**
 * Sections of a Markdown text, one below each heading, with the path of headings: `Guide > Install`.
 * @param above headings before the text, which its first section is below
 */
export function markdownSections(text: string, above: readonly string[] = []): readonly Section[] {
  const sections: Section[] = [];
  const path: string[] = [...above];
  let lines: string[] = [];
  let isCode = false;
  const flush = (): void => {
    const content = lines.join('\n').trim();
    lines = [];
    if (content === '') return;
    const heading = path.filter(Boolean).join(' > ');
    sections.push({
      content: { type: 'text', text: content },
      ...(heading !== '' && { metadata: { heading } }),
    });
  };
  for (const line of text.split(/\r?\n/)) {
    if (FENCE.test(line)) isCode = !isCode;
    const found = isCode ? undefined : headingOf(line);
    if (found !== undefined) {
      flush();
      const { level, title } = found;
      path.length = Math.min(path.length, level - 1);
      while (path.length < level - 1) path.push('');
      path.push(title);
    }
    lines.push(line);
  }
  flush();
  return sections;
}

/** Heading of a line, without the marks at its end: `## C# ##` is `C#`. */
function headingOf(line: string): { level: number; title: string } | undefined {
  const level = /^#{1,6}(?=\s)/.exec(line)?.[0].length;
  if (level === undefined) return undefined;
  const rest = line.slice(level).trim();
  let end = rest.length;
  while (rest[end - 1] === '#') end--;
  const isClosed = end === 0 || /\s/.test(rest[end - 1] ?? '');
  const title = isClosed ? rest.slice(0, end).trimEnd() : rest;
  return title === '' ? undefined : { level, title };
}
