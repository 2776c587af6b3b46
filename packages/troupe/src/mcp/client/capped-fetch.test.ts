import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
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
  const fetch = cappedFetch(own, 1000, { headers: { authorization: 'Bearer secret' } });
  for (const url of [own, other, new URL('/path', own)]) await (await fetch(url)).text();
  expect(seen).toEqual(['Bearer secret', undefined, 'Bearer secret']);
  for (const server of servers) server.close().closeAllConnections();
});

test('headers follow no redirect to another server', async () => {
  const seen: unknown[] = [];
  const servers = [0, 1].map((i) =>
    createServer(({ headers, url }, response) => {
      seen.push([i, url, headers['x-api-key'], headers.authorization]);
      if (i === 0 && url === '/away')
        response.writeHead(302, { location: `http://127.0.0.1:${portOf(1)}/there` });
      if (i === 0 && url === '/here') response.writeHead(302, { location: '/there' });
      response.end('{}');
    }),
  );
  const portOf = (i: number): number => (servers.map((one) => one.address())[i] as AddressInfo).port;
  for (const server of servers)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const own = new URL(`http://127.0.0.1:${portOf(0)}/`);
  const fetch = cappedFetch(own, 1000, { headers: { 'x-api-key': 'key' } });
  const headers = { authorization: 'token' };
  const statuses: number[] = [];
  for (const path of ['/here', '/away']) statuses.push((await fetch(new URL(path, own), { headers })).status);
  statuses.push((await fetch(new URL('/away', own), { redirect: 'manual' })).status);
  statuses.push((await fetch(new URL('/away', own), { method: 'POST' })).status);
  expect(statuses).toEqual([200, 200, 302, 302]);
  expect(seen).toEqual([
    [0, '/here', 'key', 'token'],
    [0, '/there', 'key', 'token'],
    [0, '/away', 'key', 'token'],
    [1, '/there', undefined, undefined],
    [0, '/away', 'key', undefined],
    [0, '/away', 'key', undefined],
  ]);
  for (const server of servers) server.close().closeAllConnections();
});

test('a public server can not redirect us to private addresses', async () => {
  const { fetch: before } = globalThis;
  const asked: unknown[] = [];
  globalThis.fetch = async (input, init) => {
    asked.push([String(input), init?.redirect]);
    return new Response(null, { status: 302, headers: { location: 'http://169.254.169.254/latest' } });
  };
  try {
    const fetch = cappedFetch(new URL('https://tools.example/mcp'), 1000);
    await expect(fetch('https://login.example/metadata')).rejects.toThrow('is not downloaded');
  } finally {
    globalThis.fetch = before;
  }
  expect(asked).toEqual([['https://login.example/metadata', 'manual']]);
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

test('requests for event streams are paced after the first twenty, and others are not', async () => {
  const counts = { stream: 0, other: 0 };
  const server = createServer(({ headers, method }, response) => {
    counts[method === 'GET' && headers.accept === 'text/event-stream' ? 'stream' : 'other']++;
    response.end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  using clock = new FakeClock().install();
  const fetch = cappedFetch(url, 1000);
  const headers = { accept: 'text/event-stream' };
  const stream = async (): Promise<void> => void (await (await fetch(url, { headers })).text());
  for (let i = 0; i < 20; i++) await stream();
  const stop = new AbortController();
  const reason = new Error('enough');
  const stopped = fetch(url, { headers, signal: stop.signal });
  stop.abort(reason);
  await expect(stopped).rejects.toBe(reason);
  const next = stream();
  for (let i = 0; i < 30; i++) await (await fetch(url, { method: 'POST', headers })).text();
  expect(counts).toEqual({ stream: 20, other: 30 });
  await clock.advance(400);
  await next;
  expect(counts).toEqual({ stream: 21, other: 30 });
  server.close().closeAllConnections();
});
