import { expect, test } from 'vitest';

import { mediaTypeOfBytes, mediaTypeOfName } from './media-type.ts';

const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));

test.each([
  ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['image/jpeg', '\xff\xd8\xff\xdb'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a\x01\0'],
  ['image/webp', 'RIFF\x24\0\0\0WEBPVP8 '],
  ['audio/wav', 'RIFF\x24\0\0\0WAVEfmt '],
  ['audio/mpeg', 'ID3\x04\0'],
  ['audio/mpeg', '\xff\xfb\x90\0'],
  ['audio/mpeg', '\xff\xf3\x90\0'],
  ['audio/ogg', 'OggS\0\x02'],
  ['audio/flac', 'fLaC\0\0\0\x22'],
  ['video/mp4', '\0\0\0\x18ftypmp42\0\0\0\0'],
  ['video/mp4', '\0\0\0\x20ftypisom\0\0\x02\0'],
  ['video/mp4', '\0\0\0\x20ftypM4A \0\0\x02\0'],
  ['video/webm', '\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm'],
  ['application/pdf', '%PDF-1.7'],
  [undefined, ''],
  [undefined, 'GIF90a'],
  [undefined, 'RIFF\x24\0\0\0AVI LIST'],
  [undefined, '\0\0\0\x1cftypavif\0\0\0\0'],
  [undefined, '\0\0\0\x1cftypheic\0\0\0\0'],
  [undefined, '\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x88matroska'],
  [undefined, '\xff\xf1\x50\x80'], // AAC
  [undefined, '<svg xmlns="http://www.w3.org/2000/svg">'],
])('%s starts with %j', (type, start) => {
  expect(mediaTypeOfBytes(latin1(start))).toBe(type);
});

test('data cut off in its first bytes has no known type', () => {
  for (const start of ['\x89PNG\r\n\x1a\n', 'RIFF\x24\0\0\0WEBP', '%PDF-', 'OggS']) {
    for (let length = 0; length < start.length; length++) {
      expect(mediaTypeOfBytes(latin1(start.slice(0, length)))).toBeUndefined();
    }
  }
});

test.each([
  ['a.png', 'image/png'],
  ['/b/a.JPG', 'image/jpeg'],
  ['a.b.jpeg', 'image/jpeg'],
  ['a.gif', 'image/gif'],
  ['a.webp', 'image/webp'],
  ['a.wav', 'audio/wav'],
  ['a.mp3', 'audio/mpeg'],
  ['a.ogg', 'audio/ogg'],
  ['a.flac', 'audio/flac'],
  ['a.mp4', 'video/mp4'],
  ['a.webm', 'video/webm'],
  ['a.pdf', 'application/pdf'],
  ['png', undefined],
  ['a.png/b', undefined],
  ['a.exe', undefined],
  ['a.constructor', undefined],
  ['a.', undefined],
  ['', undefined],
])('a file named %j is %s', (name, type) => {
  expect(mediaTypeOfName(name)).toBe(type);
});
