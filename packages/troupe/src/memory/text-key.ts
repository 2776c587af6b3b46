import { sha256 } from '../util/hash.ts';

/**
 * Characters that databases can't store in texts: NUL and half surrogate pairs; and the backslash, used to
 * escape them.
 */
const NOT_STORABLE = /[\\\0]|\p{Surrogate}/gu;
/** Limit for index keys: PostgreSQL allows 2700 bytes for all columns together. */
const MAX_LENGTH = 200;

/**
 * Unique database key for a text. Ordinary texts stay unchanged, other characters are escaped, and long texts
 * become a hash.
 */
export async function textKey(text: string): Promise<string> {
  const key = text.replace(NOT_STORABLE, (unit) => `\\${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return key.length <= MAX_LENGTH ? key : `\\sha256:${await sha256(key)}`;
}
