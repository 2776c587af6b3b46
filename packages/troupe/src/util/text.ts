/** Characters that move the cursor, restyle a terminal, forge a line, or turn the order of what is read around. */
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;
const CONTROL_CHARACTERS_BUT_LINES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** The text on one line, safe for a terminal and a log. */
export function oneLine(text: string): string {
  return text.replace(CONTROL_CHARACTERS, ' ');
}

const HALF_A_CHARACTER = /[\ud800-\udbff]$/;

/** The beginning of a text that is longer than this, with a sign that there is more. No character is cut in two. */
export function cutText(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars - 1).replace(HALF_A_CHARACTER, '')}…` : text;
}

/** The text without what could control a terminal; tabs and line feeds stay. */
export function withoutControls(text: string): string {
  return text.replace(CONTROL_CHARACTERS_BUT_LINES, '');
}
