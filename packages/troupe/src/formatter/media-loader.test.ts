import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test, vi } from 'vitest';

import { allSocketsClosed, serveOnLoopback } from '../../test/fake-internet.ts';
import { DownloadError, type DownloadErrorCode } from '../util/net/safe-fetch.ts';
import { MediaError, MediaLoader, type MediaLoaderOptions } from './media-loader.ts';
import type { MediaBlock } from './prompt.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const WEBM = Buffer.from('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm', 'latin1');
const base64 = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64');

const at = (url: string, type: MediaBlock['type'] = 'image', mediaType?: string): MediaBlock => ({
  type,
  source: { type: 'url', url, ...(mediaType === undefined ? {} : { mediaType }) },
});
const inline = (data: string, mediaType = 'image/png', type: MediaBlock['type'] = 'image'): MediaBlock => ({
  type,
  source: { type: 'base64', mediaType, data },
});

/** Why a block can't be loaded. */
async function problemOf(block: MediaBlock, options?: MediaLoaderOptions): Promise<string> {
  const error = await new MediaLoader(options).load(block).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MediaError);
  return (error as MediaError).message;
}

describe('inline bytes', () => {
  test('are returned unchanged', async () => {
    const block = inline(base64(PNG));
    expect(await new MediaLoader().load(block)).toEqual({ mediaType: 'image/png', data: base64(PNG) });
  });

  test.each([
    ['with line breaks', 'aGVs\r\nbG8h\n', 'aGVsbG8h'],
    ['without padding', 'aGVsbG8', 'aGVsbG8='],
  ])('are put into the usual form: %s', async (_, data, expected) => {
    expect(await new MediaLoader().load(inline(data))).toEqual({ mediaType: 'image/png', data: expected });
  });

  test.each([
    [inline('not base64!'), 'source.data is not base64.'],
    [inline('aGVsbG8-'), 'source.data is not base64.'],
    [inline(''), 'it is empty.'],
    [inline('aGVsbG8h', 'png'), 'source.mediaType is not a media type such as image/png.'],
    [inline('aGVsbG8h', 'text/html'), 'it is text/html. Use a file block for that.'],
    [inline('a'.repeat(400)), 'it is larger than 100 bytes, the limit of maxBytes.'],
  ])('are checked (%#)', async (block, problem) => {
    expect(await problemOf(block, { maxBytes: 100 })).toBe(`The image could not be loaded: ${problem}`);
  });
});

describe('a data: URL', () => {
  test('that is far too large is not even decoded', async () => {
    const decode = vi.spyOn(globalThis, 'decodeURIComponent');
    expect(await problemOf(at(`data:,${'x'.repeat(2000)}`), { maxBytes: 100 })).toMatch(
      'larger than 100 bytes',
    );
    expect(decode).not.toHaveBeenCalled();
    await problemOf(at('data:,x'));
    expect(decode).toHaveBeenCalledTimes(1);
    decode.mockRestore();
  });

  test('is read on the spot', async () => {
    const loader = new MediaLoader();
    expect(await loader.load(at(`data:image/png;base64,${base64(PNG)}`))).toEqual({
      mediaType: 'image/png',
      data: base64(PNG),
    });
    expect(await loader.load(at('data:image/svg+xml,%3Csvg/%3E'))).toEqual({
      mediaType: 'image/svg+xml',
      data: base64('<svg/>'),
    });
  });

  test.each([
    ['data:image/png;base64,!', 'its data: URL is not base64.'],
    ['data:image/png;base64,', 'it is empty.'],
    ['data:,hello', 'it is text/plain. Use a file block for that.'],
    [`data:image/png,${'x'.repeat(101)}`, 'it is larger than 100 bytes, the limit of maxBytes.'],
    [`data:image/png,${'x'.repeat(9999)}`, 'it is larger than 100 bytes, the limit of maxBytes.'],
  ])('is checked (%#)', async (url, problem) => {
    expect(await problemOf(at(url), { maxBytes: 100 })).toBe(`The image could not be loaded: ${problem}`);
  });
});

test.each(['ftp://example.com/a.png', 'blob:1', 'about:blank', 'javascript:1'])(
  '%s is nothing to load',
  async (url) => {
    expect(await problemOf(at(url), { download: true, allowedDirs: ['/'] })).toBe(
      `The image could not be loaded: a ${url.split(':', 1)[0]}: URL can't be read. Give the bytes as base64.`,
    );
  },
);

describe('the media type', () => {
  const html = Buffer.from('<html>');
  const unknown = Buffer.from('anything');

  /** The type of a download that a server announces so, or the problem with it. */
  async function typeOf(
    block: (url: string) => MediaBlock,
    announced: string | undefined,
    bytes: Uint8Array,
  ): Promise<string> {
    await using web = await serveOnLoopback((_request, response) => {
      if (announced !== undefined) response.setHeader('content-type', announced);
      response.end(bytes);
    });
    const loader = new MediaLoader({ download: true, allowedHosts: ['127.0.0.1'] });
    try {
      return (await loader.load(block(web.origin))).mediaType;
    } catch (error) {
      return (error as Error).message.replace(web.origin, 'http://server');
    }
  }

  test.each<[string, (origin: string) => MediaBlock, string | undefined, Uint8Array, string]>([
    ['what the bytes show', (url) => at(url), undefined, PNG, 'image/png'],
    ['rather than what the server says', (url) => at(url), 'image/jpeg', PNG, 'image/png'],
    [
      'and what the server says if they show nothing',
      (url) => at(url),
      'image/x-new',
      unknown,
      'image/x-new',
    ],
    [
      'then what the URL ends with',
      (url) => at(`${url}/a.webp?x=.gif`),
      'application/octet-stream',
      unknown,
      'image/webp',
    ],
    [
      'or what the file is called',
      (url) => ({ ...at(url, 'file'), filename: 'a.pdf' }) as MediaBlock,
      undefined,
      unknown,
      'application/pdf',
    ],
    ['but first what the block says', (url) => at(url, 'image', 'image/gif'), 'image/jpeg', PNG, 'image/gif'],
    ['sound in a container for films', (url) => at(url, 'audio'), 'video/webm', WEBM, 'audio/webm'],
    ['a film in the same', (url) => at(url, 'video'), 'binary/octet-stream', WEBM, 'video/webm'],
    [
      'a film in a container for sound',
      (url) => at(url, 'video'),
      'application/ogg',
      Buffer.from('OggS'),
      'video/ogg',
    ],
    ['any file', (url) => at(url, 'file'), 'text/html', html, 'text/html'],
    [
      'unknown',
      (url) => at(url),
      undefined,
      unknown,
      'The image could not be loaded: its type is unknown. Give source.mediaType.',
    ],
    [
      'a page',
      (url) => at(url),
      'text/html',
      html,
      'The image could not be loaded: http://server/ has the type text/html, not one of image/*, application/octet-stream, binary/octet-stream.',
    ],
    [
      'sound for an image',
      (url) => at(url),
      undefined,
      Buffer.from('ID3'),
      'The image could not be loaded: it is audio/mpeg. Use a file block for that.',
    ],
    [
      'nothing',
      (url) => at(url),
      'image/png',
      new Uint8Array(),
      'The image could not be loaded: it is empty.',
    ],
  ])('%s', async (_, block, announced, bytes, expected) => {
    expect(await typeOf(block, announced, bytes)).toBe(expected);
  });
});

describe('a download', () => {
  test('has the limits of the loader, and its failure is the cause', async () => {
    await using web = await serveOnLoopback((request, response) => {
      if (request.url === '/large') response.end(new Uint8Array(101));
      else if (request.url === '/around') response.writeHead(302, { location: '/around' }).end();
      else response.writeHead(404).end();
    });
    const options = { download: true, maxBytes: 100, maxRedirects: 3, allowedHosts: ['127.0.0.1'] };
    const causes: (DownloadErrorCode | undefined)[] = [];
    for (const path of ['/large', '/around', '/missing']) {
      const error = (await new MediaLoader(options)
        .load(at(web.origin + path))
        .catch((thrown: unknown) => thrown)) as Error;
      causes.push(error.cause instanceof DownloadError ? error.cause.code : undefined);
    }
    expect(causes).toEqual(['too_large', 'too_many_redirects', 'bad_answer']);
    expect(await problemOf(at(`${web.origin}/missing?key=secret`), options)).toBe(
      `The image could not be loaded: ${web.origin}/missing was answered with status 404.`,
    );
  });

  test('happens once for a block, however often and by how many it is wanted', async () => {
    let requests = 0;
    await using web = await serveOnLoopback((_request, response) => {
      requests += 1;
      response.end(PNG);
    });
    const loader = new MediaLoader({ download: true, allowedHosts: ['127.0.0.1'] });
    const block = at(web.origin);
    const [first, ...others] = await Promise.all(Array.from({ length: 10 }, () => loader.load(block)));
    expect(first).toEqual({ mediaType: 'image/png', data: base64(PNG) });
    for (const other of [...others, await loader.load(block)]) expect(other).toBe(first);
    expect(requests).toBe(1);
    await loader.load(at(web.origin));
    expect(requests).toBe(2); // another block
  });

  test('that failed is tried again when it is wanted again', async () => {
    let requests = 0;
    await using web = await serveOnLoopback((_request, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(503).end();
      else response.end(PNG);
    });
    const loader = new MediaLoader({ download: true, allowedHosts: ['127.0.0.1'] });
    const block = at(web.origin);
    await expect(loader.load(block)).rejects.toThrow('status 503');
    expect(await loader.load(block)).toEqual({ mediaType: 'image/png', data: base64(PNG) });
  });

  test('ends when its last consumer leaves, and can start again', async () => {
    let requests = 0;
    let asked = (): void => {};
    let answer = (): void => {};
    await using web = await serveOnLoopback((_request, response) => {
      requests += 1;
      answer = () => void response.end(PNG);
      asked();
    });
    const nextRequest = (): Promise<void> =>
      new Promise((resolve) => {
        asked = resolve;
      });
    const loader = new MediaLoader({ download: true, allowedHosts: ['127.0.0.1'] });
    const block = at(web.origin);
    const [one, two] = [new AbortController(), new AbortController()];

    let request = nextRequest();
    const loads = [loader.load(block, one), loader.load(block, two)];
    await request;
    one.abort(new Error('one left'));
    await expect(loads[0]).rejects.toThrow('one left');
    two.abort(new Error('two left'));
    await expect(loads[1]).rejects.toThrow('two left');
    await allSocketsClosed();

    request = nextRequest();
    const again = loader.load(block);
    await request;
    answer();
    expect(await again).toEqual({ mediaType: 'image/png', data: base64(PNG) });
    expect(requests).toBe(2);
    await expect(loader.load(block, two)).rejects.toThrow('two left');
  });
});

describe('local files', () => {
  test('are read where that is allowed, and nowhere else', async () => {
    const root = await fs.mkdtemp(join(tmpdir(), 'troupe-media-'));
    try {
      await fs.writeFile(join(root, 'a.png'), PNG);
      await fs.writeFile(join(root, 'b.mp3'), 'no tag');
      const loader = new MediaLoader({ allowedDirs: [root] });
      expect(await loader.load(at(join(root, 'a.png')))).toEqual({
        mediaType: 'image/png',
        data: base64(PNG),
      });
      expect(await loader.load(at(`file://${root}/b.mp3`, 'audio'))).toEqual({
        mediaType: 'audio/mpeg',
        data: base64('no tag'),
      });
      expect(await problemOf(at('/etc/hostname'), { allowedDirs: [root] })).toBe(
        "The image could not be loaded: The file '/etc/hostname' is not read: the folders in allowedDirs have no such file.",
      );
      expect(await problemOf(at(join(root, 'a.png')), { allowedDirs: [root], maxBytes: 10 })).toMatch(
        'is larger than 10 bytes',
      );
    } finally {
      await fs.rm(root, { recursive: true });
    }
  });

  test.each(['/etc/hostname', 'a.png', 'C:\\a.png', 'file:///etc/hostname'])(
    'are off by default: %s',
    async (url) => {
      expect(await problemOf(at(url), { download: true })).toBe(
        "The image could not be loaded: local files are off. Give the model the option media: new MediaLoader({ allowedDirs: ['/path/to/folder'] }), or give the bytes as base64.",
      );
    },
  );
});

test.each([0, -1, NaN, Infinity])('a limit of %d bytes is a mistake', (maxBytes) => {
  expect(() => new MediaLoader({ maxBytes })).toThrow(new RangeError('maxBytes must be a positive number.'));
});
