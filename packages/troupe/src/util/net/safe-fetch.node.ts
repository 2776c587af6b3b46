/**
 * Downloads from an untrusted URL, e.g. one from a model or a message.
 *
 * No byte goes to a private address: host names are resolved here, every address is checked, and the
 * connection goes to a checked address without another lookup. Each redirect is checked like the first URL.
 * The connection is closed in every case.
 */
import { lookup as lookupBySystem } from 'node:dns/promises';
import { request as requestByHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestByHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';

import { abortable, whenAborted } from '../abort.ts';
import { startTimer } from '../clock.ts';
import { isIpAddress, isPublicAddress } from './ip-address.ts';
import {
  DownloadError,
  MAX_BYTES,
  UnsafeUrlError,
  type Download,
  type SafeFetchOptions,
} from './safe-fetch.ts';
import { checkUrl, hostOf, isAllowed, privateHost } from './safe-url.ts';

const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 10;
const REDIRECTS: readonly (number | undefined)[] = [301, 302, 303, 307, 308];
const CHARSET = /;\s{0,10}charset\s{0,10}=\s{0,10}["']?([\w.:-]{2,40})/i;
const UNTYPED = 'application/octet-stream';

/**
 * Downloads the body of a URL.
 * @throws UnsafeUrlError for a URL or redirect to a forbidden address
 * @throws DownloadError for all other failures; the signal's reason after an abort
 */
export async function safeFetch(url: string, options: SafeFetchOptions = {}): Promise<Download> {
  const { timeoutMs = TIMEOUT_MS } = options;
  checkLimits(options);
  const stop = new AbortController();
  const stopListening = whenAborted(options.signal, (reason) => stop.abort(reason));
  const stopTimer = startTimer(timeoutMs, () =>
    stop.abort(new DownloadError('timed_out', url, `took longer than ${timeoutMs} ms.`)),
  );
  try {
    return await follow(url, options, stop.signal);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    stopTimer();
    stopListening();
  }
}

/** Rejects NaN and infinite limits, which would not limit anything. */
function checkLimits({ maxBytes = 0, timeoutMs = 0, maxRedirects = 0 }: SafeFetchOptions): void {
  for (const [name, value] of Object.entries({ maxBytes, timeoutMs, maxRedirects })) {
    if (!(value >= 0 && value < Infinity)) throw new RangeError(`${name} must be a number of 0 or more.`);
  }
}

async function follow(start: string, options: SafeFetchOptions, signal: AbortSignal): Promise<Download> {
  const maxRedirects = Math.min(options.maxRedirects ?? MAX_REDIRECTS, MAX_REDIRECTS);
  let url = checkUrl(start, options.allowedHosts);
  let headers = options.headers;
  for (let redirects = 0; ; redirects++) {
    const outcome = await visit(url, headers, options, signal);
    if (typeof outcome === 'object') return outcome;
    if (redirects >= maxRedirects) {
      throw new DownloadError('too_many_redirects', start, `was redirected more than ${maxRedirects} times.`);
    }
    const next = checkUrl(outcome, options.allowedHosts);
    if (url.protocol === 'https:' && next.protocol === 'http:') {
      throw new UnsafeUrlError(next, 'a redirect from https to http would send its data unencrypted.');
    }
    if (next.origin !== url.origin) headers = undefined;
    url = next;
  }
}

/** Requests one URL. Returns the download, or the URL of a redirect. */
async function visit(
  url: URL,
  headers: SafeFetchOptions['headers'],
  options: SafeFetchOptions,
  signal: AbortSignal,
): Promise<Download | string> {
  signal.throwIfAborted();
  const addresses = await findAddresses(url, options, signal);
  const request = openRequest(url, addresses, headers, options.accept);
  const stopListening = whenAborted(signal, () => request.destroy());
  try {
    const response = await answerTo(request);
    const { location } = response.headers;
    if (REDIRECTS.includes(response.statusCode) && location !== undefined) {
      return URL.parse(location, url.href)?.href ?? location;
    }
    const { maxBytes = MAX_BYTES } = options;
    const mediaType = checkHead(response, url, maxBytes, options.accept);
    const [, charset] = CHARSET.exec(response.headers['content-type'] ?? '') ?? [];
    const bytes = await readBody(response, url, maxBytes);
    return { bytes, mediaType, url: url.href, ...(charset !== undefined && { charset }) };
  } catch (error) {
    throw error instanceof DownloadError ? error : networkFailed(url, error);
  } finally {
    stopListening();
    request.destroy();
  }
}

/** Allowed addresses of the URL's host, at least one. */
async function findAddresses(
  url: URL,
  { allowedHosts, lookup = lookupAll }: SafeFetchOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = hostOf(url);
  if (isIpAddress(host)) return [host]; // already checked by checkUrl
  let addresses: readonly string[];
  try {
    addresses = await abortable(lookup(host), signal);
  } catch (error) {
    throw networkFailed(url, error);
  }
  const usable = isAllowed(host, allowedHosts)
    ? addresses
    : addresses.filter((address) => isPublicAddress(address));
  if (usable.length === 0) throw privateHost(url);
  return usable;
}

async function lookupAll(host: string): Promise<readonly string[]> {
  return (await lookupBySystem(host, { all: true })).map(({ address }) => address);
}

/** Creates a request that can connect only to the given addresses. */
function openRequest(
  url: URL,
  addresses: readonly string[],
  headers: SafeFetchOptions['headers'] = {},
  accept: readonly string[] = ['*/*'],
): ClientRequest {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const pinned: LookupFunction = (_host, { all }, callback) => {
    // Asynchronous, because a socket error before any listener is attached ends the program.
    if (all === true) process.nextTick(callback, null, found);
    else process.nextTick(callback, null, found[0]?.address, found[0]?.family);
  };
  const request = url.protocol === 'https:' ? requestByHttps : requestByHttp;
  return request({
    hostname: hostOf(url),
    port: url.port,
    path: `${url.pathname}${url.search}`,
    lookup: pinned,
    agent: false, // a connection of its own, without keep-alive
    headers: {
      'user-agent': 'troupe',
      accept: accept.join(', '),
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      'accept-encoding': 'identity',
    },
  });
}

/**
 * Sends the request. Also rejects when the connection closes without a response or an error (e.g. a protocol
 * change).
 */
function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
    request.on('close', () => reject(new Error('the connection closed')));
    request.end();
  });
}

/** Checks status, encoding, media type and length of a response; returns the media type. */
function checkHead(
  { statusCode = 0, headers }: IncomingMessage,
  url: URL,
  maxBytes: number,
  accept: readonly string[] | undefined,
): string {
  if (statusCode < 200 || statusCode > 299) {
    throw new DownloadError('bad_answer', url, `was answered with status ${statusCode}.`);
  }
  // Compressed bodies are refused: a few bytes can expand without limit.
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new DownloadError(
      'bad_answer',
      url,
      'was sent compressed, although the request forbids compression.',
    );
  }
  const mediaType = /^[^\s;,]+\/[^\s;,]+/.exec(headers['content-type'] ?? '')?.[0].toLowerCase() ?? UNTYPED;
  if (accept !== undefined && !accept.some((pattern) => matches(mediaType, pattern))) {
    throw new DownloadError(
      'wrong_type',
      url,
      `has the type ${mediaType.slice(0, 100)}, not one of ${accept.join(', ')}.`,
    );
  }
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(url, maxBytes);
  return mediaType;
}

function matches(mediaType: string, pattern: string): boolean {
  if (pattern === '*/*') return true;
  return pattern.endsWith('/*') ? mediaType.startsWith(pattern.slice(0, -1)) : mediaType === pattern;
}

const FIRST_BUFFER = 64 * 1024;

/** Copies the body into one growing buffer, so that many tiny chunks stay cheap. */
async function readBody(response: IncomingMessage, url: URL, maxBytes: number): Promise<Uint8Array> {
  let buffer = new Uint8Array(Math.min(FIRST_BUFFER, maxBytes));
  let length = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    const end = length + chunk.length;
    if (end > maxBytes) throw tooLarge(url, maxBytes);
    if (end > buffer.length) {
      const larger = new Uint8Array(Math.min(Math.max(end, buffer.length * 2), maxBytes));
      larger.set(buffer.subarray(0, length));
      buffer = larger;
    }
    buffer.set(chunk, length);
    length = end;
  }
  return buffer.slice(0, length);
}

function tooLarge(url: URL, maxBytes: number): DownloadError {
  return new DownloadError('too_large', url, `is larger than ${maxBytes} bytes, the limit of maxBytes.`);
}

function networkFailed(url: URL, cause: unknown): DownloadError {
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new DownloadError('network', url, `could not be downloaded${code}.`, { cause });
}
