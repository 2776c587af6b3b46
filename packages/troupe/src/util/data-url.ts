import { fromBase64 } from './base64.ts';

/**
 * The bytes that a `data:` URL holds, and the media type that it names.
 * @throws TypeError if they can't be read
 */
export function parseDataUrl(url: string): { bytes: Uint8Array; mediaType: string } {
  const comma = url.indexOf(',');
  if (comma < 0) throw new TypeError('its data: URL has no comma, after which the data would be.');
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const isBase64 = parameters.at(-1)?.trim().toLowerCase() === 'base64';
  let bytes: Uint8Array;
  try {
    const text = decodeURIComponent(url.slice(comma + 1));
    bytes = isBase64 ? fromBase64(text) : new TextEncoder().encode(text);
  } catch {
    throw new TypeError(`its data: URL is not ${isBase64 ? 'base64' : 'escaped as it must be'}.`);
  }
  return { bytes, mediaType: mediaType.trim().toLowerCase() || 'text/plain' };
}
