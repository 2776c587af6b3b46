import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { checkTransport, type McpTransport } from './mcp-transport.ts';

export interface McpClientOptions {
  /** What the server is called here: in errors, and in the names of tools that would clash with others. */
  readonly name: string;
  /** A program that is started, or an address. */
  readonly transport: McpTransport;
  /** Whether one connection is kept for all calls. Otherwise each call has its own. @default true */
  readonly stateful?: boolean;
  /** How long the handshake may take, and the list of tools. @default 30 seconds */
  readonly connectTimeoutMs?: number;
  /** How long a call may take; `Infinity` for as long as it likes. @default 2 minutes */
  readonly timeoutMs?: number;
  /** A server with more of them is refused. @default 1000 */
  readonly maxTools?: number;
  /** A server that sends a larger message is left. @default 16 MiB */
  readonly maxMessageBytes?: number;
  /** Whether a tool that has changed waits to be accepted, or is simply taken. @default 'flag' */
  readonly onToolChange?: 'flag' | 'accept';
  /**
   * The `fingerprints` of an earlier client: only those tools are accepted.
   * @default the tools as they are when they are first listed
   */
  readonly fingerprints?: Readonly<Record<string, string>>;
}

/** @throws TroupeError that names what is wrong. */
export function checkClientOptions(options: McpClientOptions): void {
  const { name, transport, timeoutMs, connectTimeoutMs, maxTools, maxMessageBytes } = options;
  if (typeof name !== 'string' || name === '')
    throw new TroupeError('invalid_config', 'A client needs a name.');
  checkTransport(transport);
  for (const [key, value] of Object.entries({ timeoutMs, connectTimeoutMs, maxTools, maxMessageBytes })) {
    if (value !== undefined) checkNumber(key, value, { least: 1 });
  }
}
