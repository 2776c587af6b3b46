/** Estimate of the tokens of a text, in time proportional to its length: 4 characters each, 1 for a Chinese one. */
export function estimateTextTokens(text: string): number {
  return Math.ceil(tokenQuarters(text) / 4);
}

/** Estimated quarters of tokens of a text; they add up exactly. */
export function tokenQuarters(text: string): number {
  let quarters = text.length;
  for (let at = 0; at < text.length; at++) if (isWide(text.charCodeAt(at))) quarters += 3;
  return quarters;
}

/** Whether a character is Chinese, Japanese or Korean. */
function isWide(code: number): boolean {
  if (code < 0x3040) return false;
  return (
    code <= 0x30ff ||
    (code >= 0x3400 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0xf900 && code <= 0xfaff)
  );
}
