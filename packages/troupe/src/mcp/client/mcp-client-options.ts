import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { checkTransport, type McpTransport } from './mcp-transport.ts';

export interface McpClientOptions {
  /** Name of the server in errors, and prefix of tool names that are in use. */
  readonly name: string;
  /** Program to start, or address of the server. */
  readonly transport: McpTransport;
  /** Keeps one connection for all requests. Otherwise every request opens its own. @default true */
  readonly stateful?: boolean;
  /** Time limit of the handshake and of listing tools. @default 30 seconds */
  readonly connectTimeoutMs?: number;
  /** Time limit of a tool call or other request; `Infinity` for none. @default 2 minutes */
  readonly timeoutMs?: number;
  /** Maximum tools; a server with more is refused. @default 1000 */
  readonly maxTools?: number;
  /** Maximum size of a message; a larger one ends the connection. @default 16 MiB */
  readonly maxMessageBytes?: number;
  /**
   * `flag`: a changed tool can't be called until accepted. `accept`: changes are accepted.
   * @default 'flag'
   */
  readonly onToolChange?: 'flag' | 'accept';
  /**
   * `fingerprints` of an earlier client; only tools that match them are accepted.
   * @default the tools as first listed
   */
  readonly fingerprints?: Readonly<Record<string, string>>;
}

/** @throws TroupeError that names the wrong option. */
export function checkClientOptions(options: McpClientOptions): void {
  const { name, transport, timeoutMs, connectTimeoutMs, maxTools, maxMessageBytes } = options;
  if (typeof name !== 'string' || name === '')
    throw new TroupeError('invalid_config', 'A client needs a name.');
  checkTransport(transport);
  for (const [key, value] of Object.entries({ timeoutMs, connectTimeoutMs, maxTools, maxMessageBytes })) {
    if (value !== undefined) checkNumber(key, value, { least: 1 });
  }
}
