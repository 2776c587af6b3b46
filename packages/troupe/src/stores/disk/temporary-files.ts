/** Temporary files: each has the new content of a file, and is made beside it. */
import { constants } from 'node:fs';
import { open, opendir, rename, unlink } from 'node:fs/promises';

import { newId } from '../../util/ids.ts';
import type { Folder } from './folder.ts';

const PREFIX = '.troupe-draft-';
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const PRIVATE = 0o600;

export function isTemporaryFile(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** Writes a temporary file and replaces a file by it. A failure leaves nothing behind. */
export async function replaceFile(
  folder: Folder,
  name: string,
  bytes: Uint8Array,
  mode = PRIVATE,
): Promise<void> {
  const temporary = folder.at(`${PREFIX}${newId()}`);
  const file = await open(temporary, FLAGS, PRIVATE);
  try {
    try {
      await folder.verify();
      await file.writeFile(bytes);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
    await rename(temporary, folder.at(name));
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

/**
 * Removes temporary files left by killed processes from an otherwise empty folder, which would look empty but could
 * not be deleted.
 */
export async function removeTemporaryFilesAlone(folder: Folder, name: string): Promise<void> {
  const inner = await folder.open(name);
  try {
    const names: string[] = [];
    for await (const { name } of await opendir(inner.at('.'))) {
      if (!isTemporaryFile(name)) return;
      names.push(name);
    }
    await inner.verify();
    for (const temporary of names) await unlink(inner.at(temporary));
  } finally {
    await inner.close();
  }
}
