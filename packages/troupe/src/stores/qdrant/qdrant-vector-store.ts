import { textOfChunk, type Chunk } from '../../document/chunk.ts';
import type { Embedding } from '../../embedding/embedding-model-base.ts';
import { sha256 } from '../../util/hash.ts';
import { parseJson, type JsonObject } from '../../util/json.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import { Bm25Index } from '../../vector/bm25.ts';
import type { FieldCondition } from '../../vector/chunk-filter.ts';
import { wrongLength } from '../../vector/in-memory-vector-store.ts';
import { queryTerms, searchTerms } from '../../vector/search-terms.ts';
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
const PAGE = 500;
/** Chunks with a word of the query that are compared at most. */
const MAX_CANDIDATES = 2000;

/**
 * Vector store in Qdrant, over HTTP. The collection is made with the first vector. Full text: the server finds
 * chunks that have a word of the query, and their BM25 scores are made here, from at most 2 000 of them.
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
        const { id, payload } = await toPoint(chunk);
        await this.#client.send('PUT', '/points/payload?wait=true', { payload, points: [id] });
      }
    }
  }

  protected override async read(selection: ChunkSelection): Promise<readonly Chunk[]> {
    const chunks = (await this.#scroll(selected(selection), Infinity)).map(toChunk);
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
    { limit, conditions, signal }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const length = await this.#stored();
    if (length === undefined) return [];
    if (length !== embedding.length) throw wrongLength(embedding.length, length);
    const request = {
      query: [...embedding],
      using: VECTOR,
      filter: toFilter(conditions),
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
    { limit, conditions, signal }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const terms = queryTerms(text);
    if (terms.length === 0) return [];
    const filter = { must: [...toFilter(conditions).must, { key: 'terms', match: { any: terms } }] };
    const points = await this.#scroll(filter, MAX_CANDIDATES, signal);
    const index = new Bm25Index<Chunk>();
    for (const point of points) {
      const chunk = toChunk(point);
      index.set(chunk, searchTerms(textOfChunk(chunk)));
    }
    return [...index.search(terms)]
      .map(([chunk, score]) => ({ chunk, score }))
      .toSorted((a, b) => b.score - a.score || (a.chunk.id < b.chunk.id ? -1 : 1))
      .slice(0, limit);
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
    for (const point of await this.#scroll({ must: [] }, Infinity)) {
      const { documentId } = toChunk(point);
      counts.set(documentId, (counts.get(documentId) ?? 0) + 1);
    }
    return [...counts]
      .map(([documentId, chunkCount]) => ({ documentId, chunkCount }))
      .filter(({ documentId }) => after === undefined || documentId > after)
      .toSorted((a, b) => (a.documentId < b.documentId ? -1 : 1))
      .slice(0, limit);
  }

  async #scroll(filter: object, most: number, signal?: AbortSignal): Promise<readonly JsonObject[]> {
    if (!(await this.#exists())) return [];
    const points: JsonObject[] = [];
    let offset: unknown;
    do {
      const request = { filter, limit: PAGE, with_payload: true, ...(offset !== undefined && { offset }) };
      const result = objectOf(await this.#client.send('POST', '/points/scroll', request, signal));
      points.push(...objectsOf(result['points']));
      offset = result['next_page_offset'] ?? undefined;
    } while (offset !== undefined && points.length < most);
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
    const vectors = objectOf(objectOf(config['params'])['vectors']);
    return (this.#length = numberOf(objectOf(vectors[VECTOR])['size']));
  }

  async #prepare(size: number): Promise<void> {
    if (await this.#exists()) return;
    await this.#client.send('PUT', '', { vectors: { [VECTOR]: { size, distance: 'Cosine' } } });
    for (const field_name of ['id', 'document_id', 'terms', 'facets'])
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
    vector: embedding === undefined ? {} : { [VECTOR]: [...embedding] },
    payload: {
      id,
      document_id: documentId,
      place: index,
      content: JSON.stringify(content),
      metadata: JSON.stringify(metadata),
      terms: [...new Set(searchTerms(textOfChunk(chunk)))],
      facets: Object.entries(metadata).map(([field, value]) => facetOf(field, value)),
      numbers: Object.fromEntries(numbers.map(([field, value]) => [hexOf(field), value])),
    },
  };
}

function facetOf(field: string, value: unknown): string {
  return JSON.stringify([field, value]);
}

/** A name that no path of the filter language can misread. */
function hexOf(field: string): string {
  return `f${Array.from(new TextEncoder().encode(field), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function selected({ ids, documentIds }: ChunkSelection): object {
  return { must: [{ key: ids === undefined ? 'document_id' : 'id', match: { any: ids ?? documentIds } }] };
}

function toFilter(conditions: readonly FieldCondition[]): { must: object[] } {
  const must = conditions.map((condition) =>
    condition.kind === 'range'
      ? { key: `numbers.${hexOf(condition.field)}`, range: condition.range }
      : { key: 'facets', match: { any: condition.values.map((value) => facetOf(condition.field, value)) } },
  );
  return { must };
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
