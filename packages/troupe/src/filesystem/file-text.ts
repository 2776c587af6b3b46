import { FileSystemError, invalidArgument, notText, tooLarge } from './file-system-error.ts';
import { includesText, countOccurrences, replaceAll } from './occurrences.ts';

/** Part of the lines of a text file. */
export interface FileLines {
  /** Lines without line ends. */
  readonly lines: readonly string[];
  /** Number of the first line, starting at 1. */
  readonly startLine: number;
  /** Number of lines in the file. */
  readonly totalLines: number;
}

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  /** True to replace every occurrence; otherwise a single occurrence is required. @default false */
  readonly all?: boolean | undefined;
}

/** @throws FileSystemError if the bytes are not UTF-8 */
export function decodeText(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notText(path);
  }
}

/** @throws FileSystemError if the text has lone surrogates, which UTF-8 can't represent */
export function encodeText(text: string, path: string): Uint8Array {
  if (!text.isWellFormed()) throw invalidArgument(path, `The text for '${path}' has half a character in it.`);
  return new TextEncoder().encode(text);
}

/** Mark at the beginning of some files. Part of the file, but of no line. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** Lines of a text without line ends. A final line end starts no further line. */
export function linesOf(text: string): readonly string[] {
  return someLines(text, 1, Infinity).lines;
}

/**
 * Part of the lines. Keeps only these in memory, because files can have millions. @param startLine starts at
 * 1
 */
export function someLines(text: string, startLine: number, lineCount: number): FileLines {
  const lines: string[] = [];
  let totalLines = 0;
  for (let start = startOf(text); start < text.length; totalLines++) {
    const end = endOfLine(text, start);
    if (totalLines >= startLine - 1 && lines.length < lineCount) lines.push(lineAt(text, start, end));
    start = end + 1;
  }
  return { lines, startLine, totalLines };
}

/** Iterates over all lines. */
export function* eachLine(text: string): Generator<string, void, undefined> {
  for (let start = startOf(text); start < text.length;) {
    const end = endOfLine(text, start);
    yield lineAt(text, start, end);
    start = end + 1;
  }
}

function startOf(text: string): number {
  return text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
}

function endOfLine(text: string, start: number): number {
  const found = text.indexOf('\n', start);
  return found < 0 ? text.length : found;
}

function lineAt(text: string, start: number, end: number): string {
  return text.slice(start, text[end - 1] === '\r' && end > start ? end - 1 : end);
}

/**
 * Applies edits one after the other.
 * @param maxBytes maximum size of the text after each edit
 * @throws FileSystemError if a text is missing, occurs more than once without `all`, or the result is too
 * large
 */
export function applyEdits(
  text: string,
  edits: readonly TextEdit[],
  path: string,
  maxBytes = Infinity,
): string {
  if (edits.length === 0) throw invalidArgument(path, 'There are no edits to be made.');
  return edits.reduce((edited, edit, i) => {
    const which = edits.length === 1 ? 'oldText' : `oldText of edit ${i + 1}`;
    return applyEdit(edited, edit, path, which, maxBytes);
  }, text);
}

function applyEdit(
  text: string,
  { oldText, newText, all = false }: TextEdit,
  path: string,
  which: string,
  maxBytes: number,
): string {
  if (oldText === '') throw invalidArgument(path, `${which} is empty. Give the text that is to be replaced.`);
  let [wanted, replacement] = [oldText, newText];
  if (!`${oldText}${newText}`.includes('\r') && hasOnlyCrLf(text)) {
    // Models see lines without line ends, and return them with `\n`.
    [wanted, replacement] = [withCrLf(oldText), withCrLf(newText)];
  } else if (!oldText.includes('\r') && !includesText(oldText, text)) {
    [wanted, replacement] = [withCrLf(oldText), withCrLf(newText)]; // some lines end with CRLF
  }
  const { count, isUnique } = countOccurrences(wanted, text);
  if (count === 0) {
    const advice = 'Read the file again, and copy the text exactly. Nothing was changed.';
    throw new FileSystemError('no_match', path, `${which} is not in '${path}'. ${advice}`);
  }
  if (!all && !isUnique) {
    const advice = 'Give more of the text around it, or set all to true. Nothing was changed.';
    const times = count === 1 ? 'several times' : `${count} times`;
    throw new FileSystemError('conflict', path, `${which} is in '${path}' ${times}. ${advice}`);
  }
  // Each character has at least one byte.
  const length = text.length + count * (replacement.length - wanted.length);
  if (length > maxBytes)
    throw tooLarge(path, `would have ${length} bytes or more, and no more than ${maxBytes} can be written.`);
  return replaceAll(text, wanted, replacement);
}

/** True if the text has line ends and all of them are CRLF. */
function hasOnlyCrLf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text);
}

function withCrLf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}
