// Local servers that trust localhost: DNS rebinding, foreign origins, missing tokens, cross-site requests, headers, exhaustion.

import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';

import { startStudio } from '../src/start-studio.ts';
import { Studios, type StudioClient } from './studio-client.ts';

const studios = new Studios();
let page: StudioClient;
let port = 0;
beforeAll(async () => {
  page = await studios.start();
  port = Number(new URL(page.studio.url).port);
});
afterAll(() => studios.closeAll());

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** A request with exactly these headers. */
async function send({ method = 'GET', path = '/api/info', headers = {}, body }: Sent) {
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers,
    setHost: false,
    agent: false,
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

/** Lines sent as they are. Resolves to the first line of the answer. */
async function sendRaw(lines: readonly string[]): Promise<string> {
  const socket = createConnection(port, '127.0.0.1');
  socket.end(`${lines.join('\r\n')}\r\n\r\n`);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  return text.split('\r\n', 1)[0] ?? '';
}

const host = () => `127.0.0.1:${port}`;
const good = () => ({ host: host(), cookie: page.cookie });
const ROUTES = [
  ['GET', '/api/info'],
  ['GET', '/api/runs'],
  ['GET', '/api/projects'],
  ['GET', '/api/waiting'],
  ['GET', '/api/charts'],
  ['GET', '/api/sessions'],
  ['GET', '/api/traces'],
  ['GET', '/api/files/0'],
  ['POST', '/api/runs/x/actions'],
  ['POST', '/api/runs/delete'],
  ['POST', '/api/projects/delete'],
  ['POST', '/api/conversations'],
  ['POST', '/api/sessions/import'],
  ['POST', '/program/batches'],
  ['GET', '/program/commands?program=x'],
  ['GET', '/program/hello'],
  ['POST', '/trpc/registerRun'],
  ['POST', '/v1/traces'],
  ['POST', '/as/wrong-key/trpc/registerRun'],
  ['POST', '/as/wrong-key/v1/traces'],
] as const;

describe('the Host', () => {
  test.each(['evil.com', 'localhost.evil.com', '127.0.0.1.nip.io', '127.0.0.1', '127.0.0.1:1', 'LOCALHOST.'])(
    '%s is refused before anything else',
    async (name) => {
      expect(await send({ headers: { ...good(), host: name } })).toMatchObject({ status: 403 });
      expect(await send({ path: '/', headers: { host: name } })).toMatchObject({ status: 403 });
    },
  );

  test('missing or given twice is refused', async () => {
    expect(await sendRaw(['GET /api/info HTTP/1.1'])).toContain('400');
    expect(await sendRaw(['GET / HTTP/1.0'])).toContain('403');
    expect(await sendRaw(['GET / HTTP/1.1', `Host: ${host()}`, 'Host: evil.com'])).toMatch(/40[03]/);
  });

  test('localhost leads to the one canonical name, before a cookie is set', async () => {
    const answer = await send({ path: '/runs/1?x=2', headers: { host: `localhost:${port}` } });
    expect([answer.status, answer.headers.location]).toEqual([302, `${page.studio.url}/runs/1?x=2`]);
  });
});

describe('the Origin', () => {
  test.each(['https://evil.com', 'null', 'http://127.0.0.1:1', 'https://127.0.0.1', 'http://localhost'])(
    '%s is refused, and never reflected',
    async (origin) => {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const answer = await send({ method, headers: { ...good(), origin } });
        expect(answer.status).toBe(403);
        expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    },
  );

  test('of another port is refused on an upgrade, also with the cookie', async () => {
    const attempt = async (headers: Record<string, string>): Promise<number> => {
      const socket = new WebSocket(`ws://${host()}/api/live`, { headers });
      const status = new Promise<number>((resolve) => {
        socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
        socket.on('open', () => resolve(101));
        socket.on('error', () => {});
      });
      return status.finally(() => socket.terminate());
    };
    const { cookie } = page;
    expect(await attempt({ cookie, origin: `http://127.0.0.1:${port + 1}` })).toBe(403);
    expect(await attempt({ cookie })).toBe(403);
    expect(await attempt({ origin: page.studio.url })).toBe(401);
    expect(await attempt({ cookie, origin: page.studio.url, host: 'evil.com' })).toBe(403);
    expect(await attempt({ cookie, origin: page.studio.url })).toBe(101);
  });

  test('of a request from another port without one is told by fetch metadata, and refused', async () => {
    const headers = { ...good(), 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' };
    expect(await send({ headers })).toMatchObject({ status: 403 });
    expect(await send({ headers: { ...good(), 'sec-fetch-site': 'same-origin' } })).toMatchObject({
      status: 200,
    });
  });
});

describe('without the token', () => {
  const json = { 'content-type': 'application/json', 'x-troupe-studio': '1' };
  test.each(ROUTES)('%s %s answers 401 before it reads the body', async (method, path) => {
    const body = method === 'POST' ? '{ this is not JSON' : '';
    const headers = { host: host(), ...(method === 'POST' && json), 'content-length': String(body.length) };
    expect(await send({ method, path, headers, body })).toMatchObject({ status: 401 });
    const wrong = { ...headers, authorization: 'Bearer wrong', cookie: `${page.cookie}x` };
    expect((await send({ method, path, headers: wrong, body })).status).toBeOneOf([401, 403]);
    const query = `${path}${path.includes('?') ? '&' : '?'}token=${page.studio.token}&t=${page.studio.token}`;
    expect(await send({ method, path: query, headers, body })).toMatchObject({ status: 401 });
  });

  test('a wrong token does not log in', async () => {
    expect(await page.post('api/login', { token: 'wrong' })).toMatchObject({ status: 401 });
    expect(await page.post('api/login', {})).toMatchObject({ status: 401 });
  });
});

describe('another spelling of a path', () => {
  const spellings = (path: string): string[] => [
    `http://127.0.0.1:${port}${path}`,
    `http://evil.com${path}`,
    path.replace('/api', '/%61pi'),
    path.replace('/api', '/ap%69'),
    path.replace('/program', '/prog%72am'),
    `/x/..${path}`,
    `/.${path}`,
    `/x/%2e%2e${path}`,
    `/x/%2E.${path}`,
    `/assets/../x/..${path}`,
    `/\\..${path}`,
    `//127.0.0.1:${port}${path}`,
    `*${path}`,
    `/;${path}`,
    path.replace('/', '/./'),
  ];
  const isRefused = (line: string, path: string): void =>
    expect(line, path).toMatch(/^HTTP\/1\.1 (?:400|401|403|404|405) /);

  test.each(['/api/info', '/api/runs', '/api/sessions', '/program/hello', '/program/commands?program=x'])(
    'does not reach %s without a token',
    async (route) => {
      const tried = spellings(route);
      for (const path of tried) {
        const socket = createConnection(port, '127.0.0.1');
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host()}\r\nConnection: close\r\n\r\n`);
        const [head] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
        socket.destroy();
        // A path that is none of the server's own gets the page, which holds nothing before the login.
        if (head.includes('content-type: text/html')) continue;
        isRefused(head, path);
      }
      expect(tried.length).toBeGreaterThan(10);
    },
  );

  test('does not reach the live connection', async () => {
    const upgrade = [`Host: ${host()}`, 'Connection: Upgrade', 'Upgrade: websocket'];
    for (const path of spellings('/api/live').concat(spellings('/socket.io/')))
      isRefused(await sendRaw([`GET ${path} HTTP/1.1`, ...upgrade]), path);
  });
});

describe('a request from another site', () => {
  test.each(ROUTES.filter(([method, path]) => method === 'POST' && path.startsWith('/api')))(
    '%s %s is refused as a form, as text and without its header',
    async (method, path) => {
      const body = '{}';
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data'])
        expect(
          await send({ method, path, body, headers: { ...good(), 'content-type': type } }),
        ).toMatchObject({ status: 415 });
      expect(
        await send({ method, path, body, headers: { ...good(), 'content-type': 'application/json' } }),
      ).toMatchObject({ status: 415 });
      for (const other of ['PUT', 'DELETE', 'PATCH'])
        expect(await send({ method: other, path, headers: good() })).toMatchObject({ status: 405 });
    },
  );
});

describe('answers', () => {
  test('carry a strict policy, and cookies that no script reads', async () => {
    const { headers } = await send({ path: '/', headers: { host: host() } });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(headers).not.toHaveProperty('x-powered-by');
    const login = await page.post('api/login', { token: page.studio.token });
    expect(login.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^troupe_studio_\d+=[\w-]+\.[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=\d+$/,
      ),
    ]);
    expect(login.headers.getSetCookie()[0]).not.toContain(page.studio.token);
  });

  test('come from memory: no path of an address reaches the disk', async () => {
    for (const path of [
      '/../package.json',
      '/%2e%2e/package.json',
      '/assets/..%2f..%2fpackage.json',
      '/assets/../../package.json',
    ])
      expect((await send({ path, headers: { host: host() } })).status, path).toBe(404);
  });
});

describe('large requests', () => {
  const bearer = () => ({ host: host(), authorization: `Bearer ${page.studio.token}` });

  test('are refused without being read', async () => {
    const headers = {
      ...good(),
      'content-type': 'application/json',
      'x-troupe-studio': '1',
      'content-length': '1000000000',
    };
    expect(await send({ method: 'POST', path: '/api/runs/delete', headers })).toMatchObject({ status: 413 });
  });

  test('that are packed bombs are refused', async () => {
    const body = gzipSync(Buffer.alloc(100 * 1024 * 1024));
    expect(body.byteLength).toBeLessThan(200_000);
    const headers = {
      ...bearer(),
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
      'content-length': String(body.byteLength),
    };
    expect(await send({ method: 'POST', path: '/v1/traces', headers, body })).toMatchObject({ status: 413 });
  });

  test('with deep JSON are refused', async () => {
    const body = '['.repeat(100_000) + ']'.repeat(100_000);
    const headers = {
      ...bearer(),
      'content-type': 'application/json',
      'content-length': String(body.length),
    };
    for (const path of ['/v1/traces', '/trpc/registerRun', '/program/batches'])
      expect(await send({ method: 'POST', path, headers, body }), path).toMatchObject({ status: 400 });
  });

  test('on the live connection close it', async () => {
    const live = await page.live();
    live.socket.send('x'.repeat(1024 * 1024));
    expect(await live.closed).toBe(1009);
    const other = await page.live();
    other.socket.send('{"type":"no such request"}');
    expect(await other.closed).toBe(4002);
  });
});

test('a Studio beyond this machine needs an https address and a token', async () => {
  const dir = studios.folder();
  await expect(startStudio({ host: '0.0.0.0', port: 0, dir, tokenDir: dir })).rejects.toThrow(
    'It needs: publicUrl',
  );
  await expect(
    startStudio({ host: '0.0.0.0', port: 0, dir, tokenDir: dir, publicUrl: 'https://studio.example.com' }),
  ).rejects.toThrow('token');
  await expect(
    startStudio({
      host: '0.0.0.0',
      port: 0,
      dir,
      publicUrl: 'http://studio.example.com',
      token: 'x'.repeat(32),
    }),
  ).rejects.toThrow('publicUrl');
});

test('by default only this machine is listened to', () => {
  expect(new URL(page.studio.url).hostname).toBe('127.0.0.1');
});
