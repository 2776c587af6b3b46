/** Columns that text takes on a terminal. Exact for single characters; a terminal may draw joined emoji narrower. */

const NARROW_BELOW = '\u0300';
const COMBINING = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]$/u;

/** Columns of one character (code point): 0, 1 or 2. */
export function charWidth(char: string): number {
  if (char < NARROW_BELOW) return 1;
  if (COMBINING.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Columns of a text without line feeds and tabs. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of text) width += charWidth(char);
  return width;
}

/** Shortens a text to a number of columns with an ellipsis, without splitting a character. */
export function cutToWidth(text: string, columns: number): string {
  let width = 0;
  let length = 0;
  let fits = 0; // length that leaves a column for the ellipsis
  for (const char of text) {
    width += charWidth(char);
    if (width > columns) return `${text.slice(0, fits)}…`;
    length += char.length;
    if (width < columns) fits = length;
  }
  return text;
}
