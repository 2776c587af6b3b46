// Reads Markdown documents and the Markdown in doc comments: code fences, links, headings, tables.

export interface Fence {
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly flags: readonly string[];
  readonly code: string;
}

export interface Link {
  readonly line: number;
  readonly target: string;
}

export interface Markdown {
  readonly fences: readonly Fence[];
  readonly links: readonly Link[];
  /** Anchors of the headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
}

/** Code fences, links and anchors of a Markdown text. Text inside fences and code spans is no link. */
export function readMarkdown(text: string): Markdown {
  const fences: Fence[] = [];
  const links: Link[] = [];
  const anchors = new Set<string>();
  let open: { line: number; indent: string; mark: string; info: string[]; code: string[] } | undefined;
  for (const [index, content] of text.split(/\r?\n/).entries()) {
    const line = index + 1;
    if (open !== undefined) {
      const mark = /^\s*(`{3,}|~{3,})\s*$/.exec(content)?.[1];
      if (mark?.startsWith(open.mark) === true) {
        const [language = '', ...flags] = open.info;
        fences.push({ line: open.line, language, flags, code: open.code.join('\n') });
        open = undefined;
      } else {
        open.code.push(
          content.startsWith(open.indent) ? content.slice(open.indent.length) : content.trimStart(),
        );
      }
      continue;
    }
    const opening = /^(\s*)(`{3,}|~{3,})([^`]*)$/.exec(content);
    if (opening) {
      const [, indent = '', mark = '', info = ''] = opening;
      open = { line, indent, mark, info: info.trim().split(/\s+/), code: [] };
      continue;
    }
    const heading = /^#{1,6}\s+(.*)$/.exec(content)?.[1];
    if (heading !== undefined) anchors.add(anchorOf(heading));
    const prose = content.replace(/(`+)(?:(?!\1).)+\1/g, '');
    const inline = prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g);
    const defined = prose.matchAll(/^\s{0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/g);
    for (const [, target = ''] of [...inline, ...defined]) links.push({ line, target });
  }
  if (open !== undefined) fences.push({ line: open.line, language: 'unclosed', flags: [], code: '' });
  return { fences, links, anchors };
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

/** The fences below `@example` in the doc comments of a TypeScript source. Lines are those of the source. */
export function readExamples(source: string): Fence[] {
  const examples: Fence[] = [];
  for (const comment of source.matchAll(/\/\*\*[\s\S]*?\*\//g)) {
    const [text] = comment;
    const at = text.indexOf('@example');
    if (at < 0) continue;
    const first = source.slice(0, comment.index + at).split('\n').length;
    const lines = text
      .slice(at)
      .replace(/\*\/$/, '')
      .split('\n')
      .map((line) => line.replace(/^\s*\* ?/, ''));
    const { fences } = readMarkdown(lines.join('\n'));
    if (fences.length === 0) examples.push({ line: first, language: 'unclosed', flags: [], code: '' });
    for (const fence of fences) examples.push({ ...fence, line: first + fence.line - 1 });
  }
  return examples;
}
