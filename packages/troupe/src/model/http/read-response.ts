import { abortable, whenAborted } from '../../util/abort.ts';
import { waitTicks } from '../../util/async/grace.ts';
import { now } from '../../util/clock.ts';
import type { Fetch } from '../../util/net/http.ts';
import { ModelError } from '../model-error.ts';
import { parseRetryAfter } from '../retry-after.ts';
import { DeadlineWatch, type Deadlines } from './deadlines.ts';
import { responseError, lostConnection, malformedResponse, withoutSecrets } from './http-error.ts';

export interface HttpCall {
  /** Who is asked, for errors. */
  readonly vendor: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly fetch: Fetch;
  readonly deadlines: Deadlines;
  /** What must not appear in an error, such as the key. */
  readonly secrets: readonly string[];
  /** Whether the answer is over, though the server may not have closed it yet. */
  readonly isOver: () => boolean;
  /** Whether the answer is complete, though more may be told about it. From then on nothing that goes wrong matters. */
  readonly isComplete?: () => boolean;
}

/** Of an answer that is an error, no more than this is read. */
const MAX_ERROR_BYTES = 16_384;
/** Why a connection is closed that nobody reads any more. Made once: to make an error costs more than all the rest. */
const OVER = new Error('The answer was read.');
const REQUEST_ID_HEADERS = ['x-request-id', 'request-id', 'x-goog-request-id', 'apim-request-id'];

/**
 * Sends a request and yields the text of the answer in the pieces in which it comes.
 * However it ends, the connection is closed or given back: on an error, when a
 * deadline passes, when the signal is aborted, when the reader leaves.
 * @throws ModelError, or the reason of the signal.
 */
export async function* readResponse(
  call: HttpCall,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, void> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const stop = (reason: unknown): void => controller.abort(reason);
  const unlink = whenAborted(signal, stop);
  const watch = new DeadlineWatch(call.vendor, call.deadlines, stop);
  let hasBegun = false;
  try {
    const response = await abortable(send(call, controller.signal), controller.signal);
    watch.accepted();
    await checkStatus(call, response, controller.signal);
    for await (const bytes of piecesOf(response, controller.signal, call.isOver)) {
      hasBegun = true;
      watch.pause();
      yield bytes;
      watch.heard(call.isComplete?.());
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (hasBegun && call.isComplete?.()) return;
    const reason: unknown = controller.signal.aborted ? controller.signal.reason : error;
    throw ModelError.isInstance(reason) ? reason : lostConnection(call, hasBegun, reason);
  } finally {
    watch.stop();
    unlink();
    controller.abort(OVER); // closes what is still open
  }
}

async function send(call: HttpCall, signal: AbortSignal): Promise<Response> {
  const { url, headers, body } = call;
  return call.fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
}

/** @throws ModelError unless the answer can be one. */
async function checkStatus(call: HttpCall, response: Response, signal: AbortSignal): Promise<void> {
  const isHtml = response.headers.get('content-type')?.includes('text/html') ?? false;
  if (response.ok && !isHtml) return;
  const body = withoutSecrets(await firstBytes(response, signal), call.secrets);
  if (response.ok) throw malformedResponse(call.vendor, 'a web page', body);
  throw responseError({
    vendor: call.vendor,
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
): AsyncGenerator<string, void, void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (text !== '') yield text;
      if (done) return;
      if (isOver()) return await waitTicks(reader.read());
    }
  } finally {
    // A server ends its answer right behind its last event. Who has seen that end gives the connection back, not up.
    reader.cancel().catch(() => {});
  }
}

/** The beginning of an answer; what could not be read is left out. */
async function firstBytes(response: Response, signal: AbortSignal): Promise<string> {
  let text = '';
  try {
    for await (const piece of piecesOf(response, signal)) {
      text += piece;
      if (text.length >= MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (signal.aborted) throw error;
  }
  return text.slice(0, MAX_ERROR_BYTES);
}
