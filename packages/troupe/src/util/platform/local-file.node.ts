/** Reads a local file that an untrusted path names, and only below folders that were allowed. */
import { constants } from 'node:fs';
import { lstat, open, realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { LocalFileError, type LocalFileOptions } from './local-file.ts';

/** Through no link, and without waiting for the other end of a pipe. Windows has neither flag: there they are undefined. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * The bytes of a file, by its path or `file:` URL.
 * @throws LocalFileError if it does not lie inside, is no regular file, is too large or can't be read
 */
export async function readLocalFile(place: string, options: LocalFileOptions): Promise<Uint8Array> {
  try {
    return await readInside(place, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof LocalFileError) throw error;
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new LocalFileError(place, `can't be read${code}.`, { cause: error });
  }
}

async function readInside(
  place: string,
  { allowedDirs, maxBytes, signal }: LocalFileOptions,
): Promise<Uint8Array> {
  const path = await findInside(place, allowedDirs);
  // Looked at before it is opened: to open a device can already do something.
  if (!(await lstat(path)).isFile()) throw new LocalFileError(place, 'is not read: it is no regular file.');
  signal?.throwIfAborted();
  const file = await open(path, OPEN_FLAGS);
  try {
    const { dev, ino, size } = await file.stat({ bigint: true });
    // A folder on the way may have become a link in between. Then this is not what lies at the path that was checked.
    const isStillThere = (await realpath(path)) === path;
    const there = await lstat(path, { bigint: true });
    if (!isStillThere || !there.isFile() || there.dev !== dev || there.ino !== ino) throw notInside(place);
    if (size > maxBytes) {
      throw new LocalFileError(place, `is larger than ${maxBytes} bytes, the most that maxBytes allows.`);
    }
    const bytes = new Uint8Array(Number(size));
    let length = 0;
    while (length < bytes.length) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(bytes, length);
      if (bytesRead === 0) break; // it has become shorter
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}

/** The real path of a file, links resolved. Nothing that lies outside as it is written is looked at. */
async function findInside(place: string, allowedDirs: readonly string[]): Promise<string> {
  const dirs = await Promise.all(
    allowedDirs.map(async (dir) => ({ dir: resolve(dir), real: await realpathOf(dir) })),
  );
  const path = toPath(place);
  const isWrittenInside = dirs.some(({ dir, real }) => isInside(dir, path) || isInside(real, path));
  const found = isWrittenInside ? await realpathOf(path) : undefined;
  if (found === undefined || !dirs.some(({ real }) => isInside(real, found))) throw notInside(place);
  return found;
}

function toPath(place: string): string {
  if (!/^file:/i.test(place)) return resolve(place);
  const url = URL.parse(place);
  // With a host it would be a share, which Windows fetches from that host.
  if (url === null || url.host !== '') throw notInside(place);
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

/** One answer for what is missing, outside or linked outside, so that nobody learns what exists elsewhere. */
function notInside(place: string): LocalFileError {
  return new LocalFileError(place, 'is not read: the folders that allowedDirs names have no such file.');
}
