import type * as postgres from 'pg';
import type { CustomTypesConfig, Pool, PoolConfig, QueryConfig } from 'pg';

import { TroupeError } from '../../errors.ts';
import type { SqlDatabase, SqlParam, SqlQueries, SqlRow } from '../sql/sql-database.ts';

/**
 * Connection to PostgreSQL: a connection string, options of the package `pg`, or an existing pool.
 * Folder `stores/postgres`: start here.
 */
export type PostgresOptions = string | PoolConfig | { readonly pool: Pool };

const INT8 = 20;
/** Advisory lock of exclusive transactions: a number unlikely to be used by another program. */
const EXCLUSIVE_LOCK = 7_407_126_251;

/** PostgreSQL database. Needs the package `pg`, loaded with the first statement. */
export class PostgresDatabase implements SqlDatabase {
  readonly dialect = 'postgres';
  readonly #options: PostgresOptions;
  #pool: Promise<Connections> | undefined;
  #isClosed = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
  }

  async query(sql: string, params: readonly SqlParam[] = []): Promise<readonly SqlRow[]> {
    const { pool, types } = await this.#connect();
    return (await pool.query<SqlRow>(toQuery(sql, params, types))).rows;
  }

  async transaction<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T> {
    const { pool, types } = await this.#connect();
    const client = await pool.connect();
    let broken: Error | undefined;
    const breaks = (error: Error): void => {
      broken = error; // the current statement fails; without a listener the whole process would
    };
    client.on('error', breaks);
    try {
      await client.query('BEGIN');
      const result = await body({
        query: async (sql, params = []) => (await client.query<SqlRow>(toQuery(sql, params, types))).rows,
      });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(breaks);
      throw error;
    } finally {
      client.off('error', breaks);
      client.release(broken);
    }
  }

  exclusive<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T> {
    return this.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(?)', [EXCLUSIVE_LOCK]);
      return body(tx);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connections = this.#pool;
    this.#pool = undefined;
    if (connections === undefined || isOwnPool(this.#options)) return;
    await (await connections).pool.end();
  }

  #connect(): Promise<Connections> {
    if (this.#isClosed) {
      return Promise.reject(
        new TroupeError('store_failed', 'The PostgreSQL database was closed. Make a new one.'),
      );
    }
    return (this.#pool ??= open(this.#options));
  }
}

interface Connections {
  readonly pool: Pool;
  readonly types: CustomTypesConfig;
}

async function open(options: PostgresOptions): Promise<Connections> {
  const { default: pg } = await load();
  const types: CustomTypesConfig = {
    getTypeParser: (id, format) =>
      Number(id) === INT8 && format !== 'binary' ? Number : (pg.types.getTypeParser(id, format) as Parser),
  };
  if (isOwnPool(options)) return { pool: options.pool, types };
  const pool = new pg.Pool(typeof options === 'string' ? { connectionString: options } : options);
  // A broken connection is replaced, and a statement in progress gets the error. The pool listens to idle connections only: one that
  // breaks while it is handed out would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
  return { pool, types };
}

type Parser = (text: string) => unknown;

async function load(): Promise<typeof postgres> {
  try {
    return await import('pg');
  } catch (cause) {
    throw new TroupeError('invalid_config', "PostgreSQL needs the package 'pg'. Install it: npm install pg", {
      cause,
    });
  }
}

function isOwnPool(options: PostgresOptions): options is { readonly pool: Pool } {
  return typeof options === 'object' && 'pool' in options;
}

function toQuery(sql: string, params: readonly SqlParam[], types: CustomTypesConfig): QueryConfig {
  let count = 0;
  return { text: sql.replace(/\?/g, () => `$${++count}`), values: [...params], types };
}
