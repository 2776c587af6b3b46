import { platformFetch, type Fetch } from '../util/http.ts';
import { checkUrl } from '../util/safe-url.ts';
import type { McpHeaders } from './mcp-transport.ts';

const NEW_LINE = 10;
const RETURN = 13;

/**
 * Fetches for one server, with further headers that only it gets. A body breaks off as soon as one message of it is larger than it may
 * be. A login leads to other servers, by addresses that this one has told: a public server can't send us to private ones.
 */
export function cappedFetch(server: URL, maxMessageBytes: number, headers: McpHeaders = {}): Fetch {
  return async (input, init) => {
    const all = new Headers(init?.headers);
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== server.origin) {
      if (isPublic(server)) checkUrl(url.href);
    } else {
      const given = typeof headers === 'function' ? await headers() : headers;
      for (const [name, value] of Object.entries(given)) all.set(name, value);
    }
    const response = await platformFetch(input, { ...init, headers: all });
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const body = response.body.pipeThrough(messageLimit(maxMessageBytes, isStream));
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  };
}

function isPublic(server: URL): boolean {
  try {
    checkUrl(server.href);
    return true;
  } catch {
    return false;
  }
}

/** Counts bytes: in all, or in a stream of events, which may go on for ever, since the last empty line. */
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
