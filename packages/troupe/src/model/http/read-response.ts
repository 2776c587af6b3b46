import { abortable, whenAborted } from '../../util/abort.ts';
import { waitTicks } from '../../util/async/grace.ts';
import { now } from '../../util/clock.ts';
import type { Fetch } from '../../util/net/http.ts';
import { ModelError, type ModelOrigin } from '../model-error.ts';
import { watchConnection } from '#platform';
import { parseRetryAfter } from '../retry-after.ts';
import { DeadlineWatch, type Deadlines } from './deadlines.ts';
import { foreignResponse, lostConnection, responseError, withoutSecrets } from './http-error.ts';

export interface HttpCall {
  /** Names for errors. */
  readonly origin: ModelOrigin;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
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
    const { origin } = new URL(call.url);
    const sent = watchConnection(
      origin,
      () => watch.connected(),
      () => send(call, controller.signal),
    );
    const response = await abortable(sent, controller.signal);
    watch.connected();
    await checkStatus(call, response, controller.signal);
    for await (const bytes of piecesOf(response, controller.signal, call.isOver)) {
      hasBegun = true;
      watch.pause();
      yield bytes;
      watch.received(call.isComplete?.());
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

async function send(call: HttpCall, signal: AbortSignal): Promise<Response> {
  const { url, headers, body } = call;
  return call.fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
}

/** @throws ModelError for an error status or a web page */
async function checkStatus(call: HttpCall, response: Response, signal: AbortSignal): Promise<void> {
  const isHtml = response.headers.get('content-type')?.includes('text/html') ?? false;
  if (response.ok && !isHtml) return;
  const body = withoutSecrets(await firstBytes(response, signal), call.secrets);
  if (response.ok) throw foreignResponse(call.origin, 'a web page', body);
  throw responseError({
    origin: call.origin,
    status: response.status,
    body,
    requestId:
      REQUEST_ID_HEADERS.map((name) => response.headers.get(name)).find((id) => id !== null) ?? undefined,
    retryAfterMs: parseRetryAfter(response.headers, now()),
  });
}

async function* piecesOf(
  response: Response,
  signal: AbortSignal,
  isOver: () => boolean = () => false,
): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) return;
      if (value.length > 0) yield value;
      if (isOver()) return await waitTicks(reader.read());
    }
  } finally {
    // Servers end the response right after the last event. Reading this end lets the connection be reused.
    reader.cancel().catch(() => {});
  }
}

/** Start of a response; stops at the first read error. */
async function firstBytes(response: Response, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const piece of piecesOf(response, signal)) {
      text += decoder.decode(piece, { stream: true });
      if (text.length >= MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (signal.aborted) throw error;
  }
  return text.slice(0, MAX_ERROR_BYTES);
}
