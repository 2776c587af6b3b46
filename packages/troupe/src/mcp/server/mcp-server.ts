import { checkNumber } from '../../util/check-number.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import { WebListener } from '../../util/net/web-listener.node.ts';
import { agentToolkit, type AgentSource } from './agent-as-tool.ts';
import { IMPLEMENTATION } from '../protocol/mcp-implementation.ts';
import { loadMcpServerSdk } from '../protocol/sdk.ts';
import type { McpServerOptions } from './mcp-server-options.ts';
import type * as McpService from './mcp-service.ts';

export interface McpListenOptions {
  /** Port. @default any free port */
  readonly port?: number;
  /** Address to listen on. @default '127.0.0.1', reachable only from this machine */
  readonly host?: string;
}

const PATH = '/mcp';

async function loadService(): Promise<typeof McpService> {
  await loadMcpServerSdk();
  return import('./mcp-service.ts');
}

/**
 * MCP server for a toolkit or an agent, over standard input and output, over HTTP, or both. Snapshots of a
 * tool are sent as progress, a cancelled request aborts its tool call, and a failure is an error result. All
 * clients share the tools. An agent given as a function is made anew for each tool call; any other agent is
 * shared, with one memory.
 */
export class McpServer {
  readonly #toolkit: Toolkit;
  readonly #options: Required<Pick<McpServerOptions, 'name' | 'version'>> & McpServerOptions;
  readonly #listeners = new Set<WebListener>();
  #http: Promise<McpService.HttpService> | undefined;
  #stdio: McpService.StdioService | undefined;

  /** @throws TroupeError if an agent's name can't be a tool name. */
  constructor(source: Toolkit | AgentSource, options: McpServerOptions = {}) {
    this.#toolkit = source instanceof Toolkit ? source : agentToolkit(source, options.description);
    this.#options = { ...IMPLEMENTATION, ...options };
  }

  /**
   * Serves one client over standard input and output; resolves when the client has disconnected. Meanwhile
   * all other output of the program goes to standard error, because standard output carries the protocol.
   */
  async serveStdio(): Promise<void> {
    const { StdioService } = await loadService();
    this.#stdio = new StdioService(this.#toolkit, this.#options);
    await this.#stdio.ended;
  }

  /** Answers one HTTP request at any path, for use in an existing web server. Never rejects. */
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

  /** Closes all connections; running tool calls are aborted. */
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
