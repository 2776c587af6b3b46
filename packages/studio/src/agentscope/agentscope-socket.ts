import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import type { Server, Socket } from 'socket.io';
import type { ContentBlock, JsonObject } from 'troupe';
import { toAgentScopeBlocks } from 'troupe/studio';

import type { RunHub } from '../runs/run-hub.ts';
import { ApiFailure } from '../server/api-failure.ts';

const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * The sockets of AgentScope programs: namespace `/python`, one for each run. A program hears the answers to its own questions, and
 * nothing else. A run must be registered before, so that the id of a run is the permission to listen.
 */
export class AgentScopeSocket {
  readonly #hub: RunHub;
  readonly #io: Server;
  readonly #sockets = new Map<string, Set<Socket>>();

  private constructor(hub: RunHub, io: Server) {
    this.#hub = hub;
    this.#io = io;
    io.of('/python').use((socket, next) => {
      const runId = runIdOf(socket);
      const isKnown = runId !== undefined && hub.run(runId)?.source === 'agentscope';
      next(isKnown ? undefined : new Error('This run is not registered.'));
    });
    io.of('/python').on('connection', (socket) => this.#connect(socket));
  }

  /** Loads socket.io, an optional package. @returns undefined where it is not installed */
  static async load(hub: RunHub): Promise<AgentScopeSocket | undefined> {
    try {
      const { Server: SocketServer } = await import('socket.io');
      const io = new SocketServer({
        serveClient: false,
        maxHttpBufferSize: MAX_MESSAGE_BYTES,
        connectTimeout: 10_000,
      });
      io.attach(createServer()); // a server that never listens: requests come by `handle`, after their check
      return new AgentScopeSocket(hub, io);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
        return undefined;
      throw error;
    }
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#io.engine.handleRequest(request, response);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#io.engine.handleUpgrade(request, socket, head);
  }

  /** Sends an answer to the program of a run. @throws ApiFailure if the program has left */
  answer(
    runId: string,
    questionId: string,
    content: string | readonly ContentBlock[],
    structured: JsonObject | undefined,
  ): void {
    const sockets = this.#sockets.get(runId);
    if (sockets === undefined) throw new ApiFailure('gone', 'The program is not connected.');
    for (const socket of sockets)
      socket.emit('forwardUserInput', questionId, toAgentScopeBlocks(content), structured ?? null);
  }

  async close(): Promise<void> {
    await this.#io.close();
  }

  #connect(socket: Socket): void {
    const runId = runIdOf(socket) ?? '';
    const sockets = this.#sockets.get(runId) ?? new Set();
    this.#sockets.set(runId, sockets.add(socket));
    this.#hub.reopenRun(runId);
    socket.on('disconnect', () => {
      sockets.delete(socket);
      if (sockets.size > 0) return;
      this.#sockets.delete(runId);
      this.#hub.endRun(runId);
    });
  }
}

function runIdOf(socket: Socket): string | undefined {
  const runId: unknown = socket.handshake.auth['run_id'];
  return typeof runId === 'string' ? runId : undefined;
}
