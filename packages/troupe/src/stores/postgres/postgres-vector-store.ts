import { textOfChunk, type Chunk } from '../../document/chunk.ts';
import type { Embedding } from '../../embedding/embedding-model-base.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { checkStoredText, type FieldCondition } from '../../vector/chunk-filter.ts';
import { wrongLength } from '../../vector/in-memory-vector-store.ts';
import { rarity, USUAL_LENGTH, wordScore } from '../../vector/bm25.ts';
import { queryTerms, searchTerms, toTextScore } from '../../vector/search-terms.ts';
import {
  VectorStoreBase,
  type ChunkSelection,
  type FoundChunk,
  type StoredChunk,
  type StoredDocument,
  type StoreSearch,
} from '../../vector/vector-store-base.ts';
import { toChunk } from '../sql/chunk-row.ts';
import { prepareSchema } from '../sql/schema.ts';
import type { SqlParam, SqlQueries, SqlRow } from '../sql/sql-database.ts';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';

const STEPS = [
  [
    `CREATE TABLE troupe_chunks (
       collection TEXT NOT NULL, id TEXT NOT NULL, document_id TEXT NOT NULL, place BIGINT NOT NULL,
       content TEXT NOT NULL, metadata JSONB NOT NULL, terms TSVECTOR NOT NULL, embedding VECTOR,
       PRIMARY KEY (collection, id))`,
    'CREATE INDEX troupe_chunks_document ON troupe_chunks (collection, document_id)',
    'CREATE INDEX troupe_chunks_terms ON troupe_chunks USING GIN (terms)',
  ],
];
const COLUMNS = 'id, document_id, place, content, metadata::text AS metadata';

/** Maximum chunks whose BM25 score is computed here: those with the rarest words of a query. */
const CANDIDATES = 200;
/** Maximum chunks counted for the rarity of a word. */
const MAX_COUNTED = 20_000;

interface TermWeight {
  readonly term: string;
  /** The term in the query language of full text. */
  readonly match: string;
  readonly weight: number;
}

export interface PostgresVectorStoreOptions {
  /** Name of the chunks in the database; several stores can share one. @default 'default' */
  readonly collection?: string | undefined;
}

/**
 * Vector store in PostgreSQL with the extension `vector` (pgvector), compared one by one and so exact, full text by
 * `tsvector`, with BM25 scores. Needs the package `pg`, and the extension installed on the server.
 */
export class PostgresVectorStore extends VectorStoreBase {
  readonly #db: PostgresDatabase;
  readonly #isOwn: boolean;
  readonly #name: string;
  #ready: Promise<void> | undefined;

  /** @param database connection, or a shared database, which stays open when the store closes */
  constructor(
    database: PostgresOptions | PostgresDatabase,
    { collection = 'default' }: PostgresVectorStoreOptions = {},
  ) {
    super();
    this.#isOwn = !(database instanceof PostgresDatabase);
    this.#db = database instanceof PostgresDatabase ? database : new PostgresDatabase(database);
    this.#name = checkStoredText('collection', collection);
  }

  protected override async write(chunks: readonly StoredChunk[]): Promise<void> {
    const lengths = [...new Set(chunks.flatMap(({ embedding }) => embedding?.length ?? []))];
    const stored = (await this.#length()) ?? lengths[0];
    for (const length of lengths) if (length !== stored) throw wrongLength(length, stored);
    await this.#db.transaction(async (tx) => {
      for (const chunk of chunks) await this.#writeChunk(tx, chunk);
    });
  }

  protected override async read(selection: ChunkSelection): Promise<readonly Chunk[]> {
    const rows = await this.#query(
      `SELECT ${COLUMNS} FROM troupe_chunks WHERE collection = ? AND ${selected(selection)} ORDER BY document_id COLLATE "C", place`,
      [JSON.stringify(selection.ids ?? selection.documentIds)],
    );
    return rows.map(toChunk);
  }

  protected override async remove(selection: ChunkSelection): Promise<number> {
    const rows = await this.#query(
      `DELETE FROM troupe_chunks WHERE collection = ? AND ${selected(selection)} RETURNING 1`,
      [JSON.stringify(selection.ids ?? selection.documentIds)],
    );
    return rows.length;
  }

  protected override async searchVector(
    embedding: Embedding,
    { limit, conditions, among }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const length = await this.#length();
    if (length === undefined) return [];
    if (length !== embedding.length) throw wrongLength(embedding.length, length);
    const [where, params] = toSql(conditions, among);
    const rows = await this.#query(
      `SELECT ${COLUMNS}, 1 - (embedding <=> CAST(? AS vector)) AS score FROM troupe_chunks
       WHERE collection = ? AND embedding IS NOT NULL AND ${where}
       ORDER BY embedding <=> CAST(? AS vector), id LIMIT ?`,
      params,
      (own) => [textOf(embedding), ...own, textOf(embedding), limit],
    );
    return rows.map((row) => ({ chunk: toChunk(row), score: Number(row['score']) }));
  }

  protected override async searchText(
    text: string,
    { limit, conditions, among }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const terms = queryTerms(text);
    if (terms.length === 0) return [];
    const weights = await this.#weights(terms);
    if (weights.length === 0) return [];
    const [where, params] = toSql(conditions, among);
    const match = weights.map(({ match }) => match).join(' | ');
    const rows = await this.#query(
      `WITH q AS (SELECT CAST(match AS tsquery) AS match, weight
                  FROM jsonb_to_recordset(CAST(? AS jsonb)) AS given (match text, weight double precision))
       SELECT ${COLUMNS} FROM troupe_chunks c
       WHERE collection = ? AND terms @@ CAST(? AS tsquery) AND ${where}
       ORDER BY (SELECT sum(weight) FROM q WHERE c.terms @@ q.match) DESC, id LIMIT ?`,
      params,
      ([name = '', ...rest]) => [
        JSON.stringify(weights.map(({ match, weight }) => ({ match, weight }))),
        name,
        match,
        ...rest,
        Math.max(CANDIDATES, 2 * limit),
      ],
    );
    return rows
      .map((row) => toChunk(row))
      .map((chunk) => ({ chunk, score: toTextScore(scoreOf(searchTerms(textOfChunk(chunk)), weights)) }))
      .toSorted((a, b) => b.score - a.score || (a.chunk.id < b.chunk.id ? -1 : 1))
      .slice(0, limit);
  }

  protected override async countChunks(conditions: readonly FieldCondition[]): Promise<number> {
    const [where, params] = toSql(conditions);
    const [row] = await this.#query(
      `SELECT count(*) AS n FROM troupe_chunks WHERE collection = ? AND ${where}`,
      params,
    );
    return Number(row?.['n']);
  }

  protected override async documents(
    after: string | undefined,
    limit: number,
  ): Promise<readonly StoredDocument[]> {
    const rows = await this.#query(
      `SELECT document_id, count(*) AS n FROM troupe_chunks WHERE collection = ? AND document_id COLLATE "C" > ?
       GROUP BY document_id ORDER BY document_id COLLATE "C" LIMIT ?`,
      [after ?? '', limit],
    );
    return rows.map((row) => ({ documentId: String(row['document_id']), chunkCount: Number(row['n']) }));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOwn) await this.#db.close();
  }

  async #writeChunk(tx: SqlQueries, chunk: StoredChunk): Promise<void> {
    const { id, documentId, index, content, metadata, embedding } = chunk;
    await tx.query(
      `INSERT INTO troupe_chunks (collection, id, document_id, place, content, metadata, terms, embedding)
       VALUES (?, ?, ?, ?, ?, CAST(? AS jsonb),
         (SELECT array_to_tsvector(coalesce(array_agg(word), '{}')) FROM jsonb_array_elements_text(CAST(? AS jsonb)) AS given (word)),
         CAST(? AS vector))
       ON CONFLICT (collection, id) DO UPDATE SET document_id = excluded.document_id, place = excluded.place,
         content = excluded.content, metadata = excluded.metadata, terms = excluded.terms,
         embedding = coalesce(excluded.embedding, troupe_chunks.embedding)`,
      [
        this.#name,
        id,
        documentId,
        index,
        JSON.stringify(content).replaceAll('\\u0000', ''),
        JSON.stringify(metadata),
        JSON.stringify([...new Set(searchTerms(textOfChunk(chunk)))]),
        embedding === undefined ? null : textOf(embedding),
      ],
    );
  }

  /** Rarity of each stored term. Very common terms are left out next to rarer ones. */
  async #weights(terms: readonly string[]): Promise<readonly TermWeight[]> {
    const rows = await this.#query(
      `SELECT term, (SELECT count(*) FROM troupe_chunks WHERE collection = ?) AS total,
         (SELECT count(*) FROM (SELECT 1 FROM troupe_chunks
            WHERE collection = ? AND terms @@ CAST('''' || term || '''' AS tsquery) LIMIT ${MAX_COUNTED}) found) AS having_it
       FROM jsonb_array_elements_text(CAST(? AS jsonb)) AS given (term)`,
      [this.#name, JSON.stringify(terms)],
    );
    const counted = rows.flatMap((row) => {
      const [term, total, having] = [String(row['term']), Number(row['total']), Number(row['having_it'])];
      // A term has only letters and digits, so quotes make it one word of the query language.
      const isCommon = having >= MAX_COUNTED || having > Math.max(1000, total / 2);
      const one = { term, match: `'${term}'`, weight: rarity(having, total), isCommon };
      return having === 0 ? [] : [one];
    });
    const rare = counted.filter(({ isCommon }) => !isCommon);
    return rare.length > 0 ? rare : counted;
  }

  /** Length of the stored vectors. */
  async #length(): Promise<number | undefined> {
    const [row] = await this.#query(
      'SELECT vector_dims(embedding) AS n FROM troupe_chunks WHERE collection = ? AND embedding IS NOT NULL LIMIT 1',
    );
    return row === undefined ? undefined : Number(row['n']);
  }

  /** @param order places the collection, which comes first, and the parameters */
  async #query(
    sql: string,
    params: readonly SqlParam[] = [],
    order = (own: readonly SqlParam[]): readonly SqlParam[] => own,
  ): Promise<readonly SqlRow[]> {
    await (this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    }));
    return this.#db.query(sql, order([this.#name, ...params]));
  }

  async #prepare(): Promise<void> {
    try {
      await this.#db.exclusive((tx) => tx.query('CREATE EXTENSION IF NOT EXISTS vector'));
    } catch (cause) {
      const problem = `PostgreSQL needs the extension 'vector' (pgvector), which could not be created: ${messageOf(cause)}`;
      throw new TroupeError('store_failed', problem, { cause });
    }
    await prepareSchema(this.#db, 'chunks', STEPS);
  }
}

/** BM25 of a text. */
function scoreOf(words: readonly string[], weights: readonly TermWeight[]): number {
  const length = words.length / USUAL_LENGTH;
  return weights.reduce((sum, { term, weight }) => {
    const times = words.filter((word) => word === term).length;
    return sum + (times === 0 ? 0 : weight * wordScore(times, length));
  }, 0);
}

function selected({ ids }: ChunkSelection): string {
  return `${ids === undefined ? 'document_id' : 'id'} IN (SELECT jsonb_array_elements_text(CAST(? AS jsonb)))`;
}

/** Conditions as SQL whose fields and values are parameters. */
function toSql(
  conditions: readonly FieldCondition[],
  among?: ChunkSelection,
): [where: string, params: readonly SqlParam[]] {
  const params: SqlParam[] = [];
  const parts = conditions.map((condition) => {
    const { field } = condition;
    if (condition.kind === 'range') {
      const bounds = Object.entries({
        '>=': condition.range.gte,
        '>': condition.range.gt,
        '<=': condition.range.lte,
        '<': condition.range.lt,
      });
      const given = bounds.flatMap(([operator, value]) => (value === undefined ? [] : [{ operator, value }]));
      params.push(field, ...given.flatMap(({ value }) => [field, JSON.stringify(value)]));
      const compared = given
        .map(({ operator }) => `(metadata -> CAST(? AS text)) ${operator} CAST(? AS jsonb)`)
        .join(' AND ');
      return `(jsonb_typeof(metadata -> CAST(? AS text)) = 'number' AND ${compared})`;
    }
    params.push(...condition.values.flatMap((value) => [field, JSON.stringify(value)]));
    return `(${condition.values.map(() => '(metadata -> CAST(? AS text)) = CAST(? AS jsonb)').join(' OR ') || 'FALSE'})`;
  });
  if (among !== undefined) {
    parts.push(selected(among));
    params.push(JSON.stringify(among.ids ?? among.documentIds));
  }
  return [parts.join(' AND ') || 'TRUE', params];
}

function textOf(embedding: Embedding): string {
  return `[${embedding.join(',')}]`;
}
