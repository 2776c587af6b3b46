import type { Part } from '@a2a-js/sdk';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ContentBlock } from '../../message/blocks.ts';
import type { JsonValue } from '../../util/json.ts';
import { dataBlock } from './data-block.ts';
import { blocksOfParts, toParts } from './parts.ts';

const part = (content: Part['content'], more: Partial<Part> = {}): Part => ({
  content,
  metadata: undefined,
  filename: '',
  mediaType: '',
  ...more,
});

test('thinking and local files are not sent', () => {
  const blocks: ContentBlock[] = [
    { type: 'thinking', thinking: 'private' },
    { type: 'image', source: { type: 'url', url: '/home/me/a.png' } },
    { type: 'audio', source: { type: 'url', url: 'file:///home/me/a.wav' } },
    { type: 'video', source: { type: 'url', url: 'data:video/mp4;base64,%%%' } },
  ];
  expect(toParts(blocks).map(({ content }) => content)).toEqual([
    { $case: 'text', value: '(Here was an image that only the sender can read.)' },
    { $case: 'text', value: '(Here was an audio that only the sender can read.)' },
    { $case: 'text', value: '(Here was a video that only the sender can read.)' },
  ]);
});

test('calls and results go out as data, a data: URL as bytes', () => {
  const call = { type: 'tool_use', id: 'c', name: 'n', input: { a: 1 } } as const;
  const result = { type: 'tool_result', id: 'c', name: 'n', output: 'x', status: 'ok' } as const;
  const file = {
    type: 'file',
    source: { type: 'url', url: 'data:text/plain,hi' },
    filename: 'hi.txt',
  } as const;
  expect(toParts([call, result, file])).toEqual([
    part({ $case: 'data', value: call }, { mediaType: 'application/json' }),
    part({ $case: 'data', value: result }, { mediaType: 'application/json' }),
    part({ $case: 'raw', value: Buffer.from('hi') }, { mediaType: 'text/plain', filename: 'hi.txt' }),
  ]);
});

test.each([
  'javascript:alert(1)',
  'file:///etc/passwd',
  'data:text/html,x',
  'blob:x',
  'ftp://x/',
  '//x/y',
  '',
  'http://',
])('the address %j becomes a note', (url) => {
  expect(blocksOfParts([part({ $case: 'url', value: url })])).toEqual([
    { type: 'text', text: '(Here was an address that is neither http nor https; it was left out.)' },
  ]);
});

test('the kind of a medium is what its type says, or else its name', () => {
  const value = Buffer.from('hi');
  const raw = (more: Partial<Part>): unknown => blocksOfParts([part({ $case: 'raw', value }, more)])[0];
  const source = (mediaType: string) => ({ type: 'base64', mediaType, data: 'aGk=' });
  expect(raw({ mediaType: 'Image/PNG; q=1' })).toEqual({ type: 'image', source: source('image/png') });
  expect(raw({ filename: 'a.mp3' })).toEqual({ type: 'audio', source: source('audio/mpeg') });
  expect(raw({ mediaType: 'nonsense', filename: '../../etc/pass\nwd' })).toEqual({
    type: 'file',
    source: source('application/octet-stream'),
    filename: 'pass wd',
  });
  const long = `${'a'.repeat(1_000_000)}/x`; // a search for the end from every character would take hours
  expect(raw({ filename: long })).toMatchObject({ type: 'file', filename: 'x' });
  expect(blocksOfParts([part({ $case: 'url', value: 'https://x.example/a.PNG?b' })])).toEqual([
    { type: 'image', source: { type: 'url', url: 'https://x.example/a.PNG?b', mediaType: 'image/png' } },
  ]);
});

test('too much data becomes a note, nothing becomes nothing', () => {
  const deep: JsonValue = JSON.parse('['.repeat(70) + ']'.repeat(70));
  const note = { type: 'text', text: '(Here was data that was too much to take in; it was left out.)' };
  expect(blocksOfParts([part({ $case: 'data', value: deep })])).toEqual([note]);
  expect(blocksOfParts([part({ $case: 'data', value: 'x'.repeat(2_000_000) })])).toEqual([note]);
  expect(
    blocksOfParts([
      part(undefined),
      part({ $case: 'text', value: '' }),
      part({ $case: 'data', value: undefined }),
    ]),
  ).toEqual([]);
});

test('parts and blocks are exact inverses', () => {
  const bytes = fc.uint8Array({ maxLength: 20 }).map((one) => Buffer.from(one).toString('base64'));
  const medium = fc
    .record({
      type: fc.constantFrom('image' as const, 'audio' as const, 'video' as const),
      data: bytes,
    })
    .map(({ type, data }): ContentBlock => ({
      type,
      source: { type: 'base64', mediaType: `${type}/x`, data },
    }));
  const data = fc
    .jsonValue({ maxDepth: 4 })
    .filter((value) => value !== null)
    .map((value) => dataBlock(value as JsonValue));
  const text = fc.string({ minLength: 1 }).map((one): ContentBlock => ({ type: 'text', text: one }));
  fc.assert(
    fc.property(fc.array(fc.oneof(medium, data, text)), (blocks) => {
      expect(blocksOfParts(toParts(blocks))).toEqual(blocks);
    }),
  );
});
