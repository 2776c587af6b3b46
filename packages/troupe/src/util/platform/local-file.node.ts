/** Reads a local file by an untrusted path, only below allowed folders. */
import { constants } from 'node:fs';
import { lstat, open, realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { LocalFileError, type LocalFileOptions } from './local-file.ts';

/** Refuses links, and does not block on pipes. Windows has neither flag: both are undefined there. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads a file by its path or `file:` URL.
 * @throws LocalFileError if the file is outside the allowed folders, not a regular file, too large or
 * unreadable
 */
export async function readLocalFile(pathOrUrl: string, options: LocalFileOptions): Promise<Uint8Array> {
  try {
    return await readInside(pathOrUrl, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof LocalFileError) throw error;
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new LocalFileError(pathOrUrl, `can't be read${code}.`, { cause: error });
  }
}

async function readInside(
  pathOrUrl: string,
  { allowedDirs, maxBytes, signal }: LocalFileOptions,
): Promise<Uint8Array> {
  const path = await findInside(pathOrUrl, allowedDirs);
  // Checked before opening, because opening a device can have side effects.
  if (!(await lstat(path)).isFile())
    throw new LocalFileError(pathOrUrl, 'is not read: it is not a regular file.');
  signal?.throwIfAborted();
  const file = await open(path, OPEN_FLAGS);
  try {
    const { dev, ino, size } = await file.stat({ bigint: true });
    // Detects a folder that became a link after the check.
    const isStillThere = (await realpath(path)) === path;
    const there = await lstat(path, { bigint: true });
    if (!isStillThere || !there.isFile() || there.dev !== dev || there.ino !== ino)
      throw notInside(pathOrUrl);
    if (size > maxBytes) {
      throw new LocalFileError(pathOrUrl, `is larger than ${maxBytes} bytes, the limit of maxBytes.`);
    }
    const bytes = new Uint8Array(Number(size));
    let length = 0;
    while (length < bytes.length) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(bytes, length);
      if (bytesRead === 0) break; // the file was truncated meanwhile
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}

/**
 * Resolves the real path of a file. Paths that are textually outside the allowed folders are not looked up.
 */
async function findInside(pathOrUrl: string, allowedDirs: readonly string[]): Promise<string> {
  const dirs = await Promise.all(
    allowedDirs.map(async (dir) => ({ dir: resolve(dir), real: await realpathOf(dir) })),
  );
  const path = toPath(pathOrUrl);
  const isWrittenInside = dirs.some(({ dir, real }) => isInside(dir, path) || isInside(real, path));
  const found = isWrittenInside ? await realpathOf(path) : undefined;
  if (found === undefined || !dirs.some(({ real }) => isInside(real, found))) throw notInside(pathOrUrl);
  return found;
}

function toPath(pathOrUrl: string): string {
  if (!/^file:/i.test(pathOrUrl)) return resolve(pathOrUrl);
  const url = URL.parse(pathOrUrl);
  // A `file:` URL with a host names a network share, which Windows would connect to.
  if (url === null || url.host !== '') throw notInside(pathOrUrl);
  return fileURLToPath(url);
}

async function realpathOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}

function isInside(dir: string | undefined, path: string): boolean {
  if (dir === undefined) return false;
  const way = relative(dir, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Same error for missing files, files outside and links to the outside, so that callers can't probe other
 * folders.
 */
function notInside(pathOrUrl: string): LocalFileError {
  return new LocalFileError(pathOrUrl, 'is not read: the folders in allowedDirs have no such file.');
}
