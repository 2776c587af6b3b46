import { expect, test } from 'vitest';

import { callText, spacedJson, sayText } from './envelope.ts';

test('JSON has one space behind each comma and colon, and nowhere else', () => {
  const value = { a: [1, 'x, "y": z', null, []], b: { c: true, d: {} }, '"e"': -0.5 };
  expect(spacedJson(value)).toBe(
    String.raw`{"a": [1, "x, \"y\": z", null, []], "b": {"c": true, "d": {}}, "\"e\"": -0.5}`,
  );
  expect(JSON.parse(spacedJson(value))).toEqual(value);
});

test('texts and tool calls are JSON objects', () => {
  expect(sayText('She said "hi".\n')).toBe(String.raw`{"say": "She said \"hi\".\n"}`);
  expect(callText('add', { a: 1, b: [2, 3] })).toBe('{"tool": "add", "arguments": {"a": 1, "b": [2, 3]}}');
});
