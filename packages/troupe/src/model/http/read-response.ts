import { abortable, AbortableWaits, whenAborted } from '../../util/abort.ts';
import { waitTicks } from '../../util/async/grace.ts';
import { now } from '../../util/clock.ts';
import { fetchedResponse, platformFetch, type Fetch, type HttpResponse } from '../../util/net/http.ts';
import { ModelError, type ModelOrigin } from '../model-error.ts';
import { postByNode, watchConnection } from '#platform';
import { parseRetryAfter } from '../retry-after.ts';
import { DeadlineWatch, type Deadlines } from './deadlines.ts';
import { foreignResponse, lostConnection, responseError, withoutSecrets } from './http-error.ts';

export interface HttpCall {
  /** Names for errors. */
  readonly origin: ModelOrigin;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly fetch: Fetch;
  readonly deadlines: Deadlines;
  /** Secrets to remove from errors, e.g. the key. */
  readonly secrets: readonly string[];
  /** True once no more events can follow, even if the server keeps the connection open. */
  readonly isOver: () => boolean;
  /** True once the answer is complete, even if trailing events follow. Later failures are ignored. */
  readonly isComplete?: () => boolean;
}

/** Maximum bytes read from an error response. */
const MAX_ERROR_BYTES = 16_384;
/** Abort reason after the response was read. Created once, because creating an error is slow. */
const OVER = new Error('The answer was read.');
const REQUEST_ID_HEADERS = [
  'x-request-id',
  'request-id',
  'x-goog-request-id',
  'apim-request-id',
  'x-amzn-requestid',
];

/** The whole text of a response. @throws ModelError, or the signal's reason */
export async function readWholeText(call: HttpCall, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of readResponse(call, signal)) text += decoder.decode(bytes, { stream: true });
  return text + decoder.decode();
}

/**
 * Sends a request and yields the bytes of the response chunk by chunk. Closes or releases the connection in
 * every case: error, deadline, abort, or a consumer that leaves.
 * @throws ModelError, or the signal's reason
 */
export async function* readResponse(
  call: HttpCall,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = new ResponseReader(call, signal);
  try {
    for (let piece = await reader.next(); piece !== undefined; piece = await reader.next()) yield piece;
  } finally {
    reader.close();
  }
}

/** Sends a request, and reads the response piece by piece. Whoever has one closes it. */
export class ResponseReader {
  readonly #call: HttpCall;
  readonly #signal: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #unlink: () => void;
  readonly #watch: DeadlineWatch;
  #response: HttpResponse | undefined;
  #waits: AbortableWaits | undefined;
  #hasBegun = false;
  #isClosed = false;

  /** @throws the signal's reason */
  constructor(call: HttpCall, signal: AbortSignal | undefined) {
    signal?.throwIfAborted();
    this.#call = call;
    this.#signal = signal;
    const stop = (reason: unknown): void => this.#controller.abort(reason);
    this.#unlink = whenAborted(signal, stop);
    this.#watch = new DeadlineWatch(call.origin, call.deadlines, stop);
  }

  /** Bytes that have arrived; undefined at the end. One read at a time. @throws ModelError, or the signal's reason */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#isClosed) return undefined;
    try {
      const response = this.#response ?? (await this.#send());
      if (this.#hasBegun) {
        this.#watch.received(this.#call.isComplete?.());
        if (this.#call.isOver()) {
          // Servers end the response right after the last event. Reading this end lets the connection be reused.
          await waitTicks(response.read());
          return this.close();
        }
      }
      const waits = (this.#waits ??= new AbortableWaits(this.#controller.signal));
      const piece = await nextPiece(response, waits);
      if (piece === undefined) return this.close();
      this.#hasBegun = true;
      this.#watch.pause();
      return piece;
    } catch (error) {
      const { signal } = this.#controller;
      const reason: unknown = signal.aborted ? signal.reason : error;
      this.close();
      this.#signal?.throwIfAborted();
      if (this.#hasBegun && this.#call.isComplete?.()) return undefined;
      throw ModelError.isInstance(reason) ? reason : lostConnection(this.#call, this.#hasBegun, reason);
    }
  }

  /** Closes or releases the connection. */
  close(): undefined {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#waits?.end();
    this.#response?.cancel();
    this.#watch.stop();
    this.#unlink();
    this.#controller.abort(OVER); // closes an open connection
  }

  async #send(): Promise<HttpResponse> {
    const { signal } = this.#controller;
    const sent = send(this.#call, signal, () => this.#watch.connected());
    const response = await abortable(sent, signal);
    this.#watch.connected();
    await checkStatus(this.#call, response, signal);
    return (this.#response = response);
  }
}

/** The next piece of a response that is not empty; undefined at the end. @throws the reason of an abort */
async function nextPiece(response: HttpResponse, waits: AbortableWaits): Promise<Uint8Array | undefined> {
  for (;;) {
    const piece = await waits.wait(response.read());
    if (piece === undefined || piece.length > 0) return piece;
  }
}

/** Sends the request, by `node:http` where that is the same as the platform's fetch. */
async function send(call: HttpCall, signal: AbortSignal, onConnected: () => void): Promise<HttpResponse> {
  const { url, headers, body } = call;
  const response =
    call.fetch === platformFetch ? postByNode({ url, headers, body, signal, onConnected }) : undefined;
  if (response !== undefined) return response;
  const init: RequestInit = { method: 'POST', headers, body, signal, redirect: 'error' };
  const { origin } = new URL(url);
  return fetchedResponse(await watchConnection(origin, onConnected, () => call.fetch(url, init)));
}

/** @throws ModelError for an error status or a web page */
async function checkStatus(call: HttpCall, response: HttpResponse, signal: AbortSignal): Promise<void> {
  const isHtml = response.headers.get('content-type')?.includes('text/html') ?? false;
  const isOk = response.status >= 200 && response.status < 300;
  if (isOk && !isHtml) return;
  const body = withoutSecrets(unescaped(await firstBytes(response, signal)), call.secrets);
  if (isOk) throw foreignResponse(call.origin, 'a web page', body);
  throw responseError({
    origin: call.origin,
    status: response.status,
    body,
    requestId:
      REQUEST_ID_HEADERS.map((name) => response.headers.get(name)).find((id) => id !== null) ?? undefined,
    retryAfterMs: parseRetryAfter(response.headers, now()),
  });
}

/** Start of a response; stops at the first read error. */
async function firstBytes(response: HttpResponse, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  const waits = new AbortableWaits(signal);
  let text = '';
  try {
    for (
      let piece = await nextPiece(response, waits);
      piece !== undefined;
      piece = await nextPiece(response, waits)
    ) {
      text += decoder.decode(piece, { stream: true });
      if (text.length >= MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (signal.aborted) throw error;
  } finally {
    waits.end();
    response.cancel();
  }
  return text.slice(0, MAX_ERROR_BYTES);
}

/** JSON with its visible ASCII characters as they are: a server may write `\/` or `\u002b` inside of a key that it repeats. */
function unescaped(json: string): string {
  return json.replace(
    /\\(?:u00([2-7][0-9a-f])|(.))/gi,
    (escape, code: string | undefined, next: string | undefined) => {
      const char =
        next === '/' ? '/' : code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16));
      return char === '' || char === '"' || char === '\\' ? escape : char;
    },
  );
}
