import { checkNumber } from '../../util/check-number.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import { WebListener } from '../../util/net/web-listener.node.ts';
import { served, type AgentSource } from './agent-as-tool.ts';
import { importPackage } from '../protocol/import-package.ts';
import { IMPLEMENTATION } from '../protocol/mcp-implementation.ts';
import type { HttpService, StdioService } from './mcp-service.ts';

export interface McpServerOptions {
  /** @default 'troupe' */
  readonly name?: string;
  readonly version?: string;
  /** What a model has to know to use the tools. */
  readonly instructions?: string;
  /** For an agent: what it can be asked. */
  readonly description?: string;
  /** By which host names the server may be reached over HTTP, and from which web pages. @default those of this machine */
  readonly allowedHosts?: readonly string[];
}

export interface McpListenOptions {
  /** @default any that is free */
  readonly port?: number;
  /** @default '127.0.0.1', which only this machine can reach */
  readonly host?: string;
}

const PATH = '/mcp';

const loadService = () => importPackage('@modelcontextprotocol/server', () => import('./mcp-service.ts'));

/**
 * Tools, or an agent as a tool, for MCP clients: over standard input and output, over HTTP, or both. What a tool shows while it runs is told as
 * progress, a cancelled request aborts its call, and a failure is a result that says so. All clients share the tools; an agent that is given as
 * a function is made anew for each call, any other is one for all, with one memory.
 */
export class McpServer {
  readonly #toolkit: Toolkit;
  readonly #options: Required<Pick<McpServerOptions, 'name' | 'version'>> & McpServerOptions;
  readonly #listeners = new Set<WebListener>();
  #http: Promise<HttpService> | undefined;
  #stdio: StdioService | undefined;

  /** @throws TroupeError if an agent's name can't be that of a tool. */
  constructor(source: Toolkit | AgentSource, options: McpServerOptions = {}) {
    this.#toolkit = source instanceof Toolkit ? source : served(source, options.description);
    this.#options = { ...IMPLEMENTATION, ...options };
  }

  /**
   * Speaks over this program's standard input and output, and resolves when the client is gone. Meanwhile whatever else the
   * program prints goes to standard error: standard output is for the protocol alone.
   */
  async serveStdio(): Promise<void> {
    const { StdioService } = await loadService();
    this.#stdio = new StdioService(this.#toolkit, this.#options);
    await this.#stdio.ended;
  }

  /** Answers one HTTP request, at any path: for a web server that is there already. Never rejects. */
  readonly fetch = async (request: Request): Promise<Response> => {
    this.#http ??= loadService().then(({ HttpService }) => new HttpService(this.#toolkit, this.#options));
    return (await this.#http).answer(request);
  };

  /** Listens for HTTP requests. Resolves to the address for clients. */
  async listen({ port = 0, host = '127.0.0.1' }: McpListenOptions = {}): Promise<string> {
    checkNumber('port', port, { least: 0, most: 65_535, whole: true });
    const listener = new WebListener(async (request) =>
      new URL(request.url).pathname === PATH
        ? this.fetch(request)
        : new Response('Not found', { status: 404 }),
    );
    this.#listeners.add(listener);
    return `${await listener.listen(port, host)}${PATH}`;
  }

  /** Ends all connections; calls that run are aborted. */
  async close(): Promise<void> {
    const http = await this.#http;
    this.#http = undefined;
    await Promise.all([
      http?.close(),
      this.#stdio?.close(),
      ...[...this.#listeners].map((one) => one.close()),
    ]);
    this.#listeners.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
