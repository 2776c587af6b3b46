import { getLogger } from '../config/run-config.ts';
import type { Chunk } from '../document/chunk.ts';
import type { EmbeddingModelBase } from '../embedding/embedding-model-base.ts';
import { messageOf, TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import { withDeadline } from '../util/async/deadline.ts';
import { settledWithin } from '../util/async/settled-within.ts';
import { checkNumber } from '../util/check-number.ts';
import { now } from '../util/clock.ts';
import { sha256 } from '../util/hash.ts';
import { InMemoryVectorStore } from '../vector/in-memory-vector-store.ts';
import type { VectorStoreBase } from '../vector/vector-store-base.ts';
import { extractMemories, type MemoryChange } from './extract-memories.ts';
import { LongTermMemoryBase, type LongTermOptions } from './long-term-memory-base.ts';
import { personalMemory, type MemoryScheme } from './memory-scheme.ts';
import { saidIn, toolResultsIn, type Said } from './said.ts';

export interface SimpleLongTermMemoryOptions {
  /** Owner of the memories: a person, an agent, or both. At least one. */
  readonly userId?: string | undefined;
  readonly agentId?: string | undefined;
  /** Extracts memories from messages. Without one, the texts of users are stored as they are. */
  readonly model?: ChatModelBase | undefined;
  /** @default an `InMemoryVectorStore`; a `SqliteVectorStore` keeps memories across runs */
  readonly store?: VectorStoreBase | undefined;
  /** Without one, memories are found by full text alone. */
  readonly embeddingModel?: EmbeddingModelBase | undefined;
  /** @default `personalMemory` */
  readonly scheme?: MemoryScheme | undefined;
  /** Maximum memories of the owner; the ones unchanged for longest are dropped. @default 10 000 */
  readonly maxMemories?: number | undefined;
  /** Memories with a lower score are not given, from 0 to 1. With an embedding model, every memory is a little like every question. @default 0 */
  readonly minScore?: number | undefined;
  /** Days after which an unchanged memory counts half in searches. @default Infinity, no decay */
  readonly halfLifeDays?: number | undefined;
  /** Whether `record` returns at once. Disposal waits for what is under way. @default false */
  readonly isBackground?: boolean | undefined;
  readonly id?: string | undefined;
  readonly description?: string | undefined;
}

/** One stored memory. */
export interface MemoryEntry {
  readonly id: string;
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

const DAY_MS = 86_400_000;
/** Time limit of one change, with its model call and its writes. */
const LIMIT_MS = 120_000;
/** Time in which a store ends a change that was stopped. */
const STOP_MS = 5000;
/** Known memories that the extractor sees. */
const KNOWN = 20;
/** Maximum searched messages. Messages of users come first. */
const QUERIES = 8;

/**
 * Long-term memory on a vector store, without a service. A model extracts statements from what is new, and they
 * are added, replace older versions, or remove what is no longer true. Memories of other owners and kinds in the
 * same store are never seen.
 */
export class SimpleLongTermMemory extends LongTermMemoryBase implements AsyncDisposable {
  static override readonly componentName: string = 'simpleLongTermMemory';

  readonly #options: SimpleLongTermMemoryOptions;
  readonly #store: VectorStoreBase;
  readonly #scheme: MemoryScheme;
  /** Document of all memories of the owner and kind. */
  readonly #owner: string;
  #last: Promise<unknown> = Promise.resolve();

  /** @throws TroupeError without an owner */
  constructor(options: SimpleLongTermMemoryOptions) {
    super();
    const { userId = '', agentId = '', maxMemories = 10_000, halfLifeDays = Infinity } = options;
    if (userId === '' && agentId === '')
      throw new TroupeError('invalid_config', 'A long-term memory needs a userId, an agentId, or both.');
    checkNumber('maxMemories', maxMemories, { least: 1, whole: true });
    checkNumber('halfLifeDays', halfLifeDays, { least: Number.MIN_VALUE });
    checkNumber('minScore', options.minScore ?? 0, { least: 0, most: 1 });
    this.#options = options;
    this.#store = options.store ?? new InMemoryVectorStore();
    this.#scheme = options.scheme ?? personalMemory;
    this.#owner = JSON.stringify([userId, agentId, this.#scheme.kind]);
    if (options.id !== undefined) Object.assign(this, { id: options.id });
    if (options.description !== undefined) Object.assign(this, { description: options.description });
  }

  override async retrieve(
    msgs: readonly Msg[],
    { limit = 5, signal }: LongTermOptions = {},
  ): Promise<string> {
    const { minScore = 0 } = this.#options;
    const queries = msgs.map(({ text }) => text.trim()).filter((text) => text !== '');
    const found = new Map<string, { entry: MemoryEntry; score: number }>();
    for (const query of queries) {
      for (const { entry, score } of await this.#search(query, limit, signal)) {
        if (score >= minScore && score > (found.get(entry.id)?.score ?? -Infinity))
          found.set(entry.id, { entry, score });
      }
    }
    const best = [...found.values()].toSorted((a, b) => b.score - a.score).slice(0, limit);
    return best.map(({ entry: { text } }) => text).join('\n');
  }

  override async record(msgs: readonly Msg[], { signal }: LongTermOptions = {}): Promise<void> {
    const { isBackground = false, model } = this.#options;
    const said = model === undefined ? this.#asTold(msgs) : saidIn(msgs, this.#scheme);
    if (said.length === 0) return;
    const work = this.#inOrder((stop) => this.#learn(said, stop), isBackground ? undefined : signal);
    if (!isBackground) return work;
    work.catch((error: unknown) =>
      getLogger().log('warn', `A long-term memory could not be recorded: ${messageOf(error)}`),
    );
  }

  override async recordToMemory(
    _thinking: string,
    content: readonly string[],
    { signal }: LongTermOptions = {},
  ): Promise<string> {
    const { read = (text: string) => text, nothing = 'There is nothing to remember.' } = this.#scheme;
    const texts = content.flatMap((text) => read(text.trim()) ?? []).filter((text) => text !== '');
    if (texts.length === 0) return nothing;
    const said = texts.map((text) => ({ name: 'note', text, isUser: true }));
    await this.#inOrder((stop) => this.#learn(said, stop, true), signal);
    return `Successfully recorded ${texts.length} ${texts.length === 1 ? 'memory' : 'memories'}.`;
  }

  /** All memories of the owner, the latest first. */
  async list(): Promise<readonly MemoryEntry[]> {
    const chunks = await this.#store.get({ documentIds: [this.#owner] });
    return chunks.map(toEntry).toSorted((a, b) => b.updatedAt - a.updatedAt);
  }

  /** Removes memories by id, or all. @returns the number of removed memories */
  async forget(ids: readonly string[] | 'all'): Promise<number> {
    return this.#inOrder(async () => {
      if (ids === 'all') return this.#store.delete({ documentIds: [this.#owner] });
      const own = new Set((await this.list()).map(({ id }) => id));
      return this.#store.delete({ ids: ids.filter((id) => own.has(id)) });
    });
  }

  /** Waits until everything recorded in the background is stored. */
  async flush(): Promise<void> {
    let last: Promise<unknown> | undefined;
    while (last !== this.#last) await (last = this.#last); // more may come meanwhile
  }

  /** Waits for what is under way. The store stays open. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  /** Texts that are stored as they are, without a model: of users, or tool results if the scheme is made of those. */
  #asTold(msgs: readonly Msg[]): readonly Said[] {
    const { read } = this.#scheme;
    if (read === undefined) return saidIn(msgs, personalMemory).filter(({ isUser }) => isUser);
    return toolResultsIn(msgs).flatMap((result) => {
      const text = read(result);
      return text === undefined ? [] : [{ name: 'note', text, isUser: false }];
    });
  }

  /** @param isWanted whether the texts are to be stored as they are if the model fails or finds nothing in them */
  async #learn(said: readonly Said[], signal: AbortSignal | undefined, isWanted = false): Promise<void> {
    const { model } = this.#options;
    const asTold = said.map(({ text }) => ({ action: 'add', text }) as const);
    if (model === undefined) return this.#apply(asTold, [], signal);
    const known = await this.#related(said, signal);
    const old = known.map(({ text }) => text);
    const changes = await extractMemories(model, this.#scheme, old, said, signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (!isWanted) throw error;
      getLogger().log('warn', `Memories are stored as they are: ${messageOf(error)}`);
      return [];
    });
    await this.#apply(changes.length === 0 && isWanted ? asTold : changes, known, signal);
  }

  /**
   * Memories about the messages, which new statements may change: the best of each message, then the second best of
   * each, and so on, so that small talk leaves no message without.
   */
  async #related(said: readonly Said[], signal: AbortSignal | undefined): Promise<readonly MemoryEntry[]> {
    const asked = said.toSorted((a, b) => Number(b.isUser) - Number(a.isUser)).slice(0, QUERIES);
    const lists: (readonly MemoryEntry[])[] = [];
    for (const { text } of asked)
      lists.push((await this.#search(text, KNOWN, signal)).map(({ entry }) => entry));
    const found = new Map<string, MemoryEntry>();
    for (let place = 0; place < KNOWN; place++)
      for (const list of lists) {
        const entry = list[place];
        if (entry !== undefined) found.set(entry.id, entry);
      }
    return [...found.values()].slice(0, KNOWN);
  }

  async #apply(
    changes: readonly MemoryChange[],
    known: readonly MemoryEntry[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const at = now();
    const stale = new Set<string>();
    const fresh = new Map<string, { text: string; createdAt: number }>();
    for (const change of changes) {
      const old = change.action === 'add' ? undefined : known[change.memory - 1];
      if (old !== undefined) stale.add(old.id);
      if (change.action === 'delete') continue;
      const id = (await sha256(JSON.stringify([this.#owner, change.text.toLowerCase()]))).slice(0, 32);
      fresh.set(id, { text: change.text, createdAt: old?.createdAt ?? at });
    }
    const texts = [...fresh.values()].map(({ text }) => text);
    const { embeddingModel } = this.#options;
    const again = fresh.size === 0 ? [] : await this.#store.get({ ids: [...fresh.keys()] });
    for (const { id, createdAt } of again.map(toEntry)) {
      const known = fresh.get(id);
      if (known !== undefined) fresh.set(id, { ...known, createdAt: Math.min(createdAt, known.createdAt) });
    }
    const vectors = texts.length === 0 ? undefined : await embeddingModel?.embed(texts, { signal });
    const rows = [...fresh].map(([id, { text, createdAt }], index) => ({
      id,
      documentId: this.#owner,
      index: 0,
      content: { type: 'text', text } as const,
      metadata: { owner: this.#owner, createdAt, updatedAt: at },
      embedding: vectors?.embeddings[index],
    }));
    await this.#store.upsert(rows);
    await this.#store.delete({ ids: [...stale].filter((id) => !fresh.has(id)) });
    await this.#dropOldest();
  }

  async #dropOldest(): Promise<void> {
    const { maxMemories = 10_000 } = this.#options;
    const entries = await this.list();
    await this.#store.delete({ ids: entries.slice(maxMemories).map(({ id }) => id) });
  }

  async #search(
    query: string,
    limit: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly { entry: MemoryEntry; score: number }[]> {
    const text = query.trim();
    if (text === '') return [];
    const { embeddingModel, halfLifeDays = Infinity } = this.#options;
    const vectors = await embeddingModel?.embed([text], { purpose: 'query', signal });
    const found = await this.#store.search({
      text,
      embedding: vectors?.embeddings[0],
      limit: Math.min(1000, limit * 4),
      documentIds: [this.#owner],
      signal,
    });
    return found
      .map(({ chunk, score }) => {
        const entry = toEntry(chunk);
        const ageDays = Math.max(0, now() - entry.updatedAt) / DAY_MS;
        return { entry, score: score * 0.5 ** (ageDays / halfLifeDays) };
      })
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit);
  }

  /**
   * Changes happen one after another, so that a later one sees what an earlier one stored. A change that is aborted, or takes longer
   * than `LIMIT_MS`, rejects at once; the next change waits for its end, for at most `STOP_MS`.
   */
  #inOrder<T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    let running: Promise<T> | undefined;
    const started = (stop: AbortSignal): Promise<T> => (running = work(stop));
    const result = this.#last.then(() => withDeadline({ timeoutMs: LIMIT_MS, signal }, started));
    this.#last = result.catch(() => running && settledWithin(running, STOP_MS));
    return result;
  }
}

function toEntry({ id, content, metadata }: Chunk): MemoryEntry {
  return {
    id,
    text: content.type === 'text' ? content.text : '',
    createdAt: Number(metadata['createdAt']),
    updatedAt: Number(metadata['updatedAt']),
  };
}
