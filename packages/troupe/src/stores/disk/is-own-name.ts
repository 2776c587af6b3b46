import type { BigIntStats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';

import { identityOf, type Folder } from './folder.ts';

/**
 * Whether something is really called what it was found by. Where a system takes `A` for `a`, composed letters for decomposed ones, or
 * `LONGNA~1` for a long name, several paths lead to one file, and a grant for one of them would say nothing about the others.
 */
export async function isOwnName(folder: Folder, name: string, found: BigIntStats): Promise<boolean> {
  const isCapital = name === name.toUpperCase();
  const spellings = [isCapital ? name.toLowerCase() : name.toUpperCase(), name.normalize('NFD')];
  for (const other of spellings) {
    if (other === name || !(await isSame(folder.at(other), found))) continue;
    return (await readdir(folder.at('.'))).includes(name);
  }
  return true;
}

async function isSame(path: string, found: BigIntStats): Promise<boolean> {
  try {
    return identityOf(await lstat(path, { bigint: true })) === identityOf(found);
  } catch {
    return false;
  }
}
