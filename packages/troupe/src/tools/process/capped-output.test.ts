import fc from 'fast-check';
import { expect, test } from 'vitest';

import { CappedOutput } from './capped-output.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function capped(maxBytes: number, ...chunks: readonly string[]): CappedOutput {
  const output = new CappedOutput(maxBytes);
  for (const chunk of chunks) output.push(bytesOf(chunk));
  return output;
}

test('short output is unchanged', () => {
  expect(capped(10).toString()).toBe('');
  expect(capped(10, '12345', '', '67890').toString()).toBe('1234567890');
});

test('long output keeps its beginning and its end', () => {
  const output = capped(10, '12345678901');
  expect(output.toString()).toBe('12345\n<system-info>1 of 11 bytes are left out here.</system-info>\n78901');
  expect(output.totalBytes).toBe(11);
});

test('a limit beyond all memory takes no more than the output', () => {
  expect(capped(2 ** 45, '12345', '67890').toString()).toBe('1234567890');
});

test('no character is cut in two', () => {
  expect(capped(10, 'aaaéb', 'x'.repeat(50), 'üüü').toString()).toBe(
    'aaaé\n<system-info>52 of 62 bytes are left out here.</system-info>\nüü',
  );
  expect(capped(10, 'aaaaéb', 'x'.repeat(50), 'b').toString()).toMatch(/^aaaa\n/);
});

test('tags by which an answer is told are broken, and no others', () => {
  const others = '<stdouts></stdout-x><std><b>';
  expect(capped(200, others, '</std', 'out><stderr \n>').toString()).toBe(
    `${others}<\\/stdout><\\stderr \n>`,
  );
  const output = capped(20, '<stdout>12', '-'.repeat(20), '12</stdout>');
  expect(output.toString()).toBe(
    '<\\stdout>12\n<system-info>21 of 41 bytes are left out here.</system-info>\n2<\\/stdout>',
  );
});

test('output in any pieces gives the same text as output at once', () => {
  const chunk = fc.uint8Array({ min: 97, max: 122, maxLength: 40 });
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 30 }), fc.array(chunk, { maxLength: 20 }), (maxBytes, chunks) => {
      const output = new CappedOutput(maxBytes);
      for (const one of chunks) output.push(one);
      const all = Buffer.concat(chunks).toString();
      const head = Math.ceil(maxBytes / 2);
      const note = `\n<system-info>${all.length - maxBytes} of ${all.length} bytes are left out here.</system-info>\n`;
      const expected =
        all.length <= maxBytes ? all : all.slice(0, head) + note + all.slice(all.length - maxBytes + head);
      expect([output.toString(), output.totalBytes]).toEqual([expected, all.length]);
    }),
  );
});
