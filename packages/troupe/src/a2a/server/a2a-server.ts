import { AgentBase } from '../../agent/agent-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { MAX_BYTES } from '../../util/net/safe-fetch.ts';
import { WebListener } from '../../util/net/web-listener.node.ts';
import type { A2AServerOptions } from './a2a-server-options.ts';
import type { A2AService, A2AServiceOptions } from './a2a-service.ts';
import type { A2AAgentSource } from './open-contexts.ts';
import { loadA2AServerSdk } from '../protocol/sdk.ts';

export interface A2AListenOptions {
  /** Port. @default any free port */
  readonly port?: number;
  /** Address to listen on. @default '127.0.0.1', reachable only from this machine */
  readonly host?: string;
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Serves an agent to A2A clients. With a function, each conversation has its own agent; a single agent is
 * shared by all, with one memory, and so suits one user only. Canceling a task interrupts its agent; pending
 * tool calls of the agent make the task wait for input.
 */
export class A2AServer implements AsyncDisposable {
  readonly #source: A2AAgentSource;
  readonly #options: A2AServiceOptions;
  readonly #listeners = new Set<WebListener>();
  #service: Promise<A2AService> | undefined;
  #isClosed = false;

  /** @throws TroupeError if an option is wrong. */
  constructor(source: A2AAgentSource, options: A2AServerOptions) {
    const { card, maxContexts = 1000, maxBodyBytes = MAX_BYTES, allowedHosts = LOCAL_HOSTS } = options;
    const name = card?.name ?? (source instanceof AgentBase ? source.name : undefined);
    if (name === undefined) {
      throw new TroupeError(
        'invalid_config',
        `A card needs a name: { card: { name: 'planner', description: 'Plans trips.' } }.`,
      );
    }
    if (source instanceof AgentBase && options.authenticate !== undefined) {
      const problem =
        'One agent can not be shared by users, who would read each other. Give a function that makes agents.';
      throw new TroupeError('invalid_config', problem);
    }
    if (options.session !== undefined && typeof options.session.scoped !== 'function') {
      throw new TroupeError('invalid_config', `session is a session, such as new JsonSession('./folder').`);
    }
    checkNumber('maxContexts', maxContexts, { least: 1, whole: true });
    checkNumber('maxBodyBytes', maxBodyBytes, { least: 1 });
    this.#source = source;
    this.#options = { ...options, card: { ...card, name }, maxContexts, maxBodyBytes, allowedHosts };
  }

  /** Answers one HTTP request, for use in an existing web server. Never rejects. */
  readonly fetch = async (request: Request): Promise<Response> => {
    if (this.#isClosed) return Response.json({ error: 'Closed' }, { status: 503 });
    this.#service ??= this.#load();
    return (await this.#service).answer(request);
  };

  async #load(): Promise<A2AService> {
    await loadA2AServerSdk();
    const { A2AService } = await import('./a2a-service.ts');
    return new A2AService(this.#source, this.#options);
  }

  /** Listens for HTTP requests. Resolves to the address for clients. */
  async listen({ port = 0, host = '127.0.0.1' }: A2AListenOptions = {}): Promise<string> {
    if (this.#isClosed) throw new TroupeError('invalid_input', 'The server is closed. Make another.');
    checkNumber('port', port, { least: 0, most: 65_535, whole: true });
    const listener = new WebListener(this.fetch);
    this.#listeners.add(listener);
    return listener.listen(port, host);
  }

  /**
   * Ends all work and all connections for good. With a `session`, waiting tasks can continue in a later
   * server.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const service = await this.#service;
    await Promise.all([service?.close(), ...[...this.#listeners].map((one) => one.close())]);
    this.#listeners.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Serves an agent to A2A clients.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { A2AAgent, serveA2A, WellKnownAgentCardResolver } from 'troupe/a2a';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const makeAgent = () => new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false });
 * const card = { name: 'friday', description: 'Answers questions.' };
 * await using server = serveA2A(makeAgent, { card });
 * const address = new WellKnownAgentCardResolver(await server.listen());
 * const remote = new A2AAgent({ name: 'remote', card: address, console: false });
 * console.log((await remote.call('Hello!')).text);
 * ```
 * @throws TroupeError if an option is invalid
 */
export function serveA2A(source: A2AAgentSource, options: A2AServerOptions): A2AServer {
  return new A2AServer(source, options);
}
