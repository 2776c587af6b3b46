import { AgentBase } from '../../agent/agent-base.ts';
import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { MAX_BYTES } from '../../util/net/safe-fetch.ts';
import { WebListener } from '../../util/net/web-listener.node.ts';
import type { A2AService, A2AServiceOptions } from './a2a-service.ts';
import type { Session } from '../../session/session.ts';
import type { CardSigning } from '../protocol/card-signature.ts';
import type { A2AAgentSource } from './context-shelf.ts';
import { loadSdk } from '../protocol/load-sdk.ts';
import type { A2ACard } from './server-card.ts';

export interface A2AServerOptions {
  /** What others are told about the agent. */
  readonly card: A2ACard;
  /** Signs the card. @default it is not signed */
  readonly signing?: CardSigning;
  /**
   * Who sends a request: an id that is theirs alone, or undefined for nobody, who is refused. Tasks and conversations belong to the user.
   * @default everybody is the same user
   */
  readonly authenticate?: (request: Request) => string | undefined | Promise<string | undefined>;
  /** By which host names the server may be reached, and from which web pages. @default those of this machine */
  readonly allowedHosts?: readonly string[];
  /** How many conversations are open. Of the user with the most, the one that was silent for the longest time makes room. @default 1000 */
  readonly maxContexts?: number;
  /**
   * Where conversations are kept: the agents' states and the tasks. What waits for input then goes on after a restart.
   * @default nowhere: they live as long as the server
   */
  readonly session?: Session;
  /** The most bytes of one request. @default 20 MiB */
  readonly maxBodyBytes?: number;
}

export interface A2AListenOptions {
  /** @default any that is free */
  readonly port?: number;
  /** @default '127.0.0.1', which only this machine can reach */
  readonly host?: string;
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/**
 * An agent for A2A clients. Given as a function, each conversation has an agent of its own; any other is one for all, with one
 * memory, and therefore only for a single user. A canceled task interrupts its agent; calls that the agent has pending
 * make the task wait for input.
 */
export class A2AServer implements AsyncDisposable {
  readonly #source: A2AAgentSource;
  readonly #options: A2AServiceOptions;
  readonly #listeners = new Set<WebListener>();
  #service: Promise<A2AService> | undefined;
  #isClosed = false;

  /** @throws TroupeError if the options can't be. */
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

  /** Answers one HTTP request: for a web server that is there already. Never rejects. */
  readonly fetch = async (request: Request): Promise<Response> => {
    if (this.#isClosed) return Response.json({ error: 'Closed' }, { status: 503 });
    this.#service ??= loadSdk(() => import('./a2a-service.ts')).then(
      ({ A2AService }) => new A2AService(this.#source, this.#options),
    );
    return (await this.#service).answer(request);
  };

  /** Listens for HTTP requests. Resolves to the address for clients. */
  async listen({ port = 0, host = '127.0.0.1' }: A2AListenOptions = {}): Promise<string> {
    if (this.#isClosed) throw new TroupeError('invalid_input', 'The server is closed. Make another.');
    checkNumber('port', port, { least: 0, most: 65_535, whole: true });
    const listener = new WebListener(this.fetch);
    this.#listeners.add(listener);
    return listener.listen(port, host);
  }

  /** Ends all work and all connections, for good. Tasks that wait go on some day if there is a `session`. */
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

/** Serves an agent to A2A clients: `await serveA2A(makeAgent, { card }).listen()`. @throws TroupeError */
export function serveA2A(source: A2AAgentSource, options: A2AServerOptions): A2AServer {
  return new A2AServer(source, options);
}
