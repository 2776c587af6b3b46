import { expect, test } from 'vitest';

import { Msg } from '../message/msg.ts';
import { SafeText } from './safe-text.ts';

const KEY = 'sk-abcdefgh12345678abcdefgh';

test('messages have the parts of the conventions, without bytes, queries and passwords', () => {
  const text = new SafeText();
  const msg = Msg.assistant(
    [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'Look.' },
      { type: 'tool_use', id: 'c', name: 'find', input: { q: 1 } },
      { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'aGVsbG8=' } },
      { type: 'audio', source: { type: 'url', url: 'https://me:pw@files.example/a.wav?sig=1#x' } },
      { type: 'file', source: { type: 'url', url: 'data:text/plain,hello' } },
    ],
    { name: 'Friday' },
  );
  const result = Msg.system([
    {
      type: 'tool_result',
      id: 'c',
      name: 'find',
      output: [{ type: 'text', text: 'found' }],
      status: 'ok',
    },
  ]);
  expect(JSON.parse(text.messages([msg, result], 'stop'))).toEqual([
    {
      role: 'assistant',
      name: 'Friday',
      parts: [
        { type: 'reasoning', content: 'hm' },
        { type: 'text', content: 'Look.' },
        { type: 'tool_call', id: 'c', name: 'find', arguments: { q: 1 } },
        { type: 'blob', modality: 'image', mime_type: 'image/png', content: '[6 bytes]' },
        { type: 'uri', modality: 'audio', mime_type: 'audio/wav', uri: 'https://files.example/a.wav' },
        {
          type: 'uri',
          modality: 'file',
          mime_type: 'application/octet-stream',
          uri: '[data URL of 21 characters]',
        },
      ],
      finish_reason: 'stop',
    },
    {
      role: 'system',
      parts: [{ type: 'tool_call_response', id: 'c', response: [{ type: 'text', content: 'found' }] }],
      finish_reason: 'stop',
    },
  ]);
});

test('the oldest messages are left out first, then long texts are cut, and the rest is valid JSON', () => {
  const text = new SafeText({ maxChars: 400 });
  const msgs = Array.from({ length: 50 }, (_, i) => Msg.user(`message ${i}`));
  const shown = text.messages(msgs);
  expect(shown.length).toBeLessThanOrEqual(400);
  const entries = JSON.parse(shown) as { parts: [{ content: string }] }[];
  expect(entries[0]?.parts[0].content).toBe(`[${50 - (entries.length - 1)} earlier messages left out]`);
  expect(entries.at(-1)?.parts[0].content).toBe('message 49');
  for (const value of ['"'.repeat(5000), ['x'.repeat(5000)], { a: { b: '\u0000'.repeat(5000) } }]) {
    const json = text.json(value);
    expect(json.length).toBeLessThanOrEqual(400);
    expect(() => JSON.parse(json) as unknown).not.toThrow();
  }
  expect(text.json(Array.from({ length: 1000 }, () => 1))).toBe('"[too large]"');
});

test('keys, named secrets and those that the program names are taken out, in names too', () => {
  const text = new SafeText({ secrets: ['hunter2'], redact: (said) => said.replaceAll('Bob', 'X') });
  expect(text.messages([Msg.user(`Bob uses ${KEY} and hunter2`)])).not.toMatch(/Bob|sk-|hunter2/);
  expect(JSON.parse(text.json({ password: 'open sesame', n: 1 }))).toEqual({ password: '[redacted]', n: 1 });
  expect(text.label(`tool_${KEY}_hunter2`)).not.toMatch(/hunter2/);
  expect(text.label('x'.repeat(5000))).toHaveLength(1000);
});

test('values that are no JSON become text', () => {
  const text = new SafeText();
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  expect(text.value(circle)).toBe('"[object Object]"');
  expect(text.value(undefined)).toBe('null');
  expect(text.value('plain')).toBe('"plain"');
});
