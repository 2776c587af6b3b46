import type { ChunkMetadata, Section } from '../document/chunk.ts';
import { tableHead, tableRow } from '../util/html/markdown-table.ts';

/** Characters of the rows of one section: less than a chunk, so that each chunk begins with the names of the columns. */
const SECTION_CHARS = 700;
const MAX_ROWS = 50;

/**
 * Sections of a table whose first row has the names of the columns: each repeats them, and says which rows it has
 * (`rows`, counted from 1 with the first row). Without further rows, the first row is a section itself.
 */
export function tableSections(
  rows: readonly (readonly string[])[],
  form: 'markdown' | 'json',
  metadata: ChunkMetadata = {},
  firstRow = 1,
): readonly Section[] {
  const filled = rows
    .map((cells, index) => ({ cells: trimmed(cells), row: index + firstRow }))
    .filter(({ cells }) => cells.length > 0);
  const [head, ...others] = filled;
  if (head === undefined) return [];
  const names = namesOf(head.cells, Math.max(...filled.map(({ cells }) => cells.length)));
  const sections: Section[] = [];
  let lines: string[] = [];
  let [size, from, to] = [0, 0, 0];
  const flush = (): void => {
    if (lines.length === 0) return;
    const text = form === 'json' ? lines.join('\n') : [...tableHead(names), ...lines].join('\n');
    const place = from === to ? `${from}` : `${from}-${to}`;
    sections.push({ content: { type: 'text', text }, metadata: { ...metadata, rows: place } });
    lines = [];
    size = 0;
  };
  for (const { cells, row } of others.length > 0 ? others : [head]) {
    const line = form === 'json' ? jsonRow(names, cells) : tableRow(names.map((_, at) => cells[at] ?? ''));
    if (lines.length >= MAX_ROWS || (lines.length > 0 && size + line.length > SECTION_CHARS)) flush();
    if (lines.length === 0) from = row;
    to = row;
    lines.push(line);
    size += line.length;
  }
  flush();
  return sections;
}

/** Names of columns, each different and none empty. */
function namesOf(head: readonly string[], count: number): readonly string[] {
  const names: string[] = [];
  for (let at = 0; at < count; at++) {
    const name = head[at]?.trim() || `column ${at + 1}`;
    names.push(names.includes(name) ? `${name} (${at + 1})` : name);
  }
  return names;
}

function jsonRow(names: readonly string[], cells: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])));
}

/** The row without empty cells at its end. */
function trimmed(cells: readonly string[]): readonly string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell.trim() !== '') + 1);
}
