import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createClient } from 'redis';
import { afterEach, describe, expect, test } from 'vitest';
import { hasRedis, REDIS_URL } from '../../../test/servers.ts';
import { sessionContract } from '../../testing/session-contract.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { Msg } from '../../message/msg.ts';
import { newId } from '../../util/ids.ts';
import { RedisClient } from './redis-client.ts';
import { RedisSession } from './redis-session.ts';

const prefixes: string[] = [];

afterEach(async () => {
  const client = new RedisClient(REDIS_URL);
  for (const prefix of prefixes.splice(0)) {
    const keys = (await client.send('KEYS', `{${prefix}}*`)) as string[];
    if (keys.length > 0) await client.send('DEL', ...keys);
  }
  await client.close();
});

describe.skipIf(!hasRedis)('RedisSession', () => {
  const place = () => {
    const prefix = `test-${newId()}`;
    prefixes.push(prefix);
    return () => new RedisSession(REDIS_URL, { prefix });
  };
  test.each(sessionContract(place))('$name', ({ run }) => run());

  test('a session with a time to live lives on with every save and load, and leaves the list when it is gone', async () => {
    const prefix = `test-${newId()}`;
    prefixes.push(prefix);
    const client = new RedisClient(REDIS_URL);
    await using session = new RedisSession(client, { prefix, ttlMs: 100_000 });
    const memory = new InMemoryMemory();
    await memory.add(Msg.user('one'));
    await session.save({ user: 'anna', session: 's' }, { memory });
    await session.save({ user: 'anna', session: 's' }, { memory });
    const keys = ((await client.send('KEYS', `{${prefix}}*`)) as string[]).filter((key) =>
      /:(?:head|log):/.test(key),
    );
    expect(keys).toHaveLength(2);
    for (const key of keys) await client.send('PEXPIRE', key, 50_000);
    await session.load({ user: 'anna', session: 's' }, { memory: new InMemoryMemory() });
    for (const key of keys) expect(Number(await client.send('PTTL', key))).toBeGreaterThan(90_000);
    await client.send('DEL', ...keys);
    expect(await session.list({ user: 'anna' })).toStrictEqual({ sessions: [] });
    expect(await client.send('KEYS', `{${prefix}}*`)).toStrictEqual([]);
    expect(await session.exists({ user: 'anna', session: 's' })).toBe(false);
    await client.close();
  });

  test('all lists of both logs live on with the head, and go with it', async () => {
    const prefix = `test-${newId()}`;
    prefixes.push(prefix);
    const client = new RedisClient(REDIS_URL);
    const session = new RedisSession(client, { prefix, ttlMs: 100_000 });
    const [a, b] = [new InMemoryMemory(), new InMemoryMemory()];
    await a.add(Array.from({ length: 600 }, (_, i) => Msg.user(`${i}`)));
    await b.add(Msg.user('b'));
    await session.save('s', { a, b });
    await a.clear();
    await session.save('s', { a, b }); // writes all anew
    const logs = (await client.send('KEYS', `{${prefix}}*:log:*`)) as string[];
    expect(logs).toHaveLength(3);
    for (const key of logs) await client.send('PEXPIRE', key, 50_000);
    await session.exists('s');
    for (const key of logs) expect(Number(await client.send('PTTL', key))).toBeGreaterThan(90_000);
    await session.restorePrevious('s');
    await session.load('s', { a, b });
    expect([await a.size(), await b.size()]).toStrictEqual([600, 1]);
    await session.delete('s');
    expect(await client.send('KEYS', `{${prefix}}*`)).toStrictEqual([]);
    await client.close();
  });

  test('a connection that has given up is made anew', async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      const redis = connect(Number(new URL(REDIS_URL).port), '127.0.0.1');
      socket.pipe(redis).pipe(socket);
      for (const [one, other] of [
        [socket, redis],
        [redis, socket],
      ] as const) {
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
      }
    });
    const listen = async (port: number): Promise<number> => {
      await once(server.listen(port, '127.0.0.1'), 'listening');
      return (server.address() as AddressInfo).port;
    };
    const port = await listen(0);
    const client = new RedisClient({
      url: `redis://127.0.0.1:${port}`,
      socket: { reconnectStrategy: false },
    });
    expect(await client.send('PING')).toBe('PONG');
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
    await expect(client.send('PING')).rejects.toThrow(/closed|ECONN/i);
    await expect(client.send('PING')).rejects.toThrow(/closed|ECONN/i);
    await listen(port);
    expect(await client.send('PING')).toBe('PONG');
    await client.close();
    server.close();
  });

  test('data that no save needs is deleted', async () => {
    const prefix = `test-${newId()}`;
    prefixes.push(prefix);
    const client = new RedisClient(REDIS_URL);
    const session = new RedisSession(client, { prefix });
    const memory = new InMemoryMemory();
    for (let i = 0; i < 12; i++) {
      await memory.clear();
      await memory.add(Array.from({ length: 200 }, (_, k) => Msg.user(`${i}.${k}`)));
      await session.save('s', { memory });
    }
    const logs = (await client.send('KEYS', `{${prefix}}*:log:*`)) as string[];
    expect(logs.length).toBeLessThan(3);
    await session.delete('s');
    expect(await client.send('KEYS', `{${prefix}}*`)).toStrictEqual([]);
    await client.close();
  });

  test('a client of the program is used and not closed', async () => {
    const prefix = `test-${newId()}`;
    prefixes.push(prefix);
    const client = createClient({ url: REDIS_URL });
    const session = new RedisSession({ client }, { prefix });
    await session.save('s', { memory: new InMemoryMemory() });
    await session.close();
    expect(client.isOpen).toBe(true);
    await client.close();
  });

  test('an unreachable server is reported, and tried again', async () => {
    const client = new RedisClient({ url: 'redis://127.0.0.1:1', socket: { reconnectStrategy: false } });
    for (let i = 0; i < 2; i++) await expect(client.send('PING')).rejects.toThrow(/ECONNREFUSED/);
    await client.close();
    await expect(client.send('PING')).rejects.toThrow('was closed');
  });
});

test('options that can not be are told at once', () => {
  expect(() => new RedisSession(REDIS_URL, { prefix: '' })).toThrow('prefix must be');
  expect(() => new RedisSession(REDIS_URL, { prefix: 'a}b' })).toThrow('prefix must be');
  expect(() => new RedisSession(REDIS_URL, { ttlMs: -1 })).toThrow('ttlMs must be');
});
