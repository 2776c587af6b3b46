import type { JsonObject } from '../util/json.ts';

const MAX_CHARS = 2_000;
/** Characters shown of the end of a longer text. */
const END_CHARS = 600;
/** Characters without a shape of their own, which could hide a part of a text or turn it around. */
const INVISIBLE =
  /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|[\u{e0000}-\u{e0fff}]/gu;

/**
 * Arguments of a tool call for the person who decides about the tool call. Of a long text both ends are shown, with the number of
 * characters between them, so that nobody takes a part for the whole; invisible characters are shown by their codes.
 */
export function inputText(input: JsonObject): string {
  const text = JSON.stringify(input).replace(INVISIBLE, escaped);
  if (text.length <= MAX_CHARS) return text;
  const start = text.slice(0, MAX_CHARS - END_CHARS).toWellFormed();
  const end = text.slice(-END_CHARS).toWellFormed();
  return `${start}… (${text.length - MAX_CHARS} characters are not shown here) …${end}`;
}

function escaped(characters: string): string {
  return Array.from(
    { length: characters.length },
    (_, i) => String.raw`\u${characters.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');
}
