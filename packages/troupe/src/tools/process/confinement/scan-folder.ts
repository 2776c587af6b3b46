import { lstatSync, type Dirent } from 'node:fs';
import { chmod, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { isToolFolder, runsLater } from './runs-later.ts';

/**
 * Paths in bytes, each byte as one character: a name that is not UTF-8 must not be overlooked. Converted by
 * `toBytes` and `toText`.
 */
export type BytePath = string;

export interface FolderScan {
  /** Files and folders that run later, with the kind of each. Folders are not entered. */
  readonly members: ReadonlyMap<BytePath, 'file' | 'folder' | 'link'>;
  /** Other links, with their targets. */
  readonly links: ReadonlyMap<BytePath, BytePath>;
  /** Files with several names. A change by one name would be a change of all. */
  readonly shared: readonly BytePath[];
  /** Reason why the folder is not known in full. */
  readonly problem: string | undefined;
}

export interface ScanOptions {
  readonly maxEntries?: number;
  /** Gives unreadable folders back to their owner, to look into them. */
  readonly makesReadable?: boolean;
}

const MAX_ENTRIES = 100_000;
const MAX_DEPTH = 100;

export const toBytes = (path: BytePath): Buffer => Buffer.from(path, 'latin1');
export const toText = (path: BytePath): string => toBytes(path).toString('utf8');
export const fromText = (path: string): BytePath => Buffer.from(path, 'utf8').toString('latin1');

/** Finds everything in a folder that other programs run by themselves, all links, and files with several names. */
export async function scanFolder(folder: string, options: ScanOptions = {}): Promise<FolderScan> {
  const { maxEntries = MAX_ENTRIES, makesReadable = false } = options;
  const members = new Map<BytePath, 'file' | 'folder' | 'link'>();
  const links = new Map<BytePath, BytePath>();
  const shared: BytePath[] = [];
  const root = fromText(folder);
  const ahead: { path: BytePath; depth: number }[] = [{ path: root, depth: 0 }];
  let count = 0;
  let problem: string | undefined;
  for (let next = ahead.pop(); next !== undefined && problem === undefined; next = ahead.pop()) {
    const { path, depth } = next;
    let entries: readonly Dirent<Buffer>[];
    try {
      entries = await entriesOf(path, makesReadable);
    } catch {
      problem = `${toText(path)} can't be read`;
      break;
    }
    count += entries.length;
    if (count > maxEntries) problem = `it has more than ${maxEntries} files`;
    if (depth > MAX_DEPTH) problem = 'its folders are nested too deep';
    const names = entries.map((entry) => entry.name.toString('latin1'));
    if (isToolFolder(new Set(names))) {
      if (path === root) problem = 'it is itself a git repository without files, or a Python environment';
      members.set(path, 'folder');
      continue;
    }
    for (const [i, entry] of entries.entries()) {
      const name = names[i] ?? '';
      const at = `${path}/${name}`;
      const kind = entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'folder' : 'file';
      if (runsLater(name) || !isUtf8(entry.name)) members.set(at, kind);
      else if (kind === 'folder') ahead.push({ path: at, depth: depth + 1 });
      else if (kind === 'link') links.set(at, await targetOf(at));
      else if ((lstatSync(toBytes(at), { throwIfNoEntry: false })?.nlink ?? 0) > 1) shared.push(at);
    }
  }
  return { members, links, shared, problem };
}

async function entriesOf(path: BytePath, makesReadable: boolean): Promise<readonly Dirent<Buffer>[]> {
  const read = (): Promise<readonly Dirent<Buffer>[]> =>
    readdir(toBytes(path), { encoding: 'buffer', withFileTypes: true });
  try {
    return await read();
  } catch (error) {
    if (!makesReadable) throw error;
    await chmod(toBytes(path), 0o700);
    return read();
  }
}

function targetOf(path: BytePath): Promise<BytePath> {
  return readlink(toBytes(path), { encoding: 'latin1' }).catch(() => '');
}

/** Whether a link leads out of the folders, now or as soon as its target exists. */
export async function leaves(link: BytePath, target: BytePath, folders: readonly string[]): Promise<boolean> {
  const isInside = (path: string): boolean =>
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  if (!isInside(resolve(dirname(toText(link)), toText(target)))) return true;
  const real = await realpath(toBytes(link)).catch(() => undefined);
  return real !== undefined && !isInside(real);
}

function isUtf8(name: Buffer): boolean {
  return Buffer.from(name.toString('utf8'), 'utf8').equals(name);
}
