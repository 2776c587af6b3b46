import { createHash } from 'node:crypto';

import type { Session } from 'troupe';
import { serveA2A, type A2AServer, type A2AServerOptions } from 'troupe/a2a';

import type { Route, RouteRequest } from '../http/route.ts';
import { readBody } from '../http/read-body.ts';
import type { ProtocolParts } from '../protocols/protocol-run.ts';
import type { AgentTable } from '../runs/served-agent.ts';
import { ServiceFailure } from '../service-failure.ts';
import { answerWith, mountedRequest } from './mounted-request.ts';
import { SessionAgent } from './session-agent.ts';

export interface MountParts extends ProtocolParts {
  readonly agents: AgentTable;
  /** Where conversations of A2A keep their tasks. */
  readonly states: Session;
  readonly maxBodyBytes: number;
  /** Address of the service for its clients. @default that of each request */
  readonly url?: string | undefined;
  /** Whether callers have tokens. */
  readonly isOpen: boolean;
  readonly closing: AbortSignal;
}

const PACKAGE = '@a2a-js/sdk';
const ANSWER = { status: 200, mediaType: 'application/json' } as const;

/**
 * The library's A2A server for each agent. A conversation (`contextId`) is a session, and a message is a run. The card is public: clients
 * read it before they have a token.
 */
export class A2AMount {
  readonly #parts: MountParts;
  readonly #servers = new Map<string, A2AServer>();
  /** Users of requests that the service has authenticated. */
  readonly #users = new WeakMap<Request, string>();

  constructor(parts: MountParts) {
    this.#parts = parts;
  }

  get routes(): readonly Route[] {
    return [
      {
        method: 'get',
        path: '/a2a/{agent}/.well-known/agent-card.json',
        summary: 'Show the card of an agent for A2A',
        isPublic: true,
        ...ANSWER,
        handle: (request) => answerWith(PACKAGE, () => this.#card(request)),
      },
      {
        method: 'post',
        path: '/a2a/{agent}',
        summary: 'Speak to an agent by A2A: JSON-RPC, with server-sent events for streams',
        ...ANSWER,
        handle: (request) => answerWith(PACKAGE, () => this.#answer(request)),
      },
    ];
  }

  /** Deletes the tasks of a session that was deleted. */
  async forget(user: string, agent: string, session: string): Promise<void> {
    // the key of a conversation in the library's server
    await this.#statesOf(agent)
      .scoped('a2a@')
      .delete({ user: hashOf(user), session: hashOf(session) });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  async #card({ params, request }: RouteRequest): Promise<Response> {
    const { origin, pathname } = new URL(request.url);
    const url = `${this.#parts.url ?? originOf(request, origin)}${pathname.replace(/\/\.well-known\/.*$/, '')}`;
    const options = this.#optionsOf(params['agent'] ?? '');
    return serveA2A(noAgent, { ...options, card: { ...options.card, url } }).fetch(
      mountedRequest(request, undefined),
    );
  }

  async #answer({ caller, params, request }: RouteRequest): Promise<Response> {
    const name = params['agent'] ?? '';
    const options = this.#optionsOf(name);
    const inner = mountedRequest(request, await readBody(request, this.#parts.maxBodyBytes));
    this.#users.set(inner, caller.user);
    let server = this.#servers.get(name);
    if (server === undefined) {
      server = serveA2A(
        ({ user, contextId }) =>
          new SessionAgent(this.#parts, {
            user,
            agent: name,
            conversation: contextId,
            closing: this.#parts.closing,
          }),
        options,
      );
      this.#servers.set(name, server);
    }
    return server.fetch(inner);
  }

  #optionsOf(name: string): A2AServerOptions {
    const { agents, maxBodyBytes, isOpen } = this.#parts;
    const agent = agents.get(name);
    if (agent === undefined) throw new ServiceFailure('not_found', `There is no agent '${name}'.`);
    return {
      card: {
        name,
        description: agent.description ?? `The agent ${name}.`,
        inputModes: ['text/plain', 'image/*', 'application/pdf'],
        ...(!isOpen && { security: 'bearer' as const }),
      },
      authenticate: (request) => this.#users.get(request),
      allowedHosts: ['localhost'],
      session: this.#statesOf(name),
      maxBodyBytes,
    };
  }

  #statesOf(agent: string): Session {
    return this.#parts.states.scoped(`service-${hashOf(agent).slice(0, 16)}@`);
  }
}

function noAgent(): never {
  throw new Error('A card needs no agent.');
}

/** The origin that the client has used: the host header wins over the URL. */
function originOf({ headers }: Request, origin: string): string {
  const host = headers.get('host');
  return host === null ? origin : `${new URL(origin).protocol}//${host}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
