// A stand-in for the real server of AgentScope's Studio: the same answers on the wire (tRPC over HTTP, socket.io), and no more.

import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

import { Server } from 'socket.io';

export interface PushedMessage {
  readonly runId: string;
  readonly replyId: string;
  readonly replyName: string;
  readonly replyRole: string;
  readonly msg: { readonly id: string; readonly content: unknown; readonly role: string };
}

/** Block types that the real server accepts; any other type fails the whole message. */
const BLOCKS = ['text', 'thinking', 'image', 'audio', 'video', 'tool_use', 'tool_result'];

export class AgentScopeStudio {
  readonly calls: { readonly procedure: string; readonly input: any }[] = [];
  readonly runs = new Set<string>();
  readonly #http: HttpServer;
  readonly #io: Server;
  readonly #waiting = new Set<() => void>();
  /** Requests that are answered with status 500 first. */
  failures = 0;

  constructor() {
    this.#http = createServer((request, response) => void this.#serve(request, response));
    this.#io = new Server(this.#http, { cors: { origin: '*' } });
    this.#io.of('/python');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
    const procedure = /^\/trpc\/(\w+)$/.exec(request.url ?? '')?.[1];
    if (procedure === undefined) {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>'); // its page answers everything else
      return;
    }
    const [status, body] = this.#answer(procedure, JSON.parse(text));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    for (const check of this.#waiting) check();
  }

  async listen(port = 0): Promise<string> {
    this.#http.listen(port, '127.0.0.1');
    await once(this.#http, 'listening');
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    await this.#io.close();
    this.#http.closeAllConnections();
  }

  /** As the real one: to all connected programs. */
  forward(requestId: string, blocks: unknown, structured: unknown): void {
    this.#io.of('/python').emit('forwardUserInput', requestId, blocks, structured);
  }

  get messages(): PushedMessage[] {
    return this.calls.flatMap(({ procedure, input }) =>
      procedure === 'pushMessage' ? [input as PushedMessage] : [],
    );
  }

  until<T>(find: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = find();
        if (found === undefined) return;
        this.#waiting.delete(check);
        resolve(found);
      };
      this.#waiting.add(check);
      check();
    });
  }

  #answer(procedure: string, input: any): [number, object] {
    if (this.failures > 0) {
      this.failures--;
      return [500, { error: { message: 'busy', code: -32603 } }];
    }
    this.calls.push({ procedure, input });
    const refuse = (message: string): [number, object] => [400, { error: { message, code: -32600 } }];
    if (procedure === 'registerRun') {
      this.runs.add(input.id as string);
      return [200, { result: {} }];
    }
    if (!this.runs.has(input.runId as string)) return refuse(`Run with id ${input.runId} does not exist`);
    if (procedure === 'pushMessage') {
      const { content } = input.msg;
      const isKnown =
        typeof content === 'string' || content.every(({ type }: any) => BLOCKS.includes(type as string));
      if (!isKnown) return refuse('Invalid input');
    }
    return [200, { result: {} }];
  }
}
