import { getEventListeners } from 'node:events';

import { expect, test } from 'vitest';

import { ReaderInbox } from './reader-inbox.ts';

test('an inbox gives each told event once, holds one listener however long it is read, and none after its end', async () => {
  const { signal } = new AbortController();
  const inbox = new ReaderInbox(signal);
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
  const inbox = new ReaderInbox(left.signal);
  inbox.put(
    Array.from({ length: 1001 }, (_, n) => ({ n, data: '{}' })),
    false,
  );
  expect(await inbox.take()).toBeUndefined();
  const waiting = inbox.take();
  left.abort();
  expect(await waiting).toBeUndefined();
});
