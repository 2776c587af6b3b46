import { ReActAgent, Toolkit, type AgentEvent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';

/** Events of one read, with their numbers. */
export interface ReadEvents {
  readonly ids: readonly number[];
  readonly events: readonly AgentEvent[];
}

/** Calls a service by its fetch handler, or over HTTP, with JSON. */
export class ServiceClient {
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(
    fetch: (request: Request) => Promise<Response>,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#fetch = fetch;
    this.#headers = headers;
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const init = {
      method,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    return this.#fetch(new Request(new URL(path, 'http://127.0.0.1'), init));
  }

  /** The JSON of an answer with the expected status. */
  async json(method: string, path: string, body?: unknown, status?: number): Promise<any> {
    const response = await this.send(method, path, body);
    const text = await response.text();
    if (status === undefined ? !response.ok : response.status !== status)
      throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async session(agent = 'assistant', id?: string): Promise<string> {
    const made = await this.json('POST', '/api/sessions', { agent, ...(id !== undefined && { id }) });
    return made.id;
  }

  /** Reads the events behind `after`, until the run ends or `count` events were read. */
  async events(run: string, after = 0, count = Infinity): Promise<ReadEvents> {
    const response = await this.send('GET', `/api/runs/${run}/events`, undefined, {
      'last-event-id': String(after),
    });
    if (response.status === 204) return { ids: [], events: [] };
    return readFrames(response, count);
  }

  /** The run when it has ended, read by its events. */
  async ended(run: string): Promise<any> {
    await this.events(run);
    return this.json('GET', `/api/runs/${run}`);
  }
}

export async function readFrames(response: Response, count = Infinity): Promise<ReadEvents> {
  const ids: number[] = [];
  const events: AgentEvent[] = [];
  if (response.body === null) throw new Error('There is no body.');
  let text = '';
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  while (ids.length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    for (let end = text.indexOf('\n\n'); end >= 0 && ids.length < count; end = text.indexOf('\n\n')) {
      const frame = text.slice(0, end);
      text = text.slice(end + 2);
      const id = /^id: (\d+)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (id === undefined || data === undefined) continue;
      ids.push(Number(id));
      events.push(JSON.parse(data) as AgentEvent);
    }
  }
  await reader.cancel();
  return { ids, events };
}

/** A promise with its resolver, for tools that wait until a test goes on. */
export class Gate {
  readonly #opened = Promise.withResolvers<void>();
  readonly #reached = Promise.withResolvers<void>();

  readonly open = (): void => this.#opened.resolve();

  /** Resolves when somebody waits at the gate. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  async pass(signal?: AbortSignal): Promise<void> {
    this.#reached.resolve();
    await Promise.race([
      this.#opened.promise,
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
    ]);
  }
}

type Script = ConstructorParameters<typeof ScriptedModel>[0];

/** An agent with a scripted model, and a tool that waits at a gate. */
export function gatedAgent(script: Script, gate: Gate, name = 'assistant'): ReActAgent {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction({
    name: 'wait',
    execute: async (_input: object, { signal }: { signal: AbortSignal }) => {
      await gate.pass(signal);
      return 'The gate is open.';
    },
  });
  return new ReActAgent({ name, model: new ScriptedModel(script), toolkit });
}

export const CALLS_WAIT = { toolCalls: [{ id: 'call_1', name: 'wait', input: {} }] };
