import { expect, test } from 'vitest';

import type { ContentBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import { canonicalRequest, withSortedKeys } from './canonical-request.ts';
import type { ModelRequest } from '../chat-model-base.ts';

const text = (request: ModelRequest): string => JSON.stringify(canonicalRequest(request));

test('holds what an answer depends on, and neither ids nor times', () => {
  const user = Msg.user('hi', { name: 'Ann', id: 'm1', timestamp: 't1', metadata: { secret: 1 } });
  expect(
    canonicalRequest({
      messages: [user],
      tools: [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }],
      toolChoice: { name: 'add' },
      structured: { schema: { type: 'object' } },
      generation: { temperature: 0, stop: ['x'] },
      agentName: 'Bob',
    }),
  ).toEqual({
    agentName: 'Bob',
    generation: { stop: ['x'], temperature: 0 },
    messages: [{ content: 'hi', name: 'Ann', role: 'user' }],
    structured: { schema: { type: 'object' } },
    toolChoice: { name: 'add' },
    tools: [{ description: 'Adds.', name: 'add', parameters: { type: 'object' } }],
  });
  expect(canonicalRequest({ messages: [user], tools: [] })).toEqual({
    messages: [{ content: 'hi', name: 'Ann', role: 'user' }],
  });
});

test('is the same text whatever the order of keys', () => {
  const a: ModelRequest = {
    messages: [Msg.user([{ type: 'text', text: 'x', providerMeta: { b: 1, a: { d: 1, c: 2 } } }])],
    generation: { topP: 1, temperature: 0 },
  };
  const b: ModelRequest = {
    generation: { temperature: 0, topP: 1 },
    messages: [Msg.user([{ providerMeta: { a: { c: 2, d: 1 }, b: 1 }, text: 'x', type: 'text' }])],
  };
  expect(text(a)).toBe(text(b));
});

test('counts the ids of calls and their results in the order of their first appearance', () => {
  const call = (id: string, name: string): ContentBlock => ({ type: 'tool_use', id, name, input: {} });
  const result = (id: string, name: string): ContentBlock => ({
    type: 'tool_result',
    id,
    name,
    output: 'ok',
    status: 'ok',
  });
  const turn = (first: string, second: string): ModelRequest => ({
    messages: [
      Msg.assistant([call(first, 'a'), call(second, 'b')]),
      Msg.system([result(second, 'b'), result(first, 'a')]),
    ],
  });
  expect(text(turn('x', 'y'))).toBe(text(turn('call_2', 'call_1')));
  expect(text(turn('x', 'y'))).not.toBe(text(turn('x', 'x')));
  const swapped: ModelRequest = {
    messages: [
      Msg.assistant([call('x', 'a'), call('y', 'b')]),
      Msg.system([result('x', 'b'), result('y', 'a')]),
    ],
  };
  expect(text(turn('x', 'y'))).not.toBe(text(swapped));
});

test('a key named __proto__ stays a key', () => {
  const value = withSortedKeys({ b: 1, ['__proto__']: { a: 1 } });
  expect(Object.keys(value as object)).toEqual(['__proto__', 'b']);
  expect(JSON.stringify(value)).toBe('{"__proto__":{"a":1},"b":1}');
});

test('changes neither the request nor its messages', () => {
  const messages = [Msg.assistant([{ type: 'tool_use', id: 'x', name: 'b', input: { b: 1, a: 2 } }])];
  const before = JSON.stringify(messages);
  canonicalRequest({ messages });
  expect(JSON.stringify(messages)).toBe(before);
});
