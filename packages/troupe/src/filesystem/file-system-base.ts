import type { LogicalPath } from './logical-path.ts';

/**
 * `other` is neither a folder nor an ordinary file, for example a symbolic link. Listed, but never opened.
 */
export type FileKind = 'file' | 'directory' | 'other';

export interface FileEntry {
  readonly path: LogicalPath;
  readonly kind: FileKind;
}

export interface FileInfo extends FileEntry {
  /** Size in bytes; files only. */
  readonly size?: number;
  /** Time of the last change, e.g. `2026-01-31T09:30:00.000Z`; files only. */
  readonly updatedAt?: string;
}

export interface FileContent {
  readonly bytes: Uint8Array;
  /** Size of the whole file in bytes. */
  readonly size: number;
  /** Unique per content: no earlier or later content of the file has the same version. */
  readonly version: string;
}

export interface ReadOptions {
  /** Offset of the first byte. @default 0 */
  readonly offset?: number;
  /** Maximum bytes to read and to hold in memory. */
  readonly maxBytes: number;
  /** True if a part is useless: a longer file returns no bytes, only its size. @default false */
  readonly wholeOnly?: boolean | undefined;
}

export interface WriteOptions {
  /** Required current version of the file; null if no file may exist. @default no check */
  readonly expected?: string | null | undefined;
}

/**
 * Port for file storage, without permissions: agents get a `FileSystemHandle` instead, which checks paths and
 * grants (file-system-handle.ts).
 *
 * Promises of every implementation: paths are checked by the caller. The folders `/userinput`, `/workspace`
 * and `/internal` always exist, as far as the implementation supports them. A write is complete or has no
 * effect. Files outside of these folders are unreachable, whatever links the folders contain. Failures are
 * `FileSystemError`s with logical paths only.
 */
export abstract class FileSystemBase {
  /** Undefined if the path does not exist. */
  abstract stat(path: LogicalPath): Promise<FileInfo | undefined>;

  /** Direct entries of a folder, unordered. @throws FileSystemError `too_large` above `maxEntries`. */
  abstract list(folder: LogicalPath, maxEntries: number): Promise<readonly FileEntry[]>;

  abstract read(path: LogicalPath, options: ReadOptions): Promise<FileContent>;

  /** Writes a file and creates missing parent folders. */
  abstract write(path: LogicalPath, bytes: Uint8Array, options?: WriteOptions): Promise<void>;

  /** Deletes a file or an empty folder. */
  abstract delete(path: LogicalPath): Promise<void>;
}
