import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';

import { riskOf } from '../../../permission/shell/risky-paths.ts';

/** Commands that may run unasked where nothing can be confined, with the flags and number of paths that each may have. */
const COMMANDS: Readonly<
  Record<string, { readonly flags: RegExp; readonly paths: readonly [number, number] }>
> = {
  pwd: { flags: /^$/, paths: [0, 0] },
  ls: { flags: /^-[1AFGRSahlrt]+$/, paths: [0, 20] },
  cat: { flags: /^-n$/, paths: [1, 20] },
  head: { flags: /^-(?:n?\d{1,6}|c\d{1,9})$/, paths: [1, 20] },
  tail: { flags: /^-(?:n?\d{1,6}|c\d{1,9})$/, paths: [1, 20] },
  wc: { flags: /^-[lwcm]+$/, paths: [1, 20] },
};
/** Words without a meaning for any shell. */
const PLAIN_LINE = /^[\w./+@,-]+(?: [\w./+@,-]+)*$/;
const MAX_CHARS = 2000;

/** Environment of these commands. */
export const FIXED_ENV = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: '/nonexistent' };

/**
 * Reads a command line of the short list of harmless commands. Every word is literal, and every path leads to an
 * existing file in the folders, also behind links.
 * @returns program and arguments to be run without a shell; undefined for everything else
 */
export async function fixedCommand(
  line: string,
  cwd: string,
  folders: readonly string[],
): Promise<readonly string[] | undefined> {
  const text = line.trim();
  if (text.length > MAX_CHARS || !PLAIN_LINE.test(text)) return undefined;
  const [name = '', ...words] = text.split(' ');
  const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (known === undefined) return undefined;
  const flags = words.filter((word) => word.startsWith('-'));
  const paths = words.filter((word) => !word.startsWith('-'));
  const [least, most] = known.paths;
  if (paths.length < least || paths.length > most || !flags.every((flag) => known.flags.test(flag)))
    return undefined;
  for (const path of paths) if (!(await isPlainlyInside(path, cwd, folders))) return undefined;
  return [name, ...flags, '--', ...paths];
}

async function isPlainlyInside(path: string, cwd: string, folders: readonly string[]): Promise<boolean> {
  try {
    // Not normalized before: `link/..` is the folder around the target of the link.
    const real = await realpath(isAbsolute(path) ? path : `${cwd}/${path}`);
    const isInside = folders.some((folder) => real === folder || real.startsWith(`${folder}/`));
    const stats = await stat(real);
    return (
      isInside &&
      riskOf(path) === undefined &&
      riskOf(real) === undefined &&
      (stats.isFile() || stats.isDirectory())
    );
  } catch {
    return false;
  }
}
