import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';

import { STUDIO_PROTOCOL, type LiveMessage, type RunEntry, type StudioRun } from '../protocol.ts';
import type { RunHub } from '../runs/run-hub.ts';
import { isRecord, parseBoundedJson } from '../store/json-text.ts';

export interface LiveServerOptions {
  readonly startedAt: string;
  readonly startTimer: (ms: number, callback: () => void) => () => void;
}

const MAX_FRAME_BYTES = 64 * 1024;
/** Bytes on their way to a reader after which it is closed, and resumes later. */
const MAX_BACKLOG_BYTES = 8 * 1024 * 1024;
/** While more than this is on its way, stored entries wait. */
const PAUSE_BACKLOG_BYTES = 1024 * 1024;
const PAGE_ENTRIES = 500;
const PING_MS = 20_000;
const RUN_CHANGES_MS = 250;
const MAX_WATCHED_RUNS = 50;
const MAX_CONNECTIONS = 100;

/** The live connections of pages. Each tab has one. */
export class LiveServer {
  readonly #hub: RunHub;
  readonly #options: LiveServerOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  readonly #connections = new Set<LiveConnection>();
  readonly #stopListening: () => void;
  /** Runs that have changed since the last notice. */
  readonly #changed = new Set<string>();
  #stopTimers: (() => void)[] = [];
  #isNoticePlanned = false;
  problem: string | undefined;

  constructor(hub: RunHub, options: LiveServerOptions) {
    this.#hub = hub;
    this.#options = options;
    this.#stopListening = hub.listen({
      onEntries: (runId, entries) => {
        for (const connection of this.#connections) connection.addEntries(runId, entries);
      },
      onRun: ({ id }) => this.#noteRun(id),
      onRunsDeleted: (ids) => this.#broadcast({ type: 'runs_deleted', ids }, true),
      onWaiting: () => this.#broadcast(this.#waiting()),
    });
    this.#planPings();
  }

  /** Number of open connections. */
  get size(): number {
    return this.#connections.size;
  }

  /** Takes over an upgraded connection. Host, Origin and cookie were checked before. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#connections.size >= MAX_CONNECTIONS) {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new LiveConnection(webSocket, this.#hub, () => this.#connections.delete(connection));
      this.#connections.add(connection);
      connection.send({ type: 'hello', protocol: STUDIO_PROTOCOL, startedAt: this.#options.startedAt });
      connection.send(this.#waiting());
      if (this.problem !== undefined) connection.send({ type: 'problem', problem: this.problem });
    });
  }

  setProblem(problem: string | undefined): void {
    if (problem === this.problem) return;
    this.problem = problem;
    this.#broadcast({ type: 'problem', ...(problem !== undefined && { problem }) });
  }

  close(): void {
    this.#stopListening();
    for (const stop of this.#stopTimers) stop();
    for (const connection of this.#connections) connection.close(4013);
    this.#server.close();
  }

  #waiting(): LiveMessage {
    return { type: 'waiting', waiting: this.#hub.store.openWaiting().map(({ waiting }) => waiting) };
  }

  #broadcast(message: LiveMessage, isAboutRuns = false): void {
    for (const connection of this.#connections)
      if (!isAboutRuns || connection.watchesRuns) connection.send(message);
  }

  #noteRun(id: string): void {
    this.#changed.add(id);
    if (this.#isNoticePlanned || this.#connections.size === 0) return;
    this.#isNoticePlanned = true;
    const stop = this.#options.startTimer(RUN_CHANGES_MS, () => {
      this.#isNoticePlanned = false;
      const ids = [...this.#changed];
      this.#changed.clear();
      for (const changed of ids) this.#tellRun(this.#hub.run(changed));
    });
    this.#stopTimers = [this.#stopTimers[0] ?? stop, stop];
  }

  #tellRun(run: StudioRun | undefined): void {
    if (run === undefined) return;
    for (const connection of this.#connections)
      if (connection.watchesRuns || connection.watches(run.id)) connection.send({ type: 'run', run });
  }

  /** A peer that is gone without a word does not answer pings, and is closed. */
  #planPings(): void {
    const stop = this.#options.startTimer(PING_MS, () => {
      for (const connection of this.#connections) connection.ping();
      this.#planPings();
    });
    this.#stopTimers = [stop, ...this.#stopTimers.slice(1)];
  }
}

/** A run that a connection watches. */
interface Watch {
  /** Number of the last entry that was sent. */
  sent: number;
  /** Whether all stored entries were sent: new entries follow directly. */
  isCaughtUp: boolean;
}

/** One tab. */
class LiveConnection {
  readonly #socket: WebSocket;
  readonly #hub: RunHub;
  readonly #watches = new Map<string, Watch>();
  #isAlive = true;
  watchesRuns = false;

  constructor(socket: WebSocket, hub: RunHub, onClose: () => void) {
    this.#socket = socket;
    this.#hub = hub;
    socket.on('message', (data, isBinary) => this.#receive(isBinary ? '' : textOf(data)));
    socket.on('pong', () => (this.#isAlive = true));
    socket.on('error', () => socket.terminate());
    socket.on('close', onClose);
  }

  watches(runId: string): boolean {
    return this.#watches.has(runId);
  }

  /** Sends a message; closes the connection if the reader is too slow. */
  send(message: LiveMessage): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_BACKLOG_BYTES) return this.close(4008);
    this.#socket.send(JSON.stringify(message));
  }

  addEntries(runId: string, entries: readonly RunEntry[]): void {
    const watch = this.#watches.get(runId);
    if (watch === undefined || !watch.isCaughtUp) return;
    const fresh = entries.filter(({ seq }) => seq > watch.sent);
    if (fresh.length === 0) return;
    watch.sent = fresh.at(-1)?.seq ?? watch.sent;
    this.send({ type: 'entries', runId, entries: fresh });
  }

  ping(): void {
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }

  close(code: number): void {
    this.#socket.close(code);
    // A reader that does not even read the end is cut off.
    if (this.#socket.bufferedAmount > 0) this.#socket.terminate();
  }

  #receive(text: string): void {
    const request = readRequest(text);
    const { type, runId, after } = request;
    if (type === 'ping') this.send({ type: 'pong' });
    else if (type === 'watch_runs') this.watchesRuns = true;
    else if (type === 'unwatch_run' && typeof runId === 'string') this.#watches.delete(runId);
    else if (type === 'watch_run' && typeof runId === 'string' && isCount(after)) this.#watch(runId, after);
    else this.close(4002); // not a request of this contract
  }

  #watch(runId: string, after: number): void {
    if (this.#watches.size >= MAX_WATCHED_RUNS && !this.#watches.has(runId)) return this.close(4002);
    const run = this.#hub.run(runId);
    if (run === undefined) return this.send({ type: 'runs_deleted', ids: [runId] });
    const watch: Watch = { sent: Math.max(after, run.removedUpTo), isCaughtUp: false };
    this.#watches.set(runId, watch);
    if (after < run.removedUpTo) this.send({ type: 'gap', runId, from: after + 1, to: run.removedUpTo });
    this.#catchUp(runId, watch);
  }

  /** Sends stored entries page by page, as fast as the reader reads. */
  #catchUp(runId: string, watch: Watch): void {
    if (this.#watches.get(runId) !== watch || this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > PAUSE_BACKLOG_BYTES)
      return void setTimeout(() => this.#catchUp(runId, watch), 20).unref();
    const entries = this.#hub.store.entries(runId, watch.sent, Number.MAX_SAFE_INTEGER, PAGE_ENTRIES);
    watch.sent = entries.at(-1)?.seq ?? watch.sent;
    if (entries.length > 0) this.send({ type: 'entries', runId, entries });
    if (entries.length === PAGE_ENTRIES) return void setImmediate(() => this.#catchUp(runId, watch));
    watch.isCaughtUp = true;
    this.send({ type: 'caught_up', runId, lastSeq: watch.sent });
  }
}

function readRequest(text: string): { type?: unknown; runId?: unknown; after?: unknown } {
  try {
    const request = parseBoundedJson(text);
    return isRecord(request) ? request : {};
  } catch {
    return {};
  }
}

/** Text of a frame. */
function textOf(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString('utf8');
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
