import type { AgentCard } from '@a2a-js/sdk';
import type { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import { continueTrace } from '../../tracing/instrumentation.ts';
import { whenAborted } from '../../util/abort.ts';
import { sha256 } from '../../util/hash.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { notifyOnReturn } from '../../util/async/stoppable.ts';
import type { A2AServerOptions } from './a2a-server-options.ts';
import { checkParams } from './check-params.ts';
import { OpenContexts, type A2AAgentSource } from './open-contexts.ts';
import { signCard } from '../protocol/card-signature.ts';
import { a2aSdk, a2aErrors, a2aServer } from '../protocol/sdk.ts';
import { isOldMethod, readRpcRequest, unknownMethod } from './rpc-request.ts';
import { toServerCard, type A2ACard } from './server-card.ts';
import { DISCONNECTED, TaskRequestHandler } from './task-request-handler.ts';

export type A2AServiceOptions = Required<
  Pick<A2AServerOptions, 'allowedHosts' | 'maxBodyBytes' | 'maxContexts'>
> &
  A2AServerOptions & { readonly card: A2ACard & { readonly name: string } };

const CARD_PATH = '/.well-known/agent-card.json';
const CARD_MAX_AGE_S = 60;
const INTERNAL_ERROR = -32603;

/** Answers HTTP requests of A2A clients: the card for everyone, JSON-RPC for authenticated users. Folder `a2a/server`: start here. */
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
    const { card, signing } = this.#options;
    const path = pathname.slice(0, -CARD_PATH.length) || '/';
    const made = toServerCard(card, card.url ?? `${origin}${path}`);
    const etag = `"${await sha256(JSON.stringify([a2aSdk.AgentCard.toJSON(made), signing?.keyId]))}"`;
    const headers = { 'cache-control': `public, max-age=${CARD_MAX_AGE_S}`, etag, vary: 'host' };
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
    const signed: AgentCard = signing === undefined ? made : await signCard(made, signing);
    return Response.json(a2aSdk.AgentCard.toJSON(signed), { headers });
  }

  async #answerRpc(request: Request): Promise<Response> {
    const { authenticate, maxBodyBytes } = this.#options;
    const user = authenticate === undefined ? '' : await authenticate(request);
    if (typeof user !== 'string') return refuse(401, 'Unauthorized', { 'www-authenticate': 'Bearer' });
    if (!isJson(request)) return wrongContentType();
    const text = await readText(request, maxBodyBytes);
    if (text === undefined) return refuse(413, 'Too large');
    const disconnected = new AbortController();
    const unlink = whenAborted(request.signal, () => disconnected.abort());
    const context = new a2aServer.ServerCallContext({
      user: { isAuthenticated: authenticate !== undefined, userName: user },
      requestedVersion: request.headers.get('a2a-version') || '0.3',
      state: new Map([[DISCONNECTED, disconnected.signal]]),
    });
    const read = readRpcRequest(text);
    const failed = (error: unknown): object =>
      withoutDetails({ jsonrpc: '2.0', id: read.id, error: toRpcError(error) });
    const problem = 'error' in read ? read.error : await this.#problemOf(read.body, context);
    const answer =
      problem === undefined && 'body' in read ? await this.#rpc.handle(read.body, context) : failed(problem);
    if (isStream(answer)) return stream(answer, disconnected, failed, unlink);
    unlink();
    return Response.json(withoutDetails(answer));
  }

  /** Checks method, version and parameters, in this order. An old method is one of an old version, and not unknown. */
  async #problemOf(
    { method, params }: JsonObject & { readonly method: string },
    context: ServerCallContext,
  ): Promise<unknown> {
    const unknown = unknownMethod(method);
    if (unknown !== undefined && !isOldMethod(method)) return unknown;
    try {
      a2aServer.validateVersion(context.requestedVersion, await this.#handler.getAgentCard(), 'JSONRPC');
      checkParams(method, params);
      return unknown;
    } catch (problem) {
      return problem;
    }
  }
}

/** The error of an answer: of JSON-RPC itself as it is, others by the table of the package. */
function toRpcError(error: unknown): object {
  if (isJsonObject(error) && typeof error['code'] === 'number') return error;
  return a2aServer.JsonRpcTransportHandler.mapToJSONRPCError(error);
}

function isJson({ headers }: Request): boolean {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type.trim().toLowerCase() === 'application/json';
}

function wrongContentType(): Response {
  const error = toRpcError(new a2aErrors.ContentTypeNotSupportedError('Send application/json.'));
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 415 });
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
