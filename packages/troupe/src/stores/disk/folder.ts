import { constants, type BigIntStats } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/** Open flags that follow no link. Windows has neither flag: both are undefined and count as 0. */
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;
const PRIVATE = 0o700;

/** Error for a folder that was replaced or is a link. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
}

/**
 * Folder of the disk, reached without following a link. The folder stays the same while open: all work
 * through `at(name)` happens in exactly this folder.
 */
export interface Folder {
  /** Path of a name in the folder, for one system call. */
  at(name: string): string;
  /** Opens a subfolder. @throws the system's error, or LinkError, if the name is missing or no folder */
  open(name: string): Promise<Folder>;
  /**
   * Checks that `at` still means this folder, and that an open file is the entry with this name. Call after
   * opening a file and before using the file. @throws LinkError
   */
  verify(name?: string, opened?: BigIntStats): Promise<void>;
  close(): Promise<void>;
}

/**
 * Folder held by a descriptor: names are resolved as `/proc/self/fd/7/name`, which can't lead elsewhere,
 * whatever happens to the folder's path.
 */
class OpenFolder implements Folder {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async openAt(path: string): Promise<Folder> {
    return new OpenFolder(await open(path, FOLDER_FLAGS));
  }

  /**
   * Opens a root by its real path.
   * @throws LinkError if a folder on the path has become a link
   */
  static async openRoot(path: string): Promise<Folder> {
    const handle = await open(path, FOLDER_FLAGS);
    try {
      if ((await readlink(`/proc/self/fd/${handle.fd}`)) !== path) throw new LinkError();
    } catch (error) {
      await handle.close();
      throw error;
    }
    return new OpenFolder(handle);
  }

  at(name: string): string {
    return `/proc/self/fd/${this.#handle.fd}/${name}`;
  }

  open(name: string): Promise<Folder> {
    return OpenFolder.openAt(this.at(name));
  }

  async verify(): Promise<void> {}

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/**
 * Folder on systems without `/proc`: identified by real path and inode, and checked again before use. Between
 * check and use is a moment: links are kept out, but not an attacker who swaps folders at exactly this
 * moment.
 */
class NamedFolder implements Folder {
  readonly #path: string;
  readonly #id: string;

  constructor(path: string, id: string) {
    this.#path = path;
    this.#id = id;
  }

  static async openAt(path: string): Promise<Folder> {
    const folder = new NamedFolder(path, await idOf(path));
    await folder.verify();
    return folder;
  }

  at(name: string): string {
    return join(this.#path, name);
  }

  async open(name: string): Promise<Folder> {
    await this.verify();
    return NamedFolder.openAt(this.at(name));
  }

  async verify(name?: string, opened?: BigIntStats): Promise<void> {
    if ((await realpath(this.#path)) !== this.#path || (await idOf(this.#path)) !== this.#id) {
      throw new LinkError();
    }
    if (name === undefined || opened === undefined) return;
    const there = await lstat(this.at(name), { bigint: true });
    if (identityOf(there) !== identityOf(opened)) throw new LinkError();
  }

  async close(): Promise<void> {}
}

async function idOf(path: string): Promise<string> {
  const stats = await lstat(path, { bigint: true });
  if (!stats.isDirectory()) throw new LinkError();
  return identityOf(stats);
}

/** Identity of a file or folder: device and inode. */
export function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

export type Reach = 'descriptors' | 'paths';

/** Opens a folder by its real path. */
export function openFolder(path: string, reach: Reach): Promise<Folder> {
  return reach === 'descriptors' ? OpenFolder.openRoot(path) : NamedFolder.openAt(path);
}

/** Makes a private subfolder, unless present. */
export async function makeFolderIn(folder: Folder, name: string): Promise<void> {
  await folder.verify();
  try {
    await mkdir(folder.at(name), { mode: PRIVATE });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
