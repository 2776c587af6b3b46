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
  signal?.throwIfAborted();
  const controller = new AbortController();
  const stop = (reason: unknown): void => controller.abort(reason);
  const unlink = whenAborted(signal, stop);
  const watch = new DeadlineWatch(call.origin, call.deadlines, stop);
  let hasBegun = false;
  try {
    const sent = send(call, controller.signal, () => watch.connected());
    const response = await abortable(sent, controller.signal);
    watch.connected();
    await checkStatus(call, response, controller.signal);
    const pieces = new ResponsePieces(response, controller.signal);
    try {
      for (let piece = await pieces.next(); piece !== undefined; piece = await pieces.next()) {
        hasBegun = true;
        watch.pause();
        yield piece;
        watch.received(call.isComplete?.());
        if (!call.isOver()) continue;
        // Servers end the response right after the last event. Reading this end lets the connection be reused.
        await waitTicks(response.read());
        return;
      }
    } finally {
      pieces.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (hasBegun && call.isComplete?.()) return;
    const reason: unknown = controller.signal.aborted ? controller.signal.reason : error;
    throw ModelError.isInstance(reason) ? reason : lostConnection(call, hasBegun, reason);
  } finally {
    watch.stop();
    unlink();
    controller.abort(OVER); // closes an open connection
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

/** The pieces of a response, until an abort. */
class ResponsePieces {
  readonly #response: HttpResponse;
  readonly #waits: AbortableWaits;

  constructor(response: HttpResponse, signal: AbortSignal) {
    this.#response = response;
    this.#waits = new AbortableWaits(signal);
  }

  /** The next piece; undefined at the end. @throws the signal's reason */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = await this.#waits.wait(this.#response.read());
      if (piece === undefined || piece.length > 0) return piece;
    }
  }

  close(): void {
    this.#waits.end();
    this.#response.cancel();
  }
}

/** Start of a response; stops at the first read error. */
async function firstBytes(response: HttpResponse, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  const pieces = new ResponsePieces(response, signal);
  let text = '';
  try {
    for (let piece = await pieces.next(); piece !== undefined; piece = await pieces.next()) {
      text += decoder.decode(piece, { stream: true });
      if (text.length >= MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (signal.aborted) throw error;
  } finally {
    pieces.close();
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
