import { messageOf } from '../../errors.ts';
import { traceHeaders } from '../../tracing/instrumentation.ts';
import { platformFetch, type Fetch } from '../../util/net/http.ts';
import { A2AError } from '../protocol/a2a-error.ts';

/** Constant headers, or a function called before each request. */
export type A2AHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

export interface LimitedFetchOptions {
  /** Allowed origins of requests. */
  readonly origins: readonly string[];
  readonly headers?: A2AHeaders | undefined;
  /** Maximum bytes of one response. */
  readonly maxBytes: number;
  /** Called with the signal of a request right before sending. An exception prevents sending. */
  readonly beforeSend?: ((signal: AbortSignal | undefined) => void) | undefined;
}

/**
 * Makes a `fetch` for the given origins only. Redirects are refused, so that headers and messages stay with
 * these origins. A response fails as soon as it exceeds `maxBytes`.
 * @throws A2AError
 */
export function limitedFetch({ origins, headers = {}, maxBytes, beforeSend }: LimitedFetchOptions): Fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (!origins.includes(url.origin)) throw new A2AError('unsafe_url', `Nothing is sent to ${url.origin}.`);
    const all = await withHeaders(init?.headers, headers, url.origin);
    beforeSend?.(init?.signal ?? undefined);
    const response = await send(url, { ...init, headers: all, redirect: 'manual' });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new A2AError(
        'refused',
        `${url.origin} redirects, which is not followed. Give the right address.`,
      );
    }
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    if (!response.ok && !isJson) {
      await response.body?.cancel();
      throw new A2AError('refused', `${url.origin} answered with the HTTP status ${response.status}.`);
    }
    if (response.body === null) return response;
    const { status, statusText } = response;
    const body = response.body.pipeThrough(byteLimit(maxBytes, url.origin));
    return new Response(body, { status, statusText, headers: response.headers });
  };
}

async function withHeaders(
  own: RequestInit['headers'],
  headers: A2AHeaders,
  origin: string,
): Promise<Headers> {
  const failed = (reason: string): A2AError =>
    new A2AError('unreachable', `The headers for ${origin} could not be made: ${reason}.`);
  let given: Readonly<Record<string, string>>;
  try {
    given = typeof headers === 'function' ? await headers() : headers;
  } catch (error) {
    throw failed(messageOf(error));
  }
  try {
    const all = new Headers(own);
    for (const [name, value] of Object.entries({ ...traceHeaders(), ...given })) all.set(name, value);
    return all;
  } catch {
    throw failed('they are not valid headers'); // the platform's error text contains the headers
  }
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await platformFetch(url, init);
  } catch (error) {
    init.signal?.throwIfAborted();
    throw unreachable(url.origin, error);
  }
}

/** Error for a network failure, with its code only, because longer texts contain addresses. */
export function unreachable(origin: string, error: unknown): A2AError {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new A2AError('unreachable', `${origin} can't be reached, or the connection broke off${code}.`);
}

function byteLimit(maxBytes: number, origin: string): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length;
      if (size > maxBytes)
        throw new A2AError('too_large', `${origin} sent more than ${maxBytes} bytes, the limit of maxBytes.`);
      controller.enqueue(chunk);
    },
  });
}
