/**
 * Characters that move the cursor, change a terminal's style, fake a new line, or reverse the reading order.
 */
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g;
const CONTROL_CHARACTERS_BUT_LINES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Text on one line, safe for terminals and logs. */
export function oneLine(text: string): string {
  return text.replace(CONTROL_CHARACTERS, ' ');
}

const HALF_A_CHARACTER = /[\ud800-\udbff]$/;

/** Shortens a text to `maxChars` with an ellipsis, without splitting a character. */
export function cutText(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars - 1).replace(HALF_A_CHARACTER, '')}…` : text;
}

/** Removes terminal control characters except tabs and line feeds. */
export function withoutControls(text: string): string {
  return text.replace(CONTROL_CHARACTERS_BUT_LINES, '');
}
