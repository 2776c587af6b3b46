import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { fromBase64, joinBase64, toBase64 } from './base64.ts';

afterEach(() => vi.unstubAllGlobals());

const bytes = fc.uint8Array({ maxLength: 200 });

test('base64 equals that of Node, in both directions', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      expect(toBase64(value)).toBe(Buffer.from(value).toString('base64'));
      expect(fromBase64(toBase64(value))).toEqual(value);
    }),
  );
});

test('the result is the same without Node, also for long texts', () => {
  const value = Uint8Array.from({ length: 300_001 }, (_, i) => i % 251);
  const expected = Buffer.from(value).toString('base64');
  vi.stubGlobal('Buffer', undefined);
  expect(toBase64(value)).toBe(expected);
  vi.unstubAllGlobals();
  expect(toBase64(value)).toBe(expected);
});

test('pieces join, wherever they were cut', () => {
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 6 }), (pieces) => {
      expect(joinBase64(pieces.map(toBase64))).toBe(Buffer.concat(pieces).toString('base64'));
    }),
  );
});

test('invalid base64 is refused', () => {
  expect(() => fromBase64('a*b')).toThrow('is not base64');
});
