import { FileSystemError, invalidArgument, notText, tooLarge } from './file-system-error.ts';
import { isIn, placesOf, replaceAll } from './occurrences.ts';

/** Some lines of a text file. */
export interface FileLines {
  /** Without the ends of the lines. */
  readonly lines: readonly string[];
  /** The number of the first of them, from 1 on. */
  readonly startLine: number;
  /** How many lines the file has. */
  readonly totalLines: number;
}

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  /** Whether every place is meant; otherwise there must be only one. @default false */
  readonly all?: boolean | undefined;
}

/** @throws FileSystemError if the bytes are no UTF-8 */
export function decodeText(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notText(path);
  }
}

/** @throws FileSystemError if the text would not come back as it is */
export function encodeText(text: string, path: string): Uint8Array {
  if (!text.isWellFormed()) throw invalidArgument(path, `The text for '${path}' has half a character in it.`);
  return new TextEncoder().encode(text);
}

/** What some editors put before a text. It belongs to the file, and to none of its lines. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** The lines of a text, without their ends. An end of line at the end of the text begins no other line. */
export function linesOf(text: string): readonly string[] {
  return someLines(text, 1, Infinity).lines;
}

/** Some of them. Of the others nothing is kept: a file can have millions. @param startLine from 1 on */
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

/** All of them, one by one. */
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
 * @param maxBytes how large the text may get, in between too
 * @throws FileSystemError if one of them fits nowhere, in several places without meaning all of them, or gives too much
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
    // Models see lines without their ends, and give them back with plain ones.
    [wanted, replacement] = [withCrLf(oldText), withCrLf(newText)];
  } else if (!oldText.includes('\r') && !isIn(oldText, text)) {
    [wanted, replacement] = [withCrLf(oldText), withCrLf(newText)]; // some of the lines end so
  }
  const { count: places, isOnce } = placesOf(wanted, text);
  if (places === 0) {
    const advice = 'Read the file again, and copy the text exactly. Nothing was changed.';
    throw new FileSystemError('no_match', path, `${which} is not in '${path}'. ${advice}`);
  }
  if (!all && !isOnce) {
    const advice = 'Give more of the text around it, or set all to true. Nothing was changed.';
    const times = places === 1 ? 'several times' : `${places} times`;
    throw new FileSystemError('conflict', path, `${which} is in '${path}' ${times}. ${advice}`);
  }
  const length = text.length + places * (replacement.length - wanted.length); // each character is a byte or more
  if (length > maxBytes)
    throw tooLarge(path, `would have ${length} bytes or more, and no more than ${maxBytes} can be written.`);
  return replaceAll(text, wanted, replacement);
}

/** Whether there are lines, and all of them end as on Windows. */
function hasOnlyCrLf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text);
}

function withCrLf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}
