import { dirname, resolve } from 'node:path';

import { messageOf } from '../../errors.ts';
import { copyJsonObject, parseJson } from '../../util/json.ts';
import { readLocalFile } from '#local-file';
import { A2AError } from '../protocol/a2a-error.ts';
import type { AgentCardResolver, FoundCard } from './agent-card-resolver.ts';

/** Maximum bytes of a card. */
export const MAX_CARD_BYTES = 1024 * 1024;

/**
 * Reads the card from a local file. Its content is trusted like your own code, so its addresses may be
 * private.
 */
export class FileAgentCardResolver implements AgentCardResolver {
  readonly #path: string;

  constructor(path: string) {
    this.#path = resolve(path);
  }

  async resolve(signal: AbortSignal): Promise<FoundCard> {
    try {
      const allowedDirs = [dirname(this.#path)];
      const bytes = await readLocalFile(this.#path, { allowedDirs, maxBytes: MAX_CARD_BYTES, signal });
      return { card: readCard(new TextDecoder().decode(bytes)) };
    } catch (error) {
      signal.throwIfAborted();
      throw new A2AError('bad_card', `The agent card could not be read: ${messageOf(error)}`);
    }
  }
}

/** @throws NotJsonError */
export function readCard(text: string): FoundCard['card'] {
  return copyJsonObject(parseJson(text, 'the card', { maxSize: MAX_CARD_BYTES }), 'the card');
}
