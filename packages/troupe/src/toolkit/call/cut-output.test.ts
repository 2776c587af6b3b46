import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ToolOutputBlock } from '../../message/blocks.ts';
import { cutOutput } from './cut-output.ts';

const image: ToolOutputBlock = {
  type: 'image',
  source: { type: 'base64', mediaType: 'image/png', data: 'A'.repeat(1000) },
};
const text = (value: string): ToolOutputBlock => ({ type: 'text', text: value });

function noteOf(size: number, max: number, rest = ''): string {
  return `<system-info>The output has ${size} characters. Only the first ${max} are shown.${rest}</system-info>`;
}

test('short output is unchanged', () => {
  expect(cutOutput('12345', 5)).toBeUndefined();
  expect(cutOutput([text('12'), image, text('345')], 5)).toBeUndefined();
  expect(cutOutput('x'.repeat(1e6), Infinity)).toBeUndefined();
});

test('a text keeps its beginning, with a note of its true size', () => {
  expect(cutOutput('123456', 5)).toEqual({ shown: `12345…\n${noteOf(6, 5)}`, whole: '123456' });
});

test('the note tells where the whole is', () => {
  expect(cutOutput('123456', 5, 'file-7')?.shown).toBe(
    `12345…\n${noteOf(6, 5, " All of it is kept as 'file-7'.")}`,
  );
});

test('blocks share the limit, and media stay', () => {
  const extra = { ...text('3456'), providerMeta: { a: 1 } };
  expect(cutOutput([text('12'), extra, image, text('78')], 4)).toEqual({
    shown: [text('12'), { ...extra, text: '34…' }, image, text(noteOf(8, 4))],
    whole: '12\n3456\n78',
  });
  expect(cutOutput([text('12'), text('34')], 2)?.shown).toEqual([text('12'), text(noteOf(4, 2))]);
});

test('a character is not cut in two', () => {
  expect(cutOutput('a😀b', 2)?.shown).toBe(`a…\n${noteOf(4, 2)}`);
  expect(cutOutput('a😀b', 3)?.shown).toBe(`a😀…\n${noteOf(4, 3)}`);
});

test('nothing beyond the limit is shown, whatever the blocks', () => {
  const blocks = fc.array(fc.oneof(fc.string().map(text), fc.constant(image)), { maxLength: 6 });
  fc.assert(
    fc.property(blocks, fc.integer({ min: 1, max: 20 }), (output, max) => {
      const cut = cutOutput(output, max);
      const size = output.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0);
      expect(cut === undefined).toBe(size <= max);
      if (cut === undefined) return;
      const shown = (cut.shown as ToolOutputBlock[]).slice(0, -1);
      const chars = shown.flatMap((block) => (block.type === 'text' ? [...block.text] : []));
      expect(chars.length).toBeLessThanOrEqual(max + 1);
      expect(shown.filter((block) => block.type === 'image')).toHaveLength(
        output.filter((block) => block.type === 'image').length,
      );
    }),
  );
});
