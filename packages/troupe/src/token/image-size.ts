import type { MediaSource } from '../message/blocks.ts';
import { fromBase64 } from '../util/base64.ts';

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Maximum characters decoded to find the size; camera metadata before it is seldom longer. */
const MAX_HEADER = 128 * 1024;

/**
 * Image size from the first bytes of PNG, JPEG, GIF or WebP. Undefined if unreadable or not embedded; never
 * downloads.
 */
export function imageSize(source: MediaSource): ImageSize | undefined {
  const data = source.type === 'base64' ? source.data : dataOf(source.url);
  if (data === undefined) return undefined;
  const bytes = header(data);
  const size = bytes && (pngSize(bytes) ?? jpegSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes));
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

function dataOf(url: string): string | undefined {
  const head = /^data:[^,]*;base64,/i.exec(url.slice(0, 1000));
  return head ? url.slice(head[0].length) : undefined;
}

function header(data: string): DataView | undefined {
  const text = data.slice(0, MAX_HEADER).replaceAll(/\s+/g, '');
  try {
    const bytes = fromBase64(text.slice(0, text.length - (text.length % 4)));
    return new DataView(bytes.buffer);
  } catch {
    return undefined;
  }
}

function pngSize(bytes: DataView): ImageSize | undefined {
  if (!hasText(bytes, 0, '\x89PNG') || bytes.byteLength < 24) return undefined;
  return { width: bytes.getUint32(16), height: bytes.getUint32(20) };
}

function gifSize(bytes: DataView): ImageSize | undefined {
  if (!hasText(bytes, 0, 'GIF8') || bytes.byteLength < 10) return undefined;
  return { width: bytes.getUint16(6, true), height: bytes.getUint16(8, true) };
}

/** JPEG is a list of segments; the size is in a start-of-frame segment (C0 to CF except three). */
function jpegSize(bytes: DataView): ImageSize | undefined {
  if (!hasText(bytes, 0, '\xff\xd8')) return undefined;
  for (let at = 2; at + 9 <= bytes.byteLength;) {
    if (bytes.getUint8(at) !== 0xff) return undefined;
    const type = bytes.getUint8(at + 1);
    if (type === 0xff) {
      at++; // padding
      continue;
    }
    if (type >= 0xc0 && type <= 0xcf && type !== 0xc4 && type !== 0xc8 && type !== 0xcc) {
      return { height: bytes.getUint16(at + 5), width: bytes.getUint16(at + 7) };
    }
    at += 2 + bytes.getUint16(at + 2);
  }
  return undefined;
}

/** WebP has three variants. */
function webpSize(bytes: DataView): ImageSize | undefined {
  if (!hasText(bytes, 0, 'RIFF') || !hasText(bytes, 8, 'WEBP') || bytes.byteLength < 30) return undefined;
  if (hasText(bytes, 12, 'VP8X')) {
    return { width: 1 + uint24(bytes, 24), height: 1 + uint24(bytes, 27) };
  }
  if (hasText(bytes, 12, 'VP8L')) {
    const bits = bytes.getUint32(21, true);
    return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
  }
  if (!hasText(bytes, 12, 'VP8 ')) return undefined;
  return { width: bytes.getUint16(26, true) & 0x3fff, height: bytes.getUint16(28, true) & 0x3fff };
}

function hasText(bytes: DataView, at: number, text: string): boolean {
  if (at + text.length > bytes.byteLength) return false;
  return Array.from(text).every((char, i) => bytes.getUint8(at + i) === char.charCodeAt(0));
}

function uint24(bytes: DataView, at: number): number {
  return bytes.getUint16(at, true) | (bytes.getUint8(at + 2) << 16);
}
