import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyBlock, isDeepFrozen, nested } from '../../test/arbitraries.ts';
import { InvalidMsgError } from '../errors.ts';
import { toBlock } from './blocks.ts';

const image = { type: 'base64', mediaType: 'image/png', data: 'AAAA' };

describe('toBlock', () => {
  test.each<[string, object]>([
    ['text', { type: 'text', text: '' }],
    ['thinking', { type: 'thinking', thinking: 'hm', providerMeta: { signature: 'abc' } }],
    ['image', { type: 'image', source: image }],
    ['audio', { type: 'audio', source: { type: 'url', url: 'file:///a.wav' } }],
    ['video', { type: 'video', source: { type: 'url', url: 'https://a/b.mp4', mediaType: 'video/mp4' } }],
    ['file', { type: 'file', source: image, filename: 'a.png' }],
    ['tool_use', { type: 'tool_use', id: '1', name: 'add', input: { a: 1 } }],
    [
      'tool_use that could not be read',
      { type: 'tool_use', id: '1', name: 'add', input: {}, rawInput: '{"a":' },
    ],
    ['tool_result', { type: 'tool_result', id: '1', name: 'add', output: '2', status: 'ok' }],
    [
      'tool_result with blocks',
      {
        type: 'tool_result',
        id: '1',
        name: 'draw',
        output: [
          { type: 'text', text: 'see' },
          { type: 'image', source: image },
        ],
        status: 'error',
      },
    ],
  ])('takes a block of type %s as it is, frozen', (_, block) => {
    const copied = toBlock(block, 'block');
    expect(copied).toStrictEqual(block);
    expect(copied).not.toBe(block);
    expect(isDeepFrozen(copied)).toBe(true);
    expect(toBlock(copied, 'block')).toBe(copied);
  });

  test('keeps unknown keys at every level', () => {
    fc.assert(
      fc.property(anyBlock, (block) => {
        expect(JSON.stringify(toBlock(block, 'block'))).toBe(JSON.stringify(block));
      }),
    );
  });

  const types =
    'text, thinking, image, audio, video, file, tool_use, tool_result, provider_tool_use, provider_tool_result';
  test.each<[unknown, string]>([
    [null, 'at[0] is null, not an object.'],
    ['text', 'at[0] is a string, not an object.'],
    [[], 'at[0] is an array, not an object.'],
    [{}, `at[0].type must be one of ${types}.`],
    [{ type: 'poem' }, `at[0].type must be one of ${types}.`],
    [{ type: 'toString' }, `at[0].type must be one of ${types}.`],
    [{ type: '__proto__' }, `at[0].type must be one of ${types}.`],
    [{ type: 'constructor' }, `at[0].type must be one of ${types}.`],
    [{ type: ['text'], text: '' }, `at[0].type must be one of ${types}.`],
    [{ type: 'text' }, 'at[0].text must be a string, not undefined.'],
    [{ type: 'text', text: 7 }, 'at[0].text must be a string, not a number.'],
    [{ type: 'text', text: 'a', providerMeta: 'x' }, 'at[0].providerMeta must be an object, not a string.'],
    [
      { type: 'tool_result', id: 'a', name: 'b', output: '', status: 'ok', metadata: [] },
      'at[0].metadata must be an object, not an array.',
    ],
    [{ type: 'thinking', text: 'a' }, 'at[0].thinking must be a string, not undefined.'],
    [{ type: 'image' }, 'at[0].source must be an object, not undefined.'],
    [{ type: 'image', source: 'data:…' }, 'at[0].source must be an object, not a string.'],
    [{ type: 'image', source: {} }, 'at[0].source.type must be one of base64, url.'],
    [{ type: 'image', source: { type: 'url' } }, 'at[0].source.url must be a string, not undefined.'],
    [
      { type: 'image', source: { type: 'url', url: 'u', mediaType: null } },
      'at[0].source.mediaType must be a string, not null.',
    ],
    [
      { type: 'audio', source: { type: 'base64', data: 'A' } },
      'at[0].source.mediaType must be a string, not undefined.',
    ],
    [
      { type: 'video', source: { type: 'base64', mediaType: 'a', data: [1] } },
      'at[0].source.data must be a string, not an array.',
    ],
    [{ type: 'file', source: image, filename: 1 }, 'at[0].filename must be a string, not a number.'],
    [{ type: 'tool_use', name: 'a', input: {} }, 'at[0].id must be a string, not undefined.'],
    [{ type: 'tool_use', id: '1', input: {} }, 'at[0].name must be a string, not undefined.'],
    [{ type: 'tool_use', id: '1', name: 'a' }, 'at[0].input must be an object, not undefined.'],
    [{ type: 'tool_use', id: '1', name: 'a', input: [] }, 'at[0].input must be an object, not an array.'],
    [{ type: 'tool_use', id: '1', name: 'a', input: '{}' }, 'at[0].input must be an object, not a string.'],
    [
      { type: 'tool_use', id: '1', name: 'a', input: {}, rawInput: {} },
      'at[0].rawInput must be a string, not an object.',
    ],
    [
      { type: 'tool_result', id: '1', name: 'a', output: 'x' },
      'at[0].status must be one of ok, error, interrupted, denied, unavailable.',
    ],
    [
      { type: 'tool_result', id: '1', name: 'a', output: 'x', status: 'fine' },
      'at[0].status must be one of ok, error, interrupted, denied, unavailable.',
    ],
    [
      { type: 'tool_result', id: '1', name: 'a', status: 'ok' },
      'at[0].output must be a string or a list of blocks, not undefined.',
    ],
    [
      { type: 'tool_result', id: '1', name: 'a', status: 'ok', output: ['x'] },
      'at[0].output[0] must be a block, not a string.',
    ],
    [
      {
        type: 'tool_result',
        id: '1',
        name: 'a',
        status: 'ok',
        output: [{ type: 'text', text: 'a' }, { type: 'image' }],
      },
      'at[0].output[1].source must be an object, not undefined.',
    ],
    [
      {
        type: 'tool_result',
        id: '1',
        name: 'a',
        status: 'ok',
        output: [{ type: 'thinking', thinking: 'a' }],
      },
      'at[0].output[0].type must be one of text, image, audio, video, file.',
    ],
    [
      { type: 'text', text: 'a', extra: { deep: [() => {}] } },
      "at[0].extra.deep[0] is a function, which JSON can't hold.",
    ],
    [{ type: 'text', text: 'a', at: new Date(0) }, 'at[0].at is a Date, not a plain object.'],
    [
      { type: 'text', text: 'a', deep: nested(100) },
      `at[0].deep${'[0]'.repeat(99)} is nested deeper than 100 levels, or refers to itself.`.replace(
        /^(.{200}).*? is nested/,
        '$1… is nested',
      ),
    ],
  ])('refuses %j', (value, message) => {
    expect(() => toBlock(value, 'at[0]')).toThrow(new InvalidMsgError(message));
  });
});
