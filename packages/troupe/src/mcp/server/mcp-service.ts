import type { McpHttpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { StdioServerHandle } from '@modelcontextprotocol/server/stdio';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import { newId } from '../../util/ids.ts';
import { mcpServerSdk, mcpStdioSdk } from '../protocol/sdk.ts';
import { ClientRounds } from './client-rounds.ts';
import { guardStdout } from './guard-stdout.ts';
import { newServer, type ConnectedServer, type McpService } from './new-server.ts';
import { SentMessages } from './sent-messages.ts';
import type { ContentChange } from './served-content.ts';

/** Maximum sessions of clients with the older protocol. A new session ends the least recently used one. */
const MAX_SESSIONS = 1000;
/** Time after which a client whose connection broke is to connect again. */
const RETRY_MS = 1000;

function report(error: unknown): void {
  getLogger().log('warn', `An MCP client could not be served: ${messageOf(error)}`);
}

function tellAll(servers: Iterable<ConnectedServer>, change: ContentChange): void {
  for (const server of servers) void server.tell(change).catch(report);
}

/** Serves one client over standard input and output. */
export class StdioService {
  readonly #ended = Promise.withResolvers<void>();
  readonly #handle: StdioServerHandle;
  readonly #rounds = new ClientRounds();
  readonly #servers = new Set<ConnectedServer>();
  readonly #stopListening: () => void;

  constructor(service: McpService) {
    const { stdout, release } = guardStdout();
    const transport = new mcpStdioSdk.StdioServerTransport(process.stdin, stdout);
    const over = (): void => {
      release();
      this.#ended.resolve();
    };
    process.stdin.once('close', over).once('end', over);
    this.#handle = mcpStdioSdk.serveStdio(
      ({ era }) => {
        const server = newServer(service, {
          era,
          rounds: this.#rounds,
          onToolsChanged: () => server.mcp.sendToolListChanged(),
        });
        this.#servers.add(server);
        return server.mcp;
      },
      { transport, onerror: report },
    );
    this.#stopListening = service.content.onChange((change) => tellAll(this.#servers, change));
  }

  /** Resolves when the client has disconnected. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async close(): Promise<void> {
    this.#stopListening();
    this.#rounds.close();
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
  readonly #service: McpService;
  readonly #rounds = new ClientRounds();
  readonly #hosts: string[];
  readonly #modern: McpHttpHandler;
  readonly #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  readonly #servers = new Set<ConnectedServer>();
  readonly #stopListening: () => void;

  constructor(service: McpService) {
    this.#service = service;
    this.#hosts = [...(service.options.allowedHosts ?? mcpServerSdk.localhostAllowedHostnames())];
    this.#modern = mcpServerSdk.createMcpHandler(
      () =>
        newServer(service, {
          era: 'modern',
          rounds: this.#rounds,
          onToolsChanged: () => this.#modern.notify.toolsChanged(),
        }).mcp,
      {
        legacy: 'reject',
        onerror: report,
      },
    );
    this.#stopListening = service.content.onChange((change) => {
      tellAll(this.#servers, change);
      const { notify } = this.#modern;
      if (change === 'resources') notify.resourcesChanged();
      else if (change === 'prompts') notify.promptsChanged();
      else notify.resourceUpdated(change.resource);
    });
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
    this.#stopListening();
    this.#rounds.close();
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
      eventStore: new SentMessages(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => this.#touch(id, session),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    const server = newServer(this.#service, {
      era: 'legacy',
      rounds: this.#rounds,
      onToolsChanged: () => server.mcp.sendToolListChanged(),
    });
    await server.mcp.connect(session);
    const { onclose } = session;
    this.#servers.add(server);
    session.onclose = () => {
      this.#servers.delete(server);
      onclose?.();
    };
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
