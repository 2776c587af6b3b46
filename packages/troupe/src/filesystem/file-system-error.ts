import { TroupeError } from '../errors.ts';
import { cutText, oneLine } from '../util/text.ts';

/** Reason of a failed file operation, the same for every file system. */
export type FileSystemErrorKind =
  | 'access_denied'
  | 'conflict'
  | 'invalid_argument'
  | 'invalid_path'
  | 'io_failed'
  | 'no_match'
  | 'not_a_directory'
  | 'not_a_file'
  | 'not_found'
  | 'not_text'
  | 'too_large';

const MAX_SHOWN = 64;

/**
 * A refused or failed file operation. Messages are also shown to models: they contain logical paths only, and
 * are identical for existing and missing files without permission. Never has a cause, because errors of the
 * operating system name real paths.
 */
export class FileSystemError extends TroupeError {
  override readonly name = 'FileSystemError';

  constructor(
    readonly kind: FileSystemErrorKind,
    /** Logical path of the failed operation; empty if there is none. */
    readonly path: string,
    message: string,
  ) {
    super('file_failed', message);
  }

  static override isInstance(value: unknown): value is FileSystemError {
    return TroupeError.isInstance(value) && value.code === 'file_failed' && 'kind' in value;
  }
}

/** Invisible characters, some of which change the writing direction. */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}]/gu;

export function invalidPath(text: string, problem: string): FileSystemError {
  const shown = oneLine(cutText(text, MAX_SHOWN).replace(INVISIBLE, ' '));
  return new FileSystemError('invalid_path', shown, `Invalid path '${shown}': ${problem}`);
}

export function invalidArgument(path: string, problem: string): FileSystemError {
  return new FileSystemError('invalid_argument', path, problem);
}

export function notFound(path: string): FileSystemError {
  return new FileSystemError('not_found', path, `Path not found: '${path}'.`);
}

export function notAFile(path: string): FileSystemError {
  return new FileSystemError('not_a_file', path, `'${path}' is a folder, not a file.`);
}

export function notADirectory(path: string): FileSystemError {
  return new FileSystemError('not_a_directory', path, `'${path}' is a file, not a folder.`);
}

export function notText(path: string): FileSystemError {
  return new FileSystemError('not_text', path, `'${path}' is not a text in UTF-8.`);
}

export function notEmpty(path: string): FileSystemError {
  return new FileSystemError('conflict', path, `'${path}' is not empty. Delete what is in it first.`);
}

export function alreadyThere(path: string): FileSystemError {
  return new FileSystemError('conflict', path, `'${path}' exists already, and is not to be overwritten.`);
}

export function hasChanged(path: string): FileSystemError {
  return new FileSystemError('conflict', path, `'${path}' has changed meanwhile. Read it again.`);
}

export function tooLarge(path: string, problem: string): FileSystemError {
  return new FileSystemError('too_large', path, `'${path}' ${problem}`);
}

export function badPattern(problem: string): FileSystemError {
  return new FileSystemError('invalid_argument', '', `The pattern ${problem}`);
}
