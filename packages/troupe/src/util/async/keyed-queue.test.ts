import { expect, test } from 'vitest';

import { KeyedQueue } from './keyed-queue.ts';

test('work about the same thing comes in order, and a failure is that of its own caller', async () => {
  const queue = new KeyedQueue();
  const done: string[] = [];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const first = queue.run('a', async () => {
    await gate;
    done.push('first');
    throw new Error('mine');
  });
  const second = queue.run('a', async () => void done.push('second'));
  await queue.run('b', async () => void done.push('other'));
  expect(done).toEqual(['other']);
  expect(queue.size).toBeGreaterThan(0);
  let isIdle = false;
  const idle = queue.whenIdle().then(() => (isIdle = true));
  await new Promise(setImmediate);
  expect(isIdle).toBe(false);
  open();
  await expect(first).rejects.toThrow('mine');
  await second;
  expect(done).toEqual(['other', 'first', 'second']);
  await idle;
  await new Promise(setImmediate);
  expect(queue.size).toBe(0); // nothing is kept of what is over
});
