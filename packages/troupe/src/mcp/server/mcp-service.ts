import type {
  McpHttpHandler,
  McpServer,
  ServerContext,
  Tool as ToolDefinition,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { StdioServerHandle } from '@modelcontextprotocol/server/stdio';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import type { CallToolOptions } from '../../toolkit/call/tool-call.ts';
import type { Toolkit } from '../../toolkit/toolkit.ts';
import { continueTrace, traced } from '../../tracing/instrumentation.ts';
import { newId } from '../../util/ids.ts';
import { copyJsonObject } from '../../util/json.ts';
import { mcpServerSdk, mcpStdioSdk } from '../protocol/sdk.ts';
import { guardStdout } from './guard-stdout.ts';
import { resultText, toMcpResult } from './mcp-result.ts';
import type { McpServerOptions } from './mcp-server-options.ts';

export type McpServiceOptions = McpServerOptions & { readonly name: string; readonly version: string };

/** Maximum sessions of clients with the older protocol. A new session ends the least recently used one. */
const MAX_SESSIONS = 1000;
const MAX_PROGRESS_CHARS = 2000;

/** Makes a protocol server for a client or a single request. */
function newServer(toolkit: Toolkit, options: McpServiceOptions, onToolsChanged: () => unknown): McpServer {
  const { name, version, instructions } = options;
  const mcp = new mcpServerSdk.McpServer(
    { name, version },
    { capabilities: { tools: { listChanged: true } }, ...(instructions !== undefined && { instructions }) },
  );
  const { server } = mcp; // handlers read the toolkit at every request, so that changes apply
  server.setRequestHandler('tools/list', () => ({
    tools: toolkit.getJsonSchemas().map((schema) => toDefinition(toolkit, schema)),
  }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const before = toolkit.getJsonSchemas();
    const input = copyJsonObject(params.arguments ?? {}, 'arguments');
    const call = { type: 'tool_use', id: newId('call_'), name: params.name, input } as const;
    const onChunk = progressSender(mcpReq);
    const { signal } = mcpReq;
    const result = await continueTrace(
      (header) => textIn(params._meta, header),
      () =>
        traced(
          () => ({
            type: 'mcp',
            side: 'server',
            method: 'tools/call',
            target: params.name,
            server: undefined,
            transport: undefined,
          }),
          () => toolkit.callToolFunction(call, { signal, onChunk }),
          { signal, outcomeOf: ({ status }) => ({ status }) },
        ),
    );
    if (toolkit.getJsonSchemas() !== before) await onToolsChanged(); // e.g. a group was activated
    return toMcpResult(result);
  });
  return mcp;
}

function textIn(meta: Readonly<Record<string, unknown>> | undefined, key: string): string | undefined {
  const text = meta !== undefined && Object.hasOwn(meta, key) ? meta[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}

function toDefinition(toolkit: Toolkit, { name, description, parameters }: ToolSchema): ToolDefinition {
  const { readOnly, sideEffect } = toolkit.get(name) ?? {};
  return {
    name,
    ...(description !== undefined && { description }),
    inputSchema: { ...parameters, type: 'object' },
    annotations: {
      ...(readOnly !== undefined && { readOnlyHint: readOnly }),
      ...(sideEffect !== undefined && { idempotentHint: !sideEffect }),
    },
  };
}

/**
 * Sends snapshots as progress messages to a client that asked for progress. A message has the end of the
 * text.
 */
function progressSender({ _meta, notify }: ServerContext['mcpReq']): CallToolOptions['onChunk'] {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return (result) => {
    const params = {
      progressToken,
      progress: ++progress,
      message: resultText(result).slice(-MAX_PROGRESS_CHARS),
    };
    return notify({ method: 'notifications/progress', params });
  };
}

function report(error: unknown): void {
  getLogger().log('warn', `An MCP client could not be served: ${messageOf(error)}`);
}

/** Serves one client over standard input and output. */
export class StdioService {
  readonly #ended = Promise.withResolvers<void>();
  readonly #handle: StdioServerHandle;

  constructor(toolkit: Toolkit, options: McpServiceOptions) {
    const { stdout, release } = guardStdout();
    const transport = new mcpStdioSdk.StdioServerTransport(process.stdin, stdout);
    const over = (): void => {
      release();
      this.#ended.resolve();
    };
    process.stdin.once('close', over).once('end', over);
    this.#handle = mcpStdioSdk.serveStdio(
      () => {
        const server = newServer(toolkit, options, () => server.sendToolListChanged());
        return server;
      },
      { transport, onerror: report },
    );
  }

  /** Resolves when the client has disconnected. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async close(): Promise<void> {
    await this.#handle.close();
    process.stdin.destroy();
    await this.#ended.promise;
  }
}

/**
 * Serves clients over HTTP. Requests of the current protocol are independent; clients of the older protocol
 * have sessions with unguessable ids.
 */
export class HttpService {
  readonly #toolkit: Toolkit;
  readonly #options: McpServiceOptions;
  readonly #hosts: string[];
  readonly #modern: McpHttpHandler;
  readonly #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  constructor(toolkit: Toolkit, options: McpServiceOptions) {
    this.#toolkit = toolkit;
    this.#options = options;
    this.#hosts = [...(options.allowedHosts ?? mcpServerSdk.localhostAllowedHostnames())];
    this.#modern = mcpServerSdk.createMcpHandler(
      () => newServer(toolkit, options, () => this.#modern.notify.toolsChanged()),
      {
        legacy: 'reject',
        onerror: report,
      },
    );
  }

  async answer(request: Request): Promise<Response> {
    try {
      // Any web page can send requests to this machine, with any host name that resolves to it.
      const { hostHeaderValidationResponse, originValidationResponse } = mcpServerSdk;
      const refusal =
        hostHeaderValidationResponse(request, this.#hosts) ?? originValidationResponse(request, this.#hosts);
      if (refusal !== undefined) return refusal;
      return await ((await mcpServerSdk.isLegacyRequest(request))
        ? this.#answerInSession(request)
        : this.#modern.fetch(request));
    } catch (error) {
      report(error);
      return refuse(500, 'Internal error');
    }
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.allSettled([this.#modern.close(), ...sessions.map((session) => session.close())]);
  }

  async #answerInSession(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const session = id === null ? await this.#newSession() : this.#sessions.get(id);
    if (session === undefined) return refuse(404, 'Session not found');
    if (id !== null) this.#touch(id, session);
    return session.handleRequest(request);
  }

  /** Makes a session, which starts with the client's handshake. */
  async #newSession(): Promise<WebStandardStreamableHTTPServerTransport> {
    const session = new mcpServerSdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => newId(),
      onsessioninitialized: (id) => this.#touch(id, session),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    const server = newServer(this.#toolkit, this.#options, () => server.sendToolListChanged());
    await server.connect(session);
    return session;
  }

  /** Marks a session as most recently used, and ends the least recently used one beyond the maximum. */
  #touch(id: string, session: WebStandardStreamableHTTPServerTransport): void {
    this.#sessions.delete(id);
    const [oldest] = this.#sessions;
    if (oldest !== undefined && this.#sessions.size >= MAX_SESSIONS) {
      this.#sessions.delete(oldest[0]);
      void oldest[1].close();
    }
    this.#sessions.set(id, session);
  }
}

function refuse(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }, { status });
}
