import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import type { McpSamplingOptions } from './requests/mcp-sampling.ts';
import { checkTransport, type McpRoot, type McpTransport } from './mcp-transport.ts';
import type { McpQuestionHandler } from './requests/server-question.ts';

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
  /**
   * Questions of the server to a person. `ask`: the tool call of an agent becomes pending with the question, and a tool call without an
   * agent answers `cancel`. A function answers for every tool call. `false`: the server is told that nobody can be asked.
   * @default 'ask'
   */
  readonly elicitation?: 'ask' | false | McpQuestionHandler;
  /** Time for the answer to a question; then the server gets `cancel`. Does not count as time of the tool call. @default 1 hour */
  readonly questionTimeoutMs?: number;
  /** Lets the server use a model. @default never */
  readonly sampling?: McpSamplingOptions;
  /** Folders that the server is told to work in. @default the server is told nothing */
  readonly roots?: readonly McpRoot[];
}

/** @throws TroupeError that names the wrong option. */
export function checkClientOptions(options: McpClientOptions): void {
  const { name, transport, timeoutMs, connectTimeoutMs, maxTools, maxMessageBytes } = options;
  const { questionTimeoutMs, elicitation = 'ask', sampling = {}, roots = [] } = options;
  if (typeof name !== 'string' || name === '')
    throw new TroupeError('invalid_config', 'A client needs a name.');
  checkTransport(transport);
  if (elicitation !== 'ask' && elicitation !== false && typeof elicitation !== 'function')
    throw new TroupeError('invalid_config', "elicitation must be 'ask', false or a function.");
  if (!roots.every(({ uri }) => uri.startsWith('file://')))
    throw new TroupeError('invalid_config', 'The uri of a root must start with file://.');
  const { maxTokens, maxRequests, maxChars }: Partial<McpSamplingOptions> = sampling;
  const times = { timeoutMs, connectTimeoutMs, questionTimeoutMs };
  const sizes = { maxTools, maxMessageBytes, maxTokens, maxRequests, maxChars };
  for (const [key, value] of Object.entries({ ...times, ...sizes })) {
    if (value !== undefined) checkNumber(key, value, { least: 1 });
  }
}
