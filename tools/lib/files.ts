// What the tools share about files.

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root folder of this repository. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** All files below a folder of the repository that end so, as sorted paths relative to it; none if it is missing. */
export function filesBelow(folder: string, ending: string): string[] {
  const absolute = join(ROOT, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending) && !/(^|[\\/])node_modules[\\/]/.test(file))
    .map((file) => file.split(sep).join('/'))
    .sort();
}

/** Prints what is wrong, and makes the process fail if anything is. */
export function report(problems: readonly string[], allGood: string): void {
  console.log(problems.length === 0 ? allGood : problems.join('\n'));
  if (problems.length > 0) process.exitCode = 1;
}
