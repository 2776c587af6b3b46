import { getLogger } from '../config/run-config.ts';
import type { Chunk, SourceDocument } from '../document/chunk.ts';
import { chunkDocument, type ChunkerOptions } from '../document/chunker.ts';
import { addEmbeddingUsage, type EmbeddingModelBase } from '../embedding/embedding-model-base.ts';
import { TroupeError } from '../errors.ts';
import type { Usage } from '../message/usage.ts';
import { checkNumber } from '../util/check-number.ts';
import { InMemoryVectorStore } from '../vector/in-memory-vector-store.ts';
import type { SearchMode, StoredChunk, VectorStoreBase } from '../vector/vector-store-base.ts';
import { KnowledgeBase, type RetrievedDocument, type RetrieveOptions } from './knowledge-base.ts';
import type { Reranker } from './reranker.ts';

export interface SimpleKnowledgeOptions {
  /** @default an `InMemoryVectorStore` */
  readonly store?: VectorStoreBase | undefined;
  /** Without one, documents are found by full text alone. */
  readonly embeddingModel?: EmbeddingModelBase | undefined;
  readonly chunks?: ChunkerOptions | undefined;
  /** @default 'hybrid', or 'text' without an embedding model */
  readonly mode?: SearchMode | undefined;
  /** Puts the found chunks into a better order. @default none */
  readonly reranker?: Reranker | undefined;
  /** Parts below this score are left out. @default none */
  readonly minScore?: number | undefined;
  readonly id?: string | undefined;
  readonly description?: string | undefined;
}

export interface SyncOptions {
  /** Removes documents of the store that are not given. @default false */
  readonly removeMissing?: boolean | undefined;
  /** Called after each document. */
  readonly onProgress?: ((progress: SyncProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SyncProgress {
  /** Documents that are done, the last one included. */
  readonly done: number;
  readonly total: number;
  readonly documentId: string;
  readonly change: 'added' | 'changed' | 'unchanged';
}

export interface SyncReport {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  /** Number of embedded chunks: new chunks, and chunks with a new content. */
  readonly embeddedChunks: number;
  readonly usage: Usage;
}

/** Chunks that a reranker gets for each wanted one. */
const CANDIDATES = 4;
/** Chunks that are embedded and stored together. */
const BATCH = 256;
/** Maximum comparisons of a document with the store while other programs change it. */
const ROUNDS = 5;
const NO_USAGE: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0, seconds: 0 });

/**
 * Knowledge base on a vector store. Documents are synchronised by content: a document added again changes nothing,
 * and of a changed one only the new chunks are embedded. With another embedding model, all are embedded again.
 *
 * @example
 * ```ts
 * import { SimpleKnowledge } from 'troupe/knowledge';
 *
 * const knowledge = new SimpleKnowledge();
 * await knowledge.addDocuments([
 *   { id: 'tea.md', sections: [{ content: { type: 'text', text: 'Sencha is brewed at 70 degrees.' } }] },
 * ]);
 * const [best] = await knowledge.retrieve('How hot is sencha brewed?');
 * console.log(best?.documentId);
 * ```
 */
export class SimpleKnowledge extends KnowledgeBase {
  readonly store: VectorStoreBase;
  /** Kind of search. `text` means that no embedding model is in use. */
  readonly mode: SearchMode;
  readonly #options: SimpleKnowledgeOptions;

  constructor(options: SimpleKnowledgeOptions = {}) {
    super();
    const { store = new InMemoryVectorStore(), embeddingModel, id, description } = options;
    const { mode = embeddingModel === undefined ? 'text' : 'hybrid' } = options;
    if (mode !== 'text' && embeddingModel === undefined)
      throw new TroupeError(
        'invalid_config',
        `A knowledge base with the mode '${mode}' needs an embeddingModel.`,
      );
    if (embeddingModel === undefined)
      getLogger().log(
        'info',
        'SimpleKnowledge has no embedding model: documents are found by full text alone.',
      );
    this.store = store;
    this.mode = mode;
    this.#options = options;
    if (id !== undefined) Object.assign(this, { id });
    if (description !== undefined) Object.assign(this, { description });
  }

  /** Adds documents, or brings those with the same id up to date. */
  addDocuments(
    documents: readonly SourceDocument[],
    options: Omit<SyncOptions, 'removeMissing'> = {},
  ): Promise<SyncReport> {
    return this.sync(documents, options);
  }

  /** Removes documents with all their chunks. @returns the number of removed chunks */
  removeDocuments(ids: readonly string[]): Promise<number> {
    return this.store.delete({ documentIds: ids });
  }

  /** Brings the store up to date, one document after another: after a failure the documents before it are done. */
  async sync(
    documents: Iterable<SourceDocument> | AsyncIterable<SourceDocument>,
    { removeMissing = false, onProgress, signal }: SyncOptions = {},
  ): Promise<SyncReport> {
    const total = Array.isArray(documents) ? documents.length : 0;
    const counts = { added: 0, changed: 0, unchanged: 0 };
    const given = new Set<string>();
    let [embeddedChunks, usage] = [0, NO_USAGE];
    for await (const document of documents) {
      signal?.throwIfAborted();
      given.add(document.id);
      const one = await this.#syncDocument(document, signal);
      counts[one.change]++;
      embeddedChunks += one.embedded;
      usage = addEmbeddingUsage(usage, one.usage);
      onProgress?.({
        done: given.size,
        total: Math.max(total, given.size),
        documentId: document.id,
        change: one.change,
      });
    }
    const removed = removeMissing ? await this.#removeOthers(given) : 0;
    return { ...counts, removed, embeddedChunks, usage };
  }

  override async retrieve(
    query: string,
    options: RetrieveOptions = {},
  ): Promise<readonly RetrievedDocument[]> {
    const { limit = 5, filter, signal, minScore = this.#options.minScore } = options;
    checkNumber('limit', limit, { least: 1, most: 100, whole: true });
    const { reranker, embeddingModel } = this.#options;
    const text = query.trim();
    if (text === '') return [];
    const vectors =
      this.mode === 'text' ? undefined : await embeddingModel?.embed([text], { purpose: 'query', signal });
    const found = await this.store.search({
      text,
      embedding: vectors?.embeddings[0],
      mode: this.mode,
      limit: reranker === undefined ? limit : limit * CANDIDATES,
      filter,
      signal,
      ...(reranker === undefined && { minScore }),
    });
    const chunks = found.map(({ chunk: { id, documentId, content, metadata }, score }) => ({
      id,
      documentId,
      content,
      metadata,
      score,
    }));
    if (reranker === undefined) return chunks;
    const ranked = await reranker.rerank(text, chunks, { signal });
    return ranked.filter(({ score }) => score >= (minScore ?? -Infinity)).slice(0, limit);
  }

  async #syncDocument(
    document: SourceDocument,
    signal: AbortSignal | undefined,
  ): Promise<{ change: SyncProgress['change']; embedded: number; usage: Usage }> {
    // Vectors of two models can't be compared, so a chunk of another model is another chunk.
    const variant = this.mode === 'text' ? '' : modelKeyOf(this.#options.embeddingModel);
    const chunks = await chunkDocument(document, this.#options.chunks, variant);
    for (const chunk of chunks) this.#checkModality(chunk);
    const kept = new Set(chunks.map(({ id }) => id));
    let change: SyncProgress['change'] = 'unchanged';
    let [embedded, usage] = [0, NO_USAGE];
    for (let round = 0; round < ROUNDS; round++) {
      const all = await this.store.get({ documentIds: [document.id] });
      const stored = new Map(all.map((chunk) => [chunk.id, chunk]));
      const fresh = chunks.filter(({ id }) => !stored.has(id));
      const moved = chunks.filter((chunk) => {
        const old = stored.get(chunk.id);
        return old !== undefined && (old.index !== chunk.index || !isSameMetadata(old, chunk));
      });
      const stale = [...stored.keys()].filter((id) => !kept.has(id));
      if (fresh.length + moved.length + stale.length === 0) break;
      if (round === 0) change = stored.size === 0 ? 'added' : 'changed';
      // New chunks first, batch by batch: a failure or a kill loses nothing, and what is stored is not embedded again.
      for (let start = 0; start < fresh.length; start += BATCH) {
        signal?.throwIfAborted();
        const batch = await this.#embedded(fresh.slice(start, start + BATCH), signal);
        await this.store.upsert(batch.rows);
        embedded += this.mode === 'text' ? 0 : batch.rows.length;
        usage = addEmbeddingUsage(usage, batch.usage);
      }
      await this.store.upsert(moved);
      await this.store.delete({ ids: stale });
      if (stale.length === 0) break; // a program that adds is always the last one
    }
    return { change, embedded, usage };
  }

  async #embedded(
    chunks: readonly Chunk[],
    signal: AbortSignal | undefined,
  ): Promise<{ rows: readonly StoredChunk[]; usage: Usage }> {
    const { embeddingModel } = this.#options;
    if (this.mode === 'text' || embeddingModel === undefined || chunks.length === 0)
      return { rows: chunks, usage: NO_USAGE };
    const answer = await embeddingModel.embed(
      chunks.map(({ content }) => content),
      { signal },
    );
    return {
      rows: chunks.map((chunk, index) => ({ ...chunk, embedding: answer.embeddings[index] })),
      usage: answer.usage,
    };
  }

  #checkModality({ content: { type } }: Chunk): void {
    const { embeddingModel } = this.#options;
    if (type === 'text' || embeddingModel?.modalities.includes(type)) return;
    const problem =
      embeddingModel === undefined
        ? 'Full text finds texts only'
        : `${embeddingModel.modelName} embeds ${embeddingModel.modalities.join(', ')}`;
    throw new TroupeError('invalid_config', `${problem}: a document with an ${type} can't be added.`);
  }

  async #removeOthers(given: ReadonlySet<string>): Promise<number> {
    const others: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await this.store.listDocuments({ limit: 1000, ...(after !== undefined && { after }) });
      others.push(...page.map(({ documentId }) => documentId).filter((id) => !given.has(id)));
      after = page.at(-1)?.documentId;
      if (page.length < 1000) break;
    }
    await this.store.delete({ documentIds: others });
    return others.length;
  }
}

function modelKeyOf(model: EmbeddingModelBase | undefined): string | undefined {
  return model === undefined || model.variant === ''
    ? model?.modelName
    : `${model.modelName} ${model.variant}`;
}

function isSameMetadata(a: Chunk, b: Chunk): boolean {
  const [mine, others] = [Object.entries(a.metadata), new Map(Object.entries(b.metadata))];
  return mine.length === others.size && mine.every(([key, value]) => others.get(key) === value);
}
