// Checks the words of comments and of test titles: each names its subject, has few pronouns, and none of the words that the
// glossary in CONTRIBUTING.md replaces. The count is crude: a report is a comment to look at, and to rewrite.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { filesBelow, report, ROOT } from './lib/files.ts';
import { lineAt, readSource } from './lib/source-text.ts';

const SRC = 'packages/troupe/src';
const FOLDERS = [
  'packages/troupe/src',
  'packages/troupe/test',
  'packages/studio/src',
  'packages/studio/test',
  'packages/service/src',
  'packages/service/test',
  'examples',
  'tools',
  'bench',
];

/** Words that refer to a subject elsewhere. */
const PRONOUNS = new Set('that those it what whatever whoever who they them such ones there'.split(' '));
const NO_SUBJECT =
  /^(?:what|that|those|it|they|who|whoever|whom|so (?:many|much|deep|long|often)|one that|the one|how)\b/i;
/** Metaphors, and words that the glossary replaces. */
const REPLACED =
  /\b(?:lanes?|desks?|shel(?:f|ves)|lend(?:s|ing)?|lent|keepers?|purses?|ledgers?|thoughts?|thinkers?)\b/i;

/** Title of a test or of a group of tests: the first argument of `test`, of `describe`, or behind a table. */
const TITLE = /(?:^ *(?:test|describe)(?:\.\w+)*|\))\(\s*(['"`])((?:\\.|(?!\1)[^\\\n])*)\1,\s/gm;
/** Beginnings of titles without a subject. "that" may go on from the title of the group. */
const NO_SUBJECT_IN_TITLE =
  /^(?:what|whatever|those|it|its|they|who|whoever|there|such|how|so (?:many|much|long)|one that|the one)\b/i;

/** Largest share of pronouns in one comment, and in the median comment. */
const MAX_SHARE = 0.15;
const MAX_MEDIAN = 0.04;
/** Shorter comments are judged by their beginning alone. */
const MIN_WORDS = 8;

export interface Comment {
  readonly line: number;
  /** The prose of the comment: without code, tags and examples. */
  readonly text: string;
}

/** The doc comments of a source. */
export function readDocComments(source: string): Comment[] {
  return [...source.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map(({ 1: body = '', index }) => ({
    line: lineAt(source, index),
    text: body
      .replace(/^\s*\*/gm, '')
      .replace(/@example[\s\S]*/, '')
      .replace(/`[^`]*`/g, 'X')
      .replace(/\s+/g, ' ')
      .trim(),
  }));
}

/** The line comments of a source. Comments on lines of their own that follow each other count as one. */
export function readLineComments(source: string): Comment[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '));
  const { withoutComments } = readSource(code);
  const comments: (Comment & { readonly end: number })[] = [];
  for (const { 0: all, 1: before = '', 2: text = '', index } of code.matchAll(/^(.*?)\/\/ ?(.*)$/gm)) {
    if (withoutComments[index + before.length] === '/') continue; // in a literal
    const line = lineAt(source, index);
    const prose = text.replace(/`[^`]*`/g, 'X').trim();
    const last = comments.at(-1);
    if (before.trim() === '' && last?.end === index - 1)
      comments.splice(-1, 1, { ...last, text: `${last.text} ${prose}`, end: index + all.length });
    else comments.push({ line, text: prose, end: before.trim() === '' ? index + all.length : -1 });
  }
  return comments.map(({ line, text }) => ({ line, text }));
}

/** The share of pronouns among the words of a comment. */
export function pronounShare(text: string): number {
  const words = text.toLowerCase().match(/[a-z']+/g) ?? [];
  return words.length === 0 ? 0 : words.filter((word) => PRONOUNS.has(word)).length / words.length;
}

/** Problem of a comment; undefined if none. */
export function problemOf(text: string): string | undefined {
  const start = NO_SUBJECT.exec(text)?.[0];
  if (start !== undefined) return `begins with "${start}": begin with the thing or the verb`;
  const replaced = REPLACED.exec(text)?.[0];
  if (replaced !== undefined) return `says "${replaced}": see the glossary in CONTRIBUTING.md`;
  const isLong = (text.match(/[a-z']+/gi) ?? []).length >= MIN_WORDS;
  const share = pronounShare(text);
  return isLong && share > MAX_SHARE
    ? `has ${Math.round(share * 100)} % pronouns: name the subject`
    : undefined;
}

/** The titles of tests and of groups of tests. */
export function readTitles(source: string): Comment[] {
  return [...source.matchAll(TITLE)].map(({ 2: text = '', index }) => ({
    line: lineAt(source, index),
    text,
  }));
}

/** Problem of a test title; undefined if none. */
export function problemOfTitle(title: string): string | undefined {
  const start = NO_SUBJECT_IN_TITLE.exec(title)?.[0];
  if (start !== undefined) return `begins with "${start}": begin with the thing or the verb`;
  const replaced = REPLACED.exec(title)?.[0];
  return replaced === undefined ? undefined : `says "${replaced}": see the glossary in CONTRIBUTING.md`;
}

const isTest = (file: string): boolean => /\.test(-d)?\.ts$/.test(file);

/** The sources whose comments are checked, as paths from the root. */
function sourceFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    ['.ts', '.mjs'].flatMap((ending) => filesBelow(folder, ending).map((file) => `${folder}/${file}`)),
  );
}

export function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problems: string[] = [];
  const shares: number[] = [];
  for (const file of sourceFiles()) {
    const source = readFileSync(join(ROOT, file), 'utf8');
    const docComments = readDocComments(source);
    for (const { line, text } of [...docComments, ...readLineComments(source)]) {
      const problem = problemOf(text);
      if (problem !== undefined)
        problems.push(`${file}:${line}: the comment ${problem}: ${text.slice(0, 80)}`);
    }
    for (const { line, text } of isTest(file) ? readTitles(source) : []) {
      const problem = problemOfTitle(text);
      if (problem !== undefined) problems.push(`${file}:${line}: the title ${problem}: ${text.slice(0, 80)}`);
    }
    if (file.startsWith(SRC) && !isTest(file))
      shares.push(...docComments.filter(({ text }) => text !== '').map(({ text }) => pronounShare(text)));
  }
  const median = medianOf(shares);
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  if (median > MAX_MEDIAN)
    problems.push(
      `The median comment has ${percent(median)} pronouns. At most ${percent(MAX_MEDIAN)} are allowed.`,
    );
  report(problems, `${shares.length} doc comments, ${percent(median)} pronouns at the median`);
}
