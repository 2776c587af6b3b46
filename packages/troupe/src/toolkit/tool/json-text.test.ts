import fc from 'fast-check';
import { expect, test } from 'vitest';

import { anyJson, nested } from '../../../test/arbitraries.ts';
import { NotJsonError, parseJson } from '../../util/json.ts';
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

test('writes what is no plain data as JSON.stringify does, getters and toJSON included', () => {
  const anything = fc.anything({ withDate: true, withNullPrototype: true, withSparseArray: true });
  let compared = 0;
  fc.assert(
    fc.property(anything, (value) => {
      const expected = JSON.stringify(value) as string | undefined;
      if (expected === undefined) expect(() => jsonText(value, 'it')).toThrow(NotJsonError);
      else {
        compared++;
        expect(jsonText(value, 'it')).toBe(expected);
      }
    }),
    { numRuns: 1000 },
  );
  expect(compared).toBeGreaterThan(800);

  class Row {
    readonly id = 1;
    readonly #secret = 2;
    get sum(): number {
      return this.id + this.#secret;
    }
  }
  class Money {
    toJSON(key: string): object {
      return { key, at: new Date(0), toJSON: () => 'not called a second time' };
    }
  }
  const values = [
    new Row(),
    { price: new Money(), list: [new Money()] },
    { a: NaN, b: [Infinity, -0], c: undefined, d: () => 1, e: [() => 1, undefined, Symbol('s')] },
    { n: Object(1) as object, s: Object('s') as object, b: Object(false) as object },
    [new Date(NaN), new Date(0), Buffer.from('hi'), new Uint8Array(2)],
    Object.defineProperty({ a: 1 }, 'hidden', { value: 1 }),
    Object.defineProperty({}, 'b', { get: () => ({ c: 1 }), enumerable: true }),
    Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true } }) as object,
    Object.assign(Object.create(null) as object, { toJSON: 'a text' }),
  ];
  for (const value of values) expect(jsonText(value, 'it')).toBe(JSON.stringify(value));
});

test('writes a bigint as a text, a set as a list, a map as an object or a list of pairs, an error by name', () => {
  class Problem extends Error {
    override readonly name = 'Problem';
    readonly code = 'E1';
  }
  expect(
    JSON.parse(
      jsonText(
        {
          big: 2n ** 64n,
          boxed: Object(5n) as object,
          set: new Set([1n, 'a', new Set()]),
          map: new Map<string, unknown>([
            ['a', new Date(0)],
            ['__proto__', 1],
          ]),
          pairs: new Map<unknown, unknown>([
            [1, 'one'],
            [{ x: 1 }, undefined],
          ]),
          empty: new Map(),
          error: new Problem('bad'),
        },
        'it',
      ),
    ),
  ).toEqual({
    big: '18446744073709551616',
    boxed: '5',
    set: ['1', 'a', []],
    map: JSON.parse('{"a":"1970-01-01T00:00:00.000Z","__proto__":1}') as object,
    pairs: [
      [1, 'one'],
      [{ x: 1 }, null],
    ],
    empty: {},
    error: { name: 'Problem', message: 'bad', code: 'E1' },
  });
});

test('tells where a value refers to itself, and which part can not be read', () => {
  const cyclic: Record<string, unknown> = { a: [{}] };
  cyclic['b'] = { c: [cyclic] };
  const map = new Map<string, unknown>();
  map.set('me', map);
  const throwing = (): never => {
    throw new Error('no such column');
  };
  const unreadable = Object.defineProperty({}, 'x', { get: throwing, enumerable: true });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const problems: [unknown, string, string | RegExp][] = [
    [cyclic, 'it.b.c[0]', 'refers to itself'],
    [map, 'it.me', 'refers to itself'],
    [{ rows: [unreadable] }, 'it.rows[0].x', 'could not be read: no such column'],
    [{ at: { toJSON: throwing } }, 'it.at', 'could not be read: no such column'],
    [{ p: [proxy] }, 'it.p[0]', /^could not be read: .*revoked/],
    [() => 1, 'it', "is a function, which JSON can't hold"],
    [Symbol('x'), 'it', "is a symbol, which JSON can't hold"],
    [{ toJSON: () => undefined }, 'it', "is an object, which JSON can't hold"],
  ];
  for (const [value, path, problem] of problems) {
    const about = typeof problem === 'string' ? problem : (expect.stringMatching(problem) as string);
    expect(() => jsonText(value, 'it')).toThrow(expect.objectContaining({ path, problem: about }));
  }
  const shared = {};
  expect(jsonText({ a: shared, b: [shared, new Set([shared])] }, 'it')).toBe('{"a":{},"b":[{},[{}]]}');
});

test('goes as deep as messages may, and no deeper', () => {
  expect(jsonText(nested(128), 'it')).toBe('['.repeat(128) + ']'.repeat(128));
  expect(() => jsonText(nested(129), 'it')).toThrow('is nested deeper than 128 levels');
});

test('does not go on for ever when a small value says itself very often', () => {
  let laughs: unknown = 'ha';
  for (let i = 0; i < 100; i++) laughs = [laughs, laughs];
  expect(() => jsonText(laughs, 'it')).toThrow(new NotJsonError('it', 'is beyond the size limit'));
  const rows = [new Set([laughs])]; // no plain data
  expect(() => jsonText(rows, 'it')).toThrow('is beyond the size limit');
});
