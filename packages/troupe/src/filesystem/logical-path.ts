import { invalidPath } from './file-system-error.ts';

declare const brand: unique symbol;

/**
 * A checked path of an agent's file system, such as `/workspace/src/main.ts`. Created only by `parsePath` and
 * `joinPath`: starts with a slash, has no trailing slash, is normalized (NFC), and every segment is a valid
 * name on every operating system. Containment can therefore be decided by text comparison.
 */
export type LogicalPath = string & { readonly [brand]: true };

export const TOP = '/' as LogicalPath;

const MAX_PATH_CHARS = 1024;
const MAX_NAME_BYTES = 255;
/** Maximum segments of a path. Segments are opened one by one, each relative to its parent. */
export const MAX_DEPTH = 100;
/** Characters that control terminals, fake line ends or change the writing direction. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
const RESERVED = /[\\*?"<>|:]/;
const DEVICES = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\..*)?$/i;

/** @throws FileSystemError if the path is relative, or invalid on some operating system. */
export function parsePath(text: string): LogicalPath {
  if (typeof text !== 'string') throw invalidPath('', 'a path is a text.');
  if (text.length > MAX_PATH_CHARS)
    throw invalidPath(text, `it is longer than ${MAX_PATH_CHARS} characters.`);
  if (!text.startsWith('/')) throw invalidPath(text, "it must begin with '/', as in '/workspace/notes.txt'.");
  if (text === '/') return TOP;
  const path = text.normalize('NFC').replace(/\/$/, '');
  const names = path.slice(1).split('/');
  if (names.length > MAX_DEPTH) throw invalidPath(text, `it is deeper than ${MAX_DEPTH} folders.`);
  for (const name of names) {
    const problem = nameProblem(name);
    if (problem !== undefined) throw invalidPath(text, problem);
  }
  return path as LogicalPath;
}

/** Path of an entry in a folder. @throws FileSystemError if `name` is not a single name. */
export function joinPath(folder: LogicalPath, name: string): LogicalPath {
  if (name.includes('/')) throw invalidPath(name, "it must be one name, without '/'.");
  return parsePath(`${folder === TOP ? '' : folder}/${name === '' ? '/' : name}`);
}

/** Path of an entry found in storage; undefined if the name can't be a path segment. */
export function pathOfFound(folder: LogicalPath, name: string): LogicalPath | undefined {
  const path = `${folder}/${name}`;
  const isName = nameProblem(name) === undefined && !name.includes('/') && name === name.normalize('NFC');
  const isPath = path.length <= MAX_PATH_CHARS && path.split('/').length - 1 <= MAX_DEPTH;
  return isName && isPath ? (path as LogicalPath) : undefined;
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'a segment is empty.';
  if (name === '.' || name === '..') return `'${name}' is not allowed. Write the path in full.`;
  if (!name.isWellFormed() || CONTROLS.test(name)) return 'it contains control characters.';
  if (RESERVED.test(name)) return 'none of \\ * ? " < > | : is allowed.';
  if (/[. ]$/.test(name)) return 'a name must not end in a dot or a space.';
  if (DEVICES.test(name)) return 'it contains the name of a device.';
  if (new TextEncoder().encode(name).length > MAX_NAME_BYTES)
    return `a name is longer than ${MAX_NAME_BYTES} bytes.`;
  return undefined;
}

export function segmentsOf(path: LogicalPath): readonly string[] {
  return path === TOP ? [] : path.slice(1).split('/');
}

export function parentOf(path: LogicalPath): LogicalPath {
  return (path.slice(0, path.lastIndexOf('/')) || TOP) as LogicalPath;
}

export function nameOf(path: LogicalPath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** True if `path` is the folder itself or inside it at any depth. */
export function isWithin(folder: LogicalPath, path: LogicalPath): boolean {
  return folder === TOP || path === folder || path.startsWith(`${folder}/`);
}
