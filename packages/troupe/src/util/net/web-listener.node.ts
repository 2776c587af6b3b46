import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

type Answer = (request: Request) => Promise<Response>;

/**
 * Node HTTP server for a handler with web `Request` and `Response`. The request is aborted when its client
 * disconnects.
 */
export class WebListener {
  readonly #answer: Answer;
  readonly #server = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing));

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  /** Resolves to the base URL without a trailing slash. Rejects if the port is taken. */
  async listen(port: number, host: string): Promise<string> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    const address = this.#server.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
  }

  /** Stops listening and closes all connections. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => void this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const gone = new AbortController();
    outgoing.once('close', () => gone.abort());
    try {
      const response = await this.#respond(incoming, gone.signal);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body === null) outgoing.end();
      else await pipeline(Readable.fromWeb(response.body), outgoing);
    } catch {
      outgoing.destroy(); // the client has disconnected or sent an invalid request
    }
  }

  async #respond(incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
    const { method = 'GET', headers, url: target = '/' } = incoming;
    const url = URL.parse(target, `http://${headers.host ?? ''}`);
    if (url === null) return new Response('Bad request', { status: 400 });
    const given = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(incoming);
    return this.#answer(new Request(url, { method, headers: given, body, signal, duplex: 'half' }));
  }
}
