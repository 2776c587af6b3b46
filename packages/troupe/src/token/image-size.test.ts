import { describe, expect, test } from 'vitest';
import { fromBase64, toBase64 } from '../util/base64.ts';
import { imageSize } from './image-size.ts';

/** Images of 37 x 91 pixels, as far as they are needed. */
const IMAGES: Record<string, string> = {
  PNG: 'iVBORw0KGgoAAAANSUhEUgAAACUAAABbCAIAAAB71NvlAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAdUlEQVRoge3YwQ0AIRACwO2JnuiJbu3i',
  JPEG: jpeg(0xc0),
  'JPEG, progressive': jpeg(0xc2),
  GIF: 'R0lGODlhJQBbAIAAAExpcTNmmSH5BAUAAAAALAAAAAAlAFsAAAI9jI+py+0Po5y02ouz3rz7D4biSJbmiabqyrbuC8fyTNf2',
  'WebP, lossy':
    'UklGRkYAAABXRUJQVlA4IDoAAACwAwCdASolAFsAP83m8HK/uDMsIcgD8DmJaQAADbWNB7sxRfrZAAD+xO/nY9wf89Nm',
  'WebP, lossless': 'UklGRiQAAABXRUJQVlA4TBcAAAAvJIAWAAdQs840s/8BICH8f69F9D8tAgA=',
  'WebP, extended':
    'UklGRmYAAABXRUJQVlA4WAoAAAAQAAAAJAAAWgAAQUxQSBAAAAABB1DAiAgACeH/ey2i/2kRVlA4IDAAAACwAwCdASolAFsA',
};

/** A table, another that looks like a frame, and then the frame. */
function jpeg(frame: number): string {
  const table = [0xff, 0xdb, 0, 67, ...Array.from({ length: 65 }, () => 0xff)];
  const codes = [0xff, 0xc4, 0, 21, ...new Uint8Array(19)];
  const start = [0xff, frame, 0, 17, 8, 0, 91, 0, 37, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
  return toBase64(Uint8Array.from([0xff, 0xd8, ...table, ...codes, ...start, 0xff, 0xda, 0, 12]));
}

const SIZE = { width: 37, height: 91 };

const base64 = (data: string) => ({ type: 'base64', mediaType: 'image/png', data }) as const;
const ofBytes = (...bytes: number[]) => imageSize(base64(toBase64(Uint8Array.from(bytes))));

describe.each(Object.entries(IMAGES))('%s', (_, data) => {
  test('tells its size in its first bytes', () => {
    expect(imageSize(base64(data))).toEqual(SIZE);
    expect(imageSize({ type: 'url', url: `data:image/png;base64,${data}` })).toEqual(SIZE);
    for (let n = 5; n < 30; n++) {
      expect(imageSize(base64(data.replaceAll(new RegExp(`.{${n}}`, 'g'), '$&\n')))).toEqual(SIZE);
    }
  });

  test('cut off anywhere, its size is right or not known', () => {
    const bytes = fromBase64(data);
    const sizes = Array.from(bytes, (_, n) => imageSize(base64(toBase64(bytes.subarray(0, n)))));
    expect(sizes.length).toBeGreaterThan(40);
    expect(sizes.findIndex((size) => size !== undefined)).toBeGreaterThan(8);
    for (const size of sizes) expect([SIZE, undefined]).toContainEqual(size);
  });
});

test('camera metadata before the picture is skipped', () => {
  const bytes = fromBase64(IMAGES['JPEG'] ?? '');
  const note = [0xff, 0xe1, 0xff, 0xff, ...new Uint8Array(0xffff - 2)];
  const photo = Uint8Array.from([...bytes.subarray(0, 2), ...note, 0xff, ...bytes.subarray(2)]);
  expect(imageSize(base64(toBase64(photo)))).toEqual(SIZE);
});

test.each<[string, string]>([
  ['nothing', ''],
  ['no base64', '%%%%'],
  ['no image', toBase64(new TextEncoder().encode('Just some text, long enough to be an image.'))],
  ['an image without a size', `iVBORw0KGgoAAAANSUhEUgAAAAAAAABb${'A'.repeat(40)}`],
  ['a JPEG that ends', '/9j/4AAQ'],
  ['a JPEG with rubbish in it', `/9j/AAAA${'A'.repeat(40)}`],
  ['a WebP of an unknown kind', (IMAGES['WebP, lossy'] ?? '').replace('VlA4I', 'VlA4a')],
])('%s has no size', (_, data) => {
  expect(imageSize(base64(data))).toBeUndefined();
});

test('a segment of a JPEG that claims to have no length ends the search', () => {
  expect(ofBytes(0xff, 0xd8, ...Array.from({ length: 50 }, () => [0xff, 0xe0, 0, 0]).flat())).toBeUndefined();
});

test.each([
  'https://example.com/a.png',
  'http://169.254.169.254/a.png',
  'file:///etc/passwd',
  'data:image/png,x',
])('%s is not fetched, so its size is not known', (url) => {
  expect(imageSize({ type: 'url', url })).toBeUndefined();
});
