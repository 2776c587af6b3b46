import { lstatSync, type Dirent } from 'node:fs';
import { chmod, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { isToolFolder, runsLater } from '../../../permission/shell/runs-later.ts';

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
  /** Files with several names, of which a change by one would be a change of all, and files with a set-uid bit. */
  readonly shared: readonly BytePath[];
  /** Reason why the folder is not known in full. */
  readonly problem: string | undefined;
}

export interface ScanOptions {
  readonly maxEntries?: number;
  /**
   * Scan of a folder that a program has changed. Unreadable folders are given back to their owner; folders that can't be checked
   * count as members, so that none of them hides the others.
   */
  readonly isAfterwards?: boolean;
}

const MAX_ENTRIES = 100_000;
const MAX_DEPTH = 100;
/** Maximum bytes of a path. The system refuses paths of more than 4096 bytes. */
const MAX_PATH = 3000;
/** Files without which a folder is neither a git repository nor a Python environment. */
const TOOL_FILES = ['HEAD', 'pyvenv.cfg'];
const SETUID_BITS = 0o6000;
/** A name followed by `..` later in the path. */
const NAME_THEN_UP = /(?:^|\/)(?!\.{1,2}(?:\/|$))[^/]+\/(?:.*\/)?\.\.(?:\/|$)/s;

export const toBytes = (path: BytePath): Buffer => Buffer.from(path, 'latin1');
export const toText = (path: BytePath): string => toBytes(path).toString('utf8');
export const fromText = (path: string): BytePath => Buffer.from(path, 'utf8').toString('latin1');

/** Finds everything in a folder that other programs run by themselves, all links, and files with several names. */
export async function scanFolder(folder: string, options: ScanOptions = {}): Promise<FolderScan> {
  const { maxEntries = MAX_ENTRIES, isAfterwards = false } = options;
  const members = new Map<BytePath, 'file' | 'folder' | 'link'>();
  const links = new Map<BytePath, BytePath>();
  const shared: BytePath[] = [];
  const root = fromText(folder);
  const ahead: { path: BytePath; depth: number }[] = [{ path: root, depth: 0 }];
  let count = 0;
  let problem: string | undefined;
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { path, depth } = next;
    const isTooDeep = depth > MAX_DEPTH || path.length > MAX_PATH;
    const entries = isTooDeep ? undefined : await entriesOf(path, isAfterwards).catch(() => undefined);
    const isTooMuch = count + (entries?.length ?? 0) > maxEntries;
    if (entries === undefined || isTooMuch) {
      const reason = isTooDeep
        ? 'its folders are nested too deep'
        : isTooMuch
          ? `it has more than ${maxEntries} files`
          : `${toText(path)} can't be read`;
      if (!isAfterwards || path === root) return { members, links, shared, problem: reason };
      members.set(path, 'folder');
      continue;
    }
    count += entries.length;
    const names = entries.map((entry) => entry.name.toString('latin1'));
    const isTool = isToolFolder(new Set(names));
    if (isTool && path !== root) {
      members.set(path, 'folder');
      continue;
    }
    if (isTool && !isAfterwards)
      problem = 'it is itself a git repository without files, or a Python environment';
    for (const [i, entry] of entries.entries()) {
      const name = names[i] ?? '';
      const at = `${path}/${name}`;
      const kind = entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'folder' : 'file';
      const isMember = runsLater(name) || !isUtf8(entry.name) || (isTool && TOOL_FILES.includes(name));
      if (isMember) members.set(at, kind);
      else if (kind === 'folder') ahead.push({ path: at, depth: depth + 1 });
      else if (kind === 'link') links.set(at, await targetOf(at));
      else if (!isAfterwards && isShared(at)) shared.push(at);
    }
  }
  return { members, links, shared, problem };
}

/** Whether a change of the file reaches further: it has a second name, or runs with the rights of its owner. */
function isShared(path: BytePath): boolean {
  const { nlink = 0, mode = 0 } = lstatSync(toBytes(path), { throwIfNoEntry: false }) ?? {};
  return nlink > 1 || (mode & SETUID_BITS) !== 0;
}

async function entriesOf(path: BytePath, isAfterwards: boolean): Promise<readonly Dirent<Buffer>[]> {
  const read = (): Promise<readonly Dirent<Buffer>[]> =>
    readdir(toBytes(path), { encoding: 'buffer', withFileTypes: true });
  try {
    return await read();
  } catch (error) {
    if (!isAfterwards) throw error;
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
  // Behind another link, `..` is the folder around the target of that link.
  if (NAME_THEN_UP.test(target) || !isInside(resolve(dirname(toText(link)), toText(target)))) return true;
  const real = await realpath(toBytes(link)).catch(() => undefined);
  return real !== undefined && !isInside(real);
}

function isUtf8(name: Buffer): boolean {
  return Buffer.from(name.toString('utf8'), 'utf8').equals(name);
}
