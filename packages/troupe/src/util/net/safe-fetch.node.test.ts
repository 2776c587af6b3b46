import type * as Dns from 'node:dns/promises';
import type { RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import tls from 'node:tls';

import { afterEach, describe, expect, test, vi } from 'vitest';

import { allSocketsClosed, FakeInternet, serveOnLoopback } from '../../../test/fake-internet.ts';
import { selfSigned } from '../../../test/self-signed.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import * as browser from './safe-fetch.browser.ts';
import * as node from './safe-fetch.node.ts';
import { safeFetch } from './safe-fetch.node.ts';
import { DownloadError, UnsafeUrlError, type SafeFetchOptions } from './safe-fetch.ts';

const system = vi.hoisted(() => ({ lookup: vi.fn<() => Promise<{ address: string; family: number }[]>>() }));
vi.mock('node:dns/promises', async (original) => ({ ...(await original<typeof Dns>()), ...system }));

const LOCAL = { allowedHosts: ['127.0.0.1'] };
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

afterEach(async () => {
  await allSocketsClosed(); // whatever happened
});

async function failureOf(work: Promise<unknown>): Promise<DownloadError> {
  return work.then(
    () => {
      throw new Error('It should have failed.');
    },
    (error: unknown) => error as DownloadError,
  );
}

/** Outcome of a download with this answer. */
async function outcomeOf(
  answer: RequestListener,
  options: SafeFetchOptions = {},
): Promise<{ text: string; mediaType: string; path: string } | string> {
  await using web = await serveOnLoopback(answer);
  try {
    const { bytes, mediaType, url } = await safeFetch(`${web.origin}/start`, { ...LOCAL, ...options });
    return { text: text(bytes), mediaType, path: url.slice(web.origin.length) };
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error;
    return `${error.code}: ${error.message.replaceAll(web.origin, 'http://server')}`;
  }
}

test('downloads', async () => {
  const seen: object[] = [];
  const outcome = await outcomeOf(
    ({ method, url, headers }, response) => {
      const { host: _host, ...others } = headers;
      seen.push({ method, url, headers: others });
      if (url === '/start') response.writeHead(307, { location: 'next/?size=1#top' }).end();
      else response.writeHead(200, { 'content-type': 'Image/PNG; q=1' }).end('picture');
    },
    { headers: { Cookie: 'a=1', ACCEPT: 'image/png', 'accept-encoding': 'gzip' } },
  );
  expect(outcome).toEqual({ text: 'picture', mediaType: 'image/png', path: '/next/?size=1#top' });
  const headers = {
    'user-agent': 'troupe',
    accept: 'image/png',
    'accept-encoding': 'identity',
    cookie: 'a=1',
    connection: 'close',
  };
  expect(seen).toEqual([
    { method: 'GET', url: '/start', headers },
    { method: 'GET', url: '/next/?size=1', headers },
  ]);
});

test('a body in many small pieces is whole', async () => {
  const body = 'troupe '.repeat(3000);
  const outcome = await outcomeOf((_request, response) => {
    for (const char of body) response.write(char);
    response.end();
  });
  expect(outcome).toEqual({ text: body, mediaType: 'application/octet-stream', path: '/start' });
});

describe.each([
  ['with its length', true],
  ['without its length', false],
])('a body %s', (_, isAnnounced) => {
  const answer =
    (length: number): RequestListener =>
    (_request, response) => {
      if (isAnnounced) response.setHeader('content-length', length);
      response.write('x'.repeat(length - 1));
      response.end('x');
    };

  test.each([1, 1000, 64 * 1024, 200_000])('of exactly %i bytes fits its limit', async (length) => {
    const outcome = await outcomeOf(answer(length), { maxBytes: length });
    expect(outcome).toMatchObject({ text: 'x'.repeat(length) });
  });

  test.each([1, 1000, 64 * 1024, 200_000])('of one byte more than %i does not', async (length) => {
    expect(await outcomeOf(answer(length + 1), { maxBytes: length })).toBe(
      `too_large: http://server/start is larger than ${length} bytes, the limit of maxBytes.`,
    );
  });
});

test.each<[string, RequestListener, string]>([
  [
    'a 404',
    (_, response) => response.writeHead(404).end('no'),
    'bad_answer: http://server/start was answered with status 404.',
  ],
  [
    'a 500',
    (_, response) => response.writeHead(500).end('no'),
    'bad_answer: http://server/start was answered with status 500.',
  ],
  [
    'a 304',
    (_, response) => response.writeHead(304).end(),
    'bad_answer: http://server/start was answered with status 304.',
  ],
  [
    'a redirect to nowhere',
    (_, response) => response.writeHead(302).end(),
    'bad_answer: http://server/start was answered with status 302.',
  ],
  [
    'a body that is cut',
    (_, response) => response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy()),
    'network: http://server/start could not be downloaded (ECONNRESET).',
  ],
  [
    'a connection that is cut',
    (request) => request.destroy(),
    'network: http://server/start could not be downloaded (ECONNRESET).',
  ],
  [
    'no HTTP',
    (request) => request.socket.end('SSH-2.0-OpenSSH\r\n'),
    'network: http://server/start could not be downloaded (HPE_INVALID_CONSTANT).',
  ],
  [
    'a head without end',
    (request) => request.socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1e6)}`),
    'network: http://server/start could not be downloaded (HPE_HEADER_OVERFLOW).',
  ],
  [
    'another protocol',
    (request) => request.socket.end('HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    'network: http://server/start could not be downloaded.',
  ],
])('%s is an error', async (_, answer, message) => {
  expect(await outcomeOf(answer)).toBe(message);
});

test.each([
  ['image/png', ['image/*'], true],
  ['image/png', ['text/html', 'image/png'], true],
  ['image/png', ['*/*'], true],
  ['imagery/png', ['image/*'], false],
  ['image/png', ['image/pn'], false],
  ['image/png', [], false],
  ['', ['application/octet-stream'], true],
  ['nonsense', ['application/octet-stream'], true],
])('%s is one of %j: %s', async (mediaType, accept, isAccepted) => {
  const outcome = await outcomeOf(
    (_request, response) => response.writeHead(200, { 'content-type': mediaType }).end('x'),
    { accept },
  );
  if (isAccepted) expect(outcome).toMatchObject({ text: 'x' });
  else expect(outcome).toMatch(/^wrong_type: http:\/\/server\/start has the type /);
});

test('a server that is not there is an error', async () => {
  const web = await serveOnLoopback(() => {});
  await web[Symbol.asyncDispose]();
  expect(await failureOf(safeFetch(web.origin, LOCAL))).toMatchObject({
    code: 'network',
    message: `${web.origin}/ could not be downloaded (ECONNREFUSED).`,
  });
});

test('a host is asked by its own name', async () => {
  const asked: unknown[] = [];
  await using web = await serveOnLoopback((request, response) => {
    asked.push(request.headers.host);
    response.end();
  });
  using internet = new FakeInternet();
  internet.serve('2606:4700::1111:80', web.port);
  internet.serve('9.9.9.9:8080', web.port);
  const lookup = async (): Promise<string[]> => ['9.9.9.9'];
  await safeFetch('http://[2606:4700::1111]/', { lookup });
  await safeFetch('http://9.9.9.9:8080/', { lookup });
  await safeFetch('http://Example.com.:8080/', { lookup });
  expect(asked).toEqual(['[2606:4700::1111]', '9.9.9.9:8080', 'example.com:8080']);
  expect(internet.attempts).toEqual(['2606:4700::1111:80', '9.9.9.9:8080', '9.9.9.9:8080']);
});

describe('the system finds addresses', () => {
  test('and all of them are checked', async () => {
    using internet = new FakeInternet();
    system.lookup.mockResolvedValueOnce([
      { address: '127.0.0.1', family: 4 },
      { address: '9.9.9.9', family: 4 },
    ]);
    await failureOf(safeFetch('http://example.com:8080/'));
    expect(system.lookup.mock.lastCall).toEqual(['example.com', { all: true }]);
    expect(internet.attempts).toEqual(['9.9.9.9:8080']);
  });

  test('or does not', async () => {
    system.lookup.mockRejectedValueOnce(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }));
    expect(await failureOf(safeFetch('https://no.example/a'))).toMatchObject({
      code: 'network',
      message: 'https://no.example/a could not be downloaded (ENOTFOUND).',
    });
  });

  test('for sockets that want one address only', async () => {
    await using web = await serveOnLoopback((_request, response) => response.end('one'));
    const { getDefaultAutoSelectFamily, setDefaultAutoSelectFamily } = await import('node:net');
    const before = getDefaultAutoSelectFamily();
    setDefaultAutoSelectFamily(false);
    try {
      const options = { allowedHosts: ['me.example'], lookup: async () => ['127.0.0.1'] };
      const { bytes } = await safeFetch(`http://me.example.:${web.port}/`, options);
      expect(text(bytes)).toBe('one');
    } finally {
      setDefaultAutoSelectFamily(before);
    }
  });
});

describe('an abort', () => {
  const stages: readonly [string, RequestListener][] = [
    ['the answer', () => {}],
    ['the rest of the body', (_request, response) => void response.writeHead(200).write('x')],
  ];

  test.each(stages)('ends the wait for %s with its reason', async (_, answer) => {
    const clock = new FakeClock();
    using _installed = clock.install();
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    await using web = await serveOnLoopback((request, response) => {
      answer(request, response);
      asked();
    });
    const stop = new AbortController();
    const failure = failureOf(safeFetch(web.origin, { ...LOCAL, signal: stop.signal }));
    await isAsked;
    expect(clock.pendingTimers).toBe(1);
    const reason = new Error('enough');
    stop.abort(reason);
    expect(await failure).toBe(reason);
    await allSocketsClosed();
    expect(clock.pendingTimers).toBe(0);
  });

  test('ends the wait for an address', async () => {
    const stop = new AbortController();
    const lookup = (): Promise<string[]> => new Promise(() => {});
    const failure = failureOf(safeFetch('http://example.com/', { lookup, signal: stop.signal }));
    stop.abort('enough');
    expect(await failure).toBe('enough');
  });

  test('that came before leaves everything alone', async () => {
    using internet = new FakeInternet();
    const lookup = vi.fn<() => Promise<string[]>>(async () => ['9.9.9.9']);
    const signal = AbortSignal.abort('enough');
    expect(await failureOf(safeFetch('http://example.com/', { lookup, signal }))).toBe('enough');
    expect(await failureOf(safeFetch('http://9.9.9.9/', { lookup, signal }))).toBe('enough');
    expect({ lookups: lookup.mock.calls.length, attempts: internet.attempts }).toEqual({
      lookups: 0,
      attempts: [],
    });
  });
});

test('a download leaves no timer and no listener behind', async () => {
  const clock = new FakeClock();
  using _installed = clock.install();
  const { signal } = new AbortController();
  const listeners = {
    add: vi.spyOn(signal, 'addEventListener'),
    remove: vi.spyOn(signal, 'removeEventListener'),
  };
  await using web = await serveOnLoopback((_request, response) => response.end('x'));
  await safeFetch(web.origin, { ...LOCAL, signal });
  expect(listeners.add.mock.calls.length).toBe(1);
  expect(listeners.remove.mock.calls.length).toBe(1);
  expect(clock.pendingTimers).toBe(0);
});

test.each([
  ['credentials and query', 'http://ann:secret@example.com/a?key=secret#secret', 'http://example.com/a'],
  ['a query', 'http://localhost/?key=secret', 'http://localhost/'],
  ['data', 'data:text/plain,secret', 'A data: URL'],
  ['what is no URL', 'http://ann:secret@[', 'The text'],
  ['the end of a long path', `http://localhost/${'a'.repeat(999)}`, `http://localhost/${'a'.repeat(182)}…`],
])('an error does not show %s', async (_, url, shown) => {
  const failure = await failureOf(safeFetch(url));
  expect(failure).toBeInstanceOf(UnsafeUrlError);
  expect(failure.message.startsWith(`${shown} is not downloaded: `)).toBe(true);
  expect(failure.message).not.toContain('secret');
  expect(failure.message.length).toBeLessThan(300);
});

test.each([
  { maxBytes: NaN },
  { maxBytes: -1 },
  { maxBytes: Infinity },
  { timeoutMs: NaN },
  { maxRedirects: NaN },
])('%j is no limit', async (options) => {
  const [name] = Object.keys(options);
  await expect(safeFetch('http://example.com/', options)).rejects.toThrow(
    new RangeError(`${name} must be a number of 0 or more.`),
  );
});

test('a browser downloads nothing', async () => {
  expect(Object.keys(browser)).toEqual(Object.keys(node));
  expect(await failureOf(browser.safeFetch('https://example.com/?key=secret'))).toMatchObject({
    code: 'unsupported',
    message:
      'https://example.com/ is not downloaded: this platform can not check its address. Give the bytes as base64.',
  });
});

describe.skipIf(!('setDefaultCACertificates' in tls))('over TLS', () => {
  /** A server for `secure.example`, at a public address, whose certificate is trusted if that is wished. */
  async function secureServer(answer: RequestListener, isTrusted: boolean) {
    const certificate = selfSigned('secure.example');
    const trusted = tls.getCACertificates('default');
    if (isTrusted) tls.setDefaultCACertificates([certificate.cert]);
    const web = await serveOnLoopback(answer, createHttpsServer(certificate, answer));
    const internet = new FakeInternet();
    internet.serve('9.9.9.9:443', web.port);
    return {
      internet,
      lookup: async () => ['9.9.9.9'],
      async [Symbol.asyncDispose]() {
        tls.setDefaultCACertificates(trusted);
        internet[Symbol.dispose]();
        await web[Symbol.asyncDispose]();
      },
    };
  }

  test('the certificate must be that of the host in the URL', async () => {
    await using web = await secureServer((_request, response) => response.end('safe'), true);
    const { lookup } = web;
    expect(text((await safeFetch('https://secure.example/', { lookup })).bytes)).toBe('safe');
    expect(await failureOf(safeFetch('https://other.example/', { lookup }))).toMatchObject({
      message: 'https://other.example/ could not be downloaded (ERR_TLS_CERT_ALTNAME_INVALID).',
    });
    expect(web.internet.attempts).toEqual(['9.9.9.9:443', '9.9.9.9:443']);
  });

  test('the certificate must be trusted', async () => {
    const answer = vi.fn<RequestListener>();
    await using web = await secureServer(answer, false);
    expect(await failureOf(safeFetch('https://secure.example/', { lookup: web.lookup }))).toMatchObject({
      message: 'https://secure.example/ could not be downloaded (DEPTH_ZERO_SELF_SIGNED_CERT).',
    });
    expect(answer).not.toHaveBeenCalled();
  });

  test('a redirect to http is not followed', async () => {
    await using web = await secureServer(
      (_request, response) => response.writeHead(301, { location: 'http://secure.example/a' }).end(),
      true,
    );
    expect(await failureOf(safeFetch('https://secure.example/', { lookup: web.lookup }))).toMatchObject({
      code: 'unsafe_url',
      message:
        'http://secure.example/a is not downloaded: a redirect from https to http would send its data unencrypted.',
    });
    expect(web.internet.attempts).toEqual(['9.9.9.9:443']);
  });
});
