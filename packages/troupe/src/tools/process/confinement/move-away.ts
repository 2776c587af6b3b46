import { constants } from 'node:fs';
import { cp, mkdtemp, open, readlink, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { toBytes, toText, type BytePath } from './scan-folder.ts';

/** Maximum characters kept of a name, each of up to four bytes. The system refuses names of more than 255 bytes. */
const MAX_NAME = 60;

/**
 * Moves files and folders to a new private folder beside the temporary files.
 * @param found paths without links in them
 * @returns the new folder, and paths that could not be moved
 */
export async function moveAway(
  found: readonly BytePath[],
): Promise<{ readonly folder: string | undefined; readonly left: readonly BytePath[] }> {
  if (found.length === 0) return { folder: undefined, left: [] };
  const folder = await mkdtemp(join(tmpdir(), 'troupe-set-aside-'));
  const left: BytePath[] = [];
  for (const [i, path] of found.entries()) {
    const name = toText(path.slice(path.lastIndexOf('/') + 1)).slice(-MAX_NAME);
    await move(path, join(folder, `${i}-${name}`)).catch(() => void left.push(path));
  }
  return { folder, left };
}

/**
 * Moves a file or folder out of the opened folder around it: another program may have put a link in place of that folder since it
 * was looked at, and the link may lead out of the working directory.
 */
async function move(path: BytePath, target: string): Promise<void> {
  const end = path.lastIndexOf('/');
  const parent = await open(toBytes(path.slice(0, end)), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const opened = `/proc/self/fd/${parent.fd}`;
    if ((await readlink(opened, { encoding: 'latin1' })) !== path.slice(0, end))
      throw new Error('The folder was replaced.');
    const from = `${opened}/${path.slice(end + 1)}`;
    try {
      await rename(toBytes(from), target);
    } catch {
      // on another file system
      await cp(toText(from), target, { recursive: true, verbatimSymlinks: true }).catch(() => {});
      await rm(toBytes(from), { recursive: true, force: true });
    }
  } finally {
    await parent.close();
  }
}
