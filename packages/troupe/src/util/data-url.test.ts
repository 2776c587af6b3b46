import { expect, test } from 'vitest';

import { parseDataUrl } from './data-url.ts';

test.each([
  ['data:image/png;base64,aGk=', 'image/png', 'hi'],
  ['DATA:Image/PNG;BASE64,aGk', 'image/png', 'hi'],
  ['data:image/png;name=a.png;base64,aGk%3D', 'image/png', 'hi'],
  ['data:text/plain;charset=utf-8,gr%C3%BC%C3%9Fe, ja', 'text/plain', 'grüße, ja'],
  ['data:image/svg+xml,<svg/>', 'image/svg+xml', '<svg/>'],
  ['data:,hi', 'text/plain', 'hi'],
  ['data:;base64,', 'text/plain', ''],
])('%s', (url, mediaType, text) => {
  const parsed = parseDataUrl(url);
  expect({ ...parsed, bytes: new TextDecoder().decode(parsed.bytes) }).toEqual({ mediaType, bytes: text });
});

test.each([
  ['data:image/png;base64', 'its data: URL has no comma before its data.'],
  ['data:image/png;base64,a-_b', 'its data: URL is not base64.'],
  ['data:image/png;base64,%', 'its data: URL is not base64.'],
  ['data:text/plain,%ff', 'its data: URL is not percent-encoded correctly.'],
])('%s is refused', (url, message) => {
  expect(() => parseDataUrl(url)).toThrow(new TypeError(message));
});
