import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { platformFetch, type Fetch } from '../../util/net/http.ts';
import { readWholeText, type HttpCall } from './read-response.ts';

let answer: RequestListener;
let connections: number;
const server = createServer((request, response) => {
  request.resume().on('end', () => answer(request, response));
});
server.on('connection', () => connections++);

beforeEach(async () => {
  connections = 0;
  answer = (_request, response) => void response.end('hello');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});

function call(fetch: Fetch = platformFetch): HttpCall {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const parts = { headers: { 'content-type': 'text/plain' }, body: 'hi', secrets: [], deadlines: {} };
  return { ...parts, url, fetch, origin: { vendor: 'Acme', model: 'm', host: 'acme' }, isOver: () => false };
}

const injected: Fetch = (input, init) => globalThis.fetch(input, init);

/** The text that a request gives, or its error. */
async function outcome(fetch: Fetch, signal?: AbortSignal): Promise<unknown> {
  try {
    return await readWholeText(call(fetch), signal);
  } catch (error) {
    const { name, message, kind } = error as { name: string; message: string; kind?: string };
    return { name, message, kind };
  }
}

describe('node:http and fetch end alike', () => {
  test.each<[string, RequestListener, object | string]>([
    ['a plain answer', (_q, r) => void r.end('hello'), 'hello'],
    [
      'a compressed answer',
      (_q, r) => void r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('hello')),
      'hello',
    ],
    [
      'a redirect',
      (_q, r) => void r.writeHead(307, { location: '/other' }).end(),
      { kind: 'network', message: expect.stringContaining('unexpected redirect') },
    ],
    [
      'a refusal',
      (_q, r) => void r.writeHead(401, { 'x-request-id': 'r1' }).end('{"error":{"message":"no"}}'),
      { kind: 'auth' },
    ],
    ['a web page', (_q, r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), {}],
    ['a connection that ends before the head', (_q, r) => void r.destroy(), { kind: 'network' }],
  ])('%s', async (_name, listener, expected) => {
    answer = listener;
    const [byNode, byFetch] = [await outcome(platformFetch), await outcome(injected)];
    const matcher = typeof expected === 'string' ? expected : expect.objectContaining(expected);
    expect(byNode).toEqual(matcher);
    expect(byFetch).toEqual(matcher);
  });

  test('a connection that ends in the body is lost', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('hel', () => response.destroy());
    };
    for (const fetch of [platformFetch, injected])
      expect(await outcome(fetch)).toMatchObject({
        kind: 'network',
        message: expect.stringContaining('was lost'),
      });
  });

  test('an abort before and during the answer rejects with its reason, and closes the connection', async () => {
    for (const fetch of [platformFetch, injected]) {
      const stop = new AbortController();
      const closed = new Promise<void>((resolve) => {
        answer = (_request, response) => {
          response.on('close', resolve);
          response.write('hel', () => stop.abort(new Error('enough')));
        };
      });
      expect(await outcome(fetch, stop.signal)).toMatchObject({ message: 'enough' });
      await closed;
      expect(await outcome(fetch, stop.signal)).toMatchObject({ message: 'enough' });
    }
  });
});

test('requests one after the other share a connection', async () => {
  for (let i = 0; i < 5; i++) expect(await outcome(platformFetch)).toBe('hello');
  expect(connections).toBe(1);
});

describe('fetch is used', () => {
  test('where the program has replaced it', async () => {
    vi.stubGlobal('fetch', async () => new Response('from the stub'));
    expect(await outcome(platformFetch)).toBe('from the stub');
  });

  test('where the program has set a dispatcher of its own', async () => {
    const key = Symbol.for('undici.globalDispatcher.1');
    await globalThis.fetch(call().url, { method: 'POST' }); // makes the default one
    const before: unknown = Reflect.get(globalThis, key);
    class ProxyAgent {
      dispatch(): never {
        throw new Error('by the dispatcher');
      }
    }
    Reflect.set(globalThis, key, new ProxyAgent());
    try {
      expect(await outcome(platformFetch)).toMatchObject({
        message: expect.stringContaining('by the dispatcher'),
      });
    } finally {
      Reflect.set(globalThis, key, before);
    }
    expect(await outcome(platformFetch)).toBe('hello');
  });

  test('where the environment asks for a proxy', async () => {
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const fetched = vi.spyOn(globalThis, 'fetch');
    expect(await outcome(platformFetch)).toBe('hello');
    expect(fetched).toHaveBeenCalledOnce();
    vi.unstubAllEnvs();
    fetched.mockRestore();
  });
});
