import type {
  CallToolResult,
  Client,
  GetPromptResult,
  JsonSchemaValidator,
  ReadResourceResult,
  RequestOptions,
  Transport,
} from '@modelcontextprotocol/client';

import { currentTurn } from '../../agent/turn/current-turn.ts';
import type { Turn } from '../../agent/turn/turn.ts';
import { MAX_TIMER_MS } from '../../util/check-number.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { DeadlineError, withDeadline, type UntimedWait } from '../../util/async/deadline.ts';
import { whenAborted } from '../../util/abort.ts';
import type { JsonObject } from '../../util/json.ts';
import { traced, traceHeaders } from '../../tracing/instrumentation.ts';
import type { SpanOutcome } from '../../tracing/traced-operation.ts';
import { SecretWords } from '../../util/redaction/secret-words.ts';
import { UntrustedSchemaCheck } from './untrusted-schema-check.ts';
import { IMPLEMENTATION } from '../protocol/mcp-implementation.ts';
import { mcpClientSdk } from '../protocol/sdk.ts';
import type { McpPrompt, McpResource, McpResourceTemplate, McpTransport } from './mcp-transport.ts';
import { openTransport } from './open-transport.ts';
import type { McpQuestionHandler } from './requests/server-question.ts';
import { ServerRequests, type ServerRequestOptions } from './requests/server-requests.ts';
import { StdioTransport } from './stdio-transport.ts';
import type { McpToolDefinition } from './accepted-tools.ts';
import { toolList } from './tool-list.ts';

export interface ConnectionSetup {
  /** Name of the client, for errors. */
  readonly name: string;
  readonly server: McpTransport;
  readonly connectTimeoutMs: number;
  readonly maxTools: number;
  readonly maxMessageBytes: number;
  readonly onToolsChanged: () => void;
  readonly requests: ServerRequestOptions;
}

export interface McpCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Time limit of the answer; `Infinity` for none. @default the client's */
  readonly timeoutMs?: number | undefined;
  /** Receives progress reports of the server. */
  readonly onProgress?: ((text: string) => void) | undefined;
  /** Answers questions of the server during this tool call. @default the client's `elicitation`, otherwise `cancel` */
  readonly onQuestion?: McpQuestionHandler | undefined;
  /** The agent call that pays for the model, if the server uses it. @default the agent call around */
  readonly turn?: (() => Turn | undefined) | undefined;
}

/** Maximum times that a server of the protocol of 2026 may ask during one request. */
const MAX_ROUNDS = 30;
/** Maximum pages of a list; more are taken for an endless list. */
const MAX_PAGES = 100;
/** Maximum resources or prompts of a server. */
const MAX_LISTED = 10_000;
const TERMINATE_MS = 1000;
const NOT_FOUND_STATUSES: readonly number[] = [404, 405];
const CHECK_URL = 'Check its url, and whether it runs.';
const NOT_INSTALLED = '(There is no such program in PATH, or no such cwd.)';
const PERHAPS_SSE = "(If the address is right, it may be an older server: try the type 'sse'.)";
/** Failure that a server reports as the result of a tool. */
const TOOL_ERROR = { code: 'tool_error', message: 'The tool has failed.' };
/** Disables the timeouts of the SDK; `withDeadline` limits the time. */
const NO_TIMEOUT = { timeout: MAX_TIMER_MS };

/**
 * One connection to a server, from handshake to end. Every request gets an answer, or fails with an error
 * that explains why.
 */
export class McpConnection {
  readonly #setup: ConnectionSetup;
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #requests: ServerRequests;
  readonly #secrets = new SecretWords();
  #isStarted = false;
  #isOver = false;
  #hasLostNotifications = false;
  #isClosingWhenIdle = false;
  #running = 0;
  readonly #idle = Promise.withResolvers<void>();

  /**
   * @throws TroupeError if the server can't be reached or doesn't answer in time; then nothing is left
   * running.
   */
  static async open(setup: ConnectionSetup, signal: AbortSignal): Promise<McpConnection> {
    const isStdio = setup.server.type === 'stdio';
    const connection = new McpConnection(setup, setup.server.type === 'http' ? 'auto' : 'legacy');
    try {
      await connection.#connect(signal);
      return connection;
    } catch (error) {
      if (!isStdio || !(error instanceof mcpClientSdk.ProtocolError))
        throw connection.#failure('the handshake', error);
    }
    // The server does not know the older handshake. The older one is tried first because some older servers
    // exit when they receive any other request.
    const modern = new McpConnection(setup, 'auto');
    await modern.#connect(signal).catch((error: unknown) => {
      throw modern.#failure('the handshake', error);
    });
    return modern;
  }

  private constructor(setup: ConnectionSetup, mode: 'auto' | 'legacy') {
    this.#setup = setup;
    this.#transport = openTransport(setup.server, setup.maxMessageBytes, this.#secrets);
    this.#requests = new ServerRequests(setup.requests);
    this.#client = new mcpClientSdk.Client(IMPLEMENTATION, {
      capabilities: this.#requests.capabilities,
      inputRequired: { maxRounds: MAX_ROUNDS },
      // the default validator generates code from schemas
      jsonSchemaValidator: { getValidator: untrustedValidator },
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, onChanged: () => setup.onToolsChanged() } },
    });
    this.#requests.install(this.#client);
    this.#client.onclose = () => {
      this.#isOver = true;
    };
  }

  /** Whether the connection is open and receives notifications of tool changes. */
  get isUsable(): boolean {
    return !this.#isOver && !this.#hasLostNotifications && !this.#isClosingWhenIdle;
  }

  /** Whether the server has dropped the session, and so did not process the request. */
  hasLostSession(error: unknown): boolean {
    const { cause } = error instanceof TroupeError ? error : { cause: error };
    if (!(cause instanceof mcpClientSdk.SdkHttpError) || this.#transport.sessionId === undefined)
      return false;
    return cause.status === 404 || (cause.status === 400 && /session/i.test(cause.message));
  }

  listTools(signal: AbortSignal | undefined): Promise<readonly McpToolDefinition[]> {
    const page = toolList(this.#setup.name);
    return this.#list('tools', 'tools', this.#setup.maxTools, signal, async (params, options) => {
      const request = { method: 'tools/list', params };
      const { tools, nextCursor } = await this.#client.request(request, page, options);
      return [tools, nextCursor];
    });
  }

  listResources(signal: AbortSignal | undefined): Promise<readonly McpResource[]> {
    return this.#list('resources', 'resources', MAX_LISTED, signal, async (params, options) => {
      const { resources, nextCursor } = await this.#client.request(
        { method: 'resources/list', params },
        options,
      );
      return [resources, nextCursor];
    });
  }

  listResourceTemplates(signal: AbortSignal | undefined): Promise<readonly McpResourceTemplate[]> {
    return this.#list('resources', 'resources/templates', MAX_LISTED, signal, async (params, options) => {
      const method = 'resources/templates/list';
      const { resourceTemplates, nextCursor } = await this.#client.request({ method, params }, options);
      return [resourceTemplates, nextCursor];
    });
  }

  listPrompts(signal: AbortSignal | undefined): Promise<readonly McpPrompt[]> {
    return this.#list('prompts', 'prompts', MAX_LISTED, signal, async (params, options) => {
      const { prompts, nextCursor } = await this.#client.request({ method: 'prompts/list', params }, options);
      return [prompts, nextCursor];
    });
  }

  readResource(uri: string, { signal, timeoutMs = Infinity }: McpCallOptions): Promise<ReadResourceResult> {
    const request = { method: 'resources/read', params: { uri } } as const;
    return this.#traced('resources/read', undefined, signal, () =>
      this.#ask('resources/read', timeoutMs, signal, (signal) =>
        this.#client.request(withTrace(request), { ...NO_TIMEOUT, signal }),
      ),
    );
  }

  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    { signal, timeoutMs = Infinity }: McpCallOptions,
  ): Promise<GetPromptResult> {
    const request = { method: 'prompts/get', params: { name, arguments: { ...args } } } as const;
    return this.#traced('prompts/get', name, signal, () =>
      this.#ask('prompts/get', timeoutMs, signal, (signal) =>
        this.#client.request(withTrace(request), { ...NO_TIMEOUT, signal }),
      ),
    );
  }

  /** Reads all pages of a list. Returns an empty list if the server lacks the capability or the request. */
  async #list<T>(
    capability: 'tools' | 'resources' | 'prompts',
    what: string,
    most: number,
    signal: AbortSignal | undefined,
    ask: (params: { cursor?: string }, options: RequestOptions) => Promise<[T[], string | undefined]>,
  ): Promise<readonly T[]> {
    const { name, connectTimeoutMs } = this.#setup;
    if (this.#client.getServerCapabilities()?.[capability] === undefined) return [];
    const read = async (signal: AbortSignal): Promise<readonly T[]> => {
      const all: T[] = [];
      let params: { cursor?: string } = {};
      for (let page = 0; page < MAX_PAGES; page++) {
        const [items, cursor] = await ask(params, { ...NO_TIMEOUT, signal }).catch(emptyIfUnknown);
        for (const item of items) all.push(item);
        if (all.length > most) {
          const advice = what === 'tools' ? ' Raise maxTools if that is right.' : '';
          throw failed(`${name} has more than ${most} ${what}.${advice}`);
        }
        if (cursor === undefined) return all;
        params = { cursor };
      }
      throw failed(`The list of the ${what} of ${name} has more than ${MAX_PAGES} pages.`);
    };
    return this.#traced(`${what}/list`, undefined, signal, () =>
      this.#ask(`${what}/list`, connectTimeoutMs, signal, read),
    );
  }

  async callTool(
    tool: McpToolDefinition,
    input: JsonObject,
    { signal, timeoutMs = Infinity, onProgress, onQuestion, turn: given }: McpCallOptions,
  ): Promise<CallToolResult> {
    const around = currentTurn();
    const turn = given ?? ((): Turn | undefined => around);
    const ask = (signal: AbortSignal, untimed: UntimedWait): Promise<CallToolResult> =>
      this.#requests.run({ onQuestion, untimed, turn }, () =>
        this.#client.callTool(withTraceMeta({ name: tool.name, arguments: { ...input } }), {
          ...NO_TIMEOUT,
          signal,
          toolDefinition: tool,
          ...(onProgress && { onprogress: (progress) => onProgress(progressText(progress)) }),
        }),
      );
    return this.#traced(
      'tools/call',
      tool.name,
      signal,
      () => this.#ask(`the tool call '${tool.name}'`, timeoutMs, signal, ask),
      ({ isError = false }) => (isError ? { status: 'error', error: TOOL_ERROR } : { status: 'ok' }),
    );
  }

  /** Waits for running requests, then closes. */
  async closeWhenIdle(): Promise<void> {
    this.#isClosingWhenIdle = true;
    if (this.#running > 0) await this.#idle.promise;
    await this.close();
  }

  /** Resolves when the connection is closed and a child process has ended. Never rejects. */
  async close(): Promise<void> {
    const transport = this.#transport;
    if (transport instanceof mcpClientSdk.StreamableHTTPClientTransport && !this.#isOver) {
      const limit = { timeoutMs: TERMINATE_MS, signal: undefined };
      // the server may have ended already
      await withDeadline(limit, () => transport.terminateSession()).catch(() => {});
    }
    this.#isOver = true;
    await this.#client.close().catch(() => {});
    await transport.close().catch(() => {}); // the SDK client drops its transport when the server ends
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { connectTimeoutMs: timeoutMs } = this.#setup;
    try {
      await withDeadline({ timeoutMs, signal }, (signal) =>
        this.#client.connect(this.#transport, { ...NO_TIMEOUT, signal: withoutReason(signal) }),
      );
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#isStarted = true;
    void this.#client.autoOpenedSubscription?.closed.then((why) => {
      if (why !== 'local') this.#hasLostNotifications = true;
    });
  }

  /** Runs a request as a span. */
  #traced<T>(
    method: string,
    target: string | undefined,
    signal: AbortSignal | undefined,
    body: () => Promise<T>,
    outcomeOf?: (result: T) => SpanOutcome,
  ): Promise<T> {
    const {
      name: server,
      server: { type },
    } = this.#setup;
    const transport = type === 'stdio' ? 'stdio' : 'http';
    return traced(() => ({ type: 'mcp', side: 'client', method, target, server, transport }), body, {
      signal,
      outcomeOf,
    });
  }

  async #ask<T>(
    what: string,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    ask: (signal: AbortSignal, untimed: UntimedWait) => Promise<T>,
  ): Promise<T> {
    this.#running += 1;
    try {
      return await withDeadline({ timeoutMs, signal }, (signal, untimed) =>
        ask(withoutReason(signal), untimed),
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#failure(what, error);
    } finally {
      this.#running -= 1;
      if (this.#isClosingWhenIdle && this.#running === 0) this.#idle.resolve();
    }
  }

  #failure(what: string, error: unknown): TroupeError {
    if (TroupeError.isInstance(error)) return error;
    const { name } = this.#setup;
    if (error instanceof DeadlineError) {
      return failed(`${name} gave no answer to ${what} within ${error.timeoutMs / 1000} s.`, error);
    }
    const { problem } = this.#transport instanceof StdioTransport ? this.#transport : { problem: undefined };
    if (problem !== undefined || isClosed(error)) {
      const { lastOutput } = this.#transport instanceof StdioTransport ? this.#transport : { lastOutput: '' };
      const output = this.#isStarted || lastOutput === '' ? '' : ` Its last output: ${lastOutput}`;
      const text = `${name} ended during ${what}. ${problem ?? 'The connection was closed.'}${output}`;
      return failed(this.#secrets.hide(text), this.#secrets.causeOf(error));
    }
    const cause = this.#secrets.causeOf(error);
    const network = networkFailure(error);
    if (network !== undefined)
      return failed(`${name} can't be reached at ${what}: ${network}. ${CHECK_URL}`, cause);
    const advice = adviceOn(error, this.#setup.server.type);
    return failed(`${name} failed at ${what}: ${this.#secrets.hide(messageOf(error))}${advice}`, cause);
  }
}

/** Adds the trace to the parameters of a request, as the protocol has it. */
function withTraceMeta<Params extends object>(params: Params): Params {
  const headers = traceHeaders();
  return headers['traceparent'] === undefined ? params : { ...params, _meta: { ...headers } };
}

function withTrace<Request extends { readonly params: object }>(request: Request): Request {
  return { ...request, params: withTraceMeta(request.params) };
}

/** An empty page if the server does not know the request, such as one with templates of resources only. */
function emptyIfUnknown(error: unknown): [never[], undefined] {
  const { ProtocolError, ProtocolErrorCode } = mcpClientSdk;
  if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound)
    return [[], undefined];
  throw error;
}

function isClosed(error: unknown): boolean {
  const { SdkError, SdkErrorCode } = mcpClientSdk;
  if (!(error instanceof SdkError)) return false;
  return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected;
}

/**
 * Reason of a network failure, since `fetch` only reports that it failed. An error code, because longer texts
 * contain addresses.
 */
function networkFailure(error: unknown): string | undefined {
  let thrown = error;
  for (let depth = 0; depth < 5 && thrown instanceof Error && thrown.message !== 'fetch failed'; depth++)
    thrown = thrown.cause;
  if (!(thrown instanceof TypeError)) return undefined;
  const { cause } = thrown;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : messageOf(cause ?? thrown);
}

function adviceOn(error: unknown, type: McpTransport['type']): string {
  if (type === 'stdio')
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? ` ${NOT_INSTALLED}` : '';
  const isUnknown =
    error instanceof mcpClientSdk.SdkHttpError && NOT_FOUND_STATUSES.includes(error.status ?? 0);
  return isUnknown && type === 'http' ? ` ${PERHAPS_SSE}` : '';
}

/** Validator for structured content by the schema of the server. */
function untrustedValidator<T>(schema: object): JsonSchemaValidator<T> {
  const check = new UntrustedSchemaCheck(schema as JsonObject);
  return (data) => {
    const [problem] = check.problemsOf(data);
    if (problem === undefined) return { valid: true, data: data as T, errorMessage: undefined };
    const errorMessage = `${problem.path.join('.')}: ${problem.message}`;
    return { valid: false, data: undefined, errorMessage };
  };
}

/** Copy of a signal without its reason, which would be sent to the server. */
function withoutReason(signal: AbortSignal): AbortSignal {
  const stop = new AbortController();
  whenAborted(signal, () => stop.abort('cancelled'));
  return stop.signal;
}

interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

function progressText({ progress, total, message }: Progress): string {
  const count = total === undefined ? String(progress) : `${progress}/${total}`;
  return message === undefined ? count : `${count}: ${message}`;
}

function failed(problem: string, cause?: unknown): TroupeError {
  return new TroupeError('mcp_failed', problem, { cause });
}
