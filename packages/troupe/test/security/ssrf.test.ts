// No URL that comes from outside makes this machine talk to itself, to its network or to its cloud; a redirect or a
// changing DNS answer does not help; and what is downloaded has limits. (Checklist rows 51, 52 and 53.)

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { MediaError, MediaLoader } from '../../src/formatter/media-loader.ts';
import type { MediaBlock } from '../../src/formatter/prompt.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { startTimer } from '../../src/util/clock.ts';
import { safeFetch } from '../../src/util/net/safe-fetch.node.ts';
import { DownloadError, UnsafeUrlError, type SafeFetchOptions } from '../../src/util/net/safe-fetch.ts';
import { allSocketsClosed, FakeInternet, serveOnLoopback } from '../fake-internet.ts';

const PUBLIC = '93.184.216.34';
const PUBLIC_V6 = '2606:2800:220:1::1';

/** The error of a promise. */
async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    (value) => {
      throw new Error(`It should have failed, but gave ${String(value)}`);
    },
    (error: unknown) => error as Error,
  );
}

describe('51: URLs that lead inside', () => {
  const INSIDE = [
    // loopback, in all its spellings
    'http://127.0.0.1/',
    'http://127.0.0.1:8080/admin',
    'https://127.0.0.1/',
    'http://127.1/',
    'http://127.0.1/',
    'http://127.255.255.254/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0177.0.0.1/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0x7f.1/',
    'http://127.0.0.1./',
    'http://127%2e0%2e0%2e1/',
    'http://127。0。0。1/',
    'http://①②⑦.⓪.⓪.①/',
    'HTTP://127.0.0.1/',
    'http:\\\\127.0.0.1\\',
    'http:127.0.0.1',
    ' http://127.0.0.1/ ',
    'ht\ntp://127.0.0.1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::127.0.0.1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::FFFF:7F00:0001]:9200/',
    // unspecified
    'http://0.0.0.0/',
    'http://0/',
    'http://0x0/',
    'http://[::]/',
    // the metadata of clouds
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b:1::a9fe:a9fe]/',
    'http://[2002:a9fe:a9fe::]/',
    'http://[2001:0:a9fe:a9fe::1]/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://192.0.0.192/',
    'http://metadata.google.internal/',
    // networks
    'http://10.0.0.1/',
    'http://10.255.255.255/',
    'http://172.16.0.1/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://192.168.65535/',
    'http://100.64.0.1/',
    'http://198.18.0.1/',
    'http://192.0.2.1/',
    'http://198.51.100.1/',
    'http://203.0.113.1/',
    'http://224.0.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://[fc00::1]/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://[ff02::1]/',
    'http://[2001:db8::1]/',
    // names
    'http://localhost/',
    'http://LOCALHOST/',
    'http://localhost./',
    'http://localhost../',
    'http://ⓛocalhost/',
    'http://app.localhost:3000/',
    'http://printer.local/',
    'http://printer.local./',
    'http://db.internal/',
    'http://router.home.arpa/',
    'http://localhost.localdomain/',
    'http://a..example.com/',
    // credentials, and who is the host here?
    'http://user:secret@example.com/',
    'http://user@example.com/',
    'http://user@127.0.0.1/',
    'http://example.com@127.0.0.1/',
    'http://127.0.0.1#@example.com/',
    'http://127.0.0.1\\@example.com/',
    // other schemes, and no URLs
    'file:///etc/passwd',
    'file://localhost/etc/passwd',
    'ftp://example.com/',
    'gopher://127.0.0.1:6379/_INFO',
    'dict://127.0.0.1:11211/',
    'ws://127.0.0.1/',
    'jar:http://127.0.0.1!/',
    'javascript:fetch("http://127.0.0.1")',
    'blob:http://127.0.0.1/1',
    '//127.0.0.1/',
    '127.0.0.1',
    'http://',
    'http://[::1',
    'http://1.2.3.4.5/',
    '',
  ] as const;

  test(`none of ${INSIDE.length} is connected to, or even looked up`, async () => {
    using internet = new FakeInternet();
    const asked: string[] = [];
    const lookup = async (host: string): Promise<string[]> => {
      asked.push(host);
      return [PUBLIC];
    };
    for (const url of INSIDE) {
      expect(await failureOf(safeFetch(url, { lookup })), url).toBeInstanceOf(UnsafeUrlError);
    }
    expect({ asked, attempts: internet.attempts }).toEqual({ asked: [], attempts: [] });

    // The trap does catch: a public URL is looked up, and connected to.
    await failureOf(safeFetch('http://example.com/', { lookup }));
    expect({ asked, attempts: internet.attempts }).toEqual({
      asked: ['example.com'],
      attempts: [`${PUBLIC}:80`],
    });
  });

  test.each(['image', 'audio', 'video', 'file'] as const)('not through a block either: %s', async (type) => {
    using internet = new FakeInternet();
    const loader = new MediaLoader({
      download: true,
      allowedDirs: [import.meta.dirname],
      lookup: async () => [PUBLIC],
    });
    for (const url of INSIDE) {
      const block: MediaBlock = { type, source: { type: 'url', url } };
      expect(await failureOf(loader.load(block)), url).toBeInstanceOf(MediaError);
    }
    expect(internet.attempts).toEqual([]);
  });

  test('a public name with a private address is not connected to', async () => {
    using internet = new FakeInternet();
    const INSIDE_ADDRESSES = [
      '127.0.0.1',
      '169.254.169.254',
      '10.1.2.3',
      '::1',
      '::ffff:10.0.0.1',
      'fd00::1',
      '64:ff9b::7f00:1',
    ];
    for (const address of [...INSIDE_ADDRESSES, 'fe80::1%eth0', 'localhost', '']) {
      const failure = await failureOf(safeFetch('http://example.com/', { lookup: async () => [address] }));
      expect(failure, address).toBeInstanceOf(UnsafeUrlError);
      expect(failure.message).toBe(
        'http://example.com/ is not downloaded: its host is private. If you trust it, name it in allowedHosts.',
      );
    }
    expect(internet.attempts).toEqual([]);
  });

  test('nothing is asked of the network unless downloads are on', async () => {
    using internet = new FakeInternet();
    const asked: string[] = [];
    const lookup = async (host: string): Promise<string[]> => {
      asked.push(host);
      return [PUBLIC];
    };
    const loader = new MediaLoader({ lookup });
    const block: MediaBlock = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    expect((await failureOf(loader.load(block))).message).toBe(
      'The image could not be loaded: downloads are off. Give the model the option media: new MediaLoader({ download: true }), or give the bytes as base64.',
    );
    expect({ asked, attempts: internet.attempts }).toEqual({ asked: [], attempts: [] });
  });
});

describe('52: redirects and DNS answers', () => {
  /** Public names, each at an address of its own, that all end at one loopback server. */
  const NAMES: Readonly<Record<string, readonly string[]>> = {
    'start.example': [PUBLIC],
    'other.example': ['1.1.1.1'],
    'inside.example': ['10.0.0.7'],
    'sub.inside.example': ['10.0.0.7'],
  };
  const lookup = async (host: string): Promise<readonly string[]> => NAMES[host] ?? [];

  /** Serves all public addresses from loopback. `redirect` says where each path leads. */
  async function publicServer(redirect: (path: string) => string | undefined) {
    const seen: { url: string; authorization: string | undefined; custom: unknown }[] = [];
    const answer: RequestListener = (request, response) => {
      const { host = '', authorization } = request.headers;
      seen.push({ url: `${host}${request.url}`, authorization, custom: request.headers['x-custom'] });
      const location = redirect(request.url ?? '');
      if (location === undefined) response.end('here');
      else response.writeHead(302, { location }).end('there');
    };
    const web = await serveOnLoopback(answer);
    const internet = new FakeInternet();
    for (const address of [PUBLIC, '1.1.1.1', PUBLIC_V6]) internet.serve(`${address}:80`, web.port);
    return {
      seen,
      internet,
      server: web.server,
      async [Symbol.asyncDispose]() {
        internet[Symbol.dispose]();
        await web[Symbol.asyncDispose]();
      },
    };
  }

  const INSIDE = [
    'http://127.0.0.1:8080/',
    'http://[::1]/',
    'http://localhost/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:a9fe:a9fe]/',
    '//2130706433/',
    'http://inside.example/',
    'http://user:secret@other.example/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/',
    'data:text/plain,hello',
    'http://[',
  ];

  for (let hop = 1; hop <= 10; hop++) {
    test(`a redirect inside at hop ${hop} is not followed`, async () => {
      for (const inside of INSIDE) {
        await using web = await publicServer((path) => {
          const number = Number(path.slice(1));
          return number === hop
            ? inside
            : `http://${number % 2 === 1 ? 'other' : 'start'}.example/${number + 1}`;
        });
        const failure = await failureOf(safeFetch('http://start.example/1', { lookup }));
        expect(failure, inside).toBeInstanceOf(UnsafeUrlError);
        expect(web.seen.length).toBe(hop);
        expect(web.internet.attempts.length).toBe(hop);
        expect(new Set(web.internet.attempts)).toEqual(new Set([`${PUBLIC}:80`, '1.1.1.1:80'].slice(0, hop)));
        await allSocketsClosed();
      }
    });
  }

  test.each([
    { redirects: 10, maxRedirects: undefined, visits: 11, ends: 'here' },
    { redirects: 11, maxRedirects: undefined, visits: 11, ends: 'too_many_redirects' },
    { redirects: 11, maxRedirects: 50, visits: 11, ends: 'too_many_redirects' },
    { redirects: 3, maxRedirects: 2, visits: 3, ends: 'too_many_redirects' },
    { redirects: 1, maxRedirects: 0, visits: 1, ends: 'too_many_redirects' },
    { redirects: Infinity, maxRedirects: undefined, visits: 11, ends: 'too_many_redirects' },
  ])(
    '$redirects redirects of at most $maxRedirects: $ends',
    async ({ redirects, maxRedirects, visits, ends }) => {
      await using web = await publicServer((path) =>
        Number(path.slice(1)) < redirects ? `/${Number(path.slice(1)) + 1}` : undefined,
      );
      const options: SafeFetchOptions = maxRedirects === undefined ? { lookup } : { lookup, maxRedirects };
      const end = await safeFetch('http://start.example/0', options).then(
        ({ bytes }) => new TextDecoder().decode(bytes),
        (error: unknown) => (error as DownloadError).code,
      );
      expect(end).toBe(ends);
      expect(web.seen.length).toBe(visits);
    },
  );

  test('credentials stay with the origin that they are for', async () => {
    const way: Record<string, string> = {
      '/1': '/2',
      '/2': 'http://other.example/3',
      '/3': 'http://start.example/4',
    };
    await using web = await publicServer((path) => way[path]);
    const headers = { Authorization: 'Bearer key', 'X-Custom': 'mine' };
    const { url } = await safeFetch('http://start.example/1', { lookup, headers });
    expect(url).toBe('http://start.example/4');
    expect(web.seen).toEqual([
      { url: 'start.example/1', authorization: 'Bearer key', custom: 'mine' },
      { url: 'start.example/2', authorization: 'Bearer key', custom: 'mine' },
      { url: 'other.example/3', authorization: undefined, custom: undefined },
      { url: 'start.example/4', authorization: undefined, custom: undefined },
    ]);
  });

  test('another port is another origin', async () => {
    await using web = await publicServer((path) => (path === '/1' ? 'http://start.example:81/2' : undefined));
    web.internet.serve(`${PUBLIC}:81`, (web.server.address() as AddressInfo).port);
    await safeFetch('http://start.example/1', { lookup, headers: { authorization: 'Bearer key' } });
    expect(web.seen.map(({ authorization }) => authorization)).toEqual(['Bearer key', undefined]);
  });

  test('the address that was checked is the one that is connected to', async () => {
    await using web = await publicServer(() => undefined);
    let answers = 0;
    const rebinding = async (): Promise<string[]> => {
      answers += 1;
      return answers === 1 ? [PUBLIC] : ['127.0.0.1'];
    };
    const { bytes } = await safeFetch('http://start.example/', { lookup: rebinding });
    expect(new TextDecoder().decode(bytes)).toBe('here');
    expect({ answers, attempts: web.internet.attempts }).toEqual({ answers: 1, attempts: [`${PUBLIC}:80`] });
  });

  test('an answer that has changed by the next hop is checked anew', async () => {
    await using web = await publicServer((path) => (path === '/1' ? '/2' : undefined));
    let answers = 0;
    const rebinding = async (): Promise<string[]> => {
      answers += 1;
      return answers === 1 ? [PUBLIC] : ['127.0.0.1'];
    };
    const failure = await failureOf(safeFetch('http://start.example/1', { lookup: rebinding }));
    expect(failure).toBeInstanceOf(UnsafeUrlError);
    expect({ answers, attempts: web.internet.attempts }).toEqual({ answers: 2, attempts: [`${PUBLIC}:80`] });
  });

  test('of mixed answers only the public ones are used', async () => {
    await using web = await publicServer(() => undefined);
    const mixed = ['10.0.0.1', PUBLIC, '::1', PUBLIC_V6, '::ffff:7f00:1', 'fe80::1', '127.0.0.1'];
    await safeFetch('http://start.example/', { lookup: async () => mixed });
    expect(web.internet.attempts).toEqual([`${PUBLIC}:80`, `${PUBLIC_V6}:80`]);
  });

  test('a host that is allowed is one host, not a way around', async () => {
    await using web = await publicServer((path) => (path === '/1' ? 'http://127.0.0.1/' : undefined));
    web.internet.serve('10.0.0.7:80', (web.server.address() as AddressInfo).port);
    const allowed = { lookup, allowedHosts: ['Inside.example'] };
    expect((await safeFetch('http://inside.example/', allowed)).bytes.length).toBe(4);
    expect(await failureOf(safeFetch('http://inside.example/1', allowed))).toBeInstanceOf(UnsafeUrlError);
    expect(await failureOf(safeFetch('http://sub.inside.example/', allowed))).toBeInstanceOf(UnsafeUrlError);
    expect(web.internet.attempts).toEqual(['10.0.0.7:80', '10.0.0.7:80']);
  });
});

describe('53: what a server can do to a download', () => {
  const MB = 1024 * 1024;
  const LOCAL = { allowedHosts: ['127.0.0.1'] };
  /** Ends with this code, and leaves no connection open at either end. */
  async function expectRefused(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
    options: SafeFetchOptions,
    code: string,
  ): Promise<void> {
    await using web = await serveOnLoopback(answer);
    const failure = await failureOf(safeFetch(web.origin, { ...LOCAL, ...options }));
    expect(failure).toBeInstanceOf(DownloadError);
    expect((failure as DownloadError).code).toBe(code);
    await allSocketsClosed();
  }

  test('10 GB announced and never sent, 1 000 times', async () => {
    await using web = await serveOnLoopback((_request, response) => {
      response.writeHead(200, { 'content-length': 10_000_000_000 });
      response.flushHeaders();
    });
    let refused = 0;
    for (let batch = 0; batch < 20; batch++) {
      const failures = await Promise.all(
        Array.from({ length: 50 }, () => failureOf(safeFetch(web.origin, LOCAL))),
      );
      refused += failures.filter((error) => (error as DownloadError).code === 'too_large').length;
    }
    await allSocketsClosed();
    expect(refused).toBe(1000);
  });

  test('a body without end is left at the limit', async () => {
    let sent = 0;
    const chunk = new Uint8Array(MB);
    await expectRefused(
      (_request, response) => {
        const pour = (): void => {
          let isFlowing = true;
          while (isFlowing && !response.destroyed) {
            isFlowing = response.write(chunk);
            sent += chunk.length;
          }
        };
        response.on('drain', pour);
        pour();
      },
      { maxBytes: 2 * MB },
      'too_large',
    );
    expect(sent).toBeGreaterThan(2 * MB);
    expect(sent).toBeLessThan(30 * MB); // the limit, and what the sockets hold
  });

  test('a bomb is not unpacked', async () => {
    const bomb = gzipSync(new Uint8Array(30 * MB));
    expect(bomb.length).toBeLessThan(MB);
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'unheard-of']) {
      await expectRefused(
        (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(bomb),
        {},
        'bad_answer',
      );
    }
  });

  test('a page instead of an image is not read', async () => {
    let asked = '';
    await expectRefused(
      (request, response) => {
        asked = `${request.headers.accept}`;
        response.writeHead(200, { 'content-type': 'Text/HTML; charset=utf-8' });
        response.write('<html>');
      },
      { accept: ['image/*', 'application/pdf'] },
      'wrong_type',
    );
    expect(asked).toBe('image/*, application/pdf');
  });

  /** Sends the start, and then a character every second. */
  const drip = (socket: Socket, start: string, text: string): void => {
    let at = 0;
    const next = (): void => {
      if (socket.destroyed) return;
      socket.write(text.charAt(at % text.length));
      at += 1;
      startTimer(1000, next);
    };
    socket.write(start);
    next();
  };

  test.each<[string, (socket: Socket) => void]>([
    ['says nothing', () => {}],
    ['sends its head byte by byte', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx-slow: ', 'x')],
    ['never comes past preliminary answers', (socket) => drip(socket, '', 'HTTP/1.1 103 Early\r\n\r\n')],
    ['sends its body byte by byte', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'x')],
  ])('a server that %s is left when the time is up', async (_, behave) => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const server = createTcpServer();
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const asked = new Promise<void>((resolve) => {
      server.on('connection', (socket: Socket) => {
        socket.on('error', () => {}); // the connection will be cut
        socket.once('data', () => {
          behave(socket);
          resolve();
        });
      });
    });
    let isOver = false;
    const failure = failureOf(
      safeFetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, LOCAL),
    );
    void failure.then(() => {
      isOver = true;
    });
    await asked;
    await clock.advance(29_999);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect(await failure).toMatchObject({
      code: 'timed_out',
      message: expect.stringContaining('30000 ms') as string,
    });
    await allSocketsClosed();
    server.close();
  });

  test('the time limit is for all redirects together, and for the resolver', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    let visits = 0;
    await using web = await serveOnLoopback((_request, response) => {
      visits += 1;
      startTimer(8_000, () => response.writeHead(302, { location: `/${visits}` }).end());
    });
    const slowHops = failureOf(safeFetch(web.origin, LOCAL));
    const noAnswer = failureOf(
      safeFetch('http://example.com/', { lookup: () => new Promise(() => {}), timeoutMs: 32_000 }),
    );
    for (let hop = 1; hop <= 4; hop++) {
      while (visits < hop) await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(8_000);
    }
    expect(await slowHops).toMatchObject({ code: 'timed_out' });
    expect(await noAnswer).toMatchObject({ code: 'timed_out' });
    expect(visits).toBe(4);
  });
});
