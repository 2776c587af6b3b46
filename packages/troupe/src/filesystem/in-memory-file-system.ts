import { checkNumber } from '../util/check-number.ts';
import { timestamp } from '../util/clock.ts';
import {
  alreadyThere,
  hasChanged,
  notADirectory,
  notAFile,
  notEmpty,
  notFound,
  tooLarge,
} from './file-system-error.ts';
import {
  FileSystemBase,
  type FileContent,
  type FileEntry,
  type FileInfo,
  type ReadOptions,
  type WriteOptions,
} from './file-system-base.ts';
import { ROOTS } from './file-policy.ts';
import { joinPath, nameOf, parentOf, parsePath, segmentsOf, TOP, type LogicalPath } from './logical-path.ts';

interface File {
  readonly kind: 'file';
  readonly bytes: Uint8Array;
  readonly version: string;
  readonly updatedAt: string;
}
interface Folder {
  readonly kind: 'directory';
  readonly children: Map<string, File | Folder>;
}

export interface InMemoryFileSystemOptions {
  /** Maximum bytes of all files together. @default 256 MiB */
  readonly maxBytes?: number | undefined;
}

/**
 * File system in memory. Copies bytes on read and write, so that callers can't change stored files.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { FileSystemHandle, InMemoryFileSystem } from 'troupe/filesystem';
 * import { OfflineModel } from 'troupe/offline';
 * import { fileTools } from 'troupe/tools';
 *
 * const tools = fileTools(new FileSystemHandle(new InMemoryFileSystem()));
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), tools });
 * console.log(agent.toolkit.has('view_text_file')); // true
 * ```
 */
export class InMemoryFileSystem extends FileSystemBase {
  readonly #top = newFolder();
  readonly #maxBytes: number;
  #bytes = 0;
  #writes = 0;

  /** @param files initial files: texts or bytes by path */
  constructor(
    files: Readonly<Record<string, string | Uint8Array>> = {},
    { maxBytes = 256 * 1024 * 1024 }: InMemoryFileSystemOptions = {},
  ) {
    super();
    checkNumber('maxBytes', maxBytes, { least: 0 });
    this.#maxBytes = maxBytes;
    for (const { path } of ROOTS) this.#top.children.set(nameOf(path), newFolder());
    for (const [path, content] of Object.entries(files)) {
      this.#write(parsePath(path), typeof content === 'string' ? new TextEncoder().encode(content) : content);
    }
  }

  async stat(path: LogicalPath): Promise<FileInfo | undefined> {
    const node = this.#find(path);
    if (node?.kind !== 'file') return node && { path, kind: node.kind };
    return { path, kind: 'file', size: node.bytes.length, updatedAt: node.updatedAt };
  }

  async list(folder: LogicalPath, maxEntries: number): Promise<readonly FileEntry[]> {
    const { children } = this.#folderAt(folder);
    if (children.size > maxEntries) throw tooLarge(folder, `has more than ${maxEntries} entries.`);
    return Array.from(children, ([name, { kind }]) => ({ path: joinPath(folder, name), kind }));
  }

  async read(path: LogicalPath, { offset = 0, maxBytes, wholeOnly }: ReadOptions): Promise<FileContent> {
    const node = this.#find(path);
    if (node === undefined) throw notFound(path);
    if (node.kind !== 'file') throw notAFile(path);
    const { bytes, version } = node;
    const length = wholeOnly && bytes.length - offset > maxBytes ? 0 : maxBytes;
    return { bytes: bytes.slice(offset, offset + length), size: bytes.length, version };
  }

  async write(path: LogicalPath, bytes: Uint8Array, { expected }: WriteOptions = {}): Promise<void> {
    this.#write(path, bytes, expected);
  }

  async delete(path: LogicalPath): Promise<void> {
    if (segmentsOf(path).length < 2) throw notAFile(path); // a top folder
    const node = this.#find(path);
    if (node === undefined) throw notFound(path);
    if (node.kind === 'directory' && node.children.size > 0) throw notEmpty(path);
    this.#folderAt(parentOf(path)).children.delete(nameOf(path));
    this.#bytes -= sizeOf(node);
  }

  #write(path: LogicalPath, bytes: Uint8Array, expected?: string | null): void {
    const old = this.#find(path);
    if (old?.kind === 'directory') throw notAFile(path);
    if (expected === null && old !== undefined) throw alreadyThere(path);
    if (typeof expected === 'string' && old === undefined) throw notFound(path);
    if (typeof expected === 'string' && old?.version !== expected) throw hasChanged(path);
    const total = this.#bytes - sizeOf(old) + bytes.length;
    if (total > this.#maxBytes)
      throw tooLarge(path, `does not fit: all files together may have ${this.#maxBytes} bytes.`);
    const file: File = {
      kind: 'file',
      bytes: bytes.slice(),
      version: String(++this.#writes),
      updatedAt: timestamp(),
    };
    this.#makeFolder(parentOf(path)).children.set(nameOf(path), file);
    this.#bytes = total;
  }

  #find(path: LogicalPath): File | Folder | undefined {
    let node: File | Folder | undefined = this.#top;
    for (const name of segmentsOf(path))
      node = node?.kind === 'directory' ? node.children.get(name) : undefined;
    return node;
  }

  #folderAt(path: LogicalPath): Folder {
    const node = this.#find(path);
    if (node === undefined) throw notFound(path);
    if (node.kind === 'file') throw notADirectory(path);
    return node;
  }

  /** Creates all missing folders or none. Fails outside the three top folders. */
  #makeFolder(path: LogicalPath): Folder {
    if (path === TOP) throw notFound(path);
    if (this.#find(path) !== undefined) return this.#folderAt(path);
    const parent = this.#makeFolder(parentOf(path));
    const made = newFolder();
    parent.children.set(nameOf(path), made);
    return made;
  }
}

function sizeOf(node: File | Folder | undefined): number {
  return node?.kind === 'file' ? node.bytes.length : 0;
}

function newFolder(): Folder {
  return { kind: 'directory', children: new Map() };
}
