import { TroupeError } from '../errors.ts';
import { textOfChunk, type Chunk } from '../document/chunk.ts';
import { cosineSimilarity, type Embedding } from '../embedding/embedding-model-base.ts';
import { Bm25Index } from './bm25.ts';
import { matchesFilter, type FieldCondition } from './chunk-filter.ts';
import { queryTerms, searchTerms } from './search-terms.ts';
import {
  VectorStoreBase,
  type ChunkSelection,
  type FoundChunk,
  type StoredChunk,
  type StoredDocument,
  type StoreSearch,
} from './vector-store-base.ts';

/** Vector store in memory: compares every vector, exact. For tests and some ten thousand chunks. */
export class InMemoryVectorStore extends VectorStoreBase {
  readonly #chunks = new Map<string, Chunk>();
  readonly #embeddings = new Map<string, Embedding>();
  readonly #terms = new Bm25Index<string>();

  protected override async write(chunks: readonly StoredChunk[]): Promise<void> {
    const length = [...this.#embeddings.values(), ...chunks.flatMap(({ embedding }) => embedding ?? [])][0]
      ?.length;
    for (const { embedding } of chunks)
      if (embedding !== undefined && embedding.length !== length) throw wrongLength(embedding.length, length);
    for (const { embedding, ...chunk } of chunks) {
      this.#chunks.set(chunk.id, structuredClone(chunk));
      if (embedding !== undefined) this.#embeddings.set(chunk.id, embedding.slice());
      this.#terms.set(chunk.id, searchTerms(textOfChunk(chunk)));
    }
  }

  protected override async read(selection: ChunkSelection): Promise<readonly Chunk[]> {
    return this.#selected(selection).toSorted(byPlace);
  }

  protected override async remove(selection: ChunkSelection): Promise<number> {
    const selected = this.#selected(selection);
    for (const { id } of selected) {
      this.#chunks.delete(id);
      this.#embeddings.delete(id);
      this.#terms.delete(id);
    }
    return selected.length;
  }

  protected override async searchVector(
    embedding: Embedding,
    search: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const [first] = this.#embeddings.values();
    if (first !== undefined && first.length !== embedding.length)
      throw wrongLength(embedding.length, first.length);
    const ids =
      search.among === undefined ? this.#embeddings.keys() : this.#selected(search.among).map(({ id }) => id);
    const scores = [...ids].flatMap((id): (readonly [string, number])[] => {
      const own = this.#embeddings.get(id);
      return own === undefined ? [] : [[id, cosineSimilarity(embedding, own)]];
    });
    return this.#best(scores, search);
  }

  protected override async searchText(text: string, search: StoreSearch): Promise<readonly FoundChunk[]> {
    return this.#best([...this.#terms.search(queryTerms(text))], search);
  }

  protected override async countChunks(conditions: readonly FieldCondition[]): Promise<number> {
    return [...this.#chunks.values()].filter(({ metadata }) => matchesFilter(metadata, conditions)).length;
  }

  protected override async documents(
    after: string | undefined,
    limit: number,
  ): Promise<readonly StoredDocument[]> {
    const byDocument = Map.groupBy(this.#chunks.values(), ({ documentId }) => documentId);
    return [...byDocument]
      .map(([documentId, chunks]) => ({ documentId, chunkCount: chunks.length }))
      .filter(({ documentId }) => after === undefined || documentId > after)
      .toSorted((a, b) => (a.documentId < b.documentId ? -1 : 1))
      .slice(0, limit);
  }

  #selected({ ids, documentIds }: ChunkSelection): readonly Chunk[] {
    if (ids !== undefined) return [...new Set(ids)].flatMap((id) => this.#chunks.get(id) ?? []);
    const wanted = new Set(documentIds);
    return [...this.#chunks.values()].filter(({ documentId }) => wanted.has(documentId));
  }

  #best(
    scores: readonly (readonly [string, number])[],
    { limit, conditions, among }: StoreSearch,
  ): readonly FoundChunk[] {
    const wanted = among === undefined ? undefined : new Set(this.#selected(among).map(({ id }) => id));
    return scores
      .flatMap(([id, score]) => {
        const chunk = this.#chunks.get(id);
        const isWanted = chunk !== undefined && (wanted === undefined || wanted.has(id));
        return isWanted && matchesFilter(chunk.metadata, conditions) ? [{ chunk, score }] : [];
      })
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit);
  }
}

function byPlace(a: Chunk, b: Chunk): number {
  return a.documentId === b.documentId ? a.index - b.index : a.documentId < b.documentId ? -1 : 1;
}

/** Error for a vector that another embedding model made. */
export function wrongLength(length: number, expected: number | undefined): TroupeError {
  const advice = 'The vectors of a store come from one embedding model: use another store or collection.';
  return new TroupeError(
    'invalid_config',
    `The vector has ${length} numbers; the store has vectors of ${expected}. ${advice}`,
  );
}
