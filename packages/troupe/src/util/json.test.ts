import fc from 'fast-check';
import { describe as group, expect, test } from 'vitest';
import { anyJson, isDeepFrozen, nested } from '../../test/arbitraries.ts';
import {
  copyJson,
  copyJsonObject,
  describe,
  isJsonObject,
  MAX_JSON_DEPTH,
  NotJsonError,
  parseJson,
  setOwn,
  type JsonObject,
} from './json.ts';

function problemOf(run: () => unknown): NotJsonError {
  try {
    run();
  } catch (error) {
    if (error instanceof NotJsonError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

class Point {
  x = 1;
}

group('copyJson', () => {
  test('makes a deep-frozen copy that shares nothing with the original', () => {
    const original = { a: [1, { b: 'x' }], c: null, d: true };
    const copied = copyJson(original, 'value') as JsonObject;
    expect(copied).toEqual({ a: [1, { b: 'x' }], c: null, d: true });
    expect(isDeepFrozen(copied)).toBe(true);
    original.a.push(2);
    (original.a[1] as { b: string }).b = 'changed';
    expect(copied).toEqual({ a: [1, { b: 'x' }], c: null, d: true });
  });

  test('holds any JSON exactly, in any order of keys', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = JSON.stringify(value);
        const copied = copyJson(value, 'value');
        expect(JSON.stringify(copied)).toBe(text);
        expect(JSON.stringify(parseJson(text))).toBe(text);
        expect(isDeepFrozen(copied)).toBe(true);
      }),
    );
  });

  test('does not copy its own copies again', () => {
    const inner = copyJson({ deep: [1, 2] }, 'inner') as JsonObject;
    const outer = copyJson({ inner, list: [inner] }, 'outer') as JsonObject & { list: unknown[] };
    expect(outer['inner']).toBe(inner);
    expect(outer.list[0]).toBe(inner);
    expect(copyJson(outer, 'again')).toBe(outer);
  });

  test('leaves out what JSON leaves out, and turns -0 into 0', () => {
    const value = { kept: 1, gone: undefined, [Symbol('s')]: 1 };
    Object.defineProperty(value, 'hidden', { value: 1, enumerable: false });
    const copied = copyJson({ value, zero: -0 }, 'value') as JsonObject;
    expect(Reflect.ownKeys(copied['value'] as object)).toEqual(['kept']);
    expect(Object.is(copied['zero'], 0)).toBe(true);
  });

  test('takes objects without a prototype, and gives back plain ones', () => {
    const copied = copyJson(Object.assign(Object.create(null) as object, { a: 1 }), 'value') as object;
    expect(copied).toStrictEqual({ a: 1 });
    expect(Object.getPrototypeOf(copied)).toBe(Object.prototype);
  });

  test.each<[unknown, string]>([
    [undefined, "value is undefined, which JSON can't hold"],
    [NaN, "value is NaN, which JSON can't hold"],
    [-Infinity, "value is -Infinity, which JSON can't hold"],
    [10n, "value is a bigint, which JSON can't hold"],
    [Symbol('secret'), "value is a symbol, which JSON can't hold"],
    [() => 'secret', "value is a function, which JSON can't hold"],
    [{ a: [1, { b: () => {} }] }, "value.a[1].b is a function, which JSON can't hold"],
    [[1, undefined], "value[1] is undefined, which JSON can't hold"],
    [Array(2), "value[0] is undefined, which JSON can't hold"],
    [new Date(0), 'value is a Date, not a plain object'],
    [{ at: new Map() }, 'value.at is a Map, not a plain object'],
    [{ at: new Point() }, 'value.at is a Point, not a plain object'],
    [{ at: new (class {})() }, 'value.at is an object, not a plain object'],
    [Object.create({ inherited: 1 }), 'value is an object, not a plain object'],
    [new Error('secret'), 'value is an Error, not a plain object'],
    [new String('x'), 'value is a String, not a plain object'],
    [Promise.resolve(), 'value is a Promise, not a plain object'],
  ])('refuses %o', (value, message) => {
    const error = problemOf(() => copyJson(value, 'value'));
    expect(error.message).toBe(message);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.name).toBe('NotJsonError');
    expect(`${error.path} ${error.problem}`).toBe(message);
  });

  test('refuses getters and setters without running them', () => {
    let runs = 0;
    const getter = {
      get secret() {
        return ++runs;
      },
    };
    const setter = Object.defineProperty({}, 'secret', {
      set: (): void => {
        runs++;
      },
      enumerable: true,
    });
    expect(problemOf(() => copyJson({ getter }, 'value')).message).toBe(
      'value.getter.secret is a getter, not a value',
    );
    expect(problemOf(() => copyJson(setter, 'value')).message).toBe('value.secret is a getter, not a value');
    const list = Object.defineProperty([1, 2], 1, { get: () => ++runs, enumerable: true });
    expect(problemOf(() => copyJson({ list }, 'value')).message).toBe(
      'value.list[1] is a getter, not a value',
    );
    expect(runs).toBe(0);
  });

  test('refuses circular values', () => {
    const loop: { [key: string]: unknown } = { list: [] };
    (loop['list'] as unknown[]).push(loop);
    const error = problemOf(() => copyJson(loop, 'value'));
    expect(error.problem).toBe('is nested deeper than 128 levels, or refers to itself');
    expect(error.path.startsWith('value.list[0].list[0].list[0]')).toBe(true);
  });

  test('nests as deep as the limit and no deeper', () => {
    expect(JSON.stringify(copyJson(nested(MAX_JSON_DEPTH), 'value'))).toBe('['.repeat(128) + ']'.repeat(128));
    expect(problemOf(() => copyJson(nested(MAX_JSON_DEPTH + 1), 'value')).problem).toBe(
      'is nested deeper than 128 levels, or refers to itself',
    );
    expect(copyJson([[]], 'value', { maxDepth: 2 })).toEqual([[]]);
    expect(problemOf(() => copyJson({ a: [[]] }, 'value', { maxDepth: 2 })).message).toBe(
      'value.a[0] is nested deeper than 2 levels, or refers to itself',
    );
  });

  test('counts the depth of copies that it made before', () => {
    let value = copyJson([], 'value');
    for (let depth = 2; depth <= MAX_JSON_DEPTH; depth++) value = copyJson([value], 'value');
    expect(JSON.stringify(value)).toBe('['.repeat(128) + ']'.repeat(128));
    expect(problemOf(() => copyJson({ deep: value }, 'value')).message).toBe(
      'value.deep is nested deeper than 128 levels, or refers to itself',
    );
    expect(problemOf(() => copyJson(value, 'value', { maxDepth: 127 })).problem).toBe(
      'is nested deeper than 127 levels, or refers to itself',
    );
    // A shallow value beside a deep one is still shallow.
    const mixed = copyJson({ deep: nested(10), flat: {} }, 'value') as JsonObject;
    expect(copyJson([mixed['flat']], 'value', { maxDepth: 2 })).toEqual([{}]);
    expect(problemOf(() => copyJson(mixed, 'value', { maxDepth: 10 })).path).toBe('value');
    expect(copyJson(mixed, 'value', { maxDepth: 11 })).toBe(mixed);
  });

  test('measures the same, copied before or not', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const fits = (what: unknown, maxDepth: number, maxSize: number): boolean => {
          try {
            copyJson(what, 'value', { maxDepth, maxSize });
            return true;
          } catch {
            return false;
          }
        };
        const copied = copyJson(value, 'value');
        for (let limit = 0; limit < 6; limit++) {
          expect(fits([copied], limit, 1e6)).toBe(fits([value], limit, 1e6));
          expect(fits([copied], 128, limit * 8)).toBe(fits([value], 128, limit * 8));
        }
      }),
    );
  });

  test('counts values, text and keys towards the size', () => {
    const value = { ab: 'cde', f: [1, null, true] }; // 1 + 2 + (3 + 1) + 1 + 1 + 3
    expect(copyJson(value, 'value', { maxSize: 12 })).toEqual(value);
    expect(problemOf(() => copyJson(value, 'value', { maxSize: 11 })).message).toBe(
      'value.f[2] is beyond the size limit',
    );
    const copied = copyJson(value, 'value');
    expect(copyJson(copied, 'value', { maxSize: 12 })).toBe(copied);
    expect(problemOf(() => copyJson(copied, 'value', { maxSize: 11 })).message).toBe(
      'value is beyond the size limit',
    );
    expect(problemOf(() => copyJson({ ['k'.repeat(100)]: 1 }, 'value', { maxSize: 100 })).problem).toBe(
      'is beyond the size limit',
    );
  });

  test('does not repeat endless keys in its message', () => {
    const error = problemOf(() => copyJson({ ['k'.repeat(1_000_000)]: NaN }, 'value'));
    expect(error.message).toBe(`value.${'k'.repeat(194)}… is NaN, which JSON can't hold`);
    expect(error.path).toBe(`value.${'k'.repeat(194)}…`);
  });
});

test('copyJsonObject takes objects only', () => {
  expect(copyJsonObject({ a: 1 }, 'value')).toEqual({ a: 1 });
  expect(problemOf(() => copyJsonObject([], 'value')).message).toBe('value is an array, not an object');
  expect(problemOf(() => copyJsonObject(null, 'value')).message).toBe('value is null, not an object');
  expect(problemOf(() => copyJsonObject('secret', 'value')).message).toBe('value is a string, not an object');
  expect(problemOf(() => copyJsonObject({ a: {} }, 'value', { maxDepth: 1 })).path).toBe('value.a');
});

group('parseJson', () => {
  test('reads JSON as a frozen copy', () => {
    const value = parseJson('{"a":[1,{"__proto__":{"x":1}}]}');
    expect(JSON.stringify(value)).toBe('{"a":[1,{"__proto__":{"x":1}}]}');
    expect(isDeepFrozen(value)).toBe(true);
  });

  test.each([
    ['', 'the text is not JSON'],
    ['{"password": "hunter2"', 'the text is not JSON'],
    ["{'a': 1}", 'the text is not JSON'],
    ['[1,]', 'the text is not JSON'],
    ['undefined', 'the text is not JSON'],
    ['[1e999]', "the text[0] is Infinity, which JSON can't hold"],
  ])('refuses %j without repeating it', (text, message) => {
    const error = problemOf(() => parseJson(text));
    expect(error.message).toBe(message);
    expect(error.cause).toBe(undefined);
  });

  test('holds to the limits', () => {
    expect(problemOf(() => parseJson('"12345"', 'input', { maxSize: 6 })).message).toBe(
      'input is beyond the size limit',
    );
    expect(problemOf(() => parseJson('[['.repeat(200_000) + ']]'.repeat(200_000))).problem).toBe(
      'is nested deeper than 128 levels, or refers to itself',
    );
  });

  test('keeps lone surrogates and both halves of a pair', () => {
    expect(parseJson('"\\ud83d\\ude00 \\ud800"')).toBe('😀 \ud800');
  });
});

test.each<[unknown, boolean]>([
  [{}, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  [undefined, false],
  ['', false],
  [() => {}, false],
])('isJsonObject(%o) is %s', (value, expected) => {
  expect(isJsonObject(value)).toBe(expected);
});

test('setOwn makes an ordinary property of any name', () => {
  const target: { [key: string]: unknown } = {};
  for (const key of ['a', '__proto__', 'constructor', 'toString']) setOwn(target, key, { polluted: key });
  expect(Object.keys(target)).toEqual(['a', '__proto__', 'constructor', 'toString']);
  expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
  expect(JSON.stringify(target['__proto__'])).toBe('{"polluted":"__proto__"}');
  setOwn(target, '__proto__', 'again');
  setOwn(target, 'a', 'again');
  expect([target['__proto__'], target['a']]).toEqual(['again', 'again']);
});

group('what a value is called', () => {
  const hostile = new (class {
    static get name(): string {
      throw new Error('looked at');
    }
  })();

  test.each<[unknown, string]>([
    [null, 'null'],
    [undefined, 'undefined'],
    ['secret', 'a string'],
    [7, 'a number'],
    [true, 'a boolean'],
    [1n, 'a bigint'],
    [Symbol('secret'), 'a symbol'],
    [() => {}, 'a function'],
    [[], 'an array'],
    [{}, 'an object'],
    [Object.create(null), 'an object'],
    [new Point(), 'a Point'],
    [new Date(0), 'a Date'],
    [Object.create({ constructor: { name: 'x'.repeat(1000) } }), `a ${'x'.repeat(64)}`],
    [Object.create({ constructor: { name: 5 } }), 'an object'],
  ])('of %o', (value, text) => {
    expect(describe(value)).toBe(text);
  });

  test('of an object that throws when it is looked at', () => {
    expect(describe(hostile)).toBe('an object');
    const getPrototypeOf = (): never => {
      throw new Error('looked at');
    };
    expect(describe(new Proxy({}, { getPrototypeOf }))).toBe('an object');
  });
});
