import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isApprovalKey } from '../../../permission/shell/runs-later.ts';

/** Files in visible folders that a confined program must not open: named pipes, and keys of saved approvals. */
export interface HiddenSearch {
  readonly paths: readonly string[];
  /** False if the folders have too many files to look at all of them. */
  readonly isComplete: boolean;
}

/** Folder of packages, with more files than all others together. */
const SKIPPED = 'node_modules';
const MAX_ENTRIES = 100_000;
/** Folders that are read at the same time. */
const AT_ONCE = 32;

/**
 * Finds named pipes and keys of saved approvals. A folder that is mounted read-only does not keep programs from writing to a pipe in
 * it, nor from taking what others have written there; a key belongs to this or to another program. Links are not followed, and
 * `node_modules` are not entered.
 * @param folders absolute paths, the most important first; files and missing folders count as empty
 */
export async function findHidden(
  folders: readonly string[],
  maxEntries = MAX_ENTRIES,
): Promise<HiddenSearch> {
  const found = new Set<string>();
  const ahead = [...folders].reverse();
  for (let count = 0; ahead.length > 0;) {
    if (count > maxEntries) return { paths: [...found], isComplete: false };
    const paths = ahead.splice(-AT_ONCE);
    const lists = await Promise.all(paths.map(entriesOf));
    for (const [i, entries] of lists.entries()) {
      count += entries.length;
      for (const entry of entries) {
        const path = join(paths[i] ?? '', entry.name);
        if (entry.isFIFO() || (entry.isFile() && isApprovalKey(entry.name))) found.add(path);
        else if (entry.isDirectory() && entry.name !== SKIPPED) ahead.push(path);
      }
    }
  }
  return { paths: [...found], isComplete: true };
}

async function entriesOf(path: string) {
  return readdir(path, { withFileTypes: true }).catch(() => []);
}
