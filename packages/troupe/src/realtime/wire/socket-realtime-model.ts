import { getLogger } from '../../config/run-config.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { ModelError } from '../../model/model-error.ts';
import { startTimer } from '../../util/clock.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import type { RealtimeEvent } from '../realtime-event.ts';
import {
  RealtimeModelBase,
  type RealtimeConnection,
  type RealtimeConnectOptions,
  type RealtimeSetup,
} from '../realtime-model-base.ts';
import type { RealtimePricing } from '../realtime-usage.ts';
import type { RealtimeWire } from './realtime-wire.ts';

/** The part of a WebSocket that is used: of the one that is built in, and of the package `ws`. */
export interface SocketLike {
  readonly bufferedAmount: number;
  binaryType: string;
  send(data: string): void;
  close(): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(
    type: 'close',
    listener: (event: { readonly code: number; readonly reason: string }) => void,
  ): void;
}

export type OpenSocket = (
  url: string,
  options: { readonly headers: Readonly<Record<string, string>> },
) => SocketLike;

export interface SocketRealtimeOptions {
  readonly modelName: string;
  /** Key of the vendor, or a function that gets one for each connection. @default from the environment */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /** Address of the API, for other regions, workspaces and compatible servers: `wss://host/path`. */
  readonly baseUrl?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly pricing?: RealtimePricing | undefined;
  /** Time limit of a connection until the model listens. @default 15 000 */
  readonly connectMs?: number | undefined;
  /** Opens sockets in place of the built-in `WebSocket`, e.g. by the package `ws` with a proxy. */
  readonly openSocket?: OpenSocket | undefined;
}

/** Address of a connection. */
export interface SocketAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that no error may show. */
  readonly secrets: readonly string[];
}

const CONNECT_MS = 15_000;
/** Close codes after which another attempt would end the same way: wrong data, policy, and those of vendors for refused keys. */
const HOPELESS_CODES: readonly number[] = [1007, 1008, 3000, 4001, 4003];

/** Base of realtime models over a WebSocket: sockets, time limits and errors. An adapter gives the address and the wire. */
export abstract class SocketRealtimeModel extends RealtimeModelBase {
  abstract override readonly vendorName: string;
  override readonly pricing: RealtimePricing | undefined;
  readonly #options: SocketRealtimeOptions;

  constructor(options: SocketRealtimeOptions) {
    if (typeof options?.modelName !== 'string' || options.modelName === '')
      throw new TroupeError('invalid_config', 'A realtime model needs a modelName.');
    checkNumber('connectMs', options.connectMs ?? CONNECT_MS, { least: 1, most: MAX_TIMER_MS });
    super(options.modelName);
    this.#options = options;
    this.pricing = options.pricing;
  }

  protected abstract address(apiKey: string | undefined): SocketAddress;
  protected abstract newWire(): RealtimeWire;

  override async connect(
    setup: RealtimeSetup,
    { onEvent, signal }: RealtimeConnectOptions,
  ): Promise<RealtimeConnection> {
    const { apiKey, openSocket = openBuiltIn, connectMs = CONNECT_MS } = this.#options;
    const key = typeof apiKey === 'function' ? await apiKey() : apiKey;
    const address = this.address(key);
    signal.throwIfAborted();
    const wire = this.newWire();
    return new Promise((resolve, reject) => {
      const connection = new SocketConnection(openSocket(address.url, address), wire, setup, {
        secrets: address.secrets,
        onEvent: (event) => {
          onEvent(event);
          if (event.type === 'error') problem = event.message;
        },
        onReady: () => settle(() => resolve(connection)),
        onClosed: (event) => {
          const message = problem ?? event.message;
          settle(() => reject(this.#error(message, event.canReconnect ? 'network' : 'bad_request')));
        },
      });
      let problem: string | undefined;
      let isSettled = false;
      const settle = (end: () => void): void => {
        if (isSettled) return;
        isSettled = true;
        cancelTimer();
        signal.removeEventListener('abort', abort);
        end();
      };
      const abort = (): void => {
        connection.close();
        settle(() => reject(signal.reason as Error));
      };
      const cancelTimer = startTimer(connectMs, () => {
        connection.close();
        settle(() => reject(this.#error(`did not answer in ${connectMs} ms.`, 'timeout')));
      });
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  #error(problem: string, kind: 'network' | 'bad_request' | 'timeout'): ModelError {
    const { vendorName: vendor, modelName: model, host } = this;
    return new ModelError(`The connection to ${vendor} failed: ${problem}`, { kind, vendor, model, host });
  }
}

interface SocketConnectionOptions {
  readonly secrets: readonly string[];
  readonly onEvent: (event: RealtimeEvent) => void;
  readonly onReady: () => void;
  readonly onClosed: (event: Extract<RealtimeEvent, { readonly type: 'closed' }>) => void;
}

/** One socket with its wire. After `close`, or after the end of the socket, nothing is sent and no event follows. */
class SocketConnection implements RealtimeConnection {
  readonly #socket: SocketLike;
  readonly #wire: RealtimeWire;
  readonly #options: SocketConnectionOptions;
  #state: 'opening' | 'starting' | 'ready' | 'closed' = 'opening';

  constructor(
    socket: SocketLike,
    wire: RealtimeWire,
    setup: RealtimeSetup,
    options: SocketConnectionOptions,
  ) {
    this.#socket = socket;
    this.#wire = wire;
    this.#options = options;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      if (this.#state !== 'opening') return;
      this.#state = 'starting';
      this.#send(wire.start(setup));
    });
    socket.addEventListener('message', ({ data }) => this.#read(data));
    socket.addEventListener('error', () => {}); // followed by close
    socket.addEventListener('close', ({ code, reason }) => this.#ended(code, reason));
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  sendAudio: RealtimeConnection['sendAudio'] = (audio) => this.#send(this.#wire.audio(audio));
  beginTurn: RealtimeConnection['beginTurn'] = () => this.#send(this.#wire.beginTurn());
  commit: RealtimeConnection['commit'] = () => this.#send(this.#wire.commit());
  sendMsg: RealtimeConnection['sendMsg'] = (msg) => this.#send(this.#wire.msg(msg));
  sendToolResult: RealtimeConnection['sendToolResult'] = (result) =>
    this.#send(this.#wire.toolResult(result));
  respond: RealtimeConnection['respond'] = (instructions) => this.#send(this.#wire.respond(instructions));
  cancel: RealtimeConnection['cancel'] = (responseId) => this.#send(this.#wire.cancel(responseId));
  truncate: RealtimeConnection['truncate'] = (itemId, ms) => this.#send(this.#wire.truncate(itemId, ms));
  discard: RealtimeConnection['discard'] = (itemId) => this.#send(this.#wire.discard(itemId));
  update: RealtimeConnection['update'] = (setup) => this.#send(this.#wire.update(setup));

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#socket.close();
  }

  #read(data: unknown): void {
    if (this.#state === 'closed') return;
    const text =
      typeof data === 'string' ? data : data instanceof ArrayBuffer ? new TextDecoder().decode(data) : '';
    const frame = readJson(text);
    if (!isJsonObject(frame)) return;
    try {
      for (const event of this.#wire.read(frame)) {
        this.#tell(event);
        if (this.#state === ('closed' as string)) return; // by the listener
      }
    } catch (error) {
      // one frame that can't be read must not end the conversation
      getLogger().log('warn', `A frame of a realtime model was not understood: ${messageOf(error)}`);
    }
    if (this.#state !== 'starting' || !this.#wire.isReady) return;
    this.#state = 'ready';
    this.#options.onReady();
  }

  #ended(code: number, reason: string): void {
    if (this.#state === 'closed') return;
    const wasOpen = this.#state !== 'opening';
    this.#state = 'closed';
    const why = reason === '' ? '' : `: ${reason}`;
    const message = wasOpen
      ? `the connection was closed with code ${code}${why}`
      : 'the server refused the connection, or can not be reached. Check the key, the name of the model and the baseUrl';
    const canReconnect = !HOPELESS_CODES.includes(code);
    const event = { type: 'closed', message: this.#redacted(message), canReconnect } as const;
    this.#options.onEvent(event);
    this.#options.onClosed(event);
  }

  #tell(event: RealtimeEvent): void {
    const shown = event.type === 'error' ? { ...event, message: this.#redacted(event.message) } : event;
    this.#options.onEvent(shown);
  }

  #redacted(text: string): string {
    return this.#options.secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  }

  #send(frames: readonly JsonObject[]): void {
    if (this.#state === 'closed' || this.#state === 'opening') return;
    for (const frame of frames) this.#socket.send(JSON.stringify(frame));
  }
}

/** Opens a socket by the built-in WebSocket, which takes headers on Node, Bun and Deno. */
function openBuiltIn(url: string, { headers }: Parameters<OpenSocket>[1]): SocketLike {
  const Socket = globalThis.WebSocket as new (
    url: string,
    options: { readonly headers: Readonly<Record<string, string>> },
  ) => SocketLike;
  return new Socket(url, { headers });
}

/** Checks the address of a socket, and adds a path and parameters. @throws TroupeError */
export function socketUrl(
  vendor: string,
  base: string,
  path: string,
  params: Readonly<Record<string, string>>,
): string {
  const isSocketUrl = URL.canParse(base) && /^(?:wss?|https?):$/.test(new URL(base).protocol);
  if (!isSocketUrl || new URL(base).password !== '' || new URL(base).username !== '')
    throw new TroupeError(
      'invalid_config',
      `The baseUrl of ${vendor} must be an address such as wss://example.com, without a user or a password.`,
    );
  const url = new URL(base);
  url.protocol = url.protocol.replace('http', 'ws');
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}
