import { TroupeError } from '../errors.ts';
import type { Chunk } from '../document/chunk.ts';
import type { Embedding } from '../embedding/embedding-model-base.ts';
import { checkNumber } from '../util/check-number.ts';
import { checkStoredText, conditionsOf, type ChunkFilter, type FieldCondition } from './chunk-filter.ts';

/** A chunk for a store. Without an embedding, a stored one is kept; else it is found by full text only. */
export interface StoredChunk extends Chunk {
  readonly embedding?: Embedding | undefined;
}

export interface FoundChunk {
  readonly chunk: Chunk;
  /** Higher is better. Cosine similarity for `vector`, 0 to 1 for `text` and `hybrid`. */
  readonly score: number;
}

/** Kind of search. */
export type SearchMode = 'vector' | 'text' | 'hybrid';

export interface SearchQuery {
  /** Vector of the query, for `vector` and `hybrid`. */
  readonly embedding?: Embedding | undefined;
  /** Words of the query, for `text` and `hybrid`. */
  readonly text?: string | undefined;
  /** @default by what is given: both are `hybrid` */
  readonly mode?: SearchMode | undefined;
  /** Maximum results. @default 5 */
  readonly limit?: number | undefined;
  readonly filter?: ChunkFilter | undefined;
  /** Only chunks of these documents are searched. @default all */
  readonly documentIds?: readonly string[] | undefined;
  /** Results below this score are left out. @default none */
  readonly minScore?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Chunks by id, or all chunks of documents. */
export type ChunkSelection =
  | { readonly ids: readonly string[]; readonly documentIds?: never }
  | { readonly documentIds: readonly string[]; readonly ids?: never };

export interface StoredDocument {
  readonly documentId: string;
  readonly chunkCount: number;
}

/** One search of a store's own, with checked conditions. */
export interface StoreSearch {
  readonly limit: number;
  readonly conditions: readonly FieldCondition[];
  /** If given, only these chunks are searched. */
  readonly among: ChunkSelection | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Weight of the vector score in hybrid search; the rest is that of full text. */
const VECTOR_WEIGHT = 0.5;
const MAX_LIMIT = 1000;

/**
 * Port to a vector store: chunks with vectors, found by vector, by full text or by both. Chunk ids are unique in
 * a store. A score is higher when it is better, in every store and mode. Folder `vector`: start here.
 */
export abstract class VectorStoreBase {
  protected abstract write(chunks: readonly StoredChunk[]): Promise<void>;
  /** Chunks in the order of documents and places. Unknown ids are left out. */
  protected abstract read(selection: ChunkSelection): Promise<readonly Chunk[]>;
  /** @returns the number of removed chunks */
  protected abstract remove(selection: ChunkSelection): Promise<number>;
  /** Chunks nearest to a vector, with their cosine similarity. */
  protected abstract searchVector(embedding: Embedding, search: StoreSearch): Promise<readonly FoundChunk[]>;
  /** Chunks with words of the text, with scores from 0 to 1. */
  protected abstract searchText(text: string, search: StoreSearch): Promise<readonly FoundChunk[]>;
  protected abstract countChunks(conditions: readonly FieldCondition[]): Promise<number>;
  /** Documents in the order of their ids (by code units or bytes), from the one after `after`. */
  protected abstract documents(after: string | undefined, limit: number): Promise<readonly StoredDocument[]>;

  /** Adds chunks. @throws TroupeError, without any change, if an id is there already */
  async add(chunks: readonly StoredChunk[]): Promise<void> {
    this.#check(chunks);
    const known = await this.read({ ids: chunks.map(({ id }) => id) });
    const [first] = known;
    if (first !== undefined)
      throw new TroupeError(
        'store_failed',
        `The chunk '${first.id}' is in the store already. Use upsert to replace chunks.`,
      );
    if (chunks.length > 0) await this.write(chunks);
  }

  /** Adds chunks, or replaces those with the same id. Without an embedding, a stored one is kept. */
  async upsert(chunks: readonly StoredChunk[]): Promise<void> {
    this.#check(chunks);
    if (chunks.length > 0) await this.write(chunks);
  }

  async get(selection: ChunkSelection): Promise<readonly Chunk[]> {
    return isEmpty(selection) ? [] : this.read(selection);
  }

  /** Removes chunks, or whole documents. @returns the number of removed chunks */
  async delete(selection: ChunkSelection): Promise<number> {
    return isEmpty(selection) ? 0 : this.remove(selection);
  }

  /** The best chunks, best first. */
  async search(query: SearchQuery): Promise<readonly FoundChunk[]> {
    const { embedding, text = '', limit = 5, filter, documentIds, minScore = -Infinity, signal } = query;
    const mode = query.mode ?? (embedding === undefined ? 'text' : text.trim() === '' ? 'vector' : 'hybrid');
    checkNumber('limit', limit, { least: 1, most: MAX_LIMIT, whole: true });
    if (mode !== 'text' && embedding === undefined)
      throw new TroupeError('invalid_config', `A search by ${mode} needs an embedding.`);
    signal?.throwIfAborted();
    if (documentIds?.length === 0) return [];
    const among = documentIds === undefined ? undefined : { documentIds };
    const search = { limit, conditions: conditionsOf(filter), among, signal };
    const found =
      mode === 'text'
        ? await this.searchText(text, search)
        : mode === 'vector'
          ? await this.searchVector(checkEmbedding(embedding), search)
          : await this.#hybrid(checkEmbedding(embedding), text, search);
    return found.filter(({ score }) => score >= minScore).slice(0, limit);
  }

  async count(filter?: ChunkFilter): Promise<number> {
    return this.countChunks(conditionsOf(filter));
  }

  /** Documents with their number of chunks, in the order of their ids. */
  async listDocuments({ after, limit = 100 }: { after?: string; limit?: number } = {}): Promise<
    readonly StoredDocument[]
  > {
    checkNumber('limit', limit, { least: 1, most: MAX_LIMIT, whole: true });
    return this.documents(after, limit);
  }

  /** Closes what the store opened. */
  async [Symbol.asyncDispose](): Promise<void> {}

  async #hybrid(embedding: Embedding, text: string, search: StoreSearch): Promise<readonly FoundChunk[]> {
    const wide = { ...search, limit: Math.min(MAX_LIMIT, Math.max(50, search.limit * 4)) };
    const [byVector, byText] = await Promise.all([
      this.searchVector(embedding, wide),
      this.searchText(text, wide),
    ]);
    // A chunk of one list may stand right below the end of the other: its score there is asked for, not taken for 0.
    const [moreByVector, moreByText] = await Promise.all([
      this.#scoresOf(byText, byVector, wide, (one) => this.searchVector(embedding, one)),
      this.#scoresOf(byVector, byText, wide, (one) => this.searchText(text, one)),
    ]);
    return fuse([...byVector, ...moreByVector], [...byText, ...moreByText]);
  }

  /** Scores of what is in the first list only, by the search of the second. */
  async #scoresOf(
    found: readonly FoundChunk[],
    others: readonly FoundChunk[],
    search: StoreSearch,
    run: (search: StoreSearch) => Promise<readonly FoundChunk[]>,
  ): Promise<readonly FoundChunk[]> {
    const known = new Set(others.map(({ chunk }) => chunk.id));
    const ids = found.map(({ chunk }) => chunk.id).filter((id) => !known.has(id));
    if (ids.length === 0 || others.length < search.limit) return [];
    return run({ ...search, conditions: [], among: { ids }, limit: ids.length });
  }

  #check(chunks: readonly StoredChunk[]): void {
    const ids = new Set<string>();
    for (const { id, documentId, metadata, embedding } of chunks) {
      for (const text of [id, documentId, ...Object.keys(metadata)])
        checkStoredText('An id or a metadata field', text);
      if (id === '' || documentId === '' || ids.has(id))
        throw new TroupeError(
          'invalid_config',
          'Each chunk needs an id of its own and the id of its document.',
        );
      ids.add(id);
      for (const value of Object.values(metadata)) {
        if (typeof value === 'string') checkStoredText('A metadata value', value);
        else if (typeof value !== 'boolean' && !Number.isFinite(value))
          throw new TroupeError(
            'invalid_config',
            'Metadata values are strings, finite numbers and booleans.',
          );
      }
      if (embedding !== undefined) checkEmbedding(embedding);
    }
  }
}

function isEmpty({ ids, documentIds }: ChunkSelection): boolean {
  return (ids ?? documentIds).length === 0;
}

/** @throws TroupeError for a vector without a direction, which is similar to nothing */
function checkEmbedding(embedding: Embedding | undefined): Embedding {
  if (
    embedding !== undefined &&
    embedding.every((value) => Number.isFinite(value)) &&
    embedding.some((value) => value !== 0)
  )
    return embedding;
  throw new TroupeError('invalid_config', 'An embedding must have finite numbers that are not all 0.');
}

/** Merges two lists: a weighted sum of the scores, from 0 to 1. A chunk missing in a list has the score 0 there. */
function fuse(byVector: readonly FoundChunk[], byText: readonly FoundChunk[]): readonly FoundChunk[] {
  const fused = new Map<string, { chunk: Chunk; score: number }>();
  const add = (found: readonly FoundChunk[], weight: number): void => {
    for (const { chunk, score } of found) {
      const known = fused.get(chunk.id) ?? { chunk, score: 0 };
      fused.set(chunk.id, { chunk, score: known.score + weight * Math.max(0, score) });
    }
  };
  add(byVector, VECTOR_WEIGHT);
  add(byText, 1 - VECTOR_WEIGHT);
  return [...fused.values()].toSorted((a, b) => b.score - a.score || (a.chunk.id < b.chunk.id ? -1 : 1));
}
