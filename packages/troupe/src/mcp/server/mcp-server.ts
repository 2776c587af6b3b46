import { checkNumber } from '../../util/check-number.ts';
import { Toolkit } from '../../toolkit/toolkit.ts';
import { WebListener } from '../../util/net/web-listener.node.ts';
import { agentToolkit, type AgentSource } from './agent-as-tool.ts';
import { IMPLEMENTATION } from '../protocol/mcp-implementation.ts';
import { loadMcpServerSdk } from '../protocol/sdk.ts';
import type { McpServerOptions } from './mcp-server-options.ts';
import type * as Services from './mcp-service.ts';
import type { McpService } from './new-server.ts';
import { ServedContent, type McpServedPrompt, type McpServedResource } from './served-content.ts';

export interface McpListenOptions {
  /** Port. @default any free port */
  readonly port?: number;
  /** Address to listen on. @default '127.0.0.1', reachable only from this machine */
  readonly host?: string;
}

const PATH = '/mcp';

async function loadService(): Promise<typeof Services> {
  await loadMcpServerSdk();
  return import('./mcp-service.ts');
}

/**
 * MCP server for a toolkit or an agent, with resources and prompts, over standard input and output, over HTTP, or both. Snapshots of a
 * tool are sent as progress, a cancelled request aborts its tool call, and a failure is an error result. All
 * clients share the tools. An agent given as a function is made anew for each tool call; any other agent is
 * shared, with one memory. Folder `mcp/server`: start here.
 *
 * @example
 * ```ts
 * import { tool, Toolkit } from 'troupe';
 * import { McpServer } from 'troupe/mcp';
 *
 * const time = tool({ name: 'time', execute: () => 'It is noon.' });
 * await using server = new McpServer(new Toolkit({ tools: [time] }));
 * console.log(await server.listen()); // http://127.0.0.1:<a free port>/mcp
 * ```
 */
export class McpServer {
  readonly #service: McpService;
  readonly #listeners = new Set<WebListener>();
  #http: Promise<Services.HttpService> | undefined;
  #stdio: Services.StdioService | undefined;

  /** @throws TroupeError if an agent's name can't be a tool name. */
  constructor(source: Toolkit | AgentSource, options: McpServerOptions = {}) {
    const { resources, resourceTemplates, prompts } = options;
    this.#service = {
      toolkit: source instanceof Toolkit ? source : agentToolkit(source, options),
      content: new ServedContent(resources, resourceTemplates, prompts),
      options: { ...IMPLEMENTATION, ...options },
    };
  }

  /** Adds a resource, or replaces the one at the same address. Clients are told. */
  addResource(resource: McpServedResource): void {
    this.#service.content.resources.set(resource.uri, resource);
    this.#service.content.tell('resources');
  }

  /** Removes a resource, and tells clients. Returns whether there was one. */
  removeResource(uri: string): boolean {
    const { resources } = this.#service.content;
    if (!resources.delete(uri)) return false;
    this.#service.content.tell('resources');
    return true;
  }

  /** Reports new content of a resource to the clients with a subscription. */
  resourceChanged(uri: string): void {
    this.#service.content.tell({ resource: uri });
  }

  /** Adds a prompt, or replaces the one of the same name. Clients are told. */
  addPrompt(prompt: McpServedPrompt): void {
    this.#service.content.prompts.set(prompt.name, prompt);
    this.#service.content.tell('prompts');
  }

  /** Removes a prompt, and tells clients. Returns whether there was one. */
  removePrompt(name: string): boolean {
    if (!this.#service.content.prompts.delete(name)) return false;
    this.#service.content.tell('prompts');
    return true;
  }

  /**
   * Serves one client over standard input and output; resolves when the client has disconnected. Meanwhile
   * all other output of the program goes to standard error, because standard output carries the protocol.
   */
  async serveStdio(): Promise<void> {
    const { StdioService } = await loadService();
    this.#stdio = new StdioService(this.#service);
    await this.#stdio.ended;
  }

  /** Answers one HTTP request at any path, for use in an existing web server. Never rejects. */
  readonly fetch = async (request: Request): Promise<Response> => {
    this.#http ??= loadService().then(({ HttpService }) => new HttpService(this.#service));
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
