/** Entry `troupe/filesystem`: confined file systems, and the port for new ones. */

export type { FileLimits } from '../filesystem/file-limits.ts';
export {
  FilePolicy,
  type FileGrant,
  type FileGrantInput,
  type FileOperation,
} from '../filesystem/file-policy.ts';
export type { FileMatches, FileSearchOptions, GrepOptions, LineMatch } from '../filesystem/file-search.ts';
export {
  FileSystemBase,
  type FileContent,
  type FileEntry,
  type FileInfo,
  type FileKind,
  type ReadOptions,
  type WriteOptions,
} from '../filesystem/file-system-base.ts';
export { FileSystemError, type FileSystemErrorKind } from '../filesystem/file-system-error.ts';
export { FileSystemHandle, type FileSystemHandleOptions } from '../filesystem/file-system-handle.ts';
export type { FileLines, TextEdit } from '../filesystem/file-text.ts';
export { InMemoryFileSystem, type InMemoryFileSystemOptions } from '../filesystem/in-memory-file-system.ts';
export { joinPath, parsePath, type LogicalPath } from '../filesystem/logical-path.ts';
