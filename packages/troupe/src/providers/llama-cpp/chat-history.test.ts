import { expect, test } from 'vitest';

import type { PromptItem } from '../../formatter/prompt.ts';
import type { ToolResultBlock, ToolUseBlock } from '../../message/blocks.ts';
import { toChatHistory } from './chat-history.ts';

const plain = { instructions: '', isEnveloped: false };
const enveloped = { instructions: 'Use tools.', isEnveloped: true };

const system = (text: string): PromptItem => ({ role: 'system', text });
const user = (...texts: string[]): PromptItem => ({
  role: 'user',
  name: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});
const call = (id: string, input = {}): ToolUseBlock => ({ type: 'tool_use', id, name: `tool_${id}`, input });
const result = (id: string, output: ToolResultBlock['output'], status: ToolResultBlock['status'] = 'ok') =>
  ({ type: 'tool_result', id, name: `tool_${id}`, output, status }) as const;
const text = (said: string) => ({ type: 'text', text: said }) as const;

test('a conversation without tools is told as it is', () => {
  const items: PromptItem[] = [
    system('Be nice.'),
    system('Be short.'),
    user('Hi.', 'How are you?'),
    {
      role: 'assistant',
      name: 'a',
      content: [{ type: 'thinking', thinking: 'Hm.' }, text('Fine.'), text('You?')],
    },
    user('Bye.'),
  ];
  expect(toChatHistory(items, plain)).toEqual([
    { type: 'system', text: 'Be nice.\n\nBe short.' },
    { type: 'user', text: 'Hi.\nHow are you?' },
    { type: 'model', response: ['Fine.\nYou?'] },
    { type: 'user', text: 'Bye.' },
  ]);
});

test('with tools, the model finds its answers in the form that it has to write', () => {
  const items: PromptItem[] = [
    user('Hi.'),
    { role: 'assistant', name: 'a', content: [text('Hello "you".')] },
    user('Do it.'),
    { role: 'assistant', name: 'a', content: [text('Well.'), call('1', { a: [1, 2] }), call('2')] },
    { role: 'tool', results: [result('1', 'done'), result('2', 'No such file.', 'error')] },
    user('And?'),
  ];
  expect(toChatHistory(items, enveloped)).toEqual([
    { type: 'system', text: 'Use tools.' },
    { type: 'user', text: 'Hi.' },
    { type: 'model', response: [String.raw`{"say": "Hello \"you\"."}`] },
    { type: 'user', text: 'Do it.' },
    {
      type: 'model',
      response: [
        '{"say": "Well."}\n{"tool": "tool_1", "arguments": {"a": [1, 2]}}\n{"tool": "tool_2", "arguments": {}}',
      ],
    },
    {
      type: 'user',
      text: 'Result of tool_1: done\ntool_2 did not work (error): No such file.\n\nAnd?',
    },
  ]);
});

test('instructions follow what the system says; a later word of the system is a turn of the user', () => {
  expect(toChatHistory([system('One.'), user('Hi.'), system('Two.')], enveloped)).toEqual([
    { type: 'system', text: 'One.\n\nUse tools.' },
    { type: 'user', text: 'Hi.\n\nTwo.' },
  ]);
});

test('turns of the same side in a row become one', () => {
  const items: PromptItem[] = [
    user('a'),
    user('b'),
    { role: 'assistant', name: 'a', content: [text('c')] },
    { role: 'assistant', name: 'b', content: [text('d')] },
    user('e'),
  ];
  expect(toChatHistory(items, plain)).toEqual([
    { type: 'user', text: 'a\n\nb' },
    { type: 'model', response: ['c\nd'] },
    { type: 'user', text: 'e' },
  ]);
});

test('the model is asked to go on if it had the last word', () => {
  const items: PromptItem[] = [user('a'), { role: 'assistant', name: 'a', content: [text('b')] }];
  expect(toChatHistory(items, plain)).toEqual([
    { type: 'user', text: 'a' },
    { type: 'model', response: ['b'] },
    { type: 'user', text: 'Go on.' },
  ]);
});

test('messages without text are left out', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const;
  const items: PromptItem[] = [
    { role: 'assistant', name: 'a', content: [image] },
    { role: 'user', name: 'u', content: [image, text('See.')] },
  ];
  expect(toChatHistory(items, plain)).toEqual([{ type: 'user', text: 'See.' }]);
  expect(toChatHistory([], plain)).toEqual([]);
  expect(toChatHistory([system('Only this.')], plain)).toEqual([{ type: 'system', text: 'Only this.' }]);
});
