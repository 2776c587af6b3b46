import { TroupeError } from '../errors.ts';
import type { AgentEvent, EventError } from '../event/agent-event.ts';
import { toEvent } from '../event/read-events.ts';
import { Msg } from '../message/msg.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { Usage } from '../message/usage.ts';
import { sleep } from '../util/clock.ts';
import { newId, randomFraction } from '../util/ids.ts';
import { isJsonObject, readJson, type JsonObject } from '../util/json.ts';
import { SseFraming } from '../util/net/framing.ts';

export interface ServiceClientOptions {
  /** Address of the service, such as `https://agents.example`. */
  readonly url: string;
  /** Bearer token, or a function that gives one for each request. @default none */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** @default the global `fetch` */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Attempts at one request, or at one connection without any event, before a failure is told. @default 8 */
  readonly maxAttempts?: number | undefined;
}

/** A session of a service. */
export interface SessionView {
  readonly id: string;
  readonly agent: string;
  readonly title: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly activeRun?: string;
}

/** A run of a service. */
export interface RunView {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly status: 'queued' | 'running' | 'finished' | 'suspended' | 'interrupted' | 'failed';
  readonly attempt: number;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** The answer, or the question of a suspended run, as JSON. */
  readonly msg?: JsonObject;
  readonly error?: EventError;
  readonly pending?: readonly PendingCall[];
  readonly usage?: Usage;
  readonly lastEvent: number;
  /** Id of the run whose first steps this run began with. */
  readonly forkedFrom?: string;
}

/** A finished step of a run. */
export interface StepView {
  /** Number of the step, from 1. A fork with this number as `keepSteps` keeps the step. */
  readonly n: number;
  readonly key: string;
  readonly kind: string;
}

/** A file of a session. */
export interface FileView {
  readonly path: string;
  readonly size: number;
  readonly updatedAt: string;
}

export interface ForkRunOptions {
  /** Number of steps that are kept. @default all */
  readonly keepSteps?: number | undefined;
  /** Id of the new session. @default a new one */
  readonly session?: string | undefined;
  readonly title?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** An event of a run with its number, behind which a later reader goes on. */
export interface NumberedEvent {
  readonly n: number;
  readonly event: AgentEvent;
}

/** Input of a run: a text, or a user message with blocks. */
export type ServiceInput =
  | string
  | { readonly content: Msg['content']; readonly id?: string; readonly name?: string };

export interface StartRunOptions {
  readonly decisions?: readonly PendingDecision[] | undefined;
  readonly onBusy?: 'reject' | 'queue' | 'interrupt' | 'steer' | undefined;
  readonly closePending?: boolean | undefined;
  /** Makes the request safe to repeat, also after a reload of the page. @default a new one, for repetitions by the client itself */
  readonly idempotencyKey?: string | undefined;
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;

/**
 * Client of a service (`@troupe/service`), for browsers and Node: small, typed, by `fetch` alone. A request whose connection fails is
 * repeated, and starting a run has a key, so that a repetition starts nothing twice. A lost event stream is resumed behind the last
 * event. Folder `client`: start here.
 *
 * @example
 * ```ts
 * import { ServiceClient } from 'troupe/client';
 *
 * export async function ask(url: string, text: string): Promise<string> {
 *   const client = new ServiceClient({ url });
 *   const session = await client.createSession('assistant');
 *   const run = await client.start(session.id, text);
 *   let answer = '';
 *   for await (const { event } of client.events(run.id)) if (event.type === 'text_delta') answer += event.text;
 *   return answer;
 * }
 * ```
 */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #maxAttempts: number;

  constructor(options: ServiceClientOptions) {
    checkUrl(options);
    this.#options = options;
    this.#maxAttempts = options.maxAttempts ?? 8;
  }

  /** The agents of the service. */
  async agents(): Promise<readonly { readonly name: string; readonly description?: string }[]> {
    return this.#list('/api/agents');
  }

  async createSession(
    agent: string,
    more: { readonly id?: string; readonly title?: string } = {},
  ): Promise<SessionView> {
    return this.#json<SessionView>('POST', '/api/sessions', { id: newId('session_'), ...more, agent });
  }

  /** One page of the sessions, last used first. */
  async sessions(
    cursor?: string,
  ): Promise<{ readonly data: readonly SessionView[]; readonly next?: string }> {
    return this.#json('GET', withCursor('/api/sessions', cursor));
  }

  async deleteSession(session: string): Promise<void> {
    await this.#json('DELETE', `/api/sessions/${encodeURIComponent(session)}`);
  }

  /** One page of the messages of a session, oldest first; the first page is the newest. */
  async messages(
    session: string,
    cursor?: string,
  ): Promise<{ readonly msgs: readonly Msg[]; readonly next?: string }> {
    const path = withCursor(`/api/sessions/${encodeURIComponent(session)}/messages`, cursor);
    const { data, ...rest } = await this.#json<{ data: readonly JsonObject[]; next?: string }>('GET', path);
    return { msgs: data.map((msg) => Msg.from(msg)), ...rest };
  }

  /** Pending tool calls of a session. */
  async pending(session: string): Promise<readonly PendingCall[]> {
    return this.#list(`/api/sessions/${encodeURIComponent(session)}/pending`);
  }

  /** Starts a run with messages, with decisions about pending tool calls, or with both. */
  async start(
    session: string,
    input?: ServiceInput | readonly ServiceInput[],
    { idempotencyKey = newId(), ...options }: StartRunOptions = {},
  ): Promise<RunView> {
    const path = `/api/sessions/${encodeURIComponent(session)}/runs`;
    const body = { ...(input !== undefined && { input: [input].flat().map(withId) }), ...options };
    return this.#json<RunView>('POST', path, body, { 'idempotency-key': idempotencyKey });
  }

  /** Decides about pending tool calls; the run that is started goes on with them. */
  async decide(session: string, decisions: readonly PendingDecision[]): Promise<RunView> {
    return this.start(session, undefined, { decisions });
  }

  async run(id: string): Promise<RunView> {
    return this.#json('GET', `/api/runs/${encodeURIComponent(id)}`);
  }

  /** The finished steps of a run, oldest first. */
  async steps(run: string): Promise<readonly StepView[]> {
    return this.#list(`/api/runs/${encodeURIComponent(run)}/steps`);
  }

  /** Starts a run that begins with the first steps of another one, in a new session. */
  async fork(run: string, { idempotencyKey = newId(), ...options }: ForkRunOptions = {}): Promise<RunView> {
    const path = `/api/runs/${encodeURIComponent(run)}/fork`;
    return this.#json('POST', path, options, { 'idempotency-key': idempotencyKey });
  }

  /** One page of the files of a session, by their paths. */
  async files(
    session: string,
    cursor?: string,
  ): Promise<{ readonly data: readonly FileView[]; readonly next?: string }> {
    return this.#json('GET', withCursor(`/api/sessions/${encodeURIComponent(session)}/files`, cursor));
  }

  async readFile(session: string, path: string): Promise<Uint8Array> {
    return this.#repeated(async () => {
      const response = await this.#send('GET', filePath(session, path), undefined, {});
      return new Uint8Array(await response.arrayBuffer());
    });
  }

  /** Writes a file under `/userinput/`, for agents to read, or under `/workspace/`. */
  async writeFile(session: string, path: string, content: string | Uint8Array): Promise<FileView> {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    return this.#json('PUT', filePath(session, path), bytes);
  }

  async deleteFile(session: string, path: string): Promise<void> {
    await this.#json('DELETE', filePath(session, path));
  }

  /** Stops a run. @returns false if it had ended, or was stopped before */
  async interrupt(run: string, input?: ServiceInput): Promise<boolean> {
    return this.#control(run, 'interrupt', input === undefined ? {} : { input });
  }

  /** Hands a message to a run, which reads it before its next model call. */
  async steer(run: string, input: ServiceInput): Promise<boolean> {
    return this.#control(run, 'steer', { input: withId(input) });
  }

  /** Has a message answered by a run, after its answer. */
  async followUp(run: string, input: ServiceInput): Promise<boolean> {
    return this.#control(run, 'follow-up', { input: withId(input) });
  }

  /**
   * The events of a run, each once and in order, until it has ended. A lost connection is made again. Leaving the loop closes the
   * connection and does not stop the run.
   * @param after number of the last event that is known
   */
  async *events(run: string, after = 0, signal?: AbortSignal): AsyncGenerator<NumberedEvent, void, void> {
    const path = `/api/runs/${encodeURIComponent(run)}/events`;
    let last = after;
    let failures = 0;
    for (;;) {
      try {
        const response = await this.#send('GET', path, undefined, { 'last-event-id': String(last) }, signal);
        if (response.status === 204) return;
        for await (const event of framesOf(response)) {
          if (event.n <= last) continue;
          last = event.n;
          failures = 0;
          yield event;
          if (event.event.type === 'run_end' && event.event.agentPath.length <= 1) return;
        }
      } catch (error) {
        if (signal?.aborted === true) throw error;
        if (isFinal(error) || ++failures >= this.#maxAttempts) throw this.#unreached(error);
      }
      await sleep(waitMs(failures), signal);
    }
  }

  async #control(run: string, verb: string, body: object): Promise<boolean> {
    const path = `/api/runs/${encodeURIComponent(run)}/${verb}`;
    return (await this.#json<{ done: boolean }>('POST', path, body)).done;
  }

  async #list<T>(path: string): Promise<readonly T[]> {
    return (await this.#json<{ data: readonly T[] }>('GET', path)).data;
  }

  async #json<T>(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    return this.#repeated(async () => {
      const response = await this.#send(method, path, body, headers);
      return (response.status === 204 ? undefined : readJson(await response.text())) as T;
    });
  }

  /** Repeats a request whose connection failed, or that the service could not answer. */
  async #repeated<T>(request: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await request();
      } catch (error) {
        if (isFinal(error) || attempt >= this.#maxAttempts) throw this.#unreached(error);
        await sleep(waitMs(attempt));
      }
    }
  }

  /** Names the service in the error of a connection that could not be made. */
  #unreached(error: unknown): unknown {
    if (!(error instanceof TypeError)) return error;
    const { code } = Object(error.cause) as { code?: unknown };
    const why = typeof code === 'string' ? code : error.message;
    return new TroupeError(
      'stream_failed',
      `The service at ${this.#options.url} could not be reached: ${why}. Check that it runs, and the url of the client.`,
      { cause: error },
    );
  }

  async #send(
    method: string,
    path: string,
    body: object | undefined,
    more: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Response> {
    const { url, token, fetch: given } = this.#options;
    const bearer = typeof token === 'function' ? await token() : token;
    const headers: Record<string, string> = { ...more };
    if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`;
    const isBytes = body instanceof Uint8Array;
    if (body !== undefined) headers['content-type'] = `application/${isBytes ? 'octet-stream' : 'json'}`;
    const send = given ?? globalThis.fetch.bind(globalThis);
    const init = {
      method,
      headers,
      ...(body !== undefined && { body: isBytes ? new Uint8Array(body) : JSON.stringify(body) }),
      ...(signal && { signal }),
    };
    const response = await send(url.replace(/\/$/, '') + path, init);
    if (response.ok) return response;
    throw new ServiceError(response.status, await response.text());
  }
}

/** A request that the service refused. */
export class ServiceError extends TroupeError {
  override readonly name = 'ServiceError';
  readonly status: number;
  /** The code of the service, such as `session_busy`. */
  readonly reason: string;

  constructor(status: number, body: string) {
    const json = readJson(body);
    const problem = isJsonObject(json) ? json : {};
    const { detail, code } = problem;
    super(
      'stream_failed',
      typeof detail === 'string' ? detail : `The service answered with the status ${status}.`,
    );
    this.status = status;
    this.reason = typeof code === 'string' ? code : '';
  }
}

/** @throws TroupeError without an address. A page may give one without a host. */
function checkUrl({ url }: ServiceClientOptions): void {
  if (typeof url === 'string' && (URL.canParse(url) || 'location' in globalThis)) return;
  throw new TroupeError(
    'invalid_config',
    `${JSON.stringify(url) ?? 'undefined'} is not the address of a service: give a url such as 'http://127.0.0.1:8484'.`,
  );
}

/** Whether repeating a request would change nothing. */
function isFinal(error: unknown): boolean {
  return error instanceof ServiceError && error.status < 500 && error.status !== 429;
}

function waitMs(failures: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + randomFraction() / 2);
}

function filePath(session: string, path: string): string {
  return `/api/sessions/${encodeURIComponent(session)}/file?path=${encodeURIComponent(path)}`;
}

/** The input as a message with an id, by which the service knows a repetition. */
function withId(input: ServiceInput): ServiceInput {
  const id = newId('msg_');
  return typeof input === 'string' ? { content: input, id } : { id, ...input };
}

function withCursor(path: string, cursor: string | undefined): string {
  return cursor === undefined ? path : `${path}?cursor=${encodeURIComponent(cursor)}`;
}

async function* framesOf(response: Response): AsyncGenerator<NumberedEvent, void, void> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const framing = new SseFraming();
  const decoder = new TextDecoder();
  try {
    for (let item = await reader.read(); !item.done; item = await reader.read())
      for (const { id, data } of framing.feed(decoder.decode(item.value, { stream: true })))
        if (id !== undefined) yield { n: Number(id), event: toEvent(data) };
  } finally {
    reader.cancel().catch(() => {}); // the connection may be gone
  }
}
