import { expect, test } from 'vitest';

import { Turns } from './keyed-queue.ts';

test('work about the same thing comes in order, and a failure is that of its own caller', async () => {
  const turns = new Turns();
  const done: string[] = [];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const first = turns.take('a', async () => {
    await gate;
    done.push('first');
    throw new Error('mine');
  });
  const second = turns.take('a', async () => void done.push('second'));
  await turns.take('b', async () => void done.push('other'));
  expect(done).toEqual(['other']);
  expect(turns.size).toBeGreaterThan(0);
  open();
  await expect(first).rejects.toThrow('mine');
  await second;
  expect(done).toEqual(['other', 'first', 'second']);
  await new Promise(setImmediate);
  expect(turns.size).toBe(0); // nothing is kept of what is over
});
