/** The one place that makes ids and takes chances, so that a test can make them predictable. */

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 22; // 22 of 62 letters: 131 bits

export type IdSource = () => string;

let source: IdSource = randomId;
const pool = new Uint8Array(ID_LENGTH * 64);
let used = pool.length;

let chance: () => number = Math.random;

/** A new unique id, e.g. `5tJ0yQmDq8V1cXW2nZbL3k`, or `call_5tJ0…` with a prefix. */
export function newId(prefix = ''): string {
  return prefix + source();
}

/** Makes all ids come from another source, until the returned function is called. */
export function useIdSource(replacement: IdSource): () => void {
  const previous = source;
  source = replacement;
  return () => {
    source = previous;
  };
}

/** A number of 0 or more and less than 1, by chance. Not for secrets. */
export function randomFraction(): number {
  return chance();
}

/** Makes all fractions come from another source, until the returned function is called. */
export function useRandomSource(replacement: () => number): () => void {
  const previous = chance;
  chance = replacement;
  return () => {
    chance = previous;
  };
}

function randomId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let id = '';
  for (const end = used + ID_LENGTH; used < end; used++) id += ALPHABET[(pool[used] ?? 0) % ALPHABET.length];
  return id;
}
