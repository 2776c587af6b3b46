import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Named pipes in folders. */
export interface PipeSearch {
  readonly pipes: readonly string[];
  /** False if the folders have too many files to look at all of them. */
  readonly isComplete: boolean;
}

/** Folder of packages, with more files than all others together. */
const SKIPPED = 'node_modules';
const MAX_ENTRIES = 100_000;
/** Folders that are read at the same time. */
const AT_ONCE = 32;

/**
 * Finds named pipes. A folder that is mounted read-only does not keep programs from writing to a pipe in it, nor from taking what
 * others have written there. Links are not followed, and `node_modules` are not entered.
 * @param folders absolute paths, the most important first; files and missing folders count as empty
 */
export async function findPipes(folders: readonly string[], maxEntries = MAX_ENTRIES): Promise<PipeSearch> {
  const pipes = new Set<string>();
  const ahead = [...folders].reverse();
  for (let count = 0; ahead.length > 0;) {
    if (count > maxEntries) return { pipes: [...pipes], isComplete: false };
    const paths = ahead.splice(-AT_ONCE);
    const lists = await Promise.all(paths.map(entriesOf));
    for (const [i, entries] of lists.entries()) {
      count += entries.length;
      for (const entry of entries) {
        const path = join(paths[i] ?? '', entry.name);
        if (entry.isFIFO()) pipes.add(path);
        else if (entry.isDirectory() && entry.name !== SKIPPED) ahead.push(path);
      }
    }
  }
  return { pipes: [...pipes], isComplete: true };
}

async function entriesOf(path: string) {
  return readdir(path, { withFileTypes: true }).catch(() => []);
}
