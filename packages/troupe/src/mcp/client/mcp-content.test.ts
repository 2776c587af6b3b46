import { expect, test } from 'vitest';

import { toToolResponse } from './mcp-content.ts';

test('one text is a string', () => {
  expect(toToolResponse({ content: [{ type: 'text', text: 'hi' }] })).toMatchObject({
    content: 'hi',
    status: 'ok',
  });
});

test('no content is said to be done', () => {
  expect(toToolResponse({ content: [] })).toMatchObject({
    content: 'Done.',
    status: 'ok',
    metadata: undefined,
  });
});

test('structured content is text where there is no other, and always there for the program', () => {
  const structuredContent = { b: [1, 2] };
  expect(toToolResponse({ content: [], structuredContent })).toMatchObject({
    content: '{"b":[1,2]}',
    metadata: { structuredContent },
  });
  expect(toToolResponse({ content: [{ type: 'text', text: 'two' }], structuredContent })).toMatchObject({
    content: 'two',
    metadata: { structuredContent },
  });
});

test('structured content that is too much is left out for the program, not for the model', () => {
  const structuredContent = { text: 'x'.repeat(600_000) };
  const { content, metadata } = toToolResponse({ content: [], structuredContent });
  expect([String(content).length, metadata]).toEqual([600_011, undefined]);
});

test.each([
  'javascript:alert(1)',
  'file:///etc/passwd',
  'https://example.com/a.png',
  'data:image/png;base64,aGk=',
])('the link %s is text', (uri) => {
  const link = {
    type: 'resource_link',
    name: 'n',
    title: 'T',
    uri,
    mimeType: 'image/png',
    description: 'D',
  } as const;
  expect(toToolResponse({ content: [link] }).content).toBe(`T: ${uri} (D)`);
});

test('an embedded text is text; embedded bytes are a medium by their type, and a file otherwise', () => {
  const resource = (extra: object): never =>
    ({ type: 'resource', resource: { uri: 'x:/a/b.bin', ...extra } }) as never;
  const { content } = toToolResponse({
    content: [
      resource({ text: 'hello' }),
      resource({ blob: 'aGk=', mimeType: 'video/mp4' }),
      resource({ blob: 'aGk=' }),
      { type: 'image', mimeType: 'text/html', data: 'aGk=' },
    ],
  });
  const source = (mediaType: string): object => ({ type: 'base64', mediaType, data: 'aGk=' });
  expect(content).toEqual([
    { type: 'text', text: 'hello' },
    { type: 'video', source: source('video/mp4') },
    { type: 'file', source: source('application/octet-stream'), filename: 'b.bin' },
    { type: 'file', source: source('text/html') },
  ]);
});

test('an address however long takes no longer', () => {
  // a search for the end from every character would take hours
  const uri = `x:${'a'.repeat(1_000_000)}/b.bin/`;
  const { content } = toToolResponse({ content: [{ type: 'resource', resource: { uri, blob: 'aGk=' } }] });
  expect(content).toMatchObject([{ type: 'file', filename: 'b.bin' }]);
});

test('bytes of a type that is none are a file, and its name goes no further', () => {
  const types = ['', 'image', 'image/png\r\nX: y', 'image/svg+xml,<script>', 'image/png; charset=utf-8'];
  const { content } = toToolResponse({
    content: types.map((mimeType) => ({ type: 'image', mimeType, data: 'aGk=' })),
  });
  const file = {
    type: 'file',
    source: { type: 'base64', mediaType: 'application/octet-stream', data: 'aGk=' },
  };
  const image = { type: 'image', source: { type: 'base64', mediaType: types[4], data: 'aGk=' } };
  expect(content).toEqual([file, file, file, file, image]);
});
