import { BYTE_ORDER_MARK, linesOf } from '../filesystem/file-text.ts';

/** A line range that does not fit the file. */
export class LineRangeError extends Error {
  override readonly name = 'LineRangeError';
}

/** First and last line, both included, starting at 1; negative numbers count from the end. */
export type LineRange = readonly [start: number, end: number];

const LINES_AROUND = 5;

/** Lines with line numbers, such as `12: text`. */
export function numbered(lines: readonly string[], startLine: number): string {
  const width = String(startLine + lines.length - 1).length;
  return lines.map((line, i) => `${String(startLine + i).padStart(width)}: ${line}`).join('\n');
}

/** Numbered lines in a code block, under a header with path and range. */
export function view(path: string, lines: readonly string[], startLine: number, totalLines: number): string {
  if (lines.length === 0) return `${path} has ${totalLines} lines, and none of them is shown.`;
  const shown = `lines ${startLine}-${startLine + lines.length - 1} of ${totalLines}`;
  return `${path}, ${shown}:\n\`\`\`\n${numbered(lines, startLine)}\n\`\`\``;
}

/** The changed lines with five lines before and after. */
export function viewAround(path: string, text: string, start: number, end: number): string {
  const lines = linesOf(text);
  const first = Math.max(1, start - LINES_AROUND);
  return view(path, lines.slice(first - 1, end + LINES_AROUND), first, lines.length);
}

/**
 * Converts negative line numbers. The end may exceed the file.
 * @throws LineRangeError if the range is invalid or starts after the end of the file
 */
export function resolveRange([from, to]: LineRange, path: string, totalLines: number): LineRange {
  const fromEnd = (line: number): number => (line < 0 ? totalLines + 1 + line : line);
  const [start, end] = [fromEnd(from), fromEnd(to)];
  if (start > totalLines)
    throw new LineRangeError(`The start line ${from} is beyond ${path}, which has ${totalLines} lines.`);
  if (start < 1 || end < start)
    throw new LineRangeError(
      `[${from}, ${to}] is not a valid range of lines. ${path} has ${totalLines} lines.`,
    );
  return [start, end];
}

/** Replaces a range of lines. With `end` before `start`, inserts the content before `start`. */
export function replaceLines(text: string, start: number, end: number, content: string): string {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const old = text.slice(mark.length);
  const lineEnd = old.includes('\r\n') ? '\r\n' : '\n';
  const [before, after] = [old.slice(0, startOfLine(old, start)), old.slice(startOfLine(old, end + 1))];
  const added = content.replace(/\r?\n/g, lineEnd);
  const gap = before === '' || before.endsWith('\n') ? '' : lineEnd;
  const close = added === '' || added.endsWith('\n') || (after === '' && !old.endsWith('\n')) ? '' : lineEnd;
  return `${mark}${before}${gap}${added}${close}${after}`;
}

/** Index at which a line starts; the length of the text after the last line. */
function startOfLine(text: string, line: number): number {
  let start = 0;
  for (let before = 1; before < line && start < text.length; before++) {
    const found = text.indexOf('\n', start);
    start = found < 0 ? text.length : found + 1;
  }
  return start;
}
