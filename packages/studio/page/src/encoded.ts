/** A part of an address, or of a key. Half a character, which an address can not hold, becomes a mark in its place. */
export function encoded(part: string): string {
  return encodeURIComponent(part.toWellFormed());
}
