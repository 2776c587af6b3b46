import { traceHeaders } from '../../tracing/instrumentation.ts';
import { monotonic, sleep } from '../../util/clock.ts';
import { platformFetch, type Fetch } from '../../util/net/http.ts';
import { checkUrl } from '../../util/net/safe-url.ts';
import type { SecretWords } from '../../util/redaction/secret-words.ts';
import type { McpHeaders } from './mcp-transport.ts';

const NEW_LINE = 10;
const RETURN = 13;
const MAX_REDIRECTS = 5;
/** Requests for event streams without a delay, and milliseconds between further ones. */
const [STREAM_BURST, STREAM_GAP_MS] = [20, 200];
const LOGIN_FIELDS = [
  'code',
  'code_verifier',
  'client_secret',
  'refresh_token',
  'assertion',
  'client_assertion',
];

export interface CappedFetchOptions {
  readonly headers?: McpHeaders | undefined;
  /** Records secrets that were sent, for redaction in errors. */
  readonly secrets?: SecretWords | undefined;
}

/**
 * Makes a `fetch` for one server. The configured headers go only to that server. A body fails as soon as one
 * message exceeds `maxMessageBytes`. OAuth logins visit addresses that the server names; a public server
 * can't direct requests to private addresses. Requests for event streams are paced.
 */
export function cappedFetch(
  server: URL,
  maxMessageBytes: number,
  { headers = {}, secrets }: CappedFetchOptions = {},
): Fetch {
  const send = async (url: URL, init: RequestInit): Promise<Response> => {
    const all = new Headers(init.headers);
    if (url.origin !== server.origin) {
      if (isPublic(server)) checkUrl(url.href);
    } else {
      const given = typeof headers === 'function' ? await headers() : headers;
      for (const [name, value] of Object.entries({ ...traceHeaders(), ...given })) all.set(name, value);
      secrets?.remember(Object.values(given));
    }
    secrets?.remember([all.get('authorization') ?? '', ...secretsIn(init.body)]);
    return platformFetch(url, { ...init, headers: all, redirect: 'manual' });
  };
  const pace = streamPace();
  return async (input, init = {}) => {
    await pace(init);
    let url = new URL(input instanceof Request ? input.url : input);
    let response = await send(url, init);
    for (let hops = 0; hops < MAX_REDIRECTS && isFollowed(response, init); hops++) {
      await response.body?.cancel();
      url = new URL(response.headers.get('location') ?? '', url);
      const isElsewhere = url.origin !== server.origin;
      // the same checks apply to redirects
      response = await send(url, isElsewhere ? { ...init, headers: {} } : init);
    }
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const body = response.body.pipeThrough(messageLimit(maxMessageBytes, isStream));
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  };
}

/** Paces requests for event streams: a server may end each stream at once, and ask for the next one without a delay. */
function streamPace(): (init: RequestInit) => Promise<void> {
  let last = -Infinity;
  return async ({ method = 'GET', headers, signal }) => {
    const accept = new Headers(headers).get('accept') ?? '';
    if (method !== 'GET' || !accept.includes('text/event-stream')) return;
    last = Math.max(last, monotonic() - STREAM_BURST * STREAM_GAP_MS) + STREAM_GAP_MS;
    const wait = last - monotonic();
    if (wait > 0) await sleep(wait, signal ?? undefined);
  };
}

/** Values of login fields in a form, plain and URL-encoded. */
function secretsIn(body: RequestInit['body']): readonly string[] {
  if (!(body instanceof URLSearchParams)) return [];
  return LOGIN_FIELDS.flatMap((field) => {
    const value = body.get(field) ?? '';
    return [value, new URLSearchParams([['', value]]).toString().slice(1)];
  });
}

/** Only GET requests of a login are redirected; the protocol client follows no other redirect. */
function isFollowed(
  { status, headers }: Response,
  { redirect = 'follow', method = 'GET' }: RequestInit,
): boolean {
  return (
    redirect === 'follow' && method === 'GET' && status >= 300 && status < 400 && headers.has('location')
  );
}

function isPublic(server: URL): boolean {
  try {
    checkUrl(server.href);
    return true;
  } catch {
    return false;
  }
}

/**
 * Limits the bytes of the whole body; of an event stream, which may be endless, the bytes since the last
 * empty line.
 */
function messageLimit(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let isLineEmpty = true;
  return new TransformStream({
    transform(chunk, controller) {
      if (isStream) {
        for (const byte of chunk) {
          size = byte === NEW_LINE && isLineEmpty ? 0 : size + 1;
          if (byte !== RETURN) isLineEmpty = byte === NEW_LINE;
          if (size > maxBytes) break;
        }
      } else size += chunk.length;
      if (size > maxBytes) throw new Error('The server sent a message that is larger than maxMessageBytes.');
      controller.enqueue(chunk);
    },
  });
}
