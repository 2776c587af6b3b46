import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import type { Pool } from 'pg';

import { PostgresDatabase } from '../../src/stores/postgres/postgres-database.ts';

interface Query {
  readonly text: string;
  readonly values?: unknown[];
}

/** PostgreSQL with the real pgvector inside this process, as a database of the library. */
export async function pgliteDatabase(): Promise<PostgresDatabase> {
  const lite = new PGlite({ extensions: { vector } });
  await lite.waitReady;
  let last: Promise<unknown> = Promise.resolve();
  const query = (given: string | Query): Promise<{ rows: unknown[] }> => {
    const { text, values = [] } = typeof given === 'string' ? { text: given } : given;
    return lite.query(text, values);
  };
  const connect = async (): Promise<object> => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise; // one connection: transactions wait for each other
    await before;
    return { query, on: () => {}, off: () => {}, release: resolve };
  };
  const pool: object = {
    connect,
    query: async (given: Query) => {
      await last;
      return query(given);
    },
    end: () => lite.close(),
  };
  return new PostgresDatabase({ pool: pool as Pool });
}
