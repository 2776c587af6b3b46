import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import { getLogger, type AgentBase, type Usage } from 'troupe';
import { serveTalk, type Talk, type Talker } from 'troupe/realtime';
import { redactKeys } from 'troupe/studio';
import { WebSocketServer, type WebSocket } from 'ws';

import type { Authenticate, Caller } from '../auth/authenticate.ts';
import type { UserLimiter } from '../limits/user-limits.ts';
import { managerOf } from '../runs/run-execution.ts';
import type { RunRequests } from '../runs/run-requests.ts';
import { within } from '../runs/run-scheduler.ts';
import type { AgentTable } from '../runs/served-agent.ts';
import { ServiceFailure } from '../service-failure.ts';
import { repeatConflicts } from '../store/repeat-conflicts.ts';
import type { SessionRecord } from '../store/run-record.ts';
import type { ServiceStore } from '../store/service-store.ts';

export interface TalkParts {
  readonly store: ServiceStore;
  readonly agents: AgentTable;
  readonly requests: RunRequests;
  readonly limiter: UserLimiter;
  /** Id of the process in the table of owners. */
  readonly owner: string;
  /** Undefined: every caller is the user `local`, and only loopback names are answered. */
  readonly authenticate: Authenticate | undefined;
  /** Maximum characters of a text or an image. */
  readonly maxBodyBytes: number;
  /** Origins of other pages that may connect. */
  readonly corsOrigins: readonly string[];
  readonly now: () => number;
}

interface OpenTalk {
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

const PATH = /^\/api\/sessions\/([^/?]{1,1024})\/talk(?:\?|$)/;
/** Sub-protocol of the events, and the one in which a page sends its token: a browser can set no header. */
const PROTOCOL = 'troupe.talk';
const TOKEN_PROTOCOL = 'bearer.';
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;
const LOCAL: Caller = { user: 'local' };
/** Longest frame: some seconds of sound, or an image. */
const MAX_FRAME_BYTES = 4 * 1024 * 1024;
const MAX_TALKS = 1000;
const PING_MS = 20_000;

/**
 * Conversations over WebSockets: `GET /api/sessions/{session}/talk`. A conversation has the state of its session, saves after every answer, and is counted for its
 * user. A second connection to a session ends the first one, so that a page that is loaded again goes on. Folder `talks`: start here.
 */
export class TalkServer {
  readonly #parts: TalkParts;
  readonly #talks = new Map<string, OpenTalk>();
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    handleProtocols: (protocols) => (protocols.has(PROTOCOL) ? PROTOCOL : false),
  });
  /** Connections that are upgraded or refused: Node's server does not close these. */
  readonly #sockets = new Set<Duplex>();
  readonly #toFree: { readonly user: string; readonly id: string; readonly talkId: string }[] = [];
  #isClosed = false;

  constructor(parts: TalkParts) {
    this.#parts = parts;
  }

  /** Takes an upgrade of an HTTP connection, or refuses it. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    this.#upgrade(request, socket, head).catch((error: unknown) => refuse(socket, error));
  }

  /** Frees the sessions of ended conversations. One that could not be freed, such as without the database, is tried again by the next call. */
  async freeSessions(): Promise<void> {
    const { commits, sessions } = this.#parts.store;
    for (const ended of this.#toFree.splice(0)) {
      const { user, id, talkId } = ended;
      try {
        await commits.add((tx) => sessions.leave(tx, user, id, talkId));
      } catch (error) {
        this.#toFree.push(ended);
        getLogger().log('warn', `A session could not be freed: ${redactKeys(String(error))}`);
      }
    }
  }

  /** Ends all conversations, and waits for them for `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    for (const { stop } of this.#talks.values()) stop.abort();
    await within(Promise.all([...this.#talks.values()].map(({ done }) => done)), graceMs);
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const [, encoded] = PATH.exec(request.url ?? '') ?? [];
    if (encoded === undefined) throw new ServiceFailure('not_found', 'There is nothing here.');
    this.#assertOrigin(request);
    const { user } = await this.#callerOf(request);
    const { limiter, requests } = this.#parts;
    limiter.countRequest(user);
    const session = await requests.session(user, sessionIdOf(encoded));
    const key = JSON.stringify([user, session.id]);
    for (let open = this.#talks.get(key); open !== undefined; open = this.#talks.get(key)) {
      open.stop.abort();
      await open.done;
    }
    if (this.#isClosed) throw new ServiceFailure('closing', 'The service is closing.', 1);
    if (this.#talks.size >= MAX_TALKS)
      throw new ServiceFailure('limit_reached', 'Too many conversations.', 10);
    const stop = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#talks.set(key, { stop, done });
    this.#talk(session, request, socket, head, stop)
      .catch((error: unknown) => refuse(socket, error))
      .finally(() => {
        this.#talks.delete(key);
        resolve();
      });
  }

  async #talk(
    session: SessionRecord,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    stop: AbortController,
  ): Promise<void> {
    const { owner, limiter } = this.#parts;
    const { user, id } = session;
    const talkId = `talk:${randomUUID()}`;
    await limiter.admit(user, () => this.#occupy(session, { id: talkId, owner }));
    try {
      await this.#talkIn(session, talkId, request, socket, head, stop);
    } finally {
      this.#toFree.push({ user, id, talkId });
      await this.freeSessions();
    }
  }

  /** From here on no run begins in the session, in any process, and it can't be deleted. */
  async #occupy({ user, id }: SessionRecord, talk: { id: string; owner: string }): Promise<void> {
    const { store, now } = this.#parts;
    const isFree = await repeatConflicts(() =>
      store.database.transaction(async (tx) => {
        await store.sessions.touch(tx, user, id, now());
        return store.sessions.occupyByTalk(tx, user, id, talk);
      }),
    );
    if (!isFree) throw new ServiceFailure('session_busy', 'The session has a run, or another conversation.');
  }

  async #talkIn(
    session: SessionRecord,
    talkId: string,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    stop: AbortController,
  ): Promise<void> {
    const { store, agents, limiter, maxBodyBytes } = this.#parts;
    const { user, id } = session;
    const agent = await agents.make(session.agent, { user, session: id, run: undefined });
    try {
      const talker = agents.get(session.agent)?.talk?.(agent) ?? (isTalker(agent) ? agent : undefined);
      if (talker === undefined)
        throw new ServiceFailure(
          'not_available',
          `The agent '${session.agent}' can't talk: give it the option talk.`,
        );
      const manager = managerOf(store, { user, session: id }, agent);
      await manager.loadIfExists();
      let talk: Talk | undefined;
      const usage = new TalkUsage(() => talk?.usage);
      const save = async (): Promise<void> => {
        try {
          if (!(await store.sessions.isOccupiedBy(user, id, talkId))) {
            stop.abort();
            throw new ServiceFailure(
              'session_busy',
              'The session was given to others: its process was taken for dead.',
            );
          }
          await manager.saveSession();
          await store.commits.add((tx) => store.sessions.setPending(tx, user, id, agent.pendingCalls));
        } finally {
          await this.#count(user, usage);
        }
      };
      agent.onOutcome(async () => {
        await save();
        await limiter.assertBudget(user).catch((error: unknown) => {
          if (!(error instanceof ServiceFailure)) throw error;
          stop.abort();
        });
      });
      const webSocket = this.#accept(request, socket, head);
      if (webSocket === undefined) return;
      const stopPings = keepAsking(webSocket);
      try {
        await serveTalk(webSocket, talker, {
          sessionId: id,
          signal: stop.signal,
          onTalk: (opened) => (talk = opened),
          onRequest: (size) => {
            limiter.countRequest(user);
            if (size > maxBodyBytes)
              throw new ServiceFailure('too_large', `The event is larger than ${maxBodyBytes} bytes.`);
          },
        });
      } finally {
        stopPings();
        webSocket.terminate();
      }
      await save();
    } finally {
      await agent[Symbol.asyncDispose]();
    }
  }

  /** Adds what a talk has used since the last time to the usage of its user. */
  async #count(user: string, usage: TalkUsage): Promise<void> {
    const { store, now } = this.#parts;
    const used = usage.takeNew();
    if (used !== undefined) await store.commits.add((tx) => store.usage.add(tx, user, used, now()));
  }

  /** @returns undefined if the client has left, or its request was none of a WebSocket: `ws` has answered it then */
  #accept(request: IncomingMessage, socket: Duplex, head: Buffer): WebSocket | undefined {
    let accepted: WebSocket | undefined;
    this.#server.handleUpgrade(request, socket, head, (made) => (accepted = made)); // calls at once, or never
    return accepted;
  }

  /** A page of another origin could use a login of this browser. */
  #assertOrigin({ headers }: IncomingMessage): void {
    const { origin, host = '' } = headers;
    if (origin === undefined || this.#parts.corsOrigins.includes(origin)) return;
    if (URL.canParse(origin) && new URL(origin).host === host) return;
    throw new ServiceFailure('forbidden', 'Pages of this origin may not call the service.');
  }

  async #callerOf(request: IncomingMessage): Promise<Caller> {
    const { authenticate } = this.#parts;
    const { host = '' } = request.headers;
    if (authenticate === undefined) {
      if (LOOPBACK.test(host)) return LOCAL;
      throw new ServiceFailure(
        'forbidden',
        'Without authentication the service answers only on this machine.',
      );
    }
    const headers = new Headers();
    for (const name of ['authorization', 'cookie', 'origin'] as const) {
      const value = request.headers[name];
      if (value !== undefined) headers.set(name, value);
    }
    const token = protocolsOf(request).find((protocol) => protocol.startsWith(TOKEN_PROTOCOL));
    if (token !== undefined && !headers.has('authorization'))
      headers.set('authorization', `Bearer ${token.slice(TOKEN_PROTOCOL.length)}`);
    const caller = await authenticate(new Request(`http://${host}${request.url ?? '/'}`, { headers }));
    if (caller === undefined) throw new ServiceFailure('unauthenticated', 'The request needs a valid token.');
    return caller;
  }
}

/** Splits the growing usage of a talk into parts that are each counted once. */
class TalkUsage {
  readonly #total: () => Usage | undefined;
  #counted = { inputTokens: 0, outputTokens: 0, cost: 0 };

  constructor(total: () => Usage | undefined) {
    this.#total = total;
  }

  /** The usage since the last call. */
  takeNew(): Usage | undefined {
    const total = this.#total();
    if (total === undefined) return undefined;
    const { inputTokens, outputTokens, cost = 0 } = total;
    const before = this.#counted;
    this.#counted = { inputTokens, outputTokens, cost };
    return {
      ...total,
      inputTokens: inputTokens - before.inputTokens,
      outputTokens: outputTokens - before.outputTokens,
      cost: cost - before.cost,
    };
  }
}

function protocolsOf({ headers }: IncomingMessage): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
}

function sessionIdOf(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw new ServiceFailure('not_found', 'There is nothing with such an id.');
  }
}

function isTalker(agent: AgentBase): agent is AgentBase & Talker {
  return typeof Reflect.get(agent, 'connect') === 'function';
}

/** Sends pings, and ends the connection of a client that has not answered the last one. The returned function stops that. */
function keepAsking(webSocket: WebSocket): () => void {
  let isAnswered = true;
  webSocket.on('pong', () => (isAnswered = true));
  const pings = setInterval(() => {
    if (!isAnswered && !webSocket.isPaused) return webSocket.terminate();
    isAnswered = webSocket.isPaused; // nothing is read meanwhile, also no answer
    webSocket.ping();
  }, PING_MS);
  return () => clearInterval(pings);
}

/** Answers an upgrade with an error, as far as the client still listens. */
function refuse(socket: Duplex, error: unknown): void {
  if (!(error instanceof ServiceFailure))
    getLogger().log('error', `A conversation failed: ${redactKeys(String(error))}`);
  if (socket.destroyed || !socket.writable) return;
  const failure =
    error instanceof ServiceFailure
      ? error
      : new ServiceFailure('internal', 'Something failed. It was logged.');
  const body = JSON.stringify({
    type: 'about:blank',
    status: failure.status,
    detail: failure.message,
    code: failure.code,
  });
  socket.once('finish', () => socket.destroy()); // also if the client keeps its half open
  socket.end(
    `HTTP/1.1 ${failure.status} Refused\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
