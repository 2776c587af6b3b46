import { accessSync, constants } from 'node:fs';
import * as path from 'node:path';
import { readEnv } from '#platform';

/** The first program of a list that is installed. */
export function findProgram(names: readonly string[]): string | undefined {
  const folders = (readEnv('PATH') ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return names.find((name) => folders.some((folder) => isExecutable(path.join(folder, name))));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
