import type { Section } from './chunk.ts';

const HEADING = /^(#{1,6})\s+(.+?)\s*#*\s*$/;
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
    const found = isCode ? null : HEADING.exec(line);
    if (found !== null) {
      flush();
      const level = (found[1] ?? '').length;
      path.length = Math.min(path.length, level - 1);
      while (path.length < level - 1) path.push('');
      path.push(found[2] ?? '');
    }
    lines.push(line);
  }
  flush();
  return sections;
}
