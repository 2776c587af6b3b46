import type { AgentCard } from '@a2a-js/sdk';
import type { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import { continueTrace } from '../../tracing/instrumentation.ts';
import { whenAborted } from '../../util/abort.ts';
import { copyJsonObject, isJsonObject, parseJson, type JsonObject } from '../../util/json.ts';
import { notifyOnReturn } from '../../util/async/notify-on-return.ts';
import type { A2AServerOptions } from './a2a-server-options.ts';
import { OpenContexts, type A2AAgentSource } from './open-contexts.ts';
import { signCard } from '../protocol/card-signature.ts';
import { a2aSdk, a2aErrors, a2aServer } from '../protocol/sdk.ts';
import { toServerCard, type A2ACard } from './server-card.ts';
import { DISCONNECTED, TaskRequestHandler } from './task-request-handler.ts';

export type A2AServiceOptions = Required<
  Pick<A2AServerOptions, 'allowedHosts' | 'maxBodyBytes' | 'maxContexts'>
> &
  A2AServerOptions & { readonly card: A2ACard & { readonly name: string } };

const CARD_PATH = '/.well-known/agent-card.json';
const MAX_JSON = { maxDepth: 100 };
const INTERNAL_ERROR = -32603;

/** Answers HTTP requests of A2A clients: the card for everyone, JSON-RPC for authenticated users. */
export class A2AService {
  readonly #options: A2AServiceOptions;
  readonly #contexts: OpenContexts;
  readonly #handler: TaskRequestHandler;
  readonly #rpc: JsonRpcTransportHandler;

  constructor(source: A2AAgentSource, options: A2AServiceOptions) {
    this.#options = options;
    this.#contexts = new OpenContexts(source, options);
    this.#handler = new TaskRequestHandler(this.#contexts, toServerCard(options.card, ''));
    this.#rpc = new a2aServer.JsonRpcTransportHandler(this.#handler);
  }

  async answer(request: Request): Promise<Response> {
    try {
      // Any web page can send requests to this machine, with any host name that resolves to it.
      const address = addressOf(request);
      if (!this.#isKnown(address, request.headers.get('origin'))) return refuse(403, 'Forbidden');
      if (address?.pathname.endsWith(CARD_PATH)) return await this.#answerCard(request, address);
      if (request.method !== 'POST') return refuse(405, 'Method not allowed', { allow: 'POST' });
      const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
      return await continueTrace(header, () => this.#answerRpc(request));
    } catch (error) {
      getLogger().log('error', `An A2A client could not be served: ${messageOf(error)}`);
      return refuse(500, 'Internal error');
    }
  }

  async close(): Promise<void> {
    await this.#contexts.close();
  }

  #isKnown(address: URL | null, origin: string | null): boolean {
    const { allowedHosts } = this.#options;
    const isAllowed = (url: URL | null): boolean => url !== null && allowedHosts.includes(url.hostname);
    return isAllowed(address) && (origin === null || isAllowed(URL.parse(origin)));
  }

  async #answerCard(request: Request, { origin, pathname }: URL): Promise<Response> {
    if (request.method !== 'GET') return refuse(405, 'Method not allowed', { allow: 'GET' });
    const path = pathname.slice(0, -CARD_PATH.length) || '/';
    return Response.json(a2aSdk.AgentCard.toJSON(await this.#card(`${origin}${path}`)));
  }

  async #card(url: string): Promise<AgentCard> {
    const { card, signing } = this.#options;
    const made = toServerCard(card, card.url ?? url);
    return signing === undefined ? made : signCard(made, signing);
  }

  async #answerRpc(request: Request): Promise<Response> {
    const { authenticate, maxBodyBytes } = this.#options;
    const user = authenticate === undefined ? '' : await authenticate(request);
    if (typeof user !== 'string') return refuse(401, 'Unauthorized', { 'www-authenticate': 'Bearer' });
    if (!request.headers.get('content-type')?.startsWith('application/json')) return refuse(415, 'Send JSON');
    const text = await readText(request, maxBodyBytes);
    if (text === undefined) return refuse(413, 'Too large');
    const disconnected = new AbortController();
    const unlink = whenAborted(request.signal, () => disconnected.abort());
    const context = new a2aServer.ServerCallContext({
      user: { isAuthenticated: authenticate !== undefined, userName: user },
      requestedVersion: request.headers.get('a2a-version') ?? '0.3',
      state: new Map([[DISCONNECTED, disconnected.signal]]),
    });
    const { body, problem } = await this.#read(text, context);
    const { id = null } = body;
    const failed = (error: unknown): object =>
      withoutDetails({
        jsonrpc: '2.0',
        id,
        error: a2aServer.JsonRpcTransportHandler.mapToJSONRPCError(error),
      });
    const answer = problem === undefined ? await this.#rpc.handle(body, context) : failed(problem);
    if (isStream(answer)) return stream(answer, disconnected, failed, unlink);
    unlink();
    return Response.json(withoutDetails(answer));
  }

  /** Parses a request; invalid requests have a `problem`. */
  async #read(text: string, context: ServerCallContext): Promise<{ body: JsonObject; problem?: unknown }> {
    let body: JsonObject;
    try {
      body = copyJsonObject(parseJson(text, 'the request', MAX_JSON), 'the request');
    } catch {
      return { body: {}, problem: new a2aErrors.RequestMalformedError('Send JSON-RPC.') };
    }
    try {
      a2aServer.validateVersion(context.requestedVersion, await this.#handler.getAgentCard(), 'JSONRPC');
      return { body };
    } catch (problem) {
      return { body, problem };
    }
  }
}

function isStream(answer: object): answer is AsyncGenerator<unknown, void, undefined> {
  return Symbol.asyncIterator in answer;
}

/** Address that the client used. The host header wins over the URL. */
function addressOf({ url, headers }: Request): URL | null {
  const { protocol, host, pathname } = new URL(url);
  return URL.parse(pathname, `${protocol}//${headers.get('host') ?? host}`);
}

/** Removes details of internal failures from an answer; they are logged. */
function withoutDetails(answer: object): object {
  const error: unknown = 'error' in answer ? answer.error : undefined;
  if (!isJsonObject(error) || error['code'] !== INTERNAL_ERROR || error['data'] !== undefined) return answer;
  getLogger().log('error', `An A2A client could not be served: ${messageOf(error['message'])}`);
  return { ...answer, error: { code: INTERNAL_ERROR, message: 'Internal error' } };
}

/** Sends events as they arrive. A failure before the first event becomes a plain answer. */
async function stream(
  items: AsyncGenerator<unknown, void, undefined>,
  disconnected: AbortController,
  failed: (error: unknown) => object,
  end: () => void,
): Promise<Response> {
  let first: IteratorResult<unknown, void>;
  try {
    first = await items.next();
  } catch (error) {
    end();
    return Response.json(failed(error));
  }
  async function* events(): AsyncGenerator<unknown, void, void> {
    try {
      for (let step = first; !step.done; step = await items.next()) yield step.value;
    } catch (error) {
      if (!disconnected.signal.aborted) yield failed(error);
    } finally {
      end();
    }
  }
  async function* bytes(): AsyncGenerator<Uint8Array, void, void> {
    const encoder = new TextEncoder();
    for await (const event of events()) yield encoder.encode(a2aSdk.formatSSEEvent(event));
  }
  const body = ReadableStream.from(notifyOnReturn(bytes(), () => disconnected.abort()));
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
}

/** Reads the body; undefined if it exceeds the limit. */
async function readText(request: Request, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += (chunk as Uint8Array).length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString();
}

function refuse(status: number, problem: string, headers?: Readonly<Record<string, string>>): Response {
  return Response.json({ error: problem }, { status, ...(headers && { headers: { ...headers } }) });
}
