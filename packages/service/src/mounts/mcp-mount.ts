import { randomUUID } from 'node:crypto';

import { McpServer } from 'troupe/mcp';

import type { Route, RouteRequest } from '../http/route.ts';
import { readBody } from '../http/read-body.ts';
import { ServiceFailure } from '../service-failure.ts';
import type { MountParts } from './a2a-mount.ts';
import { answerWith, mountedRequest } from './mounted-request.ts';
import { SessionAgent } from './session-agent.ts';

const PACKAGE = '@modelcontextprotocol/server';
/** Maximum servers, one for each user and agent. A new one ends the least recently used one, with its connections. */
const MAX_SERVERS = 1000;
const METHODS = ['get', 'post', 'delete'] as const;
const SUMMARIES = {
  get: 'Read messages of the MCP server',
  post: 'Speak MCP: the agent is a tool',
  delete: 'End a session of MCP',
} as const;

/**
 * The library's MCP server for each agent: a tool that talks to the agent. Each tool call is a run in a session of its own. A user has
 * servers of their own, so that no id of MCP reaches those of others.
 */
export class McpMount {
  readonly #parts: MountParts;
  /** By user and agent, least recently used first. */
  readonly #servers = new Map<string, McpServer>();

  constructor(parts: MountParts) {
    this.#parts = parts;
  }

  get routes(): readonly Route[] {
    return METHODS.map((method) => ({
      method,
      path: '/mcp/{agent}',
      summary: SUMMARIES[method],
      status: 200,
      mediaType: 'application/json',
      handle: (request) => answerWith(PACKAGE, () => this.#answer(request)),
    }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  async #answer({ caller, params, request }: RouteRequest): Promise<Response> {
    const { agents, maxBodyBytes } = this.#parts;
    const name = params['agent'] ?? '';
    if (agents.get(name) === undefined) throw new ServiceFailure('not_found', `There is no agent '${name}'.`);
    const body = request.method === 'POST' ? await readBody(request, maxBodyBytes) : undefined;
    return this.#serverOf(caller.user, name).fetch(mountedRequest(request, body));
  }

  #serverOf(user: string, agent: string): McpServer {
    const key = JSON.stringify([user, agent]);
    const server = this.#servers.get(key) ?? this.#newServer(user, agent);
    this.#servers.delete(key);
    this.#servers.set(key, server);
    const [oldest] = this.#servers;
    if (oldest !== undefined && this.#servers.size > MAX_SERVERS) {
      this.#servers.delete(oldest[0]);
      void oldest[1].close();
    }
    return server;
  }

  #newServer(user: string, agent: string): McpServer {
    const { agents, closing } = this.#parts;
    const description = agents.get(agent)?.description;
    return new McpServer(
      () => new SessionAgent(this.#parts, { user, agent, conversation: `mcp-${randomUUID()}`, closing }),
      { allowedHosts: ['localhost'], ...(description !== undefined && { description }) },
    );
  }
}
