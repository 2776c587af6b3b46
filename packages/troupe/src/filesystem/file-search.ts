import { checkNumber } from '../util/check-number.ts';
import { yieldToEventLoop } from '#platform';
import type { FileLimits } from './file-limits.ts';
import type { FileContent, FileEntry } from './file-system-base.ts';
import { badPattern, FileSystemError, notText, tooLarge } from './file-system-error.ts';
import { decodeText, eachLine } from './file-text.ts';
import { LinePattern } from './line-pattern.ts';
import { MAX_DEPTH, nameOf, parentOf, parsePath, segmentsOf, type LogicalPath } from './logical-path.ts';
import { PathPattern, type PathProgress } from './path-pattern.ts';

export interface FileSearchOptions {
  /** File or folder to search. @default all allowed folders */
  readonly path?: string | undefined;
  /** Names of folders to skip, unless `path` is inside them. @default none */
  readonly skipFolders?: readonly string[] | undefined;
  /** Maximum number of matches. @default 1000 */
  readonly maxMatches?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface GrepOptions extends FileSearchOptions {
  /** Glob of the files to search. Without a slash it matches file names. @default all */
  readonly include?: string | undefined;
  /** @default false */
  readonly ignoreCase?: boolean | undefined;
}

export interface FileMatches<Match> {
  readonly matches: readonly Match[];
  /** False if a limit was reached, so that matches may be missing. */
  readonly isComplete: boolean;
}

export interface LineMatch {
  readonly path: LogicalPath;
  /** Line number, starting at 1. */
  readonly line: number;
  readonly text: string;
}

/** Port to the files that a search may see. `list` and `read` reject with a `FileSystemError`. */
export interface SearchedFiles {
  readonly limits: FileLimits;
  list(folder: LogicalPath): Promise<readonly FileEntry[]>;
  isReadable(path: LogicalPath): boolean;
  /** Reads a whole file; returns only the size if the file is larger than `maxBytes`. */
  read(path: LogicalPath, maxBytes: number): Promise<FileContent>;
}

type Visit = (path: LogicalPath) => Promise<boolean>;

const DEFAULT_RESULTS = 1000;
/** Maximum characters of a line to search. Longer lines are data, not text. */
const MAX_LINE_CHARS = 100_000;
/** Number of leading characters in which a NUL marks a file as binary. */
const CHARS_WITHOUT_NUL = 8192;
/** Work is counted in characters. Fixed work of a folder entry and of a line: */
const WORK_OF_ENTRY = 100;
const WORK_OF_LINE = 20;
const WORK_BETWEEN_PAUSES = 100_000;
/** Upper limit of work, about some seconds. Hard patterns could otherwise take much longer. */
const MAX_WORK = 100_000_000;
const WORK_PER_BYTE = 4;

/**
 * One search through files, limited in entries, bytes, results and work. Yields to the event loop regularly,
 * so that any search can be aborted, whatever its pattern.
 */
export class FileSearch {
  readonly #files: SearchedFiles;
  readonly #limits: FileLimits;
  readonly #options: FileSearchOptions;
  readonly #maxMatches: number;
  /** Files already matched. Start folders may contain each other. */
  readonly #matched = new Set<LogicalPath>();
  #visited = 0;
  #isComplete = true;
  #bytesLeft: number;
  #workLeft: number;
  #workSincePause = 0;

  /** @throws TroupeError if `maxMatches` is not a number */
  constructor(files: SearchedFiles, options: FileSearchOptions) {
    this.#files = files;
    this.#limits = files.limits;
    this.#options = options;
    this.#maxMatches = options.maxMatches ?? DEFAULT_RESULTS;
    checkNumber('maxMatches', this.#maxMatches, { least: 0 });
    this.#bytesLeft = this.#limits.maxSearchedBytes;
    this.#workLeft = MAX_WORK + WORK_PER_BYTE * this.#bytesLeft;
  }

  async glob(pattern: string, starts: readonly FileEntry[]): Promise<FileMatches<LogicalPath>> {
    const matches: LogicalPath[] = [];
    const isAll = await this.#visitAll(starts, pattern, async (path) => {
      if (matches.length >= this.#maxMatches) return false;
      matches.push(path);
      return true;
    });
    return { matches, isComplete: isAll && this.#isComplete };
  }

  async grep(
    pattern: string,
    starts: readonly FileEntry[],
    { include = '**', ignoreCase }: GrepOptions,
  ): Promise<FileMatches<LineMatch>> {
    const wanted = new LinePattern(pattern, { ignoreCase });
    const files = include.includes('/') ? include : `**/${include}`;
    const matches: LineMatch[] = [];
    const isAll = await this.#visitAll(starts, files, async (path) => {
      const text = await this.#textOf(path);
      if (text === undefined) return this.#bytesLeft >= 0;
      let number = 0;
      for (const line of eachLine(text)) {
        number++;
        const found = this.#isMatch(wanted, line);
        // Avoids an await per line, which would be much slower.
        const isMatch = typeof found === 'boolean' ? found : await found;
        if (this.#workLeft < 0) return false;
        if (!isMatch) continue;
        if (matches.length >= this.#maxMatches) return false;
        matches.push({ path, line: number, text: line });
      }
      return true;
    });
    return { matches, isComplete: isAll && this.#isComplete };
  }

  /**
   * Visits matching files in order until the visitor returns false. A glob with a leading slash matches whole
   * paths.
   * @returns true if all files were visited
   */
  async #visitAll(starts: readonly FileEntry[], glob: string, visit: Visit): Promise<boolean> {
    if (glob.split('/').includes('..')) throw badPattern("has '..' in it. Write the path in full.");
    const pattern = new PathPattern(glob.replace(/^(?:\.\/)+(?=.)/, ''));
    for (const start of starts) {
      const folder = start.kind === 'file' ? parentOf(start.path) : start.path;
      const progress = pattern.after(glob.startsWith('/') ? segmentsOf(folder) : []);
      if (!(await this.#visit(start, progress, visit, true))) return false;
    }
    return true;
  }

  async #visit(entry: FileEntry, progress: PathProgress, visit: Visit, isStart = false): Promise<boolean> {
    const { path, kind } = entry;
    const { skipFolders = [] } = this.#options;
    if (this.#visited++ >= this.#limits.maxVisited) return false;
    if (kind === 'file') {
      const { isMatch } = isStart ? progress.into(nameOf(path)) : progress;
      if (!isMatch || this.#matched.has(path)) return true;
      this.#matched.add(path);
      return visit(path);
    }
    if (kind !== 'directory' || !progress.canContinue) return true;
    for (const child of await this.#list(path)) {
      const name = nameOf(child.path);
      const next = progress.into(name);
      await this.#spend(WORK_OF_ENTRY + next.work);
      if (this.#workLeft < 0) return false;
      if (child.kind === 'directory' && skipFolders.includes(name)) continue;
      if (!(await this.#visit(child, next, visit))) return false;
    }
    return true;
  }

  async #list(folder: LogicalPath): Promise<readonly FileEntry[]> {
    this.#options.signal?.throwIfAborted();
    if (segmentsOf(folder).length >= MAX_DEPTH) this.#isComplete = false; // no valid path is longer
    try {
      return await this.#files.list(folder);
    } catch (error) {
      if (!FileSystemError.isInstance(error)) throw error;
      this.#isComplete = false; // folder too large, or deleted meanwhile
      return [];
    }
  }

  /**
   * Text of a file to search; undefined to skip the file.
   * @throws FileSystemError if the file given as `path` can't be searched
   */
  async #textOf(path: LogicalPath): Promise<string | undefined> {
    const isNamed = this.#options.path !== undefined && parsePath(this.#options.path) === path;
    this.#options.signal?.throwIfAborted();
    if (!isNamed && !this.#files.isReadable(path)) return undefined;
    try {
      const { maxFileBytes } = this.#limits;
      const { bytes, size } = await this.#files.read(path, Math.min(maxFileBytes, this.#bytesLeft));
      if (size > maxFileBytes)
        throw tooLarge(path, `has ${size} bytes, and no more than ${maxFileBytes} can be searched.`);
      this.#bytesLeft -= size;
      if (this.#bytesLeft < 0) return undefined;
      const text = decodeText(bytes, path);
      if (text.slice(0, CHARS_WITHOUT_NUL).includes('\0')) throw notText(path);
      return text;
    } catch (error) {
      if (isNamed || !FileSystemError.isInstance(error)) throw error;
      if (error.kind === 'too_large' || error.kind === 'io_failed') this.#isComplete = false;
      return undefined;
    }
  }

  /** Returns a promise only for long searches, or to yield to the event loop. */
  #isMatch(wanted: LinePattern, line: string): boolean | Promise<boolean> {
    const search = wanted.search(line.slice(0, MAX_LINE_CHARS));
    const step = search.next();
    const pause = this.#spend(line.length + WORK_OF_LINE + (step.done ? 0 : step.value));
    if (pause === undefined && step.done) return this.#isFound(step, line);
    return this.#searchOn(search, step, line, pause);
  }

  async #searchOn(
    search: ReturnType<LinePattern['search']>,
    first: IteratorResult<number, boolean>,
    line: string,
    pause: void | Promise<void>,
  ): Promise<boolean> {
    await pause;
    let step = first;
    while (!step.done && this.#workLeft >= 0) {
      step = search.next();
      if (!step.done) await this.#spend(step.value);
    }
    return this.#isFound(step, line);
  }

  #isFound(step: IteratorResult<number, boolean>, line: string): boolean {
    const isMatch = step.done === true && step.value;
    if (!isMatch && (!step.done || line.length > MAX_LINE_CHARS)) this.#isComplete = false;
    return isMatch;
  }

  /** Counts work and yields regularly. @throws the abort reason of the signal */
  #spend(work: number): void | Promise<void> {
    this.#workLeft -= work;
    this.#workSincePause += work;
    if (this.#workSincePause >= WORK_BETWEEN_PAUSES) return this.#pause();
  }

  async #pause(): Promise<void> {
    this.#workSincePause = 0;
    await yieldToEventLoop();
    this.#options.signal?.throwIfAborted();
  }
}
