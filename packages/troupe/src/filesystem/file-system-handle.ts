import { checkNumber } from '../config/check-number.ts';
import { yieldToEventLoop } from '#platform';
import { FilePolicy, type FileGrant, type FileGrantInput, type FileOperation } from './file-policy.ts';
import type { FileContent, FileEntry, FileInfo, FileSystemBase } from './file-system-base.ts';
import { FileSystemError, invalidArgument, notFound, tooLarge } from './file-system-error.ts';
import { applyEdits, decodeText, encodeText, linesOf, type FileLines, type TextEdit } from './file-text.ts';
import { LinePattern } from './line-pattern.ts';
import { nameOf, parsePath, segmentsOf, TOP, type LogicalPath } from './logical-path.ts';
import { PathPattern } from './path-pattern.ts';

export interface FileLimits {
  /** The largest file that is read or written. @default 10 MiB */
  readonly maxFileBytes: number;
  /** How many entries a folder may have to be listed. @default 10 000 */
  readonly maxEntries: number;
  /** How many entries one search may look at. @default 100 000 */
  readonly maxVisited: number;
  /** How many bytes one search may read. @default 64 MiB */
  readonly maxSearchedBytes: number;
}

export interface FileSystemHandleOptions {
  /** @default everything that the namespaces `/userinput/` and `/workspace/` allow */
  readonly grants?: readonly FileGrantInput[] | FilePolicy | undefined;
  readonly limits?: { readonly [Name in keyof FileLimits]?: FileLimits[Name] | undefined } | undefined;
}

export interface FileSearchOptions {
  /** The file or folder in which to look. @default everywhere */
  readonly path?: string | undefined;
  /** Names of folders that are left out, unless `path` is in them. @default none */
  readonly skipFolders?: readonly string[] | undefined;
  /** @default 1000 */
  readonly maxResults?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface GrepOptions extends FileSearchOptions {
  /** A glob of the files to look at. Without a slash it is about names alone. @default all */
  readonly include?: string | undefined;
  /** @default false */
  readonly ignoreCase?: boolean | undefined;
}

export interface FileMatches<Match> {
  readonly matches: readonly Match[];
  /** False if a limit was reached, so that there may be more. */
  readonly isComplete: boolean;
}

export interface LineMatch {
  readonly path: LogicalPath;
  /** From 1 on. */
  readonly line: number;
  readonly text: string;
}

const DEFAULT_LIMITS: FileLimits = {
  maxFileBytes: 10 * 1024 * 1024,
  maxEntries: 10_000,
  maxVisited: 100_000,
  maxSearchedBytes: 64 * 1024 * 1024,
};
const DEFAULT_RESULTS = 1000;
/** How often a change is tried again that somebody else got ahead of. */
const MAX_TRIES = 5;
/** After so many characters of a search others get a chance. */
const CHARS_BETWEEN_PAUSES = 100_000;
/** No more of a line is searched: what follows is data, not text. */
const MAX_LINE_CHARS = 100_000;
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
    const place = this.#check('list', path);
    const info = await this.#files.stat(place);
    if (info === undefined) throw notFound(place);
    return info;
  }

  /** What lies directly in a folder, sorted by name. @param path by default, and for `/`, the allowed directories */
  async list(path = '/'): Promise<readonly FileEntry[]> {
    if (parsePath(path) === TOP) {
      this.#assertOpen(TOP);
      const places = await Promise.all(this.#starts().map((start) => this.#files.stat(start)));
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
    const maxBytes = Math.min(length, this.#limits.maxFileBytes);
    return (await this.#files.read(place, { offset, maxBytes })).bytes;
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
    const lines = linesOf(await this.readText(place));
    return {
      lines: lines.slice(startLine - 1, startLine - 1 + lineCount),
      startLine,
      totalLines: lines.length,
    };
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
    for (let attempt = 1; ; attempt++) {
      const { bytes, version } = await this.#read(place);
      const changed = change(decodeText(bytes, place));
      try {
        return await this.#write(place, changed, version);
      } catch (error) {
        const isConflict = FileSystemError.isInstance(error) && error.kind === 'conflict';
        if (!isConflict || attempt === MAX_TRIES) throw error;
      }
    }
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
    const { maxResults = DEFAULT_RESULTS } = options;
    const matches: LogicalPath[] = [];
    const isComplete = await this.#walk(options, new PathPattern(pattern), (path) => {
      if (matches.length >= maxResults) return false;
      matches.push(path);
      return true;
    });
    return { matches, isComplete };
  }

  /**
   * The lines of text files in which a regular expression has a match. Files that are too large or no text are left out, and so is
   * what stands further than 100 000 characters into a line: then it is not complete.
   */
  async grep(pattern: string, options: GrepOptions = {}): Promise<FileMatches<LineMatch>> {
    const { include = '**', maxResults = DEFAULT_RESULTS, signal } = options;
    const wanted = new LinePattern(pattern, options);
    const matches: LineMatch[] = [];
    const files = new PathPattern(include.includes('/') ? include : `**/${include}`);
    const start = options.path === undefined ? undefined : parsePath(options.path);
    let [searched, pauseAt, bytesLeft] = [0, CHARS_BETWEEN_PAUSES, this.#limits.maxSearchedBytes];
    let isCut = false;
    const isComplete = await this.#walk(options, files, async (path) => {
      if (path === start && !files.matches([nameOf(path)])) return true;
      const size = await this.#sizeToSearch(path);
      if (size === undefined) return true;
      if (size > bytesLeft) return false;
      bytesLeft -= size;
      const text = await this.#textOf(path);
      if (text === undefined) return true;
      for (const [i, line] of linesOf(text).entries()) {
        searched += line.length + 1;
        if (wanted.test(line.slice(0, MAX_LINE_CHARS))) {
          if (matches.length >= maxResults) return false;
          matches.push({ path, line: i + 1, text: line });
        } else if (line.length > MAX_LINE_CHARS) isCut = true;
        if (searched < pauseAt) continue;
        pauseAt = searched + CHARS_BETWEEN_PAUSES;
        await yieldToEventLoop();
        signal?.throwIfAborted();
      }
      return true;
    });
    return { matches, isComplete: isComplete && !isCut };
  }

  /** Visits the files that are meant, in order, until the visitor has enough. @returns whether all were visited */
  async #walk(
    { path, skipFolders = [], signal }: FileSearchOptions,
    pattern: PathPattern,
    visit: (path: LogicalPath) => boolean | Promise<boolean>,
  ): Promise<boolean> {
    const seen = new Set<LogicalPath>();
    let isComplete = true;
    const listed = async (folder: LogicalPath): Promise<readonly FileEntry[]> => {
      try {
        return await this.#list(folder);
      } catch (error) {
        if (!FileSystemError.isInstance(error)) throw error;
        isComplete = false; // it is too large, or gone meanwhile
        return [];
      }
    };
    const walk = async (entry: FileEntry, names: readonly string[]): Promise<boolean> => {
      signal?.throwIfAborted();
      if (seen.has(entry.path)) return true;
      if (seen.size >= this.#limits.maxVisited) return false;
      seen.add(entry.path);
      if (entry.kind === 'file')
        return names.length > 0 && !pattern.matches(names) ? true : visit(entry.path);
      if (entry.kind !== 'directory' || !pattern.reachesInto(names)) return true;
      for (const child of await listed(entry.path)) {
        const name = child.path.slice(entry.path.length + 1);
        if (child.kind === 'directory' && skipFolders.includes(name)) continue;
        if (!(await walk(child, [...names, name]))) return false;
      }
      return true;
    };
    const starts =
      path === undefined || parsePath(path) === TOP ? await this.list() : [await this.stat(path)];
    for (const start of starts) if (!(await walk(start, []))) return false;
    return isComplete;
  }

  /** How many bytes are read if a file is searched; undefined if it may not be read, is gone meanwhile, or too large. */
  async #sizeToSearch(path: LogicalPath): Promise<number | undefined> {
    if (!this.#allows('read', path)) return undefined;
    try {
      const { size = 0 } = (await this.#files.stat(path)) ?? { size: Infinity };
      return size > this.#limits.maxFileBytes ? undefined : size;
    } catch (error) {
      if (FileSystemError.isInstance(error)) return undefined;
      throw error;
    }
  }

  /** The text of a file to be searched; undefined if it is gone meanwhile, or no text. */
  async #textOf(path: LogicalPath): Promise<string | undefined> {
    try {
      const text = await this.readText(path);
      return text.slice(0, 8192).includes('\0') ? undefined : text;
    } catch (error) {
      if (FileSystemError.isInstance(error)) return undefined;
      throw error;
    }
  }

  async #list(folder: LogicalPath): Promise<readonly FileEntry[]> {
    const entries = await this.#files.list(folder, this.#limits.maxEntries);
    return entries.filter(({ path }) => this.#allows('list', path)).sort(byPath);
  }

  /** From an offset on, up to the end. */
  async #read(path: LogicalPath, offset = 0): Promise<FileContent> {
    const { maxFileBytes } = this.#limits;
    const content = await this.#files.read(path, { offset, maxBytes: maxFileBytes });
    if (content.size - offset > maxFileBytes) {
      throw tooLarge(path, `has ${content.size} bytes, and no more than ${maxFileBytes} can be read.`);
    }
    return content;
  }

  async #write(path: LogicalPath, content: string | Uint8Array, expected?: string | null): Promise<number> {
    const bytes = typeof content === 'string' ? encodeText(content, path) : content;
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

/** A limit that is no number would limit nothing, or everything: files would look empty. @throws TroupeError */
function checkedLimits(given: FileSystemHandleOptions['limits'] = {}): FileLimits {
  const limits: { -readonly [Name in keyof FileLimits]: FileLimits[Name] } = { ...DEFAULT_LIMITS };
  for (const name of Object.keys(DEFAULT_LIMITS) as (keyof FileLimits)[]) {
    const value = given[name];
    if (value === undefined) continue;
    checkNumber(`limits.${name}`, value, { least: 0 });
    limits[name] = value;
  }
  return limits;
}

function checkCount(path: string, name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw invalidArgument(path, `${name} must be a whole number of ${least} or more, not ${value}.`);
}

function byPath(a: FileEntry, b: FileEntry): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
