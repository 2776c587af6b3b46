import {
  STUDIO_PROTOCOL,
  type LiveMessage,
  type LiveRequest,
  type RunEntry,
  type StudioRun,
  type Waiting,
} from '../../../src/protocol.ts';
import { access } from '../server/request.ts';
import { Store } from './store.ts';

/** State of the connection, for the line below the header. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'open' }
  | { readonly state: 'lost'; readonly since: number }
  /** Open again; `caughtUp` entries came in the meantime. */
  | { readonly state: 'back'; readonly caughtUp: number };

/** Receives the entries of one run. */
export interface RunListener {
  /** Number of the last entry that the listener has. */
  readonly lastSeq: () => number;
  readonly onEntries: (entries: readonly RunEntry[]) => void;
  readonly onGap: (from: number, to: number) => void;
  readonly onCaughtUp: () => void;
}

const FIRST_DELAY_MS = 300;
const MAX_DELAY_MS = 8000;
const BACK_SHOWN_MS = 4000;
/** Close codes of the contract. */
const LOG_IN_AGAIN = 4001;

/** The one WebSocket of this tab. It connects again by itself and then asks for the entries that are missing. Folder `live`: start here. */
export class LiveClient {
  readonly connection = new Store<Connection>({ state: 'connecting' });
  readonly waiting = new Store<readonly Waiting[]>([]);
  readonly problem = new Store<string | undefined>(undefined);
  /** Protocol of the server if it differs from the page's. */
  readonly otherProtocol = new Store<number | undefined>(undefined);
  readonly #runListeners = new Map<string, RunListener>();
  readonly #runsListeners = new Set<(change: { run?: StudioRun; deleted?: readonly string[] }) => void>();
  #socket: WebSocket | undefined;
  #delay = FIRST_DELAY_MS;
  #caughtUp: number | undefined;

  start(): void {
    this.#connect();
    // A laptop that wakes up should not wait for the next attempt.
    window.addEventListener('online', () => this.#connect());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#connect();
    });
  }

  /** Listens to one run. Returns the function that ends it. */
  watchRun(runId: string, listener: RunListener): () => void {
    this.#runListeners.set(runId, listener);
    this.#send({ type: 'watch_run', runId, after: listener.lastSeq() });
    return () => {
      if (this.#runListeners.get(runId) !== listener) return;
      this.#runListeners.delete(runId);
      this.#send({ type: 'unwatch_run', runId });
    };
  }

  /** Listens to changes of all runs. Returns the function that ends it. */
  watchRuns(listener: (change: { run?: StudioRun; deleted?: readonly string[] }) => void): () => void {
    this.#runsListeners.add(listener);
    return () => this.#runsListeners.delete(listener);
  }

  #connect(): void {
    if (this.#socket !== undefined || access.get() === 'refused') return;
    const url = new URL('api/live', location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    url.hash = '';
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.addEventListener('open', () => this.#opened());
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data)) as LiveMessage));
    socket.addEventListener('close', ({ code }) => this.#closed(code));
  }

  #opened(): void {
    this.#delay = FIRST_DELAY_MS;
    const wasLost = this.connection.get().state === 'lost';
    this.#caughtUp = wasLost ? 0 : undefined;
    this.connection.set(wasLost ? { state: 'back', caughtUp: 0 } : { state: 'open' });
    if (wasLost) window.setTimeout(() => this.#endBack(), BACK_SHOWN_MS);
    this.#send({ type: 'watch_runs' });
    for (const [runId, listener] of this.#runListeners)
      this.#send({ type: 'watch_run', runId, after: listener.lastSeq() });
  }

  #endBack(): void {
    this.#caughtUp = undefined;
    if (this.connection.get().state === 'back') this.connection.set({ state: 'open' });
  }

  #closed(code: number): void {
    this.#socket = undefined;
    if (code === LOG_IN_AGAIN) access.set('refused');
    if (this.connection.get().state !== 'lost') this.connection.set({ state: 'lost', since: Date.now() });
    window.setTimeout(() => this.#connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, MAX_DELAY_MS);
  }

  #receive(message: LiveMessage): void {
    switch (message.type) {
      case 'hello':
        return this.otherProtocol.set(message.protocol === STUDIO_PROTOCOL ? undefined : message.protocol);
      case 'run':
        for (const listener of this.#runsListeners) listener({ run: message.run });
        return;
      case 'runs_deleted':
        for (const listener of this.#runsListeners) listener({ deleted: message.ids });
        return;
      case 'entries':
        this.#countCaughtUp(message.entries.length);
        return this.#runListeners.get(message.runId)?.onEntries(message.entries);
      case 'caught_up':
        return this.#runListeners.get(message.runId)?.onCaughtUp();
      case 'gap':
        return this.#runListeners.get(message.runId)?.onGap(message.from, message.to);
      case 'waiting':
        return this.waiting.set(message.waiting);
      case 'problem':
        return this.problem.set(message.problem);
      default: // pong, and messages of later versions
    }
  }

  #countCaughtUp(count: number): void {
    if (this.#caughtUp === undefined) return;
    this.#caughtUp += count;
    this.connection.set({ state: 'back', caughtUp: this.#caughtUp });
  }

  #send(request: LiveRequest): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(request));
  }
}

export const live = new LiveClient();
