import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { limitedFetch, type A2AHeaders } from './limited-fetch.ts';

test('nothing goes to an origin that was not named, not even a header', async () => {
  const asked: unknown[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push([url, headers['x-key']]);
    response.end('hi');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const get = limitedFetch({
    origins: [`http://127.0.0.1:${port}`],
    headers: { 'x-key': 'k' },
    maxBytes: 10,
  });
  try {
    expect(await (await get(`http://127.0.0.1:${port}/a`)).text()).toBe('hi');
    for (const url of [`http://localhost:${port}/b`, 'http://127.0.0.1:1/']) {
      await expect(get(url)).rejects.toMatchObject({ failure: 'unsafe_url' });
    }
    expect(asked).toEqual([['/a', 'k']]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test.each<[string, A2AHeaders, string]>([
  ['can not be made', () => Promise.reject(new Error('no token today')), 'no token today'],
  ['are none', { authorization: 'sesame-1234\nx: y' }, 'they are not valid headers'],
])('headers that %s are said to be the trouble, and not repeated', async (_, headers, reason) => {
  const origin = 'http://127.0.0.1:1';
  const get = limitedFetch({ origins: [origin], headers, maxBytes: 10 });
  await expect(get(origin)).rejects.toMatchObject({
    failure: 'unreachable',
    message: `The headers for ${origin} could not be made: ${reason}.`,
  });
});
