import type { EmbeddingCache } from '../../embedding/memory-embedding-cache.ts';
import type { Embedding } from '../../embedding/embedding-model-base.ts';
import { fromBase64, toBase64 } from '../../util/base64.ts';
import { checkNumber } from '../../util/check-number.ts';
import { prepareSchema } from '../sql/schema.ts';
import { SqliteDatabase } from './sqlite-database.ts';

const STEPS = [
  [
    'CREATE TABLE troupe_embeddings (key TEXT PRIMARY KEY, vector TEXT NOT NULL, used BIGINT NOT NULL)',
    'CREATE INDEX troupe_embeddings_used ON troupe_embeddings (used)',
  ],
];
/** Keys of one statement. */
const PART = 500;

/** Embedding cache in a SQLite file, shared by programs and kept across restarts. Drops the entries unused for longest. */
export class SqliteEmbeddingCache implements EmbeddingCache, AsyncDisposable {
  readonly #db: SqliteDatabase;
  readonly #isOwn: boolean;
  readonly #maxEntries: number;
  #ready: Promise<void> | undefined;

  /** @param database path of a file, or a shared database, which stays open when the cache closes */
  constructor(database: string | SqliteDatabase, { maxEntries = 1_000_000 } = {}) {
    checkNumber('maxEntries', maxEntries, { least: 1, whole: true });
    this.#isOwn = typeof database === 'string';
    this.#db = typeof database === 'string' ? new SqliteDatabase(database) : database;
    this.#maxEntries = maxEntries;
  }

  async get(keys: readonly string[]): Promise<readonly (Embedding | undefined)[]> {
    await this.#prepare();
    const found = new Map<string, Embedding>();
    for (let start = 0; start < keys.length; start += PART) {
      const part = JSON.stringify(keys.slice(start, start + PART));
      const rows = await this.#db.query(
        `UPDATE troupe_embeddings SET used = (SELECT coalesce(max(used), 0) + 1 FROM troupe_embeddings)
         WHERE key IN (SELECT value FROM json_each(?)) RETURNING key, vector`,
        [part],
      );
      for (const { key, vector } of rows) found.set(String(key), toVector(String(vector)));
    }
    return keys.map((key) => found.get(key));
  }

  async set(entries: readonly { readonly key: string; readonly embedding: Embedding }[]): Promise<void> {
    await this.#prepare();
    await this.#db.transaction(async (tx) => {
      const [newest] = await tx.query('SELECT coalesce(max(used), 0) + 1 AS used FROM troupe_embeddings');
      for (const { key, embedding } of entries) {
        await tx.query(
          'INSERT INTO troupe_embeddings (key, vector, used) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET vector = excluded.vector, used = excluded.used',
          [
            key,
            toBase64(new Uint8Array(embedding.buffer, embedding.byteOffset, embedding.byteLength)),
            newest?.['used'] ?? 1,
          ],
        );
      }
      await tx.query(
        `DELETE FROM troupe_embeddings WHERE key IN (
           SELECT key FROM troupe_embeddings ORDER BY used, rowid
           LIMIT max(0, (SELECT count(*) FROM troupe_embeddings) - ?))`,
        [this.#maxEntries],
      );
    });
  }

  /** Number of vectors. */
  async count(): Promise<number> {
    await this.#prepare();
    const [row] = await this.#db.query('SELECT count(*) AS n FROM troupe_embeddings');
    return Number(row?.['n']);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOwn) await this.#db.close();
  }

  #prepare(): Promise<void> {
    return (this.#ready ??= prepareSchema(this.#db, 'embeddings', STEPS));
  }
}

function toVector(text: string): Embedding {
  const bytes = Uint8Array.from(fromBase64(text));
  return new Float32Array(bytes.buffer);
}
