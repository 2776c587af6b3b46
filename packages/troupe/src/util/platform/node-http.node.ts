import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Readable } from 'node:stream';

import type { HttpHeaders, HttpPost, HttpResponse } from '../net/http.ts';
import { reportsConnections } from './connection.node.ts';

/** Idle connections are closed after this time, as by Node's fetch: most servers close theirs a little later. */
const IDLE_CONNECTION_MS = 4000;
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

interface Sender {
  readonly request: (url: URL, options: RequestOptions) => ClientRequest;
  readonly agent: Agent;
}

const senders = new Map<string, Promise<Sender>>();

/** Loaded by the first request: no entry loads network modules. */
async function loadSender(protocol: string): Promise<Sender> {
  const { request, Agent } = protocol === 'https:' ? await import('node:https') : await import('node:http');
  return { request, agent: new Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS }) };
}

/**
 * Sends a request by `node:http`, which costs half of what fetch does. Undefined where fetch must be used, because the program may have
 * set how it works: another global fetch or dispatcher, a proxy by the environment, or another platform than Node.
 */
export function postByNode(post: HttpPost): Promise<HttpResponse> | undefined {
  if (!isFetchUnchanged()) return undefined;
  const url = new URL(post.url);
  const hasCredentials = url.username !== '' || url.password !== ''; // which fetch refuses
  return hasCredentials ? undefined : send(post, url);
}

async function send({ headers, body, signal, onConnected }: HttpPost, url: URL): Promise<HttpResponse> {
  const { protocol } = url;
  let sender = senders.get(protocol);
  if (sender === undefined) senders.set(protocol, (sender = loadSender(protocol)));
  const { request, agent } = await sender;
  signal.throwIfAborted();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      agent,
      headers: { accept: '*/*', 'user-agent': 'node', ...headers, 'content-length': Buffer.byteLength(body) },
    });
    sent.once('socket', (socket) => {
      if (!socket.connecting) onConnected();
      else socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', onConnected);
    });
    const stop = (): void => void sent.destroy();
    sent.once('response', (response) => {
      response.once('end', () => signal.removeEventListener('abort', stop)); // the connection is free for others
      resolve(response);
    });
    sent.once('close', () => signal.removeEventListener('abort', stop));
    signal.addEventListener('abort', stop, { once: true });
    sent.on('error', (cause) => reject(new TypeError('fetch failed', { cause })));
    sent.end(body); // text as it is: it is written together with the headers
  });
  const { statusCode: status = 0 } = response;
  if (REDIRECTS.includes(status)) {
    response.destroy();
    throw new TypeError('fetch failed', { cause: new Error('unexpected redirect') });
  }
  return new NodeResponse(status, response, await decoded(response));
}

const nothing = (): void => {};

/** The response of a request by `node:http`. */
class NodeResponse implements HttpResponse {
  readonly headers: HttpHeaders;
  readonly #body: Readable;
  #error: unknown;
  #isOver = false;
  #wake: () => void = nothing;

  constructor(
    readonly status: number,
    { headers }: IncomingMessage,
    body: Readable,
  ) {
    this.headers = { get: (name) => headers[name.toLowerCase()]?.toString() ?? null };
    this.#body = body;
    const end = (error?: unknown): void => {
      this.#error ??= error;
      this.#isOver = true;
      this.#wake();
    };
    body.on('readable', () => this.#wake());
    body.once('end', end);
    body.once('close', () => end(body.readableEnded ? undefined : new Error('other side closed')));
    body.on('error', end);
  }

  read(): Promise<Uint8Array | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        const piece: unknown = this.#body.read();
        if (piece instanceof Uint8Array) resolve(piece);
        else if (this.#error !== undefined) reject(new TypeError('terminated', { cause: this.#error }));
        else if (this.#isOver) resolve(undefined);
        else return; // until the next event of the body
        this.#wake = nothing;
      };
      this.#wake();
    });
  }

  cancel(): void {
    if (!this.#body.readableEnded) this.#body.destroy();
  }
}

/** The body of a response without its compression, which servers may use unasked. */
async function decoded(response: IncomingMessage): Promise<Readable> {
  const coding = response.headers['content-encoding'];
  if (coding === undefined || coding === 'identity') return response;
  const { createBrotliDecompress, createUnzip } = await import('node:zlib');
  const { pipeline } = await import('node:stream');
  const decoder = coding === 'br' ? createBrotliDecompress() : createUnzip();
  pipeline(response, decoder, () => {}); // an error of one is an error of the other
  return decoder;
}

let nodesFetch: unknown;

/** Whether the program uses Node's own fetch, with its own connections. */
function isFetchUnchanged(): boolean {
  if (!reportsConnections || process.env['NODE_USE_ENV_PROXY'] === '1') return false;
  if (process.execArgv.includes('--use-env-proxy')) return false;
  if (globalThis.fetch !== nodesFetch) {
    const source = Function.prototype.toString.call(globalThis.fetch);
    if (!source.includes('internal/deps/undici')) return false;
    nodesFetch = globalThis.fetch;
  }
  const dispatcher: unknown = Reflect.get(globalThis, DISPATCHER);
  return dispatcher === undefined || isPlainDispatcher(dispatcher);
}

/** Whether a dispatcher of fetch is an `Agent` without options, as fetch makes for itself. */
function isPlainDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher?.constructor.name !== 'Agent') return false;
  const key = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'options');
  const options: unknown = key && Reflect.get(dispatcher, key);
  if (typeof options !== 'object' || options === null) return false;
  return Object.values(options).every((value) => value === undefined || value === Infinity);
}
