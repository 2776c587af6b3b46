import type { Part } from '@a2a-js/sdk';

import { a2aErrors } from '../protocol/sdk.ts';

/** Types that every served agent takes: words, and the data of decisions and answers. */
const ALWAYS = ['text/plain', 'application/json'];

/**
 * Checks the media types of files in a message against the input modes of the card. A file without a type is taken, because
 * its type is unknown.
 * @throws ContentTypeNotSupportedError
 */
export function assertAcceptable(parts: readonly Part[], inputModes: readonly string[]): void {
  const modes = [...ALWAYS, ...inputModes].map((mode) => mode.toLowerCase());
  for (const { mediaType } of parts) {
    const type = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
    const [kind = ''] = type.split('/');
    const isTaken =
      type === '' || modes.some((mode) => mode === type || mode === `${kind}/*` || mode === '*/*');
    if (!isTaken)
      throw new a2aErrors.ContentTypeNotSupportedError(
        'A part has a media type that the agent does not take.',
      );
  }
}
