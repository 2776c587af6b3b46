import { KeyedQueue } from '../util/async/keyed-queue.ts';
import { checkedLimits, type FileLimits, type FileLimitsInput } from './file-limits.ts';
import { FilePolicy, type FileGrant, type FileGrantInput, type FileOperation } from './file-policy.ts';
import {
  FileSearch,
  type FileMatches,
  type FileSearchOptions,
  type GrepOptions,
  type LineMatch,
  type SearchedFiles,
} from './file-search.ts';
import type { FileContent, FileEntry, FileInfo, FileSystemBase } from './file-system-base.ts';
import { FileSystemError, invalidArgument, notFound, tooLarge } from './file-system-error.ts';
import { applyEdits, decodeText, encodeText, someLines, type FileLines, type TextEdit } from './file-text.ts';
import { parsePath, segmentsOf, TOP, type LogicalPath } from './logical-path.ts';

export interface FileSystemHandleOptions {
  /** @default all operations that the namespaces `/userinput/` and `/workspace/` allow */
  readonly grants?: readonly FileGrantInput[] | FilePolicy | undefined;
  /** Limits of file sizes and searches. @default see `FileLimits` */
  readonly limits?: FileLimitsInput | undefined;
}

/** Maximum attempts of an update whose file was changed by others meanwhile. */
const MAX_ATTEMPTS = 5;
const PARTICIPLES = { list: 'listed', read: 'read', write: 'written', delete: 'deleted' };

/**
 * File access of an agent. Folder `filesystem`: start here. `FileSystemBase` (storage) +
 * `FilePolicy` (permissions) + `FileLimits`. Every path is parsed and every operation checked before the
 * storage is used. A handle can be narrowed, never widened.
 *
 * The error for a path without permission does not depend on whether the file exists. All methods reject with
 * a `FileSystemError`.
 *
 * @example
 * ```ts
 * import { FileSystemHandle, InMemoryFileSystem } from 'troupe/filesystem';
 *
 * const handle = new FileSystemHandle(new InMemoryFileSystem());
 * await handle.write('/workspace/poem.txt', 'Roses are red.\n');
 * const readOnly = handle.narrow([{ path: '/workspace/', operations: ['list', 'read'] }]);
 * console.log(readOnly.can('write', '/workspace/poem.txt')); // false
 * ```
 */
export class FileSystemHandle {
  readonly #files: FileSystemBase;
  readonly #policy: FilePolicy;
  readonly #limits: FileLimits;
  /** Signals that end the handle. After the first abort every operation is denied. */
  #ends: readonly AbortSignal[] = [];

  /**
   * @throws TroupeError if a limit is not a number. @throws FileSystemError if a grant has an invalid path.
   */
  constructor(files: FileSystemBase, { grants, limits }: FileSystemHandleOptions = {}) {
    this.#files = files;
    this.#policy = grants instanceof FilePolicy ? grants : new FilePolicy(grants);
    this.#limits = checkedLimits(limits);
  }

  /**
   * Returns a handle limited to operations that this handle and the grants both allow.
   * @param until ends the new handle when aborted
   */
  narrow(grants: readonly FileGrantInput[], until?: AbortSignal): FileSystemHandle {
    const policy = new FilePolicy(grants, this.#policy);
    const narrowed = new FileSystemHandle(this.#files, { grants: policy, limits: this.#limits });
    narrowed.#ends = until === undefined ? this.#ends : [...this.#ends, until];
    return narrowed;
  }

  /** Granted paths with their operations, including nested grants, without `/internal/`. */
  get allowedDirectories(): readonly FileGrant[] {
    return this.#policy.visible;
  }

  /** Grants as Markdown for a model. */
  describe(): string {
    return this.#policy.describe();
  }

  can(operation: FileOperation, path: string): boolean {
    return this.#allows(operation, parsePath(path));
  }

  async stat(path: string): Promise<FileInfo> {
    return this.#find(this.#check('list', path));
  }

  /** Direct entries of a folder, sorted by name. @param path `/` (default) lists the allowed folders */
  async list(path = '/'): Promise<readonly FileEntry[]> {
    if (parsePath(path) === TOP) {
      this.#assertOpen(TOP);
      const granted = await Promise.all(
        this.#starts().map((start) => this.#files.stat(start).catch(ignoreFileSystemError)),
      );
      return granted.flatMap((info) => (info === undefined ? [] : [{ path: info.path, kind: info.kind }]));
    }
    return this.#list(this.#check('list', path));
  }

  /** Bytes of a file or of a part. */
  async readBytes(path: string, options: { offset?: number; length?: number } = {}): Promise<Uint8Array> {
    const logical = this.#check('read', path);
    const { offset = 0, length } = options;
    checkCount(logical, 'offset', offset, 0);
    if (length === undefined) return (await this.#read(logical, offset)).bytes;
    checkCount(logical, 'length', length, 0);
    if (length > this.#limits.maxFileBytes) return (await this.#read(logical, offset)).bytes;
    return (await this.#files.read(logical, { offset, maxBytes: length })).bytes;
  }

  /** Text of a file, unchanged. */
  async readText(path: string): Promise<string> {
    const logical = this.#check('read', path);
    return decodeText((await this.#read(logical)).bytes, logical);
  }

  /** Lines of a text file; empty after the end of the file. @param startLine starts at 1 */
  async readLines(path: string, startLine = 1, lineCount = Infinity): Promise<FileLines> {
    const logical = this.#check('read', path);
    checkCount(logical, 'startLine', startLine, 1);
    if (lineCount !== Infinity) checkCount(logical, 'lineCount', lineCount, 1);
    return someLines(await this.readText(logical), startLine, lineCount);
  }

  /**
   * Creates a file or replaces its content.
   * @param options.overwrite false fails if the file exists @default true
   * @returns the size in bytes
   */
  async write(
    path: string,
    content: string | Uint8Array,
    options: { overwrite?: boolean } = {},
  ): Promise<number> {
    const logical = this.#check('write', path);
    const expected = (options.overwrite ?? true) ? undefined : null;
    return this.#write(logical, content, expected);
  }

  /**
   * Changes a text file by a function of its text. The function runs again if the file was changed meanwhile.
   * @returns the size in bytes
   */
  async update(path: string, change: (text: string) => string): Promise<number> {
    const logical = this.#check('read', path);
    this.#check('write', path);
    return updatesOf(this.#files).run(logical, async () => {
      for (let attempt = 1; ; attempt++) {
        this.#assertOpen(logical);
        const { bytes, version } = await this.#read(logical);
        const changed = change(decodeText(bytes, logical));
        try {
          return await this.#write(logical, changed, version);
        } catch (error) {
          const isConflict = FileSystemError.isInstance(error) && error.kind === 'conflict';
          if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
        }
      }
    });
  }

  /** Replaces texts in a file one after the other: all edits or none. @returns the size in bytes */
  async edit(path: string, edits: readonly TextEdit[]): Promise<number> {
    const { maxFileBytes } = this.#limits;
    return this.update(path, (text) => applyEdits(text, edits, parsePath(path), maxFileBytes));
  }

  /** Deletes a file or an empty folder. */
  async delete(path: string): Promise<void> {
    await this.#files.delete(this.#check('delete', path));
  }

  /** Files that match a glob such as `src/*.ts`, below `path` or below each allowed folder. */
  async glob(pattern: string, options: FileSearchOptions = {}): Promise<FileMatches<LogicalPath>> {
    const starts = await this.#startsOf(options.path, () => 'list');
    return this.#search(options).glob(pattern, starts);
  }

  /**
   * Lines of text files that match a regular expression. Skips binary files in folders. Skips large files and
   * text after 100 000 characters of a line too, and then sets `isComplete` to false.
   */
  async grep(pattern: string, options: GrepOptions = {}): Promise<FileMatches<LineMatch>> {
    const starts = await this.#startsOf(options.path, (path) =>
      this.#allows('list', path) ? 'list' : 'read',
    );
    return this.#search(options).grep(pattern, starts, options);
  }

  /** Search limited to the permissions of this handle. */
  #search(options: FileSearchOptions): FileSearch {
    const files: SearchedFiles = {
      limits: this.#limits,
      list: (folder) => this.#list(folder),
      isReadable: (path) => this.#allows('read', path),
      read: async (path, maxBytes) =>
        this.#files.read(this.#check('read', path), { maxBytes, wholeOnly: true }),
    };
    return new FileSearch(files, options);
  }

  /** Start entries of a search. @param needs returns the operation required for a path */
  async #startsOf(
    path: string | undefined,
    needs: (path: LogicalPath) => FileOperation,
  ): Promise<readonly FileEntry[]> {
    if (path === undefined || parsePath(path) === TOP) return this.list();
    const logical = this.#check(needs(parsePath(path)), path);
    const info = await this.#find(logical);
    if (info.kind === 'directory') this.#check('list', path);
    return [info];
  }

  async #find(path: LogicalPath): Promise<FileInfo> {
    this.#assertOpen(path);
    const info = await this.#files.stat(path);
    if (info === undefined) throw notFound(path);
    return info;
  }

  async #list(folder: LogicalPath): Promise<readonly FileEntry[]> {
    this.#assertOpen(folder);
    const entries = await this.#files.list(folder, this.#limits.maxEntries);
    return entries.filter(({ path }) => this.#allows('list', path)).sort(byPath);
  }

  /** Reads from an offset to the end of the file. */
  async #read(path: LogicalPath, offset = 0): Promise<FileContent> {
    const { maxFileBytes } = this.#limits;
    const content = await this.#files.read(path, { offset, maxBytes: maxFileBytes, wholeOnly: true });
    if (content.size - offset > maxFileBytes) {
      throw tooLarge(path, `has ${content.size} bytes, and no more than ${maxFileBytes} can be read.`);
    }
    return content;
  }

  async #write(path: LogicalPath, content: string | Uint8Array, expected?: string | null): Promise<number> {
    const bytes = typeof content === 'string' ? encodeText(content, path) : content;
    if (!(bytes instanceof Uint8Array)) throw invalidArgument(path, 'The content must be a text or bytes.');
    const { maxFileBytes } = this.#limits;
    if (bytes.length > maxFileBytes) {
      throw tooLarge(
        path,
        `would have ${bytes.length} bytes, and no more than ${maxFileBytes} can be written.`,
      );
    }
    await this.#files.write(path, bytes, { expected });
    return bytes.length;
  }

  /** Allowed folders with permission to list. */
  #starts(): readonly LogicalPath[] {
    return this.allowedDirectories
      .filter(({ operations }) => operations.includes('list'))
      .map(({ path }) => parsePath(path));
  }

  #allows(operation: FileOperation, path: LogicalPath): boolean {
    const isRoot = segmentsOf(path).length < 2;
    return (
      this.#policy.allows(operation, path) && !(isRoot && (operation === 'write' || operation === 'delete'))
    );
  }

  #assertOpen(path: LogicalPath): void {
    if (!this.#ends.some(({ aborted }) => aborted)) return;
    throw new FileSystemError(
      'access_denied',
      path,
      'Access denied: the task that these files were granted for has ended.',
    );
  }

  #check(operation: FileOperation, text: string): LogicalPath {
    const path = parsePath(text);
    this.#assertOpen(path);
    if (this.#allows(operation, path)) return path;
    const granted = this.allowedDirectories.filter(({ operations }) => operations.includes(operation));
    const where = granted.map(({ path: logical }) => `'${logical}'`).join(', ') || 'nowhere';
    throw new FileSystemError(
      'access_denied',
      path,
      `Access denied: '${path}' can't be ${PARTICIPLES[operation]}. That is possible in: ${where}.`,
    );
  }
}

const updates = new WeakMap<FileSystemBase, KeyedQueue>();

/**
 * Queue of updates per file system, shared by all its handles, so that updates of one file never conflict.
 */
function updatesOf(files: FileSystemBase): KeyedQueue {
  const known = updates.get(files) ?? new KeyedQueue();
  updates.set(files, known);
  return known;
}

/** Leaves out folders that can't be read. */
function ignoreFileSystemError(error: unknown): undefined {
  if (!FileSystemError.isInstance(error)) throw error;
}

function checkCount(path: string, name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw invalidArgument(path, `${name} must be a whole number of ${least} or more, not ${value}.`);
}

function byPath(a: FileEntry, b: FileEntry): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
