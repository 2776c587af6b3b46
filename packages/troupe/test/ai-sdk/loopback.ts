import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { parseJson, type JsonObject } from '../../src/util/json.ts';

/** Behaviour of the server for one request. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * End of the answer: regular, by a broken connection, by a connection closed too early, or none.
   */
  readonly end?: 'reset' | 'closed' | 'never';
}

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

const NO_ANSWER: Answer = { status: 418, body: 'the server was given no answer' };

/** A server on this machine that gives the answers it is told to, one after the other, and keeps the requests. */
export class Loopback {
  readonly requests: SeenRequest[] = [];
  /** Number of answers that the client left before their end. */
  leftCount = 0;
  connectionCount = 0;
  /** Default answer of the server. */
  answersWith: Answer | undefined;
  readonly #server: Server;
  readonly #answers: Answer[] = [];
  #onLeft: () => void = () => {};

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = parseJson(Buffer.concat(chunks).toString()) as JsonObject;
        this.requests.push({ path: request.url ?? '', headers: request.headers, body });
        const answer = this.#answers.shift() ?? this.answersWith ?? NO_ANSWER;
        response.on('close', () => {
          if (response.writableFinished || answer.end === 'reset') return;
          this.leftCount++;
          this.#onLeft();
        });
        const isClosed = answer.end === 'closed';
        response.writeHead(answer.status ?? 200, {
          'content-type': (answer.status ?? 200) < 400 ? 'text/event-stream' : 'application/json',
          ...(isClosed && { connection: 'close', 'transfer-encoding': 'identity' }),
          ...answer.headers,
        });
        response.write(answer.body, () => {
          if (answer.end === 'reset') request.socket.resetAndDestroy();
          else if (answer.end !== 'never') response.end();
        });
      });
    });
    this.#server.on('connection', () => this.connectionCount++);
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Adds answers for the requests to come. */
  willAnswer(...answers: readonly (string | Answer)[]): void {
    this.#answers.push(...answers.map((answer) => (typeof answer === 'string' ? { body: answer } : answer)));
  }

  /** Settles once the client has left an answer. */
  async wasLeft(): Promise<void> {
    if (this.leftCount === 0) await new Promise<void>((resolve) => (this.#onLeft = resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
