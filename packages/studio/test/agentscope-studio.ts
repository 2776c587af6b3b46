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
import { z } from 'zod';

export interface PushedMessage {
  readonly runId: string;
  readonly replyId: string;
  readonly replyName: string;
  readonly replyRole: string;
  readonly msg: { readonly id: string; readonly content: unknown; readonly role: string };
}

// Inputs as the real server checks them: other blocks, and missing or wrong fields, fail the whole call.
const source = z.union([
  z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.object({ type: z.literal('url'), url: z.string() }),
]);
const text = z.object({ type: z.literal('text'), text: z.string() });
const media = z.object({ type: z.enum(['image', 'audio', 'video']), source });
const output = z.union([z.string(), z.array(z.union([text, media]))]);
const block = z.union([
  text,
  media,
  z.object({ type: z.literal('thinking'), thinking: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal('tool_result'), id: z.string(), name: z.string(), output }),
]);
const maybeText = z.string().nullish();
const INPUTS: Readonly<Record<string, z.ZodType>> = {
  registerRun: z.object({
    id: z.string(),
    project: z.string(),
    name: z.string(),
    timestamp: z.string(),
    pid: z.number(),
    status: z.enum(['running', 'pending', 'done', 'unknown']),
    run_dir: maybeText,
  }),
  requestUserInput: z.object({
    requestId: z.string(),
    runId: z.string(),
    agentId: z.string(),
    agentName: z.string(),
    structuredInput: z.record(z.string(), z.unknown()).nullable(),
  }),
  pushMessage: z.object({
    runId: z.string(),
    replyId: maybeText,
    replyName: z.string(), // without a name and a role the real server fails with 500
    replyRole: z.string(),
    msg: z.object({
      id: z.string(),
      name: z.string(),
      role: z.string(),
      content: z.union([z.string(), z.array(block)]),
      metadata: z.unknown(),
      timestamp: z.string(),
    }),
  }),
};

export class AgentScopeStudio {
  readonly calls: { readonly procedure: string; readonly input: any }[] = [];
  readonly runs = new Set<string>();
  /** Open questions: the run of each. */
  readonly questions = new Map<string, string>();
  /** Runs whose socket has closed, in order. */
  readonly ended: string[] = [];
  readonly #http: HttpServer;
  readonly #io: Server;
  readonly #waiting = new Set<() => void>();
  /** Requests that are answered with status 500 first. */
  failures = 0;

  constructor() {
    this.#http = createServer((request, response) => void this.#serve(request, response));
    this.#io = new Server(this.#http, { cors: { origin: '*' } });
    this.#io.of('/python').on('connection', (socket) => {
      const runId = String(socket.handshake.auth['run_id']);
      socket.on('disconnect', () => {
        // As the real one: the first socket of a run that closes ends the run, and its questions are forgotten.
        for (const [id, owner] of this.questions) if (owner === runId) this.questions.delete(id);
        this.ended.push(runId);
        this.#check();
      });
    });
  }

  #check(): void {
    for (const check of this.#waiting) check();
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
    this.#check();
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

  /** As the real one: to all connected programs, and only for a question that is open. */
  forward(requestId: string, blocks: unknown, structured: unknown): void {
    if (!this.questions.delete(requestId)) throw new Error(`Input request ${requestId} not found`);
    this.broadcast(requestId, blocks, structured);
  }

  /** Sends an answer, to whatever question. */
  broadcast(requestId: string, blocks: unknown, structured: unknown): void {
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
    if (INPUTS[procedure]?.safeParse(input).success !== true) return refuse('Invalid input');
    if (procedure === 'registerRun') {
      this.runs.add(input.id as string);
      return [200, { result: {} }];
    }
    if (!this.runs.has(input.runId as string)) return refuse(`Run with id ${input.runId} does not exist`);
    if (procedure === 'requestUserInput')
      this.questions.set(input.requestId as string, input.runId as string);
    return [200, { result: {} }];
  }
}
