import { RESP_TYPES, createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import { hasRedis, REDIS_URL } from '../../../test/servers.ts';
import { CorruptMemoryError } from '../../memory/stored-memory.ts';
import { Msg } from '../../message/msg.ts';
import { memoryContract } from '../../testing/memory-contract.ts';
import { newId } from '../../util/ids.ts';
import { RedisClient } from './redis-client.ts';
import { RedisMemory } from './redis-memory.ts';

const HOUR = 3_600_000;

function msgs(count: number): Msg[] {
  return Array.from({ length: count }, (_, i) => Msg.user('x'.repeat(200), { id: `${i}` }));
}

test('a time to live must be a whole number of milliseconds', () => {
  const make = (ttlMs: number) => () => new RedisMemory(REDIS_URL, { sessionId: 's', ttlMs });
  expect(make(0)).toThrow('ttlMs must be a whole number of 1 or more.');
  expect(make(1.5)).toThrow('ttlMs');
});

describe.skipIf(!hasRedis)('in Redis', () => {
  const client = new RedisClient(REDIS_URL);
  const sessionId = newId();
  const keys = ['head', 'marks', 'msgs', 'ids'].map(
    (part) => `troupe:memory:{["default","${sessionId}"]}:${part}`,
  );
  const [head, marks, texts, ids] = keys as [string, string, string, string];
  const open = (ttlMs?: number) => new RedisMemory(client, { sessionId, ttlMs });

  afterEach(async () => void (await client.send('DEL', ...keys)));
  afterAll(() => client.close());

  test('a conversation has four keys, and none is left when it is cleared', async () => {
    const memory = open();
    await memory.add('Hi');
    await memory.updateCompressedSummary('Sum.');
    expect(await client.send('EXISTS', ...keys)).toBe(4);
    expect(await client.send('PTTL', head)).toBe(-1);
    await memory.clear();
    expect(await client.send('EXISTS', ...keys)).toBe(0);
  });

  test('every use puts the end of all keys off, and looks at no other key', async () => {
    const memory = open(HOUR);
    await memory.add(msgs(2), { marks: 'm' });
    const send = vi.spyOn(client, 'send');
    const uses: (() => Promise<unknown>)[] = [
      () => memory.getMemory(),
      () => memory.add('Hi'),
      () => memory.size(),
      () => memory.updateMessagesMark({ newMark: 'n' }),
      () => memory.delete(['0']),
      () => memory.updateCompressedSummary('Sum.'),
      () => memory.deleteByMark('m'),
    ];
    for (const use of uses) {
      for (const key of keys) await client.send('PEXPIRE', key, HOUR / 2);
      send.mockClear();
      await use();
      const sent: readonly (readonly unknown[])[] = send.mock.calls;
      expect(sent.length).toBeGreaterThan(0);
      expect(sent.every((words) => words[0] === 'EVAL' && words[2] === 4)).toBe(true);
      for (const key of keys) expect(await client.send('PTTL', key)).toBeGreaterThan(HOUR - HOUR / 4);
    }
    send.mockRestore();
  });

  test('a conversation that has expired is forgotten, and the next one is not mixed with it', async () => {
    const [one, other] = [open(HOUR), open(HOUR)];
    await one.add([Msg.user('old', { id: 'a' })]);
    await one.updateCompressedSummary('Old.');
    expect(await one.size()).toBe(1);
    for (const key of keys) await client.send('PEXPIRE', key, 0);
    expect([await one.size(), await one.getCompressedSummary()]).toEqual([0, '']);
    await other.add([Msg.user('new', { id: 'a' })]);
    expect((await one.getMemory()).map(({ text }) => text)).toEqual(['new']);
  });

  test('remains of a conversation without head are not loaded', async () => {
    await open().add([Msg.user('old', { id: 'a' }), Msg.user('old', { id: 'b' })]);
    await client.send('DEL', head);
    const memory = open();
    expect(await memory.size()).toBe(0);
    await memory.add(Msg.user('new', { id: 'b' }));
    expect((await memory.getMemory()).map(({ text }) => text)).toEqual(['new']);
  });

  test('all keys of a conversation are on one node of a cluster, whatever its ids are', async () => {
    const prefix = newId();
    const memory = new RedisMemory(client, { userId: '}{', sessionId: '{}', prefix });
    await memory.add('Hi');
    const found = (await client.send('KEYS', `${prefix}:*`)) as string[];
    expect(found.length).toBe(4);
    expect(new Set(found.map((key) => /\{(.*?)\}/.exec(key)?.[1])).size).toBe(1);
    await memory.clear();
  });

  test('with 5000 messages, a look after one more gets nothing but what is new', async () => {
    const memory = open();
    const other = open();
    await memory.add(msgs(5_000));
    await other.getMemory();
    const send = vi.spyOn(client, 'send');
    const reply = () =>
      Promise.all(send.mock.results.splice(0).map(({ value }) => value as Promise<unknown[]>));
    const mine = Msg.user('mine', { id: 'mine' });
    await memory.add(mine);
    await reply();
    expect((await memory.getMemory()).at(-1)).toBe(mine);
    const [none] = await reply();
    expect(none?.length).toBe(5); // where it stands
    expect((await other.getMemory()).length).toBe(5_001);
    const [some] = await reply();
    expect(some?.length).toBe(8); // and one message
    await memory.updateMessagesMark({ newMark: 'm', msgIds: ['7'] });
    await memory.getMemory();
    const [, , own] = await reply();
    expect(own?.length).toBe(5); // the memory remembers its own writes
    await other.getMemory();
    const [all] = await reply();
    expect(JSON.stringify(all).length).toBeLessThan(5_001 * 30); // numbers and marks
    send.mockRestore();
  });

  test.each([
    ['text that is no JSON', () => client.send('HSET', texts, 1, '{')],
    ['JSON that is no message', () => client.send('HSET', texts, 1, '{}')],
    ['no message', () => client.send('HDEL', texts, 1)],
    ['marks that are none', () => client.send('HSET', marks, 1, '"m"]')],
  ])('a row with %s is named, and can be deleted', async (_problem, spoil) => {
    await open().add(msgs(3));
    await spoil();
    const memory = open();
    await expect(memory.getMemory()).rejects.toThrow(CorruptMemoryError);
    await expect(memory.getMemory()).rejects.toMatchObject({ row: 1, sessionId, code: 'memory_corrupt' });
    expect(await memory.delete(['1'])).toBe(1);
    expect((await memory.getMemory()).map(({ id }) => id)).toEqual(['0', '2']);
    expect(await client.send('HLEN', ids)).toBe(2);
  });

  test('a marking sees the effect of an earlier marking', async () => {
    const other = open();
    await other.add(msgs(3));
    let calls = 0;
    class Delayed extends RedisClient {
      override async run(...args: Parameters<RedisClient['run']>): Promise<unknown> {
        if (++calls === 2) await other.updateMessagesMark({ newMark: 'theirs' }); // behind the look, before the change
        return super.run(...args);
      }
    }
    const delayed = new Delayed(REDIS_URL);
    const memory = new RedisMemory(delayed, { sessionId });
    expect(await memory.updateMessagesMark({ newMark: 'mine', msgIds: ['1'] })).toBe(1);
    expect((await memory.getMemory({ mark: 'theirs' })).length).toBe(3);
    expect((await other.getMemory({ mark: 'mine' })).map(({ id }) => id)).toEqual(['1']);
    await delayed.close();
  });

  test('close closes only what the memory has opened itself', async () => {
    const own = new RedisMemory(REDIS_URL, { sessionId });
    await own.add('Hi');
    await own.close();
    await expect(own.size()).rejects.toMatchObject({ code: 'store_failed' });
    await using shared = open();
    await shared.close();
    expect(await open().size()).toBe(1);
  });

  describe('with a client that gives bytes', () => {
    const raw = createClient({
      url: REDIS_URL,
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    });
    beforeAll(async () => void (await raw.connect()));
    afterAll(() => raw.close());

    test('replies are bytes', async () => {
      await raw.sendCommand(['HSET', head, 'a', 'b']);
      expect(await raw.sendCommand(['HGET', head, 'a'])).toEqual(Buffer.from('b'));
    });

    const contract = memoryContract((id) => new RedisMemory({ client: raw }, id), { isStored: true });
    test.each(contract)('$name', ({ run }) => run());
  });
});
