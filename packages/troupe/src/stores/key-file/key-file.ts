import { constants } from 'node:fs';
import type * as nodeFiles from 'node:fs/promises';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import { newId, randomBytes } from '../../util/ids.ts';
import { addPrivateFile } from '../../util/platform/private-files.node.ts';

type KeyFiles = Pick<typeof nodeFiles, 'link' | 'open' | 'rm'>;

const KEY_BYTES = 32;
const KEY_TEXT = /^[0-9a-f]{64}\n$/;
const PRIVATE = 0o600;
const OTHERS = 0o077;

/**
 * Key of a store in a file with private permissions, made with the first save. A file that others can read, that belongs to
 * somebody else or is no regular file is no key, and a problem with the file is logged: then saved approvals do not count.
 */
export class KeyFile {
  readonly #files: KeyFiles;
  readonly #path: string;
  #key: Uint8Array<ArrayBuffer> | undefined;
  #hasWarned = false;

  constructor(files: KeyFiles, path: string) {
    this.#files = files;
    this.#path = path;
  }

  /** The key of the file; undefined without a file, or if its key can't be used. */
  async get(purpose: 'read' | 'make'): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.#key !== undefined) return this.#key;
    try {
      this.#key = await this.#read();
      if (this.#key === undefined && purpose === 'make') {
        await this.#make();
        this.#key = await this.#read();
      }
    } catch (error) {
      this.#warn(messageOf(error));
    }
    return this.#key;
  }

  async #read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    let file: nodeFiles.FileHandle;
    try {
      file = await this.#files.open(this.#path, flags);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
    try {
      const stats = await file.stat();
      const isOwn = process.getuid === undefined || stats.uid === process.getuid();
      const isPrivate = process.platform === 'win32' || (stats.mode & OTHERS) === 0;
      if (!stats.isFile() || !isOwn || !isPrivate)
        throw new Error('it must be a regular file of this user with the permissions 0600');
      const text = await file.readFile('utf8');
      if (!KEY_TEXT.test(text)) throw new Error('it does not contain a key');
      addPrivateFile(this.#path);
      return Uint8Array.from(text.trim().match(/../g) ?? [], (digits) => parseInt(digits, 16));
    } finally {
      await file.close();
    }
  }

  /** Writes a draft first: nobody sees half a key, and of two processes one wins. */
  async #make(): Promise<void> {
    const digits = Array.from(randomBytes(KEY_BYTES), (byte) => byte.toString(16).padStart(2, '0'));
    const draft = `${this.#path}.${newId()}.draft`;
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const file = await this.#files.open(draft, flags, PRIVATE);
    try {
      try {
        await file.writeFile(`${digits.join('')}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#files.link(draft, this.#path);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    } finally {
      await this.#files.rm(draft, { force: true });
    }
  }

  #warn(problem: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    getLogger().log(
      'warn',
      `The key of saved approvals, '${this.#path}', can't be used: ${problem}. They do not count.`,
    );
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
