// For the tests: a server with prepared answers, at the level of the wire.

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RpcCall {
  readonly method: string;
  readonly params: any;
  readonly headers: IncomingHttpHeaders;
  /** Answers with a result and ends. */
  reply(result: unknown): void;
  fail(code: number, message: string): void;
  /** Adds an event to a stream. */
  send(result: unknown): void;
  /** Ends the stream regularly. */
  end(): void;
  readonly response: ServerResponse;
}

export type Behaviour = (call: RpcCall) => void;

export interface FakeRemoteOptions {
  readonly streaming?: boolean;
  /** Additional or changed fields of the card. */
  readonly card?: Readonly<Record<string, unknown>>;
}

/** Remote agent with prepared answers. */
export class FakeRemote implements AsyncDisposable {
  readonly calls: RpcCall[] = [];
  readonly #waiting: { readonly method: string; readonly resolve: (call: RpcCall) => void }[] = [];
  readonly #server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(this.card));
      return;
    }
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => this.#answer(body, request.headers, response));
  });
  readonly #behaviour: Behaviour;
  readonly #options: FakeRemoteOptions;

  private constructor(behaviour: Behaviour, options: FakeRemoteOptions) {
    this.#behaviour = behaviour;
    this.#options = options;
  }

  static async listen(behaviour: Behaviour, options: FakeRemoteOptions = {}): Promise<FakeRemote> {
    const remote = new FakeRemote(behaviour, options);
    remote.#server.listen(0, '127.0.0.1');
    await once(remote.#server, 'listening');
    return remote;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get card(): Record<string, unknown> {
    const { streaming = true, card } = this.#options;
    return {
      name: 'fake',
      description: 'Says what it is told to.',
      version: '1',
      supportedInterfaces: [{ url: `${this.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { streaming },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
      ...card,
    };
  }

  /** Next request of a method, or an earlier one that is unread. */
  async called(method: string): Promise<RpcCall> {
    const there = this.calls.find((call) => call.method === method);
    if (there !== undefined) return there;
    return new Promise((resolve) => void this.#waiting.push({ method, resolve }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => void this.#server.close(resolve));
  }

  #answer(body: string, headers: IncomingHttpHeaders, response: ServerResponse): void {
    const { id, method, params } = JSON.parse(body) as { id: unknown; method: string; params: unknown };
    const json = (content: object): void =>
      void response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...content }));
    const call: RpcCall = {
      method,
      params,
      headers,
      response,
      reply: (result) => json({ result }),
      fail: (code, message) => json({ error: { code, message } }),
      send(result) {
        if (!response.headersSent) response.setHeader('content-type', 'text/event-stream');
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      },
      end: () => void response.end(),
    };
    this.calls.push(call);
    for (const { method: wanted, resolve } of this.#waiting.splice(0)) {
      if (wanted === method) resolve(call);
      else this.#waiting.push({ method: wanted, resolve });
    }
    this.#behaviour(call);
  }
}

export const IDS = { taskId: 'task-1', contextId: 'context-1' };

export function task(state: string, more: object = {}): object {
  return {
    task: { id: IDS.taskId, contextId: IDS.contextId, status: { state: `TASK_STATE_${state}` }, ...more },
  };
}

export function status(state: string, text?: string, more: readonly object[] = []): object {
  const message = {
    messageId: 'm',
    role: 'ROLE_AGENT',
    parts: [...(text === undefined ? [] : [{ text }]), ...more],
  };
  const said = text !== undefined || more.length > 0;
  return { statusUpdate: { ...IDS, status: { state: `TASK_STATE_${state}`, ...(said && { message }) } } };
}

export function artifact(parts: string | readonly object[], append = false, artifactId = 'a'): object {
  const list = typeof parts === 'string' ? [{ text: parts }] : parts;
  return { artifactUpdate: { ...IDS, artifact: { artifactId, parts: list }, append } };
}
