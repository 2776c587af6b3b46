import { constants, type BigIntStats } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/** Through no link. Windows has neither flag: there they are undefined, and count as nothing. */
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;
const PRIVATE = 0o700;

/** A folder on the way is not what it was, or is a link. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
}

/**
 * A folder of the disk that was reached through no link, and that stays the same one for as long as it is open: whatever is
 * done by `at(name)` is done in that very folder.
 */
export interface Folder {
  /** A path of what has this name in the folder, for one call of the system. */
  at(name: string): string;
  /** @throws the system's error, or LinkError, if it is no folder, or not there */
  open(name: string): Promise<Folder>;
  /**
   * Checks that `at` still means this folder, and that an open file is what has this name there. To be called after
   * a file was opened, and before it is used. @throws LinkError
   */
  verify(name?: string, opened?: BigIntStats): Promise<void>;
  close(): Promise<void>;
}

/**
 * Holds the folder open and names what is in it by the open folder: `/proc/self/fd/7/name`. Whatever happens to its path
 * meanwhile, it can't lead elsewhere.
 */
class OpenFolder implements Folder {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async openAt(path: string): Promise<Folder> {
    return new OpenFolder(await open(path, FOLDER_FLAGS));
  }

  /** By a real path, on which no folder has become a link since. */
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
 * For systems without `/proc`: knows the folder by its real path and its number, and looks again. Between the look and what is done
 * there is a moment, so this keeps links out, but not somebody who swaps folders at just that moment.
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

/** The same for two looks at the same file. */
export function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

export type Reach = 'descriptors' | 'paths';

/** Opens a folder by its real path. */
export function openFolder(path: string, reach: Reach): Promise<Folder> {
  return reach === 'descriptors' ? OpenFolder.openRoot(path) : NamedFolder.openAt(path);
}

/** Makes a folder in another one, for nobody but the owner, unless it is there. */
export async function makeFolderIn(folder: Folder, name: string): Promise<void> {
  await folder.verify();
  try {
    await mkdir(folder.at(name), { mode: PRIVATE });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
