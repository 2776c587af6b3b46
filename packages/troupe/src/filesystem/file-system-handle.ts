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
  /** @default everything that the namespaces `/userinput/` and `/workspace/` allow */
  readonly grants?: readonly FileGrantInput[] | FilePolicy | undefined;
  /** How large files may be, and how much one search looks at. @default see `FileLimits` */
  readonly limits?: FileLimitsInput | undefined;
}

/** How often a change is tried again that somebody else got ahead of. */
const MAX_TRIES = 5;
const DONE = { list: 'listed', read: 'read', write: 'written', delete: 'deleted' };

/**
 * A file system as somebody may use it. The policy is part of it: every path is parsed and every operation checked before the
 * files behind it are asked anything. Whoever has a handle can make narrower ones, never wider ones.
 *
 * What is out of reach and what doesn't exist are told apart by the grants alone, so nobody learns
 * what lies elsewhere. All methods reject with a `FileSystemError`.
 */
export class FileSystemHandle {
  readonly #files: FileSystemBase;
  readonly #policy: FilePolicy;
  readonly #limits: FileLimits;
  /** Once one of them is aborted, nothing can be done any more. */
  #ends: readonly AbortSignal[] = [];

  /** @throws TroupeError if a limit is no number, FileSystemError if a grant has no path. */
  constructor(files: FileSystemBase, { grants, limits }: FileSystemHandleOptions = {}) {
    this.#files = files;
    this.#policy = grants instanceof FilePolicy ? grants : new FilePolicy(grants);
    this.#limits = checkedLimits(limits);
  }

  /** A handle that may do only what both this one and the grants allow. @param until once it is aborted, nothing any more */
  narrow(grants: readonly FileGrantInput[], until?: AbortSignal): FileSystemHandle {
    const policy = new FilePolicy(grants, this.#policy);
    const narrowed = new FileSystemHandle(this.#files, { grants: policy, limits: this.#limits });
    narrowed.#ends = until === undefined ? this.#ends : [...this.#ends, until];
    return narrowed;
  }

  /** Where something may be done, and what. Nested grants are among them; `/internal/` never is. */
  get allowedDirectories(): readonly FileGrant[] {
    return this.#policy.visible;
  }

  /** What may be done where, as Markdown for a model. */
  describe(): string {
    return this.#policy.describe();
  }

  can(operation: FileOperation, path: string): boolean {
    return this.#allows(operation, parsePath(path));
  }

  async stat(path: string): Promise<FileInfo> {
    return this.#find(this.#check('list', path));
  }

  /** What lies directly in a folder, sorted by name. @param path by default, and for `/`, the allowed directories */
  async list(path = '/'): Promise<readonly FileEntry[]> {
    if (parsePath(path) === TOP) {
      this.#assertOpen(TOP);
      const places = await Promise.all(
        this.#starts().map((start) => this.#files.stat(start).catch(unlessRefused)),
      );
      return places.flatMap((info) => (info === undefined ? [] : [{ path: info.path, kind: info.kind }]));
    }
    return this.#list(this.#check('list', path));
  }

  /** The bytes of a file, or some of them. */
  async readBytes(path: string, options: { offset?: number; length?: number } = {}): Promise<Uint8Array> {
    const place = this.#check('read', path);
    const { offset = 0, length } = options;
    checkCount(place, 'offset', offset, 0);
    if (length === undefined) return (await this.#read(place, offset)).bytes;
    checkCount(place, 'length', length, 0);
    if (length > this.#limits.maxFileBytes) return (await this.#read(place, offset)).bytes;
    return (await this.#files.read(place, { offset, maxBytes: length })).bytes;
  }

  /** The text of a file, exactly as it is. */
  async readText(path: string): Promise<string> {
    const place = this.#check('read', path);
    return decodeText((await this.#read(place)).bytes, place);
  }

  /** Lines of a text file; past its end there are none. @param startLine from 1 on */
  async readLines(path: string, startLine = 1, lineCount = Infinity): Promise<FileLines> {
    const place = this.#check('read', path);
    checkCount(place, 'startLine', startLine, 1);
    if (lineCount !== Infinity) checkCount(place, 'lineCount', lineCount, 1);
    return someLines(await this.readText(place), startLine, lineCount);
  }

  /**
   * Makes a file, or replaces all of it.
   * @param options.overwrite whether there may be one already @default true
   * @returns its size in bytes
   */
  async write(
    path: string,
    content: string | Uint8Array,
    options: { overwrite?: boolean } = {},
  ): Promise<number> {
    const place = this.#check('write', path);
    const expected = (options.overwrite ?? true) ? undefined : null;
    return this.#write(place, content, expected);
  }

  /**
   * Changes a text file by a function of its text, which is called again if somebody else got ahead.
   * @returns its size in bytes
   */
  async update(path: string, change: (text: string) => string): Promise<number> {
    const place = this.#check('read', path);
    this.#check('write', path);
    return updatesOf(this.#files).run(place, async () => {
      for (let attempt = 1; ; attempt++) {
        this.#assertOpen(place);
        const { bytes, version } = await this.#read(place);
        const changed = change(decodeText(bytes, place));
        try {
          return await this.#write(place, changed, version);
        } catch (error) {
          const isConflict = FileSystemError.isInstance(error) && error.kind === 'conflict';
          if (!isConflict || attempt === MAX_TRIES) throw error;
        }
      }
    });
  }

  /** Replaces texts in a file, one after the other: all of the edits or none. @returns its size in bytes */
  async edit(path: string, edits: readonly TextEdit[]): Promise<number> {
    const { maxFileBytes } = this.#limits;
    return this.update(path, (text) => applyEdits(text, edits, parsePath(path), maxFileBytes));
  }

  /** Deletes a file, or a folder that is empty. */
  async delete(path: string): Promise<void> {
    await this.#files.delete(this.#check('delete', path));
  }

  /** The files that a glob such as `src/*.ts` means, from `path` on, or from each allowed directory. */
  async glob(pattern: string, options: FileSearchOptions = {}): Promise<FileMatches<LogicalPath>> {
    const starts = await this.#startsOf(options.path, () => 'list');
    return this.#search(options).glob(pattern, starts);
  }

  /**
   * The lines of text files in which a regular expression has a match. In a folder, files that are no text are left out. So are
   * those that are too large, and what stands further than 100 000 characters into a line: then it is not complete.
   */
  async grep(pattern: string, options: GrepOptions = {}): Promise<FileMatches<LineMatch>> {
    const starts = await this.#startsOf(options.path, (path) =>
      this.#allows('list', path) ? 'list' : 'read',
    );
    return this.#search(options).grep(pattern, starts, options);
  }

  /** A search that sees no more than this handle may. */
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

  /** What a search begins with. @param needs what must be allowed to be done with a file */
  async #startsOf(
    path: string | undefined,
    needs: (path: LogicalPath) => FileOperation,
  ): Promise<readonly FileEntry[]> {
    if (path === undefined || parsePath(path) === TOP) return this.list();
    const place = this.#check(needs(parsePath(path)), path);
    const info = await this.#find(place);
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

  /** From an offset on, up to the end. */
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

  /** The allowed directories that can be listed. */
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
      'Access denied: the task for which there were files is over.',
    );
  }

  #check(operation: FileOperation, text: string): LogicalPath {
    const path = parsePath(text);
    this.#assertOpen(path);
    if (this.#allows(operation, path)) return path;
    const places = this.allowedDirectories.filter(({ operations }) => operations.includes(operation));
    const where = places.map(({ path: place }) => `'${place}'`).join(', ') || 'nowhere';
    throw new FileSystemError(
      'access_denied',
      path,
      `Access denied: '${path}' can't be ${DONE[operation]}. That is possible in: ${where}.`,
    );
  }
}

const updates = new WeakMap<FileSystemBase, KeyedQueue>();

/** Who has a handle of the same files waits for its turn to change one, so that none gets ahead of another. */
function updatesOf(files: FileSystemBase): KeyedQueue {
  const known = updates.get(files) ?? new KeyedQueue();
  updates.set(files, known);
  return known;
}

/** A place that is in the way of nothing else: it is left out. */
function unlessRefused(error: unknown): undefined {
  if (!FileSystemError.isInstance(error)) throw error;
}

function checkCount(path: string, name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw invalidArgument(path, `${name} must be a whole number of ${least} or more, not ${value}.`);
}

function byPath(a: FileEntry, b: FileEntry): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
