import { expect, test } from 'vitest';

import { newId } from '../util/ids.ts';
import { fakeIds } from './fake-ids.ts';

test('ids count up until the fake is disposed of', () => {
  const ids = fakeIds();
  expect([newId(), newId(), newId('call_')]).toEqual(['id-1', 'id-2', 'call_id-3']);
  ids[Symbol.dispose]();
  expect(newId()).toHaveLength(22);
});

test('a prefix of the test’s own', () => {
  const ids = fakeIds('msg_');
  expect(newId()).toBe('msg_1');
  ids[Symbol.dispose]();
});

test('an inner fake counts for itself and gives way to the outer one', () => {
  const outer = fakeIds('outer-');
  newId();
  const inner = fakeIds('inner-');
  expect(newId()).toBe('inner-1');
  inner[Symbol.dispose]();
  expect(newId()).toBe('outer-2');
  outer[Symbol.dispose]();
});
