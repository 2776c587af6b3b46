import { expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { MemoryCacheStore } from './memory-cache-store.ts';

const saying = (text: string): ModelDelta[] => [{ type: 'text', text }];

test('keeps the entries used last', () => {
  const store = new MemoryCacheStore(2);
  store.set('a', saying('1'));
  store.set('b', saying('2'));
  expect(store.get('a')).toEqual(saying('1'));
  store.set('c', saying('3'));
  expect([store.get('a'), store.get('b'), store.get('c'), store.size]).toEqual([
    saying('1'),
    undefined,
    saying('3'),
    2,
  ]);
});

test('setting again replaces, and counts as use', () => {
  const store = new MemoryCacheStore(2);
  store.set('a', saying('1'));
  store.set('b', saying('2'));
  store.set('a', saying('new'));
  store.set('c', saying('3'));
  expect([store.get('a'), store.get('b'), store.size]).toEqual([saying('new'), undefined, 2]);
});

test.each([0, 1.5, Number.NaN])('refuses to hold %s answers', (maxEntries) => {
  expect(() => new MemoryCacheStore(maxEntries)).toThrow('maxEntries must be a whole number of 1 or more.');
});
