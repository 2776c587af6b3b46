import {
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';

import { cappedFetch } from './capped-fetch.ts';
import type { McpTransport } from './mcp-transport.ts';
import { StdioTransport } from './stdio-transport.ts';

/** A way to a server that is not yet gone. It is used once. */
export function openTransport(server: McpTransport, maxMessageBytes: number): Transport {
  if (server.type === 'stdio') return new StdioTransport(server, maxMessageBytes);
  const url = new URL(server.url);
  const fetch = cappedFetch(maxMessageBytes, server.headers);
  if (server.type === 'http') return answeringAll(new StreamableHTTPClientTransport(url, { fetch }));
  // oxlint-disable-next-line typescript/no-deprecated -- there are servers that speak nothing else
  return endingWithStream(new SSEClientTransport(url, { fetch }));
}

/** A request whose stream ends without an answer is answered with an error, instead of never. */
function answeringAll(transport: Transport): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) =>
    send(message, {
      ...options,
      onRequestStreamEnd: () => {
        options?.onRequestStreamEnd?.();
        if (!('method' in message) || !('id' in message)) return;
        const error = { code: -32000, message: 'the connection ended before the answer came' };
        transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
      },
    });
  return transport;
}

/** When the stream of answers breaks, the connection is over: those to the requests so far never come. */
function endingWithStream(transport: Transport): Transport {
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    const tell = transport.onerror;
    transport.onerror = (error) => {
      tell?.(error);
      if (error.name === 'SseError' || 'event' in error) void transport.close();
    };
  };
  return transport;
}
