import { fromBase64 } from './base64.ts';

/**
 * Bytes and media type of a `data:` URL.
 * @throws TypeError if the URL can't be decoded
 */
export function parseDataUrl(url: string): { bytes: Uint8Array; mediaType: string } {
  const comma = url.indexOf(',');
  if (comma < 0) throw new TypeError('its data: URL has no comma before its data.');
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const isBase64 = parameters.at(-1)?.trim().toLowerCase() === 'base64';
  let bytes: Uint8Array;
  try {
    const text = decodeURIComponent(url.slice(comma + 1));
    bytes = isBase64 ? fromBase64(text) : new TextEncoder().encode(text);
  } catch {
    throw new TypeError(`its data: URL is not ${isBase64 ? 'base64' : 'percent-encoded correctly'}.`);
  }
  return { bytes, mediaType: mediaType.trim().toLowerCase() || 'text/plain' };
}
