import { expect, test } from 'vitest';
import { newId, randomFraction, useIdSource, useRandomSource } from './ids.ts';

test('an id has 22 letters and digits', () => {
  expect(newId()).toMatch(/^[0-9A-Za-z]{22}$/);
  expect(newId('call_')).toMatch(/^call_[0-9A-Za-z]{22}$/);
});

test('ids do not repeat, and use the whole alphabet in every place', () => {
  const ids = Array.from({ length: 20_000 }, () => newId());
  expect(new Set(ids).size).toBe(20_000);
  for (let place = 0; place < 22; place++) {
    expect(new Set(ids.map((id) => id[place])).size).toBe(62);
  }
});

test('another source can be used for a while, and sources nest', () => {
  let count = 0;
  const restore = useIdSource(() => `id${++count}`);
  expect([newId(), newId('call_')]).toEqual(['id1', 'call_id2']);
  const restoreInner = useIdSource(() => 'inner');
  expect(newId()).toBe('inner');
  restoreInner();
  expect(newId()).toBe('id3');
  restore();
  expect(newId()).toMatch(/^[0-9A-Za-z]{22}$/);
});

test('a fraction is 0 or more, less than 1, and rarely the same', () => {
  const fractions = Array.from({ length: 1000 }, randomFraction);
  expect(fractions.every((fraction) => fraction >= 0 && fraction < 1)).toBe(true);
  expect(new Set(fractions).size).toBeGreaterThan(900);
});

test('another source of fractions can be used for a while, and sources nest', () => {
  const restore = useRandomSource(() => 0.25);
  const restoreInner = useRandomSource(() => 0.5);
  expect(randomFraction()).toBe(0.5);
  restoreInner();
  expect([randomFraction(), randomFraction()]).toEqual([0.25, 0.25]);
  restore();
  expect(new Set(Array.from({ length: 10 }, randomFraction)).size).toBeGreaterThan(1);
});
