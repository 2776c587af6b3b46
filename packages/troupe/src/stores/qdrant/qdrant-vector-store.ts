import { textOfChunk, type Chunk } from '../../document/chunk.ts';
import type { Embedding } from '../../embedding/embedding-model-base.ts';
import { sha256 } from '../../util/hash.ts';
import { parseJson, type JsonObject } from '../../util/json.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import { TroupeError } from '../../errors.ts';
import { USUAL_LENGTH, wordScore } from '../../vector/bm25.ts';
import type { FieldCondition } from '../../vector/chunk-filter.ts';
import { wrongLength } from '../../vector/in-memory-vector-store.ts';
import { queryTerms, searchTerms, toTextScore } from '../../vector/search-terms.ts';
import {
  VectorStoreBase,
  type ChunkSelection,
  type FoundChunk,
  type StoredChunk,
  type StoredDocument,
  type StoreSearch,
} from '../../vector/vector-store-base.ts';
import { QdrantClient, type QdrantOptions } from './qdrant-client.ts';

const VECTOR = 'dense';
const WORDS = 'words';
const PAGE = 500;

/**
 * Vector store in Qdrant, over HTTP. The collection is made with the first vector. Full text is BM25 over all chunks: a
 * sparse vector of the words of each chunk, whose rarity the server counts (Qdrant 1.10 or later).
 *
 * Names of metadata are never part of a path of the filter language: values are compared as `facets`, and numbers
 * under their name in hexadecimal digits.
 */
export class QdrantVectorStore extends VectorStoreBase {
  readonly #client: QdrantClient;
  #length: number | undefined;

  constructor(options: QdrantOptions = {}) {
    super();
    this.#client = new QdrantClient(options);
  }

  protected override async write(chunks: readonly StoredChunk[]): Promise<void> {
    const lengths = [...new Set(chunks.flatMap(({ embedding }) => embedding?.length ?? []))];
    const stored = (await this.#stored()) ?? lengths[0];
    for (const length of lengths) if (length !== stored) throw wrongLength(length, stored);
    await this.#prepare(stored ?? 1);
    for (let start = 0; start < chunks.length; start += PAGE) {
      const part = chunks.slice(start, start + PAGE);
      const known = new Set((await this.read({ ids: part.map(({ id }) => id) })).map(({ id }) => id));
      const kept = part.filter(({ id, embedding }) => embedding === undefined && known.has(id));
      const points = await Promise.all(part.filter((chunk) => !kept.includes(chunk)).map(toPoint));
      if (points.length > 0) await this.#client.send('PUT', '/points?wait=true', { points });
      for (const chunk of kept) {
        const { id, payload, vector } = await toPoint(chunk);
        await this.#client.send('PUT', '/points/payload?wait=true', { payload, points: [id] });
        await this.#client.send('PUT', '/points/vectors?wait=true', { points: [{ id, vector }] });
      }
    }
  }

  protected override async read(selection: ChunkSelection): Promise<readonly Chunk[]> {
    const chunks = (await this.#scroll(selected(selection))).map(toChunk);
    return chunks.toSorted((a, b) =>
      a.documentId === b.documentId ? a.index - b.index : a.documentId < b.documentId ? -1 : 1,
    );
  }

  protected override async remove(selection: ChunkSelection): Promise<number> {
    if (!(await this.#exists())) return 0;
    const filter = selected(selection);
    const count =
      numberOf(
        objectOf(await this.#client.send('POST', '/points/count', { filter, exact: true }))['count'],
      ) ?? 0;
    await this.#client.send('POST', '/points/delete?wait=true', { filter });
    return count;
  }

  protected override async searchVector(
    embedding: Embedding,
    { limit, conditions, among, signal }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const length = await this.#stored();
    if (length === undefined) return [];
    if (length !== embedding.length) throw wrongLength(embedding.length, length);
    const request = {
      query: [...embedding],
      using: VECTOR,
      filter: toFilter(conditions, among),
      limit,
      with_payload: true,
    };
    const result = objectOf(await this.#client.send('POST', '/points/query', request, signal));
    return objectsOf(result['points']).map((point) => ({
      chunk: toChunk(point),
      score: numberOf(point['score']) ?? 0,
    }));
  }

  protected override async searchText(
    text: string,
    { limit, conditions, among, signal }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const terms = queryTerms(text);
    if (terms.length === 0 || !(await this.#exists())) return [];
    const words = [...new Set(terms.map(wordNumber))];
    const request = {
      query: { indices: words, values: words.map(() => 1) },
      using: WORDS,
      filter: toFilter(conditions, among),
      limit,
      with_payload: true,
    };
    const result = objectOf(await this.#client.send('POST', '/points/query', request, signal));
    return objectsOf(result['points'])
      .map((point) => ({ chunk: toChunk(point), score: toTextScore(numberOf(point['score']) ?? 0) }))
      .toSorted((a, b) => b.score - a.score || (a.chunk.id < b.chunk.id ? -1 : 1));
  }

  protected override async countChunks(conditions: readonly FieldCondition[]): Promise<number> {
    if (!(await this.#exists())) return 0;
    const request = { filter: toFilter(conditions), exact: true };
    return numberOf(objectOf(await this.#client.send('POST', '/points/count', request))['count']) ?? 0;
  }

  protected override async documents(
    after: string | undefined,
    limit: number,
  ): Promise<readonly StoredDocument[]> {
    const counts = new Map<string, number>();
    for (const point of await this.#scroll({ must: [] })) {
      const { documentId } = toChunk(point);
      counts.set(documentId, (counts.get(documentId) ?? 0) + 1);
    }
    return [...counts]
      .map(([documentId, chunkCount]) => ({ documentId, chunkCount }))
      .filter(({ documentId }) => after === undefined || documentId > after)
      .toSorted((a, b) => (a.documentId < b.documentId ? -1 : 1))
      .slice(0, limit);
  }

  async #scroll(filter: object): Promise<readonly JsonObject[]> {
    if (!(await this.#exists())) return [];
    const points: JsonObject[] = [];
    let offset: unknown;
    do {
      const request = { filter, limit: PAGE, with_payload: true, ...(offset !== undefined && { offset }) };
      const result = objectOf(await this.#client.send('POST', '/points/scroll', request));
      points.push(...objectsOf(result['points']));
      offset = result['next_page_offset'] ?? undefined;
    } while (offset !== undefined);
    return points;
  }

  async #exists(): Promise<boolean> {
    return this.#length !== undefined || (await this.#stored()) !== undefined;
  }

  /** Length of the vectors of the collection; undefined if there is none. */
  async #stored(): Promise<number | undefined> {
    if (this.#length !== undefined) return this.#length;
    const { exists } = objectOf(await this.#client.send('GET', '/exists'));
    if (exists !== true) return undefined;
    const config = objectOf(objectOf(await this.#client.send('GET', ''))['config']);
    const params = objectOf(config['params']);
    if (!Object.hasOwn(objectOf(params['sparse_vectors']), WORDS)) throw foreignCollection();
    const vectors = objectOf(params['vectors']);
    return (this.#length = numberOf(objectOf(vectors[VECTOR])['size']));
  }

  async #prepare(size: number): Promise<void> {
    if (await this.#exists()) return;
    await this.#client.send('PUT', '', {
      vectors: { [VECTOR]: { size, distance: 'Cosine' } },
      sparse_vectors: { [WORDS]: { modifier: 'idf' } },
    });
    for (const field_name of ['id', 'document_id', 'facets'])
      await this.#client.send('PUT', '/index?wait=true', { field_name, field_schema: 'keyword' });
    this.#length = size;
  }
}

/** Point of a chunk. Ids of points are UUIDs, so they are made from the hash of the chunk's id. */
async function toPoint(chunk: StoredChunk): Promise<{ id: string; vector: object; payload: object }> {
  const { id, documentId, index, content, metadata, embedding } = chunk;
  const hash = await sha256(id);
  const uuid = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    hash.slice(12, 16),
    hash.slice(16, 20),
    hash.slice(20, 32),
  ].join('-');
  const numbers = Object.entries(metadata).filter(([, value]) => typeof value === 'number');
  return {
    id: uuid,
    vector: { ...(embedding !== undefined && { [VECTOR]: [...embedding] }), [WORDS]: wordVector(chunk) },
    payload: {
      id,
      document_id: documentId,
      place: index,
      content: JSON.stringify(content),
      metadata: JSON.stringify(metadata),
      facets: Object.entries(metadata).map(([field, value]) => facetOf(field, value)),
      numbers: Object.fromEntries(numbers.map(([field, value]) => [hexOf(field), value])),
    },
  };
}

/** Sparse vector of a chunk: for each word, the part of its BM25 score that is the chunk's own. */
function wordVector(chunk: Chunk): { indices: readonly number[]; values: readonly number[] } {
  const terms = searchTerms(textOfChunk(chunk));
  const counts = new Map<number, number>();
  for (const term of terms) counts.set(wordNumber(term), (counts.get(wordNumber(term)) ?? 0) + 1);
  return {
    indices: [...counts.keys()],
    values: [...counts.values()].map((count) => wordScore(count, terms.length / USUAL_LENGTH)),
  };
}

/** Number of a word, of 32 bits (FNV-1a): the same in every program. */
function wordNumber(term: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < term.length; at++) hash = Math.imul(hash ^ term.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function foreignCollection(): TroupeError {
  return new TroupeError(
    'store_failed',
    'The collection of Qdrant was not made by this store. Use another collection, and synchronise again.',
  );
}

function facetOf(field: string, value: unknown): string {
  return JSON.stringify([field, value]);
}

/** A name that no path of the filter language can misread. */
function hexOf(field: string): string {
  return `f${Array.from(new TextEncoder().encode(field), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function selected({ ids, documentIds }: ChunkSelection): { must: object[] } {
  return { must: [{ key: ids === undefined ? 'document_id' : 'id', match: { any: ids ?? documentIds } }] };
}

function toFilter(conditions: readonly FieldCondition[], among?: ChunkSelection): { must: object[] } {
  const must = conditions.map((condition) =>
    condition.kind === 'range'
      ? { key: `numbers.${hexOf(condition.field)}`, range: condition.range }
      : { key: 'facets', match: { any: condition.values.map((value) => facetOf(condition.field, value)) } },
  );
  return { must: [...must, ...(among === undefined ? [] : selected(among).must)] };
}

function toChunk({ payload }: JsonObject): Chunk {
  const { id, document_id: documentId, place, content, metadata } = objectOf(payload);
  return {
    id: stringOf(id),
    documentId: stringOf(documentId),
    index: numberOf(place) ?? 0,
    content: parsed(content) as Chunk['content'],
    metadata: parsed(metadata) as Chunk['metadata'],
  };
}

function parsed(text: unknown): unknown {
  return parseJson(String(text));
}
