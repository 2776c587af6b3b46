import { expect, test } from 'vitest';

import { Pool } from './pool.ts';

const never = new AbortController().signal;
const same = (): number => 0;

test('takes what is worth most, and waits when nothing is free, in the order of asking', async () => {
  const pool = new Pool([1, 3, 2]);
  expect(await pool.acquire((item) => item, never)).toBe(3);
  expect(await pool.acquire((item) => -item, never)).toBe(1);
  expect(await pool.acquire(same, never)).toBe(2);
  const served: string[] = [];
  const first = pool.acquire(same, never).then((item) => served.push(`first ${item}`));
  const second = pool.acquire(same, never).then((item) => served.push(`second ${item}`));
  pool.release(7);
  pool.release(8);
  await Promise.all([first, second]);
  expect(served).toEqual(['first 7', 'second 8']);
  pool.release(9);
  expect(await pool.acquire(same, never)).toBe(9);
});

test('an aborted caller stops waiting, and nothing is lost', async () => {
  const pool = new Pool(['only']);
  const taken = await pool.acquire(same, never);
  const caller = new AbortController();
  const reason = new Error('enough');
  const aborted = pool.acquire(same, caller.signal);
  const patient = pool.acquire(same, never);
  caller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  pool.release(taken);
  expect(await patient).toBe('only');
  await expect(pool.acquire(same, caller.signal)).rejects.toBe(reason);
  pool.release('only');
  await expect(pool.acquire(same, caller.signal)).rejects.toBe(reason); // though something is free
  expect(await pool.acquire(same, never)).toBe('only');
});

test('an abort after the wait is over takes nobody else out of the queue', async () => {
  const pool = new Pool(['only']);
  const item = await pool.acquire(same, never);
  const caller = new AbortController();
  const served = pool.acquire(same, caller.signal);
  const next = pool.acquire(same, never);
  pool.release(item);
  await served;
  caller.abort();
  pool.release(item);
  expect(await next).toBe('only');
});
