/** Digests that take the same time in every run of a random program. */
import { createHash } from 'node:crypto';

import { vi } from 'vitest';

import { nextTurn } from './random-model.ts';

/**
 * Has `crypto.subtle.digest` take as many turns of the event loop for the same data, until mocks are restored. A thread of Node takes more
 * of them on a busy machine: another program for the same seed.
 */
export function digestInTurns(): void {
  vi.spyOn(crypto.subtle, 'digest').mockImplementation(async (_algorithm, data) => {
    const bytes = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    for (let left = bytes.length % 11; left > 0; left--) await nextTurn();
    return new Uint8Array(createHash('sha256').update(bytes).digest()).buffer;
  });
}
