// Files of the repository, for the tools of this folder.

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root folder of this repository. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * All files below a folder of the repository with the given ending, as sorted relative paths; none if the
 * folder is missing.
 */
export function filesBelow(folder: string, ending: string): string[] {
  const absolute = join(ROOT, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending) && !/(^|[\\/])node_modules[\\/]/.test(file))
    .map((file) => file.split(sep).join('/'))
    .sort();
}

/** Prints the problems; the process fails if there are any. */
export function report(problems: readonly string[], allGood: string): void {
  console.log(problems.length === 0 ? allGood : problems.join('\n'));
  if (problems.length > 0) process.exitCode = 1;
}
