import { TroupeError } from '../errors.ts';
import { cutText, oneLine } from '../util/text.ts';

/** What kind of thing went wrong, whichever file system it was. */
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
 * A file operation that was refused or failed. The message is meant for the model as well. It speaks of logical
 * paths only, and is the same for everything out of reach, whether that exists or not. There is never a cause:
 * the system's own errors name real paths.
 */
export class FileSystemError extends TroupeError {
  override readonly name = 'FileSystemError';

  constructor(
    readonly kind: FileSystemErrorKind,
    /** The logical path that it is about, as far as there is one. */
    readonly path: string,
    message: string,
  ) {
    super('file_failed', message);
  }

  static override isInstance(value: unknown): value is FileSystemError {
    return TroupeError.isInstance(value) && value.code === 'file_failed' && 'kind' in value;
  }
}

/** Characters that can't be seen, and some of which turn the direction of writing. */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}]/gu;

export function invalidPath(text: string, problem: string): FileSystemError {
  const shown = oneLine(cutText(text, MAX_SHOWN).replace(UNSEEN, ' '));
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
