import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';

import { SentMessages } from './sent-messages.ts';

const message = (method: string, text = ''): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method,
  params: { text },
});

async function replay(events: SentMessages, after: string): Promise<string[]> {
  const methods: string[] = [];
  const send = async (_: string, sent: JSONRPCMessage): Promise<void> =>
    void methods.push('method' in sent ? sent.method : '');
  await events.replayEventsAfter(after, { send });
  return methods;
}

test('messages of the same stream after an event are sent again, in order', async () => {
  const events = new SentMessages();
  const first = await events.storeEvent('a', message('one'));
  await events.storeEvent('b', message('other'));
  await events.storeEvent('a', message('two'));
  const last = await events.storeEvent('a', message('three'));
  expect(await replay(events, first)).toEqual(['two', 'three']);
  expect(await replay(events, last)).toEqual([]);
  expect(await events.getStreamIdForEventId(first)).toBe('a');
  await expect(replay(events, 'unknown')).rejects.toThrow('no longer kept');
});

test('old messages are dropped by number and by size, and the latest is always kept', async () => {
  const events = new SentMessages();
  const first = await events.storeEvent('a', message('first'));
  for (let i = 0; i < 500; i++) await events.storeEvent('a', message('more'));
  expect(await events.getStreamIdForEventId(first)).toBeUndefined();
  const small = await events.storeEvent('a', message('small'));
  const large = await events.storeEvent('a', message('large', 'x'.repeat(2_000_000)));
  expect(await events.getStreamIdForEventId(small)).toBeUndefined();
  expect(await events.getStreamIdForEventId(large)).toBe('a');
});
