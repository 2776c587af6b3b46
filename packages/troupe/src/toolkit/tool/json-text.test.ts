import fc from 'fast-check';
import { expect, test } from 'vitest';

import { anyJson, nested } from '../../../test/arbitraries.ts';
import { copyJson, NotJsonError, parseJson } from '../../util/json.ts';
import { jsonText } from './json-text.ts';

test('writes JSON as JSON.stringify does', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(jsonText(value, 'it')).toBe(JSON.stringify(value));
    }),
  );
  expect(jsonText({ a: undefined, b: -0 }, 'it')).toBe('{"b":0}');
  expect(jsonText(Object.assign(Object.create(null), { a: 1 }), 'it')).toBe('{"a":1}');
  expect(jsonText(parseJson('{"__proto__": {"a": 1}}'), 'it')).toBe('{"__proto__":{"a":1}}');
});

test('accepts and refuses the same values as copyJson', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSparseArray: true,
  });
  let refused = 0;
  fc.assert(
    fc.property(anything, (value) => {
      let expected: string;
      try {
        expected = JSON.stringify(copyJson(value, 'it'));
      } catch (error) {
        refused++;
        expect(() => jsonText(value, 'it')).toThrow((error as Error).message);
        return;
      }
      expect(jsonText(value, 'it')).toBe(expected);
    }),
    { numRuns: 1000 },
  );
  expect(refused).toBeGreaterThan(50);
});

test('calls nothing', () => {
  const called: string[] = [];
  class Cunning extends Array<number> {
    toJSON(): string {
      called.push('toJSON of a list');
      return 'x';
    }
  }
  const getter = {
    a: [
      {
        get b() {
          called.push('getter');
          return 1;
        },
      },
    ],
  };
  expect(() => jsonText(getter, 'it')).toThrow(new NotJsonError('it.a[0].b', 'is a getter, not a value'));
  expect(() => jsonText({ toJSON: () => called.push('toJSON') }, 'it')).toThrow('it.toJSON is a function');
  expect(jsonText({ list: Cunning.of(1, 2) }, 'it')).toBe('{"list":[1,2]}');
  const hidden = { value: () => called.push('hidden toJSON') };
  expect(jsonText([Object.defineProperty([1, 2], 'toJSON', hidden)], 'it')).toBe('[[1,2]]');
  expect(jsonText(Object.defineProperty({ a: 1 }, 'toJSON', hidden), 'it')).toBe('{"a":1}');
  const list = Object.defineProperty([1, 2], 1, { get: () => called.push('getter in a list') });
  expect(() => jsonText({ list }, 'it')).toThrow(new NotJsonError('it.list[1]', 'is a getter, not a value'));
  expect(called).toEqual([]);
});

test('goes as deep as messages may, and no deeper', () => {
  expect(jsonText(nested(128), 'it')).toBe('['.repeat(128) + ']'.repeat(128));
  expect(() => jsonText(nested(129), 'it')).toThrow('is nested deeper than 128 levels, or refers to itself');
});

test('does not go on for ever when a small value says itself very often', () => {
  let laughs: unknown = 'ha';
  for (let i = 0; i < 100; i++) laughs = [laughs, laughs];
  expect(() => jsonText(laughs, 'it')).toThrow(new NotJsonError('it', 'is beyond the size limit'));
});
