// Tables of statements in a document: the statement, the code, the test, and the difference.

import { join } from 'node:path';

const HEADER = '| statement | code | test | difference |';
const PATH = /^[\w.-]+(?:\/[\w.-]+)*(?:\.(?:ts|mjs|md)|\/)$/;
/** A test file in a code span, and the titles in quotes behind it. */
const TESTS = /`([^`]+\.test\.ts)`:((?:[,;]? ?"[^"]+")+)/g;
/** A text that is the first of several arguments, such as the title of a test. */
const TITLE = /\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1\s*,/g;
const NOTHING = '–';

/** Files of the repository, as a document names them. */
export interface NamedFiles {
  /** Folder in which paths begin. */
  readonly base: string;
  readonly exists: (path: string) => boolean;
  readonly read: (path: string) => string;
}

/**
 * Returns what is wrong with the statements of a document: a path that does not exist, a test title that does not occur in its file, a
 * row without code or test that says no difference either.
 */
export function statementProblems(text: string, { base, exists, read }: NamedFiles): string[] {
  const problems: string[] = [];
  let isInTable = false;
  let rows = 0;
  text.split('\n').forEach((line, index) => {
    const tell = (problem: string): void => void problems.push(`${index + 1}: ${problem}`);
    isInTable = line === HEADER || (isInTable && line.startsWith('|'));
    for (const [, span = ''] of line.matchAll(/`([^`]+)`/g))
      if (PATH.test(span) && !exists(join(base, span))) tell(`there is no ${span}`);
    if (!isInTable || line === HEADER || /^\|[-|]+\|$/.test(line)) return;
    rows += 1;
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    if (cells.length !== 6) return tell('a row has four cells');
    const [, , code = '', test = '', difference = ''] = cells;
    if (difference === '' && (code === NOTHING || test === NOTHING))
      tell('a row without code or test says why');
    if (code !== NOTHING && !/`[^`]+[/.][^`]*`/.test(code)) tell('the code names no file');
    const shown = [...test.matchAll(TESTS)];
    if (test !== NOTHING && shown.length === 0) tell('the test names no file with a title');
    for (const [, file = '', titles = ''] of shown) {
      if (!exists(join(base, file))) continue; // told above
      const known = [...read(join(base, file)).matchAll(TITLE)].map(([, , title = '']) => title);
      for (const [, title = ''] of titles.matchAll(/"([^"]+)"/g))
        if (!known.some((one) => one.includes(title))) tell(`${file} has no test "${title}"`);
    }
  });
  return rows === 0 ? ['there is no table of statements'] : problems;
}
