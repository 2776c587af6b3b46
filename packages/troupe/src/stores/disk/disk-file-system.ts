import { constants, existsSync, type BigIntStats } from 'node:fs';
import { lstat, mkdir, open, opendir, realpath, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';

import { TroupeError } from '../../errors.ts';
import {
  FileSystemBase,
  type FileContent,
  type FileEntry,
  type FileInfo,
  type FileKind,
  type ReadOptions,
  type WriteOptions,
} from '../../filesystem/file-system-base.ts';
import {
  alreadyThere,
  FileSystemError,
  hasChanged,
  notADirectory,
  notAFile,
  notFound,
  tooLarge,
} from '../../filesystem/file-system-error.ts';
import {
  joinPath,
  nameOf,
  parentOf,
  pathOfFound,
  segmentsOf,
  TOP,
  type LogicalPath,
} from '../../filesystem/logical-path.ts';
import { KeyedQueue } from '../../util/async/keyed-queue.ts';
import { codeOf, readOnly, toFileSystemError, unusable } from './disk-errors.ts';
import { isTemporaryFile, removeTemporaryFilesAlone, replaceFile } from './temporary-files.ts';
import { makeFolderIn, openFolder, type Folder, type Reach } from './folder.ts';
import { isOwnName } from './is-own-name.ts';

export type DiskRoot = 'userinput' | 'workspace' | 'internal';

export interface DiskFileSystemOptions {
  /** Folder of all namespaces, which are subfolders; missing subfolders are made. */
  readonly root?: string | undefined;
  /**
   * Folder of each namespace, instead of `root`, e.g. `{ workspace: '/home/ann/project' }`. A namespace
   * without a folder has no files.
   */
  readonly folders?: Partial<Readonly<Record<DiskRoot, string>>> | undefined;
  /**
   * Way to hold the folders on a path: open descriptors, which nothing can redirect, or names that are
   * checked again. @default 'descriptors' where there is a `/proc`, otherwise 'paths'
   */
  readonly reach?: Reach | undefined;
}

const ROOT_NAMES: readonly DiskRoot[] = ['userinput', 'workspace', 'internal'];
const FOLDER_MODE = 0o700;
/** Refuses links, and does not block on pipes. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Directory entry under a name. */
interface Found {
  readonly kind: FileKind;
  readonly stats: BigIntStats;
}

/**
 * Files in folders of the disk. No link is ever followed, and neither pipes, devices nor files with several
 * names (hard links) are opened; the listing shows these as `other`. Each folder of a path is opened from its
 * parent folder, so that nobody can put a link in between. A write makes a temporary file beside the file and renames
 * it: readers find the old content or the new. New files and folders are private to the owner; a
 * replaced file keeps its permissions, and a read-only file is not replaced. Folder `stores/disk`: start here.
 */
export class DiskFileSystem extends FileSystemBase {
  /** Queue of changes for all file systems on the same folder, by path. */
  static readonly #changes = new KeyedQueue();
  readonly #roots: ReadonlyMap<string, string>;
  readonly #reach: Reach;

  private constructor(roots: ReadonlyMap<string, string>, reach: Reach) {
    super();
    this.#roots = roots;
    this.#reach = reach;
  }

  /**
   * Opens the folders and makes missing folders. @throws TroupeError if folders overlap, none is named, or
   * both a root and folders are given
   */
  static async open({ root, folders, reach }: DiskFileSystemOptions): Promise<DiskFileSystem> {
    if (root !== undefined && folders !== undefined)
      throw invalid('A DiskFileSystem has a root or folders, not both.');
    const paths = root === undefined ? { ...folders } : await namespacesIn(root);
    const roots = new Map<string, string>();
    for (const name of ROOT_NAMES) {
      const folder = paths[name];
      if (folder === undefined) continue;
      await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
      const real = await realpath(resolve(folder));
      for (const [other, path] of roots) {
        if (!isInside(real, path) && !isInside(path, real)) continue;
        throw invalid(
          `The folder of ${name} overlaps with the folder of ${other}. Give each a folder of its own.`,
        );
      }
      roots.set(name, real);
    }
    if (roots.size === 0) throw invalid('A DiskFileSystem needs a root, or folders such as { workspace }.');
    return new DiskFileSystem(roots, reach ?? (existsSync('/proc/self/fd') ? 'descriptors' : 'paths'));
  }

  stat(path: LogicalPath): Promise<FileInfo | undefined> {
    return this.#read(path, async () => {
      try {
        if (segmentsOf(path).length === 1) {
          await this.#in(path, async () => {});
          return { path, kind: 'directory' };
        }
        return await this.#inParent(path, async (folder, name) => {
          const found = await find(folder, name);
          if (found?.kind !== 'file') return found && { path, kind: found.kind };
          const { size, mtime } = found.stats;
          return { path, kind: 'file', size: Number(size), updatedAt: mtime.toISOString() };
        });
      } catch (error) {
        if (FileSystemError.isInstance(error) && error.kind === 'not_found') return undefined;
        throw error;
      }
    });
  }

  list(path: LogicalPath, maxEntries: number): Promise<readonly FileEntry[]> {
    return this.#read(path, () =>
      this.#in(path, async (folder) => {
        const entries: FileEntry[] = [];
        for await (const entry of await opendir(folder.at('.'))) {
          const found = pathOfFound(path, entry.name);
          if (found === undefined || isTemporaryFile(entry.name)) continue;
          if (entries.length >= maxEntries) throw tooLarge(path, `has more than ${maxEntries} entries.`);
          const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other';
          entries.push({ path: found, kind });
        }
        await folder.verify();
        return entries;
      }),
    );
  }

  read(path: LogicalPath, { offset = 0, maxBytes, wholeOnly }: ReadOptions): Promise<FileContent> {
    return this.#read(path, () =>
      this.#inParent(path, async (folder, name) => {
        const found = await find(folder, name);
        if (found === undefined) throw notFound(path);
        checkFile(found, path);
        const file = await open(folder.at(name), READ_FLAGS);
        try {
          const stats = await file.stat({ bigint: true });
          await folder.verify(name, stats);
          if (kindOf(stats) !== 'file') throw unusable(path); // the entry changed since the check
          const size = Number(stats.size);
          const length = wholeOnly && size - offset > maxBytes ? 0 : Math.min(size - offset, maxBytes);
          return { bytes: await readPart(file, offset, length), size, version: versionOf(stats) };
        } finally {
          await file.close();
        }
      }),
    );
  }

  write(path: LogicalPath, bytes: Uint8Array, { expected }: WriteOptions = {}): Promise<void> {
    const copy = bytes.slice();
    return this.#change(path, async () => {
      const mayBeNew = typeof expected !== 'string';
      await this.#inParent(
        path,
        async (folder, name) => {
          const old = await find(folder, name);
          if (old !== undefined) checkFile(old, path);
          if (old !== undefined && expected === null) throw alreadyThere(path);
          if (old === undefined && !mayBeNew) throw notFound(path);
          if (old !== undefined && !mayBeNew && versionOf(old.stats) !== expected) throw hasChanged(path);
          const mode = old && Number(old.stats.mode) & 0o777;
          if (mode !== undefined && (mode & 0o222) === 0) throw readOnly(path);
          await replaceFile(folder, name, copy, mode);
        },
        mayBeNew,
      );
    });
  }

  delete(path: LogicalPath): Promise<void> {
    return this.#change(path, () =>
      this.#inParent(path, async (folder, name) => {
        const found = await find(folder, name);
        if (found === undefined) throw notFound(path);
        if (found.kind === 'other') throw unusable(path);
        await folder.verify();
        if (found.kind === 'file') return unlink(folder.at(name));
        await removeTemporaryFilesAlone(folder, name);
        await rmdir(folder.at(name));
      }),
    );
  }

  /**
   * Queues reads like changes when there are no descriptors, so that two checks of one read see the same
   * state.
   */
  #read<T>(path: LogicalPath, read: () => Promise<T>): Promise<T> {
    return this.#reach === 'paths' ? this.#change(path, read) : guard(path, read);
  }

  /** Runs changes one after another, so that nothing of this process happens between a check and its use. */
  #change<T>(path: LogicalPath, change: () => Promise<T>): Promise<T> {
    const root = this.#roots.get(segmentsOf(path)[0] ?? '') ?? '';
    return DiskFileSystem.#changes.run(root, () => guard(path, change));
  }

  async #inParent<T>(
    path: LogicalPath,
    body: (folder: Folder, name: string) => Promise<T>,
    isMade = false,
  ): Promise<T> {
    const name = nameOf(path);
    if (segmentsOf(path).length < 2) throw notAFile(path); // a root
    return this.#in(parentOf(path), (folder) => body(folder, name), path, isMade);
  }

  /**
   * Opens a folder step by step from its root, and closes all folders afterwards.
   * @param target path for errors
   * @param isMade whether to make missing folders
   */
  async #in<T>(
    path: LogicalPath,
    body: (folder: Folder) => Promise<T>,
    target = path,
    isMade = false,
  ): Promise<T> {
    if (segmentsOf(target).some(isTemporaryFile)) throw unusable(target);
    const [root = '', ...names] = segmentsOf(path);
    const real = this.#roots.get(root);
    if (real === undefined) throw notFound(target);
    let folder = await openFolder(real, this.#reach);
    try {
      let at = joinPath(TOP, root);
      for (const name of names) {
        at = joinPath(at, name);
        if (isMade) await makeFolderIn(folder, name);
        const found = await find(folder, name);
        if (found?.kind === 'other') throw unusable(at);
        if (found?.kind === 'file' && (isMade || at === target)) throw notADirectory(at);
        if (found?.kind !== 'directory') throw notFound(target);
        const next = await folder.open(name);
        await folder.close();
        folder = next;
      }
      return await body(folder);
    } finally {
      await folder.close();
    }
  }
}

async function guard<T>(path: LogicalPath, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toFileSystemError(error, path);
  }
}

/** Finds the entry under a name without following links; undefined if missing. */
async function find(folder: Folder, name: string): Promise<Found | undefined> {
  let stats: BigIntStats;
  try {
    stats = await lstat(folder.at(name), { bigint: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  // Another spelling of an existing name is neither present nor free.
  const isOwn = await isOwnName(folder, name, stats);
  return { kind: isOwn ? kindOf(stats) : 'other', stats };
}

async function readPart(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(Math.max(0, length));
  let read = 0;
  while (read < bytes.length) {
    const { bytesRead } = await file.read(bytes, read, bytes.length - read, offset + read);
    if (bytesRead === 0) break; // the file became shorter
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

function kindOf(stats: BigIntStats): FileKind {
  if (stats.isDirectory()) return 'directory';
  return stats.isFile() && stats.nlink <= 1n ? 'file' : 'other';
}

function versionOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join(':');
}

function checkFile({ kind }: Found, path: LogicalPath): void {
  if (kind === 'directory') throw notAFile(path);
  if (kind === 'other') throw unusable(path);
}

async function namespacesIn(root: string): Promise<Readonly<Record<DiskRoot, string>>> {
  await mkdir(root, { recursive: true, mode: FOLDER_MODE });
  const real = await realpath(resolve(root));
  const [userinput, workspace, internal] = ROOT_NAMES.map((name) => join(real, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [userinput, workspace, internal]) {
    await mkdir(path, { recursive: true, mode: FOLDER_MODE });
    if ((await realpath(path)) !== path)
      throw invalid('A namespace in the root folder is a link. Name its folder by `folders`.');
  }
  return { userinput, workspace, internal };
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function invalid(problem: string): TroupeError {
  return new TroupeError('invalid_config', problem);
}
