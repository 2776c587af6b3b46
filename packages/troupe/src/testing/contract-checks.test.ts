import { expect, test } from 'vitest';

import {
  becomes,
  checkJson,
  checkSame,
  frozen,
  isPending,
  isSame,
  rejects,
  soon,
  textsIn,
  thrownBy,
} from './contract-checks.ts';

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
    expect(() => checkJson(value, 'It')).toThrow(/^It (is not JSON|does not survive JSON)/);
  }
});

test('a promise without outside waits is awaited, and no other', async () => {
  expect(await soon(Promise.resolve(7), 'It')).toBe(7);
  await expect(soon(Promise.reject(new Error('boom')), 'It')).rejects.toThrow('boom');
  await expect(soon(new Promise(() => {}), 'It')).rejects.toThrow('It did not come within 1000 turns');
});

test('the thrown value is returned, of any type', async () => {
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

test('frozen means deeply frozen', () => {
  const value = frozen({ a: [{ b: 1 }] });
  expect([value, value.a, value.a[0]].every((part) => Object.isFrozen(part))).toBe(true);
  expect(frozen('text')).toBe('text');
});

test('a condition is awaited for a few turns, and reported if it never holds', async () => {
  let isTrue = false;
  setImmediate(() => setImmediate(() => (isTrue = true)));
  await becomes(() => isTrue, 'it should');
  expect(isTrue).toBe(true);
  await expect(becomes(() => false, 'it should')).rejects.toThrow('it should');
});

test('a promise that has not settled after a few turns is pending', async () => {
  expect(await isPending(new Promise(() => {}))).toBe(true);
  expect(await isPending(Promise.resolve(1))).toBe(false);
  expect(await isPending(Promise.reject(new Error('no')))).toBe(false);
  expect(await isPending(new Promise((resolve) => setImmediate(resolve)))).toBe(false);
});

test('aborted work has to reject soon, with the very reason', async () => {
  const reason = new Error('stop');
  await rejects(Promise.reject(reason), reason, 'it');
  const wrong: [() => Promise<unknown>, string][] = [
    [() => Promise.resolve(), 'it should have failed'],
    [() => Promise.reject(new Error('stop')), 'it should reject with the reason, not with Error: stop.'],
    [() => new Promise(() => {}), 'The end of it after the abort did not come'],
  ];
  for (const [work, problem] of wrong) await expect(rejects(work(), reason, 'it')).rejects.toThrow(problem);
});
