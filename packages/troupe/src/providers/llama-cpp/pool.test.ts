import { expect, test } from 'vitest';

import { Pool } from './pool.ts';

const never = new AbortController().signal;
const same = (): number => 0;

test('takes what is worth most, and waits when nothing is free, in the order of asking', async () => {
  const pool = new Pool([1, 3, 2]);
  expect(await pool.take((item) => item, never)).toBe(3);
  expect(await pool.take((item) => -item, never)).toBe(1);
  expect(await pool.take(same, never)).toBe(2);
  const served: string[] = [];
  const first = pool.take(same, never).then((item) => served.push(`first ${item}`));
  const second = pool.take(same, never).then((item) => served.push(`second ${item}`));
  pool.give(7);
  pool.give(8);
  await Promise.all([first, second]);
  expect(served).toEqual(['first 7', 'second 8']);
  pool.give(9);
  expect(await pool.take(same, never)).toBe(9);
});

test('who is aborted while waiting is let go, and nothing is lost', async () => {
  const pool = new Pool(['only']);
  const taken = await pool.take(same, never);
  const caller = new AbortController();
  const reason = new Error('enough');
  const aborted = pool.take(same, caller.signal);
  const patient = pool.take(same, never);
  caller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  pool.give(taken);
  expect(await patient).toBe('only');
  await expect(pool.take(same, caller.signal)).rejects.toBe(reason);
  pool.give('only');
  await expect(pool.take(same, caller.signal)).rejects.toBe(reason); // though something is free
  expect(await pool.take(same, never)).toBe('only');
});

test('an abort after the wait is over takes nobody else out of the queue', async () => {
  const pool = new Pool(['only']);
  const item = await pool.take(same, never);
  const caller = new AbortController();
  const served = pool.take(same, caller.signal);
  const next = pool.take(same, never);
  pool.give(item);
  await served;
  caller.abort();
  pool.give(item);
  expect(await next).toBe('only');
});
