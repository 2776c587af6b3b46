import { expect, test } from 'vitest';

import { Msg } from '../../message/msg.ts';
import { OffloadStore } from './offload-store.ts';

const [a, b, c] = [Msg.user('a'), Msg.user('b'), Msg.user('c')];

test('a list under a uuid can be read, replaced and deleted', () => {
  const store = new OffloadStore();
  store.set('1', [a, b]);
  store.set('2', [c]);
  expect([store.get('1'), store.get('2'), store.get('3')]).toEqual([[a, b], [c], []]);
  store.set('1', [b]);
  store.delete('2');
  store.delete('3');
  expect(store.items).toEqual([{ uuid: '1', msgs: [b] }]);
  expect(store.size).toBe(1);
});

test('tells which messages are stored, also messages stored twice', () => {
  const store = new OffloadStore();
  store.load([
    { uuid: '1', msgs: [a, b] },
    { uuid: '2', msgs: [b, c] },
  ]);
  const held = (): boolean[] => [a, b, c].map(({ id }) => store.holds(id));
  expect(held()).toEqual([true, true, true]);
  store.delete('1');
  expect(held()).toEqual([false, true, true]);
  store.set('2', [a]);
  expect(held()).toEqual([true, false, false]);
});
