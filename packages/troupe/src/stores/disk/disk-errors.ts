/** Converts errors of the operating system to `FileSystemError`s, which name no real paths. */
import { FileSystemError, notEmpty, notFound } from '../../filesystem/file-system-error.ts';
import type { LogicalPath } from '../../filesystem/logical-path.ts';
import { LinkError } from './folder.ts';

/**
 * Error for a path that is no plain file or folder. Equal for every kind and target, so that nothing leaks.
 */
export function unusable(path: LogicalPath): FileSystemError {
  const what = 'is a link, another spelling of a name, or no ordinary file. Such things are never used.';
  return new FileSystemError('access_denied', path, `Access denied: '${path}' ${what}`);
}

export function readOnly(path: LogicalPath): FileSystemError {
  return new FileSystemError('access_denied', path, `Access denied: '${path}' is marked as read-only.`);
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

export function toFileSystemError(error: unknown, path: LogicalPath): FileSystemError {
  if (FileSystemError.isInstance(error)) return error;
  if (error instanceof LinkError) return unusable(path);
  switch (codeOf(error)) {
    case 'ENOENT':
      return notFound(path);
    case 'ELOOP':
    case 'ENOTDIR':
      return unusable(path);
    case 'ENOTEMPTY':
    case 'EEXIST':
      return notEmpty(path);
    default:
      return new FileSystemError(
        'io_failed',
        path,
        `'${path}' can't be used (${codeOf(error) || 'unknown error'}).`,
      );
  }
}
