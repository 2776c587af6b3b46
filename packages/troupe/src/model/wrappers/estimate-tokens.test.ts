import { expect, test } from 'vitest';

import type { ContentBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import { estimateTokens } from './estimate-tokens.ts';

const ofBlocks = (...content: ContentBlock[]): number =>
  estimateTokens({ messages: [Msg.user(content)] }) - 4;

test('four bytes of text are a token, and a message has a few of its own', () => {
  expect(estimateTokens({ messages: [] })).toBe(0);
  expect(estimateTokens({ messages: [Msg.user('x'.repeat(400)), Msg.assistant('')] })).toBe(108);
  expect(estimateTokens({ messages: [Msg.user('漢'.repeat(100))] })).toBe(79);
  expect(estimateTokens({ messages: [Msg.user('é'.repeat(100))] })).toBe(54);
});

test('every kind of block counts, media by the piece', () => {
  const image = {
    type: 'image',
    source: { type: 'base64', mediaType: 'image/png', data: 'A'.repeat(90_000) },
  } as const;
  expect(ofBlocks({ type: 'thinking', thinking: 'x'.repeat(40) })).toBe(10);
  expect(ofBlocks({ type: 'tool_use', id: '1', name: 'add', input: { a: 1 } })).toBe(3);
  const result = { type: 'tool_result', id: '1', name: 'add', status: 'ok' } as const;
  expect(ofBlocks({ ...result, output: 'x'.repeat(40) })).toBe(10);
  expect(ofBlocks({ ...result, output: [{ type: 'text', text: 'x'.repeat(40) }, image] })).toBe(1010);
  expect(ofBlocks(image)).toBe(1000);
});

test('tools count', () => {
  const tools = [{ name: 'add', description: 'x'.repeat(400), parameters: { type: 'object' } }];
  expect(estimateTokens({ messages: [], tools })).toBeGreaterThan(100);
});
