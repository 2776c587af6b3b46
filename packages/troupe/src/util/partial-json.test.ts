import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { isJsonObject, MAX_JSON_DEPTH, type JsonValue } from './json.ts';
import { PartialJson } from './partial-json.ts';

function read(...pieces: readonly string[]): JsonValue | undefined {
  const json = new PartialJson();
  for (const piece of pieces) json.add(piece);
  return json.value;
}

describe('partial JSON', () => {
  test.each<readonly [text: string, value: JsonValue | undefined]>([
    ['', undefined],
    [' ', undefined],
    ['{', {}],
    ['{"ci', {}],
    ['{"city"', {}],
    ['{"city":', {}],
    ['{"city": "', { city: '' }],
    ['{"city": "Lis', { city: 'Lis' }],
    ['{"city": "Lisbon",', { city: 'Lisbon' }],
    ['{"city": "Lisbon", "days": 1', { city: 'Lisbon' }],
    ['{"city": "Lisbon", "days": 12,', { city: 'Lisbon', days: 12 }],
    ['{"city": "Lisbon", "isFar": tru', { city: 'Lisbon' }],
    ['{"city": "Lisbon", "isFar": true}', { city: 'Lisbon', isFar: true }],
    ['{"a": {"b": [1, 2, "th', { a: { b: [1, 2, 'th'] } }],
    ['{"a": [[], {}, null, [-1.5e3', { a: [[], {}, null, []] }],
    ['{"a": "x\\', { a: 'x' }],
    ['{"a": "x\\n', { a: 'x\n' }],
    ['{"a": "x\\u00', { a: 'x' }],
    ['{"a": "x\\u00e9', { a: 'xé' }],
    ['{"a": "x\\ud83d', { a: 'x' }],
    ['{"a": "x\\ud83d\\ude00', { a: 'x😀' }],
    ['{"a": "x\\ud83d\\n', { a: 'x\ud83d\n' }],
    ['{"a": "x\\ud83d"', { a: 'x\ud83d' }],
    ['{"a": 1, "a": "tw', { a: 'tw' }],
    ['"just te', 'just te'],
    ['[1, 2', [1]],
  ])('%s is %o', (text, value) => {
    expect(read(text)).toEqual(value);
    expect(read(...text)).toEqual(value);
  });

  test.each<readonly [text: string, value: JsonValue | undefined]>([
    [`{"a": 1, 'b': 2}`, { a: 1 }],
    ['{"a": 1 "b": 2}', { a: 1 }],
    ['{"a": 1, "b": maybe, "c": 2}', { a: 1 }],
    ['{"a": 1, "b": 1.2.3, "c": 2}', { a: 1 }],
    ['{"a": [1}, "b": 2}', { a: [1] }],
    ['{"a": 1,}', { a: 1 }],
    ['{"a": "x\\y", "b": 2}', { a: 'x' }],
    ['{"a": "x\\u12g4", "b": 2}', { a: 'x' }],
    ['{"a": 1} {"b": 2}', { a: 1 }],
    ['```json\n{"a": 1}', undefined],
  ])('%s is read as far as it is JSON', (text, value) => {
    expect(read(text)).toEqual(value);
    expect(read(...text)).toEqual(value);
  });

  test('a key named __proto__ is an ordinary key', () => {
    const value = read('{"__proto__": {"isAdmin": true}, "a": {"__proto__": "x');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"isAdmin":true},"a":{"__proto__":"x"}}');
  });

  test('text that nests too deep is not read any further', () => {
    const deep = JSON.stringify(read('['.repeat(1_000_000)));
    expect(deep.length).toBeLessThan(3 * MAX_JSON_DEPTH);
  });

  test('an earlier value stays as it was', () => {
    const json = new PartialJson();
    json.add('{"list": [{"a": 1}, {"b": "x');
    const before = json.value;
    const copy = JSON.stringify(before);
    json.add('y"}], "more": 1}');
    expect(JSON.stringify(before)).toBe(copy);
    expect(json.value).toEqual({ list: [{ a: 1 }, { b: 'xy' }], more: 1 });
    expect(Object.isFrozen(before)).toBe(true);
  });

  test('at every split the value is a part of the whole, and in the end all of it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(2), (value, indent) => {
        const text = JSON.stringify({ value }, null, indent);
        const whole = JSON.parse(text) as JsonValue;
        fc.pre(JSON.stringify(whole, null, indent) === text); // see anyKey in test/arbitraries.ts
        const json = new PartialJson();
        for (const char of text) {
          json.add(char);
          if (json.value !== undefined) expect(isPartOf(json.value, whole)).toBe(true);
        }
        expect(json.value).toEqual(whole);
        const half = Math.floor(text.length / 2);
        expect(read(text.slice(0, half), text.slice(half))).toEqual(whole);
      }),
    );
  });
});

/** Whether a value is the beginning of another: fewer entries, and the last string cut short. */
function isPartOf(part: JsonValue, whole: JsonValue | undefined): boolean {
  if (typeof part === 'string') return typeof whole === 'string' && whole.startsWith(part);
  if (Array.isArray(part)) {
    const items: readonly JsonValue[] = part;
    return Array.isArray(whole) && items.every((item, i) => isPartOf(item, (whole as JsonValue[])[i]));
  }
  if (isJsonObject(part)) {
    return isJsonObject(whole) && Object.entries(part).every(([key, item]) => isPartOf(item, whole[key]));
  }
  return part === whole;
}
