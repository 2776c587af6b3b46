/** Base64, where Node's Buffer may be missing. */

/** So many bytes become one argument list: more may not fit on the stack. */
const SLICE = 0x6000; // a multiple of 3, so that slices join

export function toBase64(bytes: Uint8Array): string {
  if (typeof Buffer !== 'undefined') {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'); // much faster
  }
  let text = '';
  for (let i = 0; i < bytes.length; i += SLICE) {
    text += btoa(String.fromCharCode(...bytes.subarray(i, i + SLICE)));
  }
  return text;
}

/** @throws TypeError if it is no base64. */
export function fromBase64(text: string): Uint8Array {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    throw new TypeError('is not base64');
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Pieces that were encoded one by one, as one text. */
export function joinBase64(pieces: readonly string[]): string {
  // Only the end may be padded. Where no piece but the last one is, the texts themselves join.
  const isWhole = pieces.every(
    (piece, i) => i === pieces.length - 1 || (piece.length % 4 === 0 && !piece.endsWith('=')),
  );
  if (isWhole) return pieces.join('');
  const parts = pieces.map(fromBase64);
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return toBase64(bytes);
}
