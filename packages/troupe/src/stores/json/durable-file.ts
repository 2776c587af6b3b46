import { constants } from 'node:fs';
import type * as nodeFiles from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

import { SessionError } from '../../session/format/session-error.ts';

/** Functions of `node:fs/promises` in use. */
export type Files = Pick<
  typeof nodeFiles,
  'link' | 'lstat' | 'mkdir' | 'open' | 'readdir' | 'realpath' | 'rm' | 'rmdir'
>;

const PRIVATE = 0o600;
/** Flag against links. Windows lacks the flag, and making a link there takes a special right. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_WAIT = constants.O_NONBLOCK ?? 0;

/**
 * Opens a regular file without following links. Anything else, such as a pipe that nobody writes to, is
 * refused without waiting.
 */
export async function openSafely(files: Files, path: string, flags: number): Promise<FileHandle> {
  const file = await files.open(path, flags | NO_FOLLOW | NO_WAIT, PRIVATE);
  try {
    if ((await file.stat()).isFile()) return file;
    throw new SessionError(`'${path}' is not a regular file.`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Writes a new file and waits until the disk has the content. @param time modification time to set */
export async function writeNew(files: Files, path: string, text: string, time: number): Promise<void> {
  const file = await openSafely(files, path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  try {
    await file.writeFile(text);
    await file.utimes(time / 1000, time / 1000);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Appends lines and waits until the disk has them. Returns the start of each line and the end of the last,
 * even if others append at the same time (the lines are searched then).
 */
export async function appendLines(
  files: Files,
  path: string,
  lines: readonly string[],
  making: 'must be new' | 'may be new' | 'must exist',
): Promise<readonly number[]> {
  const create = making === 'must exist' ? 0 : constants.O_CREAT;
  const exclusive = making === 'must be new' ? constants.O_EXCL : 0;
  const file = await openSafely(files, path, constants.O_RDWR | constants.O_APPEND | create | exclusive);
  try {
    const before = (await file.stat()).size;
    if (lines.length === 0) return [before];
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    await file.write(bytes);
    const after = (await file.stat()).size;
    const at = (await readRange(file, before, after)).indexOf(bytes);
    if (at === -1) {
      throw new SessionError(
        `Not all of the data written to '${path}' is there. Is the disk full? Does its file system support appending?`,
      );
    }
    await file.datasync();
    let position = before + at;
    return [position, ...lines.map((line) => (position += Buffer.byteLength(line) + 1))];
  } finally {
    await file.close();
  }
}

export async function readRange(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** Waits until the disk has the names in a folder. Windows does this automatically and refuses the call. */
export async function syncFolder(files: Files, path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await files.open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Makes a private folder with its parents, and waits until the disk has the new names.
 * @param isParentMade whether the parent is there, so that a second "missing" is a failure: the parent is a link that leads nowhere
 */
export async function makeFolder(files: Files, path: string, isParentMade = false): Promise<void> {
  const parent = dirname(path);
  try {
    await files.mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (isThere(error)) return;
    if (!isMissing(error) || isParentMade || parent === path) throw error; // a drive that is missing is its own parent
    await makeFolder(files, parent);
    return makeFolder(files, path, true);
  }
  await syncFolder(files, parent);
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

export function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
