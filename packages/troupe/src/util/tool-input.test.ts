import { countWork } from '../../test/counted-work.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJsonObject } from '../../test/arbitraries.ts';
import { parseToolInput } from './tool-input.ts';

describe('tool input', () => {
  test('that is JSON is read unchanged', () => {
    fc.assert(
      fc.property(anyJsonObject, (input) => {
        expect(JSON.stringify(parseToolInput(JSON.stringify(input)))).toBe(JSON.stringify(input));
      }),
    );
  });

  test.each([
    ['{"a":1,}', { a: 1 }],
    ["{'a':'b'}", { a: 'b' }],
    ['{a:1}', { a: 1 }],
    ['{"a":True,"b":None}', { a: true, b: null }],
    ['{"a":1 // one\n}', { a: 1 }],
    ['```json\n{"a":1}\n```', { a: 1 }],
    ['{"a":"it\'s"}', { a: "it's" }],
    ['{"a":["x" "y"]}', { a: ['x', 'y'] }],
    ['  {"a":{"b":[1,2,],},}  ', { a: { b: [1, 2] } }],
  ])('%s is understood', (text, input) => {
    expect(parseToolInput(text)).toEqual(input);
  });

  test('that was cut off is never completed, at any position', () => {
    const whole = `{"path": "/tmp/a b", 'list': [1, {"x": "]}"}], "n": 12,}`;
    expect(parseToolInput(whole)).toEqual({ path: '/tmp/a b', list: [1, { x: ']}' }], n: 12 });
    for (let at = 0; at < whole.length; at++) {
      expect(() => parseToolInput(whole.slice(0, at)), whole.slice(0, at)).toThrow(/^the arguments/);
    }
  });

  test.each([
    'null',
    '[]',
    '"a"',
    '7',
    'true',
    '',
    'Sure! {"a":1}',
    '{"a":1}{"b":2}',
    '{"a":1} and so on',
    '}{',
  ])('%s is refused', (text) => {
    expect(() => parseToolInput(text)).toThrow(/^the arguments/);
  });

  test('nested too deep is refused in linear time', async () => {
    const lists = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const text of [`{"a":${lists}}`, `{a:${lists}}`, `{${'{a:'.repeat(100_000)}`]) {
      const { steps } = await countWork(() => expect(() => parseToolInput(text)).toThrow(/^the arguments/));
      expect(steps).toBeLessThan(20 * text.length);
    }
  });

  test('named `__proto__` is an ordinary property, also when repaired', () => {
    const input = parseToolInput('{"__proto__":{"polluted":true},}');
    expect(JSON.stringify(input)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBe(undefined);
  });
});
