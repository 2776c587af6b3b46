import { getEventListeners } from 'node:events';

import { expect, test } from 'vitest';

import { ReaderInbox } from './reader-inbox.ts';
import { WakeQueue } from './wake-queue.ts';

test('an inbox gives each told event once, holds one listener however long it is read, and none after its end', async () => {
  const { signal } = new AbortController();
  const inbox = new ReaderInbox(signal, new WakeQueue());
  const read: number[] = [];
  for (let n = 1; n <= 100; n++) {
    const taken = inbox.take();
    inbox.put([{ n, data: '{}' }], false);
    for (const event of (await taken) ?? []) read.push(event.n);
  }
  expect(read).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  inbox.close();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a reader with too many waiting events, or an abort, is sent to the store', async () => {
  const left = new AbortController();
  const inbox = new ReaderInbox(left.signal, new WakeQueue());
  inbox.put(
    Array.from({ length: 1001 }, (_, n) => ({ n, data: '{}' })),
    false,
  );
  expect(await inbox.take()).toBeUndefined();
  const waiting = inbox.take();
  left.abort();
  expect(await waiting).toBeUndefined();
});

test('thousands of readers are woken over several turns of the event loop, each once and in order', async () => {
  const wakes = new WakeQueue();
  const woken: number[] = [];
  for (let n = 0; n < 1050; n++) wakes.add(() => void woken.push(n));
  const atTurns = [woken.length];
  while (woken.length < 1050) {
    await new Promise((resolve) => setImmediate(resolve));
    atTurns.push(woken.length);
  }
  expect(atTurns).toEqual([...Array.from({ length: 10 }, (_, n) => 100 * (n + 1)), 1050]);
  expect(woken).toEqual(Array.from({ length: 1050 }, (_, n) => n));
});
