/** Drafts: files with new content, each beside the file to replace. */
import { constants } from 'node:fs';
import { open, opendir, rename, unlink } from 'node:fs/promises';

import { newId } from '../../util/ids.ts';
import type { Folder } from './folder.ts';

const DRAFT = '.troupe-draft-';
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const PRIVATE = 0o600;

export function isDraft(name: string): boolean {
  return name.startsWith(DRAFT);
}

/** Writes a draft and replaces a file by the draft. A failure leaves nothing behind. */
export async function replaceFile(
  folder: Folder,
  name: string,
  bytes: Uint8Array,
  mode = PRIVATE,
): Promise<void> {
  const draft = folder.at(`${DRAFT}${newId()}`);
  const file = await open(draft, FLAGS, PRIVATE);
  try {
    try {
      await folder.verify();
      await file.writeFile(bytes);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
    await rename(draft, folder.at(name));
  } catch (error) {
    await unlink(draft).catch(() => {});
    throw error;
  }
}

/**
 * Removes drafts left by killed processes from an otherwise empty folder, which would look empty but could
 * not be deleted.
 */
export async function removeDraftsAlone(folder: Folder, name: string): Promise<void> {
  const inner = await folder.open(name);
  try {
    const names: string[] = [];
    for await (const { name } of await opendir(inner.at('.'))) {
      if (!isDraft(name)) return;
      names.push(name);
    }
    await inner.verify();
    for (const draft of names) await unlink(inner.at(draft));
  } finally {
    await inner.close();
  }
}
