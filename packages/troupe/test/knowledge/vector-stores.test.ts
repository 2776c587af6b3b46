import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import type { ChunkMetadata } from '../../src/document/chunk.ts';
import { PostgresDatabase } from '../../src/stores/postgres/postgres-database.ts';
import { PostgresVectorStore } from '../../src/stores/postgres/postgres-vector-store.ts';
import { QdrantVectorStore } from '../../src/stores/qdrant/qdrant-vector-store.ts';
import { SqliteDatabase } from '../../src/stores/sqlite/sqlite-database.ts';
import { SqliteVectorStore } from '../../src/stores/sqlite/sqlite-vector-store.ts';
import { vectorStoreContract } from '../../src/testing/vector-store-contract.ts';
import type { ChunkFilter } from '../../src/vector/chunk-filter.ts';
import { InMemoryVectorStore } from '../../src/vector/in-memory-vector-store.ts';
import type { VectorStoreBase } from '../../src/vector/vector-store-base.ts';
import { fakeQdrant } from './fake-qdrant.ts';
import { pgliteDatabase } from './pglite-pool.ts';
import { sampleOf } from '../fair-sample.ts';

const sqlite = new SqliteDatabase(':memory:');
const pglite = await pgliteDatabase();
const qdrant = await fakeQdrant();
const SERVER = 'postgres://postgres@127.0.0.1:5432/test';
const server = new PostgresDatabase({ connectionString: SERVER, connectionTimeoutMillis: 3000 });
const hasServerVectors = await server
  .query("SELECT 1 AS found FROM pg_available_extensions WHERE name = 'vector'")
  .then(
    (rows) => rows.length > 0,
    () => false,
  );
afterAll(async () => {
  await Promise.all([sqlite.close(), pglite.close(), server.close(), qdrant[Symbol.asyncDispose]()]);
});

const STORES: Readonly<Record<string, (collection: string) => VectorStoreBase>> = {
  'in memory': () => new InMemoryVectorStore(),
  'SQLite (sqlite-vec, FTS5)': (collection) => new SqliteVectorStore(sqlite, { collection }),
  'PostgreSQL (pgvector in PGlite)': (collection) => new PostgresVectorStore(pglite, { collection }),
  'Qdrant (a server with its wire)': (collection) =>
    new QdrantVectorStore({ baseUrl: qdrant.url, collection }),
};

describe.each(Object.entries(STORES))('%s', (store, make) => {
  const contract = vectorStoreContract(make, { isStored: store !== 'in memory' });
  test.each(contract)('$name', ({ run }) => run());
});

describe.skipIf(!hasServerVectors)('PostgreSQL server (skipped if it has no pgvector)', () => {
  const make = (collection: string): VectorStoreBase => new PostgresVectorStore(server, { collection });
  test.each(vectorStoreContract(make))('$name', ({ run }) => run());
});

const nasty = fc.oneof(
  fc.constantFrom(
    "'",
    '"',
    "';--",
    "x') OR '1'='1",
    '$.a',
    '$',
    '?',
    '$1',
    '__proto__',
    'constructor',
    'a.b[0]',
    '%',
    '\\',
    '"]}',
    ' ',
    '',
    '\n',
    '名',
    'facets',
    '{"$ne":1}',
  ),
  fc.string({ maxLength: 6 }).filter((text) => !text.includes('\0') && text.isWellFormed()),
);
const value = fc.oneof(
  nasty,
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0.5, 1e21, -0.25),
  fc.boolean(),
);
const metadata: fc.Arbitrary<ChunkMetadata> = fc
  .array(fc.tuple(nasty, value), { maxLength: 3 })
  .map((entries) => Object.fromEntries(entries));
const range = fc.record(
  { gte: fc.integer({ min: -3, max: 3 }), lt: fc.integer({ min: -3, max: 4 }) },
  { requiredKeys: ['gte'] },
);

test(
  'hostile ids, fields and values: every store has the rows of the store in memory',
  { timeout: 120_000 },
  async () => {
    let round = 0;
    let matched = 0;
    const property = fc.asyncProperty(
      fc.uniqueArray(
        nasty.filter((id) => id !== ''),
        { minLength: 1, maxLength: 6 },
      ),
      fc.array(metadata, { minLength: 6, maxLength: 6 }),
      fc.array(fc.tuple(nasty, fc.oneof(value, fc.array(value, { maxLength: 2 }), range)), { maxLength: 2 }),
      async (ids, fields, conditions) => {
        const collection = `p${round++}`;
        const filter = Object.fromEntries(conditions) as ChunkFilter;
        // Half of the filters are made of what a chunk really has, so that some match.
        const [key, own] = Object.entries(fields[0] ?? {})[0] ?? [];
        const filters =
          key === undefined || own === undefined ? [filter] : [filter, { [key]: own } as ChunkFilter];
        const rows = ids.map((id, index) => ({
          id,
          documentId: `d${id}`,
          index,
          content: { type: 'text', text: `word ${id}` } as const,
          metadata: fields[index] ?? {},
          embedding: Float32Array.from([1, index + 1]),
        }));
        const expected: unknown[] = [];
        for (const [name, make] of Object.entries(STORES)) {
          await using store = make(collection);
          await store.upsert(rows);
          const seen: unknown[] = [];
          for (const one of filters) {
            const byVector = await store.search({
              embedding: Float32Array.from([1, 1]),
              filter: one,
              limit: 10,
            });
            const byText = await store.search({ text: 'word', filter: one, limit: 10 });
            seen.push(
              byVector.map(({ chunk }) => chunk.id).sort(),
              byText.map(({ chunk }) => chunk.id).sort(),
              await store.count(one),
            );
          }
          seen.push(
            (await store.get({ ids })).length,
            await store.delete({ documentIds: [`d${ids[0]}`] }),
            await store.count(),
          );
          if (name === 'in memory') expected.push(...seen);
          else expect([name, ...seen]).toEqual([name, ...expected]);
        }
        matched += Number(expected[2]) + Number(filters.length > 1 ? expected[5] : 0);
      },
    );
    const numRuns = sampleOf('rounds of hostile rows in vector stores', 60, 20);
    await fc.assert(property, { numRuns, seed: 19 });
    expect(matched).toBeGreaterThan(numRuns / 3);
  },
);
