import type { LogicalPath } from './logical-path.ts';

/** `other` is what is neither a folder nor an ordinary file, such as a link. It is shown, but never used. */
export type FileKind = 'file' | 'directory' | 'other';

export interface FileEntry {
  readonly path: LogicalPath;
  readonly kind: FileKind;
}

export interface FileInfo extends FileEntry {
  /** In bytes; of files only. */
  readonly size?: number;
  /** When it was changed last, e.g. `2026-01-31T09:30:00.000Z`; of files only. */
  readonly updatedAt?: string;
}

export interface FileContent {
  readonly bytes: Uint8Array;
  /** The size of the whole file. */
  readonly size: number;
  /** Differs from that of every other content that the file has had. */
  readonly version: string;
}

export interface ReadOptions {
  /** Where to begin. @default 0 */
  readonly offset?: number;
  /** No more than that is read, or kept in memory. */
  readonly maxBytes: number;
  /** Whether a part is of no use: then nothing need be read of a file in which there is more. @default false */
  readonly wholeOnly?: boolean | undefined;
}

export interface WriteOptions {
  /** The version that the file must have; null if there must be none. @default it doesn't matter */
  readonly expected?: string | null | undefined;
}

/**
 * Where files are kept. This is all that a backend must do: it knows no permissions, and whoever has it can do
 * everything. An agent gets a `FileSystemHandle` instead.
 *
 * Paths are checked before they come here. `/userinput`, `/workspace` and `/internal` are folders that are always there, as far as
 * the backend has them. A write is whole or not at all. Nothing outside is ever reached, whatever lies in
 * the folders. Failures are `FileSystemError`s that name logical paths only.
 */
export abstract class FileSystemBase {
  /** Undefined if there is nothing. */
  abstract stat(path: LogicalPath): Promise<FileInfo | undefined>;

  /** What lies directly in a folder, in any order. @throws FileSystemError `too_large` if that is more. */
  abstract list(folder: LogicalPath, maxEntries: number): Promise<readonly FileEntry[]>;

  abstract read(path: LogicalPath, options: ReadOptions): Promise<FileContent>;

  /** Makes the folders on the way, where they are missing. */
  abstract write(path: LogicalPath, bytes: Uint8Array, options?: WriteOptions): Promise<void>;

  /** Deletes a file, or a folder that is empty. */
  abstract delete(path: LogicalPath): Promise<void>;
}
