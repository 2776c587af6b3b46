import { BYTE_ORDER_MARK, linesOf } from '../../filesystem/file-text.ts';

/** What a model asked for that does not fit the file. */
export class LineRangeError extends Error {
  override readonly name = 'LineRangeError';
}

/** From the first line to the last, both included and counted from 1 on; negative numbers count from the end. */
export type LineRange = readonly [start: number, end: number];

const LINES_AROUND = 5;

/** Lines with their numbers, as in `12: text`. */
export function numbered(lines: readonly string[], startLine: number): string {
  const width = String(startLine + lines.length - 1).length;
  return lines.map((line, i) => `${String(startLine + i).padStart(width)}: ${line}`).join('\n');
}

/** Lines of a file in a block, with their numbers, and what they are. */
export function view(path: string, lines: readonly string[], startLine: number, totalLines: number): string {
  if (lines.length === 0) return `${path} has ${totalLines} lines, and none of them is shown.`;
  const shown = `lines ${startLine}-${startLine + lines.length - 1} of ${totalLines}`;
  return `${path}, ${shown}:\n\`\`\`\n${numbered(lines, startLine)}\n\`\`\``;
}

/** What has changed, with five lines before and after. */
export function viewAround(path: string, text: string, start: number, end: number): string {
  const lines = linesOf(text);
  const first = Math.max(1, start - LINES_AROUND);
  return view(path, lines.slice(first - 1, end + LINES_AROUND), first, lines.length);
}

/** A range in a file of so many lines, counted from the beginning; its end may lie past theirs. @throws LineRangeError if it begins past the end, or before the beginning */
export function resolveRange([from, to]: LineRange, path: string, totalLines: number): LineRange {
  const fromEnd = (line: number): number => (line < 0 ? totalLines + 1 + line : line);
  const [start, end] = [fromEnd(from), fromEnd(to)];
  if (start > totalLines)
    throw new LineRangeError(`The start line ${from} is beyond ${path}, which has ${totalLines} lines.`);
  if (start < 1 || end < start)
    throw new LineRangeError(`[${from}, ${to}] is no range of lines. ${path} has ${totalLines} lines.`);
  return [start, end];
}

/** The text with a range of its lines replaced; with an end before the start, nothing is, and the content comes before it. */
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

/** Where a line begins; past the last one, where the text ends. */
function startOfLine(text: string, line: number): number {
  let start = 0;
  for (let before = 1; before < line && start < text.length; before++) {
    const found = text.indexOf('\n', start);
    start = found < 0 ? text.length : found + 1;
  }
  return start;
}
