import { messageOf, TroupeError } from '../errors.ts';
import { LongTermMemoryBase, type LongTermOptions } from '../longterm/long-term-memory-base.ts';
import type { Msg } from '../message/msg.ts';
import { checkBaseUrl, checkKey, joinUrl } from '../model/http/headers.ts';
import { readEnv } from '#platform';
import { withDeadline } from '../util/async/deadline.ts';
import { isJsonObject, readJson, type JsonObject, type JsonValue } from '../util/json.ts';
import { platformFetch, type Fetch } from '../util/net/http.ts';

export interface Mem0Options {
  /** Owner of the memories. At least one of the three. */
  readonly userId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly runId?: string | undefined;
  /** Address of a server of your own. @default Mem0's platform */
  readonly baseUrl?: string | undefined;
  /** @default MEM0_API_KEY. The platform needs one */
  readonly apiKey?: string | undefined;
  /** Whether the server is Mem0's platform or your own, which have different addresses. @default by `baseUrl` */
  readonly hosting?: 'platform' | 'self_hosted' | undefined;
  /** Maximum memories of a search. @default 5 */
  readonly limit?: number | undefined;
  /** Time limit of one request. @default 30 seconds */
  readonly timeoutMs?: number | undefined;
  /** @default the platform's fetch */
  readonly fetch?: Fetch | undefined;
  readonly id?: string | undefined;
  readonly description?: string | undefined;
}

const HOME = 'https://api.mem0.ai';
const PATHS = {
  platform: { add: '/v1/memories/', search: '/v2/memories/search/' },
  self_hosted: { add: '/memories', search: '/search' },
} as const;
/** Attempts of the tool to store content, each with more force: as the user, as the assistant, word for word. */
const ATTEMPTS = [
  { role: 'user', infer: true },
  { role: 'assistant', infer: true },
  { role: 'assistant', infer: false },
] as const;

/** Long-term memory of a Mem0 server, over HTTP. Failures are errors; an agent goes on without. */
export class Mem0LongTermMemory extends LongTermMemoryBase {
  static override readonly componentName: string = 'mem0LongTermMemory';

  readonly #options: Mem0Options;
  readonly #url: string;
  readonly #hosting: 'platform' | 'self_hosted';
  readonly #headers: Readonly<Record<string, string>>;
  readonly #owner: Readonly<Record<string, string>>;

  /** @throws TroupeError without an owner, or without a key for the platform */
  constructor(options: Mem0Options) {
    super();
    const { userId, agentId, runId, baseUrl = HOME, apiKey = readEnv('MEM0_API_KEY') } = options;
    const owner = Object.entries({ user_id: userId, agent_id: agentId, run_id: runId });
    this.#owner = Object.fromEntries(owner.filter((entry): entry is [string, string] => Boolean(entry[1])));
    if (Object.keys(this.#owner).length === 0) throw invalid('Mem0 needs a userId, an agentId or a runId.');
    this.#hosting = options.hosting ?? (baseUrl === HOME ? 'platform' : 'self_hosted');
    if (this.#hosting === 'platform' && !apiKey)
      throw invalid('Mem0 needs a key: set MEM0_API_KEY, or give the option apiKey.');
    const key = apiKey ? checkKey('Mem0', apiKey) : undefined;
    this.#headers = {
      'content-type': 'application/json',
      ...(key !== undefined &&
        (this.#hosting === 'platform' ? { authorization: `Token ${key}` } : { 'x-api-key': key })),
    };
    this.#url = checkBaseUrl('Mem0', baseUrl);
    this.#options = options;
    if (options.id !== undefined) Object.assign(this, { id: options.id });
    if (options.description !== undefined) Object.assign(this, { description: options.description });
  }

  override async retrieve(msgs: readonly Msg[], options: LongTermOptions = {}): Promise<string> {
    return this.#searchAll(
      msgs.map(({ text }) => text),
      options,
    );
  }

  override async record(msgs: readonly Msg[], { signal }: LongTermOptions = {}): Promise<void> {
    const messages = msgs
      .filter(({ role, text }) => role !== 'system' && text.trim() !== '')
      .map(({ role, text }) => ({ role, content: text }));
    if (messages.length > 0) await this.#add(messages, true, signal);
  }

  override async recordToMemory(
    thinking: string,
    content: readonly string[],
    { signal }: LongTermOptions = {},
  ): Promise<string> {
    const text = [...(thinking === '' ? [] : [thinking]), ...content].join('\n');
    if (content.length === 0) return 'There is nothing to remember.';
    for (const { role, infer } of ATTEMPTS) {
      const results = await this.#add([{ role, content: text }], infer, signal);
      if (results.length > 0) return 'Successfully recorded to memory.';
    }
    return 'Mem0 kept nothing of it.';
  }

  override async retrieveFromMemory(
    keywords: readonly string[],
    options: LongTermOptions = {},
  ): Promise<string> {
    return (await this.#searchAll(keywords, options)) || 'The memory holds nothing about the keywords.';
  }

  async #searchAll(
    queries: readonly string[],
    { limit = this.#options.limit ?? 5, signal }: LongTermOptions,
  ): Promise<string> {
    const asked = queries.map((query) => query.trim()).filter((query) => query !== '');
    const found = await Promise.all(asked.map((query) => this.#search(query, limit, signal)));
    return [...new Set(found.flat())].join('\n');
  }

  async #search(query: string, limit: number, signal: AbortSignal | undefined): Promise<readonly string[]> {
    const conditions = Object.entries(this.#owner).map(([key, value]) => ({ [key]: value }));
    const body =
      this.#hosting === 'platform'
        ? { query, filters: { AND: conditions }, top_k: limit }
        : { query, ...this.#owner, limit };
    const answer = await this.#send(PATHS[this.#hosting].search, body, signal);
    const relations = isJsonObject(answer) ? listIn(answer, 'relations') : [];
    return [
      ...listIn(answer, 'results').flatMap(({ memory }) => (typeof memory === 'string' ? [memory] : [])),
      ...relations.map(({ source, relationship, destination, target }) =>
        [source, relationship, destination ?? target].map(textOf).join(' -- '),
      ),
    ];
  }

  async #add(
    messages: readonly object[],
    infer: boolean,
    signal: AbortSignal | undefined,
  ): Promise<readonly JsonObject[]> {
    return listIn(
      await this.#send(PATHS[this.#hosting].add, { messages, ...this.#owner, infer }, signal),
      'results',
    );
  }

  async #send(path: string, body: object, signal: AbortSignal | undefined): Promise<unknown> {
    const { fetch: send = platformFetch, timeoutMs = 30_000 } = this.#options;
    try {
      return await withDeadline({ timeoutMs, signal }, async (stopped) => {
        const response = await send(joinUrl(this.#url, path), {
          method: 'POST',
          headers: this.#headers,
          body: JSON.stringify(body),
          signal: stopped,
          redirect: 'error',
        });
        const text = await response.text();
        if (response.ok) return readJson(text);
        throw new Error(`status ${response.status}`);
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw new TroupeError('store_failed', `Mem0 failed (${path}): ${messageOf(cause)}`, { cause });
    }
  }
}

/** A list of objects: the answer itself, or a field of it. */
function listIn(answer: unknown, field: string): readonly JsonObject[] {
  const list: unknown = isJsonObject(answer) ? answer[field] : answer;
  return Array.isArray(list) ? list.filter((item) => isJsonObject(item)) : [];
}

/** The text of a field of an answer; empty if there is none. */
function textOf(field: JsonValue | undefined): string {
  return typeof field === 'string' ? field : '';
}

function invalid(message: string): TroupeError {
  return new TroupeError('invalid_config', message);
}
