import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { cappedFetch } from './capped-fetch.ts';

test('headers go to the server itself only, also when a login leads elsewhere', async () => {
  const seen: (string | undefined)[] = [];
  const servers = [0, 1].map(() =>
    createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end('{}');
    }),
  );
  const urls = await Promise.all(
    servers.map(async (server) => {
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
      return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    }),
  );
  const [own, other] = urls as [URL, URL];
  const fetch = cappedFetch(own, 1000, { authorization: 'Bearer secret' });
  for (const url of [own, other, new URL('/path', own)]) await (await fetch(url)).text();
  expect(seen).toEqual(['Bearer secret', undefined, 'Bearer secret']);
  for (const server of servers) server.close().closeAllConnections();
});

test.each([
  'http://169.254.169.254/latest/meta-data/',
  'http://localhost:1/',
  'http://[::ffff:a9fe:a9fe]/',
  'file:///etc/passwd',
])('a public server can not send us to %s', async (url) => {
  const fetch = cappedFetch(new URL('https://tools.example/mcp'), 1000);
  await expect(fetch(url)).rejects.toThrow('is not downloaded');
});
