import { TroupeError } from '../../errors.ts';
import { textOfChunk, type Chunk } from '../../document/chunk.ts';
import type { Embedding } from '../../embedding/embedding-model-base.ts';
import { checkStoredText, type FieldCondition } from '../../vector/chunk-filter.ts';
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
import { toChunk } from '../sql/chunk-row.ts';
import { prepareSchema } from '../sql/schema.ts';
import type { SqlParam, SqlQueries, SqlRow } from '../sql/sql-database.ts';
import { SqliteDatabase } from './sqlite-database.ts';

const STEPS = [
  [
    'CREATE TABLE troupe_collections (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions BIGINT)',
    `CREATE TABLE troupe_chunks (
       row INTEGER PRIMARY KEY, collection BIGINT NOT NULL, id TEXT NOT NULL, document_id TEXT NOT NULL,
       place BIGINT NOT NULL, content TEXT NOT NULL, metadata TEXT NOT NULL, UNIQUE (collection, id))`,
    'CREATE INDEX troupe_chunks_document ON troupe_chunks (collection, document_id, place)',
    "CREATE VIRTUAL TABLE troupe_terms USING fts5(terms, content='', contentless_delete=1, tokenize='unicode61')",
  ],
];

/** Maximum vectors that are compared one by one; with more, a search of all is faster. */
const FEW = 2000;

interface Collection {
  readonly id: number;
  /** Table of its vectors: made by the library, never from a name of a user. */
  readonly vectors: string;
}

export interface SqliteVectorStoreOptions {
  /** Name of the chunks in the database; several stores can share one. @default 'default' */
  readonly collection?: string | undefined;
}

/**
 * Vector store in a SQLite file: vectors by `sqlite-vec`, compared one by one and so exact, full text by FTS5.
 * Without the optional package `sqlite-vec`, full text works alone. A search blocks the program for as long as it
 * takes, about 80 ms for 100 000 vectors of 384 numbers.
 */
export class SqliteVectorStore extends VectorStoreBase {
  readonly #db: SqliteDatabase;
  readonly #isOwn: boolean;
  readonly #name: string;
  #ready: Promise<Collection> | undefined;
  #dimensions: number | undefined;

  /** @param database path of a file, ':memory:', or a shared database, which stays open when the store closes */
  constructor(database: string | SqliteDatabase, { collection = 'default' }: SqliteVectorStoreOptions = {}) {
    super();
    this.#isOwn = typeof database === 'string';
    this.#db = typeof database === 'string' ? new SqliteDatabase(database) : database;
    this.#name = checkStoredText('collection', collection);
  }

  protected override async write(chunks: readonly StoredChunk[]): Promise<void> {
    const collection = await this.#open();
    const [length, ...others] = new Set(chunks.flatMap(({ embedding }) => embedding?.length ?? []));
    for (const other of others) throw wrongLength(other, length);
    if (length !== undefined) await this.#loadVectors();
    await this.#db.transaction(async (tx) => {
      if (length !== undefined) await this.#prepareVectors(tx, collection, length);
      for (const chunk of chunks) await writeChunk(tx, collection, chunk);
    });
    if (length !== undefined) this.#dimensions = length; // not before: a failed transaction makes no table
  }

  protected override async read(selection: ChunkSelection): Promise<readonly Chunk[]> {
    const { id } = await this.#open();
    const [where, list] = selected(selection);
    const rows = await this.#db.query(
      `SELECT * FROM troupe_chunks WHERE collection = ? AND ${where} ORDER BY document_id, place`,
      [id, list],
    );
    return rows.map(toChunk);
  }

  protected override async remove(selection: ChunkSelection): Promise<number> {
    const collection = await this.#open();
    const [where, list] = selected(selection);
    const hasVectors = (await this.#knownDimensions(this.#db, collection)) !== undefined;
    if (hasVectors) await this.#loadVectors();
    return this.#db.transaction(async (tx) => {
      const rows = await tx.query(
        `DELETE FROM troupe_chunks WHERE collection = ? AND ${where} RETURNING row`,
        [collection.id, list],
      );
      for (const { row = 0 } of rows) {
        await tx.query('DELETE FROM troupe_terms WHERE rowid = ?', [row]);
        if (hasVectors) await tx.query(`DELETE FROM ${collection.vectors} WHERE rowid = ?`, [row]);
      }
      return rows.length;
    });
  }

  protected override async searchVector(
    embedding: Embedding,
    { limit, conditions, among }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const collection = await this.#open();
    const dimensions = await this.#knownDimensions(this.#db, collection);
    if (dimensions === undefined) return [];
    if (dimensions !== embedding.length) throw wrongLength(embedding.length, dimensions);
    await this.#loadVectors();
    const [where, params] = toSql(conditions, among);
    const { vectors } = collection;
    const few = among === undefined ? undefined : await this.#fewRows(collection, among);
    if (few !== undefined) {
      // A few vectors are read one by one, without a look at all others.
      const rows = await this.#db.query(
        `SELECT c.*, vec_distance_cosine(v.embedding, ?) AS distance
         FROM (SELECT value AS row FROM json_each(?)) r CROSS JOIN troupe_chunks c ON c.row = r.row
           CROSS JOIN ${vectors} v ON v.rowid = r.row
         WHERE c.collection = ? AND ${where} ORDER BY distance LIMIT ?`,
        [bytesOf(embedding), JSON.stringify(few), collection.id, ...params, limit],
      );
      return rows.map(toFound);
    }
    const isAll = conditions.length === 0 && among === undefined;
    const wanted = isAll
      ? ''
      : `AND v.rowid IN (SELECT row FROM troupe_chunks WHERE collection = ? AND ${where})`;
    const rows = await this.#db.query(
      `SELECT c.*, v.distance AS distance FROM ${vectors} v JOIN troupe_chunks c ON c.row = v.rowid
       WHERE v.embedding MATCH ? AND k = ? ${wanted} ORDER BY v.distance`,
      [bytesOf(embedding), limit, ...(isAll ? [] : [collection.id, ...params])],
    );
    return rows.map(toFound);
  }

  protected override async searchText(
    text: string,
    { limit, conditions, among }: StoreSearch,
  ): Promise<readonly FoundChunk[]> {
    const { id } = await this.#open();
    const terms = queryTerms(text);
    if (terms.length === 0) return [];
    const [where, params] = toSql(conditions, among);
    // A term has only letters and digits, so quotes around it make it a plain word of FTS5's query language.
    const match = terms.map((term) => `"${term}"`).join(' OR ');
    const rows = await this.#db.query(
      `SELECT c.*, bm25(troupe_terms) AS rank FROM troupe_terms t JOIN troupe_chunks c ON c.row = t.rowid
       WHERE troupe_terms MATCH ? AND c.collection = ? AND ${where} ORDER BY rank, c.id LIMIT ?`,
      [match, id, ...params, limit],
    );
    return rows.map((row) => ({ chunk: toChunk(row), score: toTextScore(-Number(row['rank'])) }));
  }

  protected override async countChunks(conditions: readonly FieldCondition[]): Promise<number> {
    const { id } = await this.#open();
    const [where, params] = toSql(conditions);
    const [row] = await this.#db.query(
      `SELECT count(*) AS n FROM troupe_chunks c WHERE collection = ? AND ${where}`,
      [id, ...params],
    );
    return Number(row?.['n']);
  }

  protected override async documents(
    after: string | undefined,
    limit: number,
  ): Promise<readonly StoredDocument[]> {
    const { id } = await this.#open();
    const rows = await this.#db.query(
      `SELECT document_id, count(*) AS n FROM troupe_chunks WHERE collection = ? AND document_id > ?
       GROUP BY document_id ORDER BY document_id LIMIT ?`,
      [id, after ?? '', limit],
    );
    return rows.map((row) => ({ documentId: String(row['document_id']), chunkCount: Number(row['n']) }));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOwn) await this.#db.close();
  }

  #open(): Promise<Collection> {
    return (this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    }));
  }

  async #prepare(): Promise<Collection> {
    await prepareSchema(this.#db, 'chunks', STEPS);
    await this.#db.query('INSERT INTO troupe_collections (name) VALUES (?) ON CONFLICT (name) DO NOTHING', [
      this.#name,
    ]);
    const [row] = await this.#db.query('SELECT id FROM troupe_collections WHERE name = ?', [this.#name]);
    const id = Number(row?.['id']);
    return { id, vectors: `troupe_vectors_${id}` };
  }

  async #loadVectors(): Promise<void> {
    let path: string;
    try {
      path = (await import('sqlite-vec')).getLoadablePath();
    } catch (cause) {
      throw new TroupeError(
        'invalid_config',
        "Vectors in SQLite need the package 'sqlite-vec'. Install it: npm install sqlite-vec",
        { cause },
      );
    }
    await this.#db.loadExtension(path);
  }

  async #knownDimensions(db: SqlQueries, { id }: Collection): Promise<number | undefined> {
    if (this.#dimensions !== undefined) return this.#dimensions;
    const [row] = await db.query('SELECT dimensions FROM troupe_collections WHERE id = ?', [id]);
    const dimensions = row?.['dimensions'] ?? null;
    return (this.#dimensions = dimensions === null ? undefined : Number(dimensions));
  }

  /** Rows of a selection; undefined if there are many. */
  async #fewRows({ id }: Collection, among: ChunkSelection): Promise<readonly number[] | undefined> {
    const [where, list] = selected(among);
    const rows = await this.#db.query(
      `SELECT row FROM troupe_chunks WHERE collection = ? AND ${where} LIMIT ?`,
      [id, list, FEW + 1],
    );
    return rows.length > FEW ? undefined : rows.map(({ row }) => Number(row));
  }

  /** Makes the table of vectors, whose length the first vector sets. */
  async #prepareVectors(tx: SqlQueries, collection: Collection, length: number): Promise<void> {
    const known = await this.#knownDimensions(tx, collection);
    if (known !== undefined && known !== length) throw wrongLength(length, known);
    if (known !== undefined) return;
    await tx.query(
      `CREATE VIRTUAL TABLE ${collection.vectors} USING vec0(embedding float[${Math.trunc(length)}] distance_metric=cosine)`,
    );
    await tx.query('UPDATE troupe_collections SET dimensions = ? WHERE id = ?', [length, collection.id]);
  }
}

async function writeChunk(
  tx: SqlQueries,
  { id: collection, vectors }: Collection,
  chunk: StoredChunk,
): Promise<void> {
  const { id, documentId, index, content, metadata, embedding } = chunk;
  const [known] = await tx.query('SELECT row FROM troupe_chunks WHERE collection = ? AND id = ?', [
    collection,
    id,
  ]);
  const [written] = await tx.query(
    `INSERT INTO troupe_chunks (collection, id, document_id, place, content, metadata) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (collection, id) DO UPDATE SET document_id = excluded.document_id, place = excluded.place,
       content = excluded.content, metadata = excluded.metadata RETURNING row`,
    [collection, id, documentId, index, JSON.stringify(content), JSON.stringify(metadata)],
  );
  const row = BigInt(Number(written?.['row']));
  if (known !== undefined) await tx.query('DELETE FROM troupe_terms WHERE rowid = ?', [Number(row)]);
  await tx.query('INSERT INTO troupe_terms (rowid, terms) VALUES (?, ?)', [
    Number(row),
    searchTerms(textOfChunk(chunk)).join(' '),
  ]);
  if (embedding === undefined) return;
  if (known !== undefined) await tx.query(`DELETE FROM ${vectors} WHERE rowid = ?`, [Number(row)]);
  await tx.query(`INSERT INTO ${vectors} (rowid, embedding) VALUES (CAST(? AS INTEGER), ?)`, [
    Number(row),
    bytesOf(embedding),
  ]);
}

function toFound(row: SqlRow): FoundChunk {
  return { chunk: toChunk(row), score: 1 - Number(row['distance']) };
}

function selected({ ids, documentIds }: ChunkSelection): [where: string, list: string] {
  return [
    `${ids === undefined ? 'document_id' : 'id'} IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids ?? documentIds),
  ];
}

/** Conditions as SQL whose fields and values are parameters. */
function toSql(
  conditions: readonly FieldCondition[],
  among?: ChunkSelection,
): [where: string, params: readonly SqlParam[]] {
  const params: SqlParam[] = [];
  const parts = conditions.map((condition) => {
    params.push(condition.field);
    if (condition.kind === 'range') {
      const bounds = Object.entries({
        '>=': condition.range.gte,
        '>': condition.range.gt,
        '<=': condition.range.lte,
        '<': condition.range.lt,
      });
      const given = bounds.flatMap(([operator, value]) => (value === undefined ? [] : [{ operator, value }]));
      params.push(...given.map(({ value }) => value));
      const compared = given.map(({ operator }) => `value ${operator} CAST(? AS REAL)`).join(' AND ');
      return `EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND type IN ('integer', 'real') AND ${compared})`;
    }
    const values = condition.values.map((value) => {
      if (typeof value === 'boolean') return `type = '${String(value)}'`;
      params.push(value);
      return typeof value === 'number'
        ? "(type IN ('integer', 'real') AND value = CAST(? AS REAL))"
        : "(type = 'text' AND value = ?)";
    });
    return `EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND (${values.join(' OR ') || 'FALSE'}))`;
  });
  if (among !== undefined) {
    const [where, list] = selected(among);
    parts.push(where);
    params.push(list);
  }
  return [parts.join(' AND ') || 'TRUE', params];
}

function bytesOf({ buffer, byteOffset, byteLength }: Embedding): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
