/** What no database keeps in a text: NUL, and halves of characters. And the backslash, which stands for them. */
const NOT_STORABLE = /[\\\0]|\p{Surrogate}/gu;
/** An index of PostgreSQL takes no more than 2700 bytes, for all columns together. */
const MAX_LENGTH = 200;

/**
 * A text as a key of a database: other texts have other keys. An ordinary text is its own key; what a
 * database would change is escaped, and a long text becomes its hash.
 */
export async function textKey(text: string): Promise<string> {
  const key = text.replace(NOT_STORABLE, (unit) => `\\${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return key.length <= MAX_LENGTH ? key : `\\sha256:${await sha256(key)}`;
}

async function sha256(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
