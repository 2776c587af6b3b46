import type { StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client';

import { messageOf, TroupeError } from '../../errors.ts';
import { SecretWords } from '../../util/redaction/secret-words.ts';
import { mcpClientSdk } from '../protocol/sdk.ts';
import { cappedFetch } from './capped-fetch.ts';
import type { HttpServer, McpTransport } from './mcp-transport.ts';
import { StdioTransport } from './stdio-transport.ts';

const MAX_TOKEN_BYTES = 1_000_000;

/** Makes a transport for one connection. Nothing is started yet. */
export function openTransport(
  server: McpTransport,
  maxMessageBytes: number,
  secrets: SecretWords,
): Transport {
  if (server.type === 'stdio') return new StdioTransport(server, maxMessageBytes, secrets);
  const transport = openHttp(server, maxMessageBytes, secrets);
  return server.type === 'http' ? failUnansweredRequests(transport) : closeWithStream(transport);
}

/**
 * Exchanges the parameters of an OAuth callback for tokens.
 * @throws TroupeError if the exchange fails, or the server has no `authProvider`.
 */
export async function finishAuth(
  name: string,
  server: McpTransport,
  callback: URLSearchParams,
): Promise<void> {
  if (server.type === 'stdio' || server.authProvider === undefined) {
    throw new TroupeError('invalid_config', 'A login needs a server with an authProvider.');
  }
  const secrets = new SecretWords();
  try {
    await openHttp(server, MAX_TOKEN_BYTES, secrets).finishAuth(callback);
  } catch (error) {
    const problem = `${name} failed at the login: ${secrets.hide(messageOf(error))}`;
    throw new TroupeError('mcp_failed', problem, { cause: secrets.causeOf(error) });
  }
}

function openHttp(
  server: HttpServer,
  maxMessageBytes: number,
  secrets: SecretWords,
): Transport & Pick<StreamableHTTPClientTransport, 'finishAuth'> {
  const url = new URL(server.url);
  const { authProvider } = server;
  const options = {
    fetch: cappedFetch(url, maxMessageBytes, { headers: server.headers, secrets }),
    ...(authProvider !== undefined && { authProvider }),
  };
  if (server.type === 'http') return new mcpClientSdk.StreamableHTTPClientTransport(url, options);
  // oxlint-disable-next-line typescript/no-deprecated -- there are servers that speak nothing else
  return new mcpClientSdk.SSEClientTransport(url, options);
}

/** Answers a request with an error when its stream ends without an answer. */
function failUnansweredRequests(transport: Transport): Transport {
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

/**
 * Closes the connection when the event stream breaks, because answers to earlier requests can't arrive any
 * more.
 */
function closeWithStream(transport: Transport): Transport {
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    const report = transport.onerror;
    transport.onerror = (error) => {
      report?.(error);
      if (error.name === 'SseError' || 'event' in error) void transport.close();
    };
  };
  return transport;
}
