/** Options and error shared by `local-file.node.ts` and `local-file.browser.ts`. */

import { cutText } from '../text.ts';

const MAX_SHOWN = 200;

export interface LocalFileOptions {
  /** Folders below which files may be read. Empty: no file can be read. */
  readonly allowedDirs: readonly string[];
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Failed read. For paths outside the allowed folders, the message does not tell whether the file exists. */
export class LocalFileError extends Error {
  override readonly name = 'LocalFileError';

  constructor(path: string, problem: string, options?: ErrorOptions) {
    super(`The file '${cutText(path, MAX_SHOWN)}' ${problem}`, options);
  }
}
