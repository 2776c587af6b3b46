// Stands between the program and the network, at the level of sockets: every connection that is attempted is
// written down with the addresses that it would go to, and those to a public address end at a server on loopback.

import { createServer, type RequestListener, type Server } from 'node:http';
import { isIP, Socket, type AddressInfo, type LookupFunction, type TcpSocketConnectOpts } from 'node:net';

const { connect } = Socket.prototype; // called with its `this` below

type Arrive = (loopbackPort: number | undefined) => void;

export class FakeInternet implements Disposable {
  /** `address:port` of every attempt, in order; an attempt that may go to several addresses counts for each. */
  readonly attempts: string[] = [];
  readonly #routes = new Map<string, number>();

  /** From now on, and until it is disposed of, no connection of this process gets past it. */
  constructor() {
    const route = (options: TcpSocketConnectOpts, arrive: Arrive): void => this.#route(options, arrive);
    const connectRerouted = function (this: Socket, ...args: unknown[]): Socket {
      // Either the arguments as they are documented, or Node's own form of them: a list in a list.
      const [first, callback] = Array.isArray(args[0]) ? (args[0] as unknown[]) : args;
      const options = first as TcpSocketConnectOpts;
      route(options, (port) => {
        if (port === undefined) this.destroy(Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' }));
        else if (!this.destroyed) {
          const { lookup: _lookup, ...others } = options;
          Reflect.apply(connect, this, [{ ...others, host: '127.0.0.1', port }, callback]);
        }
      });
      return this;
    };
    Object.defineProperty(Socket.prototype, 'connect', {
      value: connectRerouted,
      configurable: true,
      writable: true,
    });
  }

  /** Connections to this `address:port` end at that port of loopback. */
  serve(place: string, loopbackPort: number): void {
    this.#routes.set(place, loopbackPort);
  }

  #route({ host = 'localhost', port, lookup }: TcpSocketConnectOpts, arrive: Arrive): void {
    const goTo = (addresses: readonly string[]): void => {
      const places = addresses.map((address) => `${address}:${port}`);
      this.attempts.push(...places);
      arrive(places.map((place) => this.#routes.get(place)).find((found) => found !== undefined));
    };
    if (isIP(host) !== 0) process.nextTick(goTo, [host]); // as sockets do
    else if (lookup === undefined) process.nextTick(goTo, [`${host} asked of the system`]);
    else resolveBy(lookup, host, goTo);
  }

  [Symbol.dispose](): void {
    Object.defineProperty(Socket.prototype, 'connect', {
      value: connect,
      configurable: true,
      writable: true,
    });
  }
}

/** Asks as a socket does, which relies on an answer that comes later. */
function resolveBy(lookup: LookupFunction, host: string, done: (addresses: readonly string[]) => void): void {
  let hasReturned = false;
  lookup(host, { all: true }, (_error, found) => {
    if (!hasReturned) throw new Error('The lookup answered before it returned.');
    done(typeof found === 'string' ? [found] : found.map(({ address }) => address));
  });
  hasReturned = true;
}

export interface LoopbackServer extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  readonly origin: string;
}

/** A web server on a free port of loopback, gone with all its connections when it is disposed of. */
export async function serveOnLoopback(
  listener: RequestListener,
  server: Server = createServer(listener),
): Promise<LoopbackServer> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Number of connections that this process holds open, at either end. */
export function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

/** Waits until no connection is left. A test in which one stays runs into its time limit. */
export async function allSocketsClosed(): Promise<void> {
  while (openSockets() > 0) await new Promise((resolve) => setImmediate(resolve));
}
