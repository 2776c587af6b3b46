/** Base64 for hosts with and without Node's Buffer. */

/** Bytes per argument list, small enough for the stack. */
const SLICE = 0x6000; // a multiple of 3, so that encoded slices can be joined

export function toBase64(bytes: Uint8Array): string {
  if (typeof Buffer !== 'undefined') {
    // Much faster than btoa.
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  }
  let text = '';
  for (let i = 0; i < bytes.length; i += SLICE) {
    text += btoa(String.fromCharCode(...bytes.subarray(i, i + SLICE)));
  }
  return text;
}

/** @throws TypeError for invalid base64 */
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

/** Joins separately encoded pieces into one base64 text. */
export function joinBase64(pieces: readonly string[]): string {
  // Padding is allowed only at the end. Unpadded pieces can be joined as texts.
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
