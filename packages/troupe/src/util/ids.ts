/** Single source of ids and random numbers, so that tests can make both predictable. */

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 22; // 22 characters out of 62: 131 bits

export type IdSource = () => string;

let source: IdSource = randomId;
const pool = new Uint8Array(ID_LENGTH * 64);
let used = pool.length;

let random: () => number = Math.random;

/** New unique id, e.g. `5tJ0yQmDq8V1cXW2nZbL3k`, or `call_5tJ0…` with a prefix. */
export function newId(prefix = ''): string {
  return prefix + source();
}

/** Replaces the source of ids until the returned function is called. */
export function useIdSource(replacement: IdSource): () => void {
  const previous = source;
  source = replacement;
  return () => {
    source = previous;
  };
}

/** Random bytes for secrets. Not replaced by `useIdSource`. */
export function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** Random number from 0 (inclusive) to 1 (exclusive). Not for secrets. */
export function randomFraction(): number {
  return random();
}

/** Replaces the source of random numbers until the returned function is called. */
export function useRandomSource(replacement: () => number): () => void {
  const previous = random;
  random = replacement;
  return () => {
    random = previous;
  };
}

/** Made of character codes at once: a text that grows by one character at a time takes ten times the memory in V8. */
function randomId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    for (const [i, byte] of pool.entries()) pool[i] = ALPHABET.charCodeAt(byte % ALPHABET.length);
    used = 0;
  }
  const start = used;
  used += ID_LENGTH;
  return String.fromCharCode(...pool.subarray(start, used));
}
