import { messageOf, TroupeError } from '../../errors.ts';
import { checkBaseUrl, checkKey, joinUrl } from '../../model/http/headers.ts';
import { platformFetch, type Fetch } from '../../util/net/http.ts';
import { cutText, oneLine } from '../../util/text.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { withDeadline } from '../../util/async/deadline.ts';

export interface QdrantOptions {
  /** Address of the server. @default 'http://127.0.0.1:6333' */
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  /** Collection of the chunks. @default 'troupe' */
  readonly collection?: string | undefined;
  /** Time limit of one request. @default 30 seconds */
  readonly timeoutMs?: number | undefined;
  /** @default the platform's fetch */
  readonly fetch?: Fetch | undefined;
}

/** Names that need no encoding in an address. */
const COLLECTION = /^[\w-]{1,128}$/;

/** Requests to one collection of Qdrant. */
export class QdrantClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;
  readonly #timeoutMs: number;

  constructor({
    baseUrl = 'http://127.0.0.1:6333',
    apiKey,
    collection = 'troupe',
    timeoutMs = 30_000,
    fetch = platformFetch,
  }: QdrantOptions) {
    if (!COLLECTION.test(collection))
      throw new TroupeError('invalid_config', 'The collection of Qdrant may have letters, digits, _ and -.');
    this.#url = joinUrl(checkBaseUrl('Qdrant', baseUrl), `/collections/${collection}`);
    this.#headers = {
      'content-type': 'application/json',
      ...(apiKey !== undefined && { 'api-key': checkKey('Qdrant', apiKey) }),
    };
    this.#fetch = fetch;
    this.#timeoutMs = timeoutMs;
  }

  /** The `result` of an answer. @throws TroupeError that names the request and what the server says */
  async send(method: string, path: string, body?: object, signal?: AbortSignal): Promise<unknown> {
    const what = `${method} ${path === '' ? 'collection' : path}`;
    try {
      return await withDeadline({ timeoutMs: this.#timeoutMs, signal }, async (stopped) => {
        const response = await this.#fetch(`${this.#url}${path}`, {
          method,
          headers: this.#headers,
          signal: stopped,
          redirect: 'error',
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        const answer = readJson(await response.text());
        if (response.ok && isJsonObject(answer)) return answer['result'];
        throw new Error(`status ${response.status}: ${problemIn(isJsonObject(answer) ? answer : {})}`);
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw new TroupeError('store_failed', `Qdrant failed (${what}): ${messageOf(cause)}`, { cause });
    }
  }
}

function problemIn({ status }: JsonObject): string {
  const text = isJsonObject(status) ? status['error'] : status;
  return typeof text === 'string' ? cutText(oneLine(text), 300) : 'no explanation';
}
