import type { BigIntStats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';

import { identityOf, type Folder } from './folder.ts';

/**
 * Whether an entry's real name equals the name used to find the entry. Where a system treats `A` as `a`,
 * composed letters as decomposed, or `LONGNA~1` as a long name, several paths lead to one file, and a grant
 * for one path would not cover the others.
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
