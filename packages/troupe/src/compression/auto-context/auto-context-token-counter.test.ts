import { expect, test } from 'vitest';

import { Msg } from '../../message/msg.ts';
import { AutoContextTokenCounter } from './auto-context-token-counter.ts';

const counter = new AutoContextTokenCounter();
const call = { type: 'tool_use', id: 'tool-call-123', name: 'search_tool', input: { q: 'abc' } } as const;
const result = {
  type: 'tool_result',
  id: 'tool-call-123',
  name: 'search_tool',
  output: 'The search returned 5 results.',
  status: 'ok',
} as const;
const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const;

test.each([
  ['a short text', Msg.user('Hello World'), 14],
  ['no text', Msg.user(''), 9],
  ['a longer text', Msg.assistant('A'.repeat(100)), 53],
  ['90 characters', Msg.user('a'.repeat(90)), 45],
  ['thinking', Msg.assistant([{ type: 'thinking', thinking: 'x'.repeat(45) }]), 18],
  ['a call', Msg.assistant([call]), 39],
  ['a call with what the model wrote', Msg.assistant([{ ...call, rawInput: '{"q":"abc"}' }]), 44],
  ['a result', Msg.system([result], { name: 'search_tool' }), 43],
  [
    'a result in blocks',
    Msg.system([{ ...result, output: [{ type: 'text', text: result.output }, image] }], {
      name: 'search_tool',
    }),
    48,
  ],
  ['Chinese', Msg.user('你好世界你好世界你好'), 13],
  ['no name', Msg.user('Test message', { name: '' }), 12],
  ['an image', Msg.user([image]), 14],
])('%s', async (_, msg, tokens) => {
  expect(await counter.count([msg])).toBe(tokens);
  expect(await counter.countEach([msg, msg])).toEqual([tokens, tokens]);
});

test('nothing has no tokens, and tools have some', async () => {
  expect(await counter.count([])).toBe(0);
  // 8, "forecast", "The weather.", {"type":"object"}
  expect(
    await counter.count(
      [],
      [{ name: 'forecast', description: 'The weather.', parameters: { type: 'object' } }],
    ),
  ).toBe(8 + 4 + 5 + 7);
});
