/** What `local-file.node.ts` and `local-file.browser.ts` both speak. */

import { cutText } from '../text.ts';

const MAX_SHOWN = 200;

export interface LocalFileOptions {
  /** The folders below which a file may be read. None: no file. */
  readonly allowedDirs: readonly string[];
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** A file that was not read. Of what lies outside the allowed folders it says nothing, not even whether it exists. */
export class LocalFileError extends Error {
  override readonly name = 'LocalFileError';

  constructor(place: string, problem: string, options?: ErrorOptions) {
    super(`The file '${cutText(place, MAX_SHOWN)}' ${problem}`, options);
  }
}
