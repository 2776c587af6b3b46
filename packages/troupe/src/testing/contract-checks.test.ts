import { expect, test } from 'vitest';

import { checkJson, checkSame, frozen, isSame, soon, textsIn, thrownBy } from './contract-checks.ts';

test.each([
  [1, 1],
  [null, null],
  [
    { a: [1, { b: 'x' }], c: null },
    { c: null, a: [1, { b: 'x' }] },
  ],
  [Object.create(null), {}],
])('%j is the same as %j', (a, b) => {
  expect([isSame(a, b), isSame(b, a)]).toEqual([true, true]);
});

test.each([
  [1, '1'],
  [null, {}],
  [[], {}],
  [['a'], { 0: 'a' }],
  [{ a: undefined }, {}],
  [{ a: undefined }, { b: undefined }],
  [{ a: 1 }, { a: 1, b: 2 }],
  [{ a: { b: 1 } }, { a: { b: 2 } }],
  [new Date(0), {}],
  [new Date(0), new Date(0)],
])('%j is not the same as %j', (a, b) => {
  expect([isSame(a, b), isSame(b, a)]).toEqual([false, false]);
});

test('a difference is shown, but not at any length', () => {
  expect(() => checkSame([1], [2], 'the list')).toThrow('the list: expected [2], but found [1].');
  expect(() => checkSame(undefined, null, 'it')).toThrow('it: expected null, but found undefined.');
  expect(() => checkSame('x'.repeat(9_000), '', 'it')).toThrow(/^it: expected "", but found "x{399}….$/);
});

test('JSON is what survives being written and read', () => {
  expect(() => checkJson({ a: [null, 'ü', 1.5, true] }, 'it')).not.toThrow();
  for (const value of [undefined, () => 1, Number.NaN, { a: undefined }, new Map(), 1n]) {
    expect(() => checkJson(value, 'It')).toThrow(/^It (is no JSON|does not survive JSON)/);
  }
});

test('what has nothing to wait for is waited for, and nothing else', async () => {
  expect(await soon(Promise.resolve(7), 'It')).toBe(7);
  await expect(soon(Promise.reject(new Error('boom')), 'It')).rejects.toThrow('boom');
  await expect(soon(new Promise(() => {}), 'It')).rejects.toThrow('It did not come within 1000 turns');
});

test('what is thrown is given back, whatever it is', async () => {
  const rejected = Promise.withResolvers<void>();
  rejected.reject(undefined);
  expect(await thrownBy(rejected.promise, 'It')).toBe(undefined);
  await expect(thrownBy(Promise.resolve(), 'It')).rejects.toThrow('It should have failed');
});

test('all texts of an error are found, however deep and hidden, and in circles too', () => {
  const error: Error = new Error('a', { cause: { list: ['b', { key: 'c' }] } });
  Object.defineProperty(error, 'hidden', { value: 'd', enumerable: false });
  Object.assign(error, { self: error, errors: [new Error('e')] });
  const texts = textsIn(error);
  expect(['a', 'b', 'c', 'd', 'e', 'key'].filter((text) => !texts.includes(text))).toEqual([]);
});

test('what is frozen is frozen in its depth', () => {
  const value = frozen({ a: [{ b: 1 }] });
  expect([value, value.a, value.a[0]].every((part) => Object.isFrozen(part))).toBe(true);
  expect(frozen('text')).toBe('text');
});
