import type { ChunkMetadata, Section } from '../document/chunk.ts';
import { overLimit } from './read-options.ts';
import { tableHead, tableRow } from '../util/html/markdown-table.ts';

/** Characters of the rows of one section: less than a chunk, so that each chunk begins with the names of the columns. */
const SECTION_CHARS = 700;
const MAX_ROWS = 50;
/** Maximum rows above the column names. */
const MAX_CAPTIONS = 5;
/** Maximum columns of a table whose short rows are padded. */
const MAX_PADDED = 256;

/**
 * Sections of a table whose first row has the names of the columns: each repeats them, and says which rows it has
 * (`rows`, counted from 1 with the first row). Rows above it with one text only are the heading. Without further rows, the first row is a
 * section itself.
 */
export function tableSections(
  rows: readonly (readonly string[])[],
  form: 'markdown' | 'json',
  metadata: ChunkMetadata = {},
  { firstRow = 1, maxChars = Infinity }: { readonly firstRow?: number; readonly maxChars?: number } = {},
): readonly Section[] {
  const filled = rows
    .map((cells, index) => ({ cells: trimmed(cells), row: index + firstRow }))
    .filter(({ cells }) => cells.length > 0);
  const captions = captionsOf(filled.map(({ cells }) => cells));
  const [head, ...others] = filled.slice(captions.length);
  if (head === undefined) return [];
  const width = filled.reduce((most, { cells }) => Math.max(most, cells.length), 0);
  const names = namesOf(head.cells, width);
  const heading = captions.join(' ');
  const above = heading === '' ? [] : [heading, ''];
  const headLines = form === 'json' ? [] : [...above, ...tableHead(names)];
  const facts = heading === '' ? metadata : { heading, ...metadata };
  let chars = 0;
  const sections: Section[] = [];
  let lines: string[] = [];
  let [size, from, to] = [0, 0, 0];
  const flush = (): void => {
    if (lines.length === 0) return;
    const text = [...headLines, ...lines].join('\n');
    // A table may be wide in one row and long in others: what repeats the names of its columns is counted as it grows.
    chars += text.length;
    if (chars > maxChars) throw overLimit(`A table has more than ${maxChars} characters`, 'maxChars');
    const place = from === to ? `${from}` : `${from}-${to}`;
    sections.push({ content: { type: 'text', text }, metadata: { ...facts, rows: place } });
    lines = [];
    size = 0;
  };
  for (const { cells: given, row } of others.length > 0 ? others : [head]) {
    const cells = width > MAX_PADDED ? given : names.map((_, at) => given[at] ?? '');
    const line = form === 'json' ? jsonRow(names, cells) : tableRow(cells);
    if (lines.length >= MAX_ROWS || (lines.length > 0 && size + line.length > SECTION_CHARS)) flush();
    if (lines.length === 0) from = row;
    to = row;
    lines.push(line);
    size += line.length;
  }
  flush();
  return sections;
}

/** Texts of the rows above a table that have only one: its title, and what else stands over the names of the columns. */
function captionsOf(rows: readonly (readonly string[])[]): readonly string[] {
  const texts = rows.slice(0, MAX_CAPTIONS + 1).map((cells) => cells.filter((cell) => cell.trim() !== ''));
  const head = texts.findIndex(({ length }) => length > 1);
  return texts.slice(0, Math.max(0, head)).flat();
}

/** Names of columns, each different and none empty. */
function namesOf(head: readonly string[], count: number): readonly string[] {
  const names = new Set<string>();
  for (let at = 0; at < count; at++) {
    const name = head[at]?.trim() || `column ${at + 1}`;
    let unique = name;
    while (names.has(unique)) unique += ` (${at + 1})`;
    names.add(unique);
  }
  return [...names];
}

function jsonRow(names: readonly string[], cells: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(cells.map((cell, at) => [names[at] ?? '', cell])));
}

/** The row without empty cells at its end. */
function trimmed(cells: readonly string[]): readonly string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell.trim() !== '') + 1);
}
