import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

import { messageOf, TroupeError } from '../../errors.ts';
import { monotonic, sleep } from '../../util/clock.ts';
import { randomBytes, randomFraction } from '../../util/ids.ts';
import { KeyFile } from '../key-file/key-file.ts';
import type { SqlDatabase, SqlParam, SqlQueries, SqlRow, SqlValue } from '../sql/sql-database.ts';

const SQLITE_BUSY = 5;
const BUSY_WAIT_MS = 10;
const MAX_BUSY_MS = 30_000;

/**
 * SQLite file, with Node's own driver. Commits survive a crash of the machine (WAL, synchronous FULL).
 *
 * Statements and transactions run one after another; writes of other processes are awaited without blocking.
 * The file is private to its owner and opened with the first statement. Folder `stores/sqlite`: start here.
 */
export class SqliteDatabase implements SqlDatabase {
  readonly dialect = 'sqlite';
  readonly #path: string;
  readonly #keyFile: KeyFile | undefined;
  readonly #ownKey = randomBytes(32);
  #connection: DatabaseSync | undefined;
  #extension: string | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @param path a file, or ':memory:' */
  constructor(path: string) {
    if (typeof path !== 'string' || path === '' || path.includes('\0')) {
      throw new TroupeError('invalid_config', "SqliteDatabase needs the path of a file, or ':memory:'.");
    }
    this.#path = path;
    this.#keyFile = path === ':memory:' ? undefined : new KeyFile(nodeFiles, `${path}.approval-key`);
  }

  query(sql: string, params: readonly SqlParam[] = []): Promise<readonly SqlRow[]> {
    return this.#enqueue((connection) => whenFree(() => run(connection, sql, params)));
  }

  transaction<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T> {
    return this.#enqueue(async (connection) => {
      await whenFree(() => connection.exec('BEGIN IMMEDIATE'));
      try {
        const result = await body({ query: async (sql, params = []) => run(connection, sql, params) });
        connection.exec('COMMIT');
        return result;
      } catch (error) {
        rollBack(connection);
        throw error;
      }
    });
  }

  exclusive<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T> {
    return this.transaction(body);
  }

  /**
   * Loads an extension of SQLite into the connection, once. For the library's own stores: the path must be that
   * of an installed package.
   */
  async loadExtension(path: string): Promise<void> {
    if (this.#extension === path) return;
    await this.#enqueue(async (connection) => {
      connection.enableLoadExtension(true);
      try {
        connection.loadExtension(path);
      } finally {
        connection.enableLoadExtension(false);
      }
      this.#extension = path;
    });
  }

  /** Key in a private file beside the database; for a database in memory, a random one. */
  async approvalKey(purpose: 'read' | 'make'): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#keyFile?.get(purpose) ?? this.#ownKey;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    this.#connection?.close();
    this.#connection = undefined;
  }

  /** Runs work after all earlier work. */
  #enqueue<T>(work: (connection: DatabaseSync) => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => work(await this.#open()));
    this.#last = result.catch(() => {});
    return result;
  }

  async #open(): Promise<DatabaseSync> {
    if (this.#connection !== undefined) return this.#connection;
    if (this.#isClosed)
      throw new TroupeError('store_failed', 'The SQLite database was closed. Make a new one.');
    // Loaded late, because older Node versions print a warning.
    const { DatabaseSync } = await import('node:sqlite');
    try {
      if (this.#path !== ':memory:') makePrivateFile(this.#path);
      const connection = new DatabaseSync(this.#path, { allowExtension: true });
      connection.enableLoadExtension(false); // only `loadExtension` turns it on, for one call
      try {
        await whenFree(() => connection.exec('PRAGMA journal_mode = WAL'));
        connection.exec('PRAGMA synchronous = FULL');
      } catch (error) {
        connection.close();
        throw error;
      }
      return (this.#connection = connection);
    } catch (cause) {
      const problem = `The SQLite file '${this.#path}' can't be opened: ${messageOf(cause)}`;
      throw new TroupeError('store_failed', problem, { cause });
    }
  }
}

/** Makes the file if it is missing. Opens nothing but a regular file: a pipe would block the whole program. */
function makePrivateFile(path: string): void {
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const noWait = constants.O_NONBLOCK ?? 0; // missing on Windows
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | noWait, 0o600);
  try {
    if (!fstatSync(file).isFile()) throw new Error('it is not a regular file');
  } finally {
    closeSync(file);
  }
}

/** Prepared statements of each connection, because preparing costs more than many a statement. */
const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();
const MAX_PREPARED = 64;

function run(connection: DatabaseSync, sql: string, params: readonly SqlParam[]): SqlRow[] {
  const statements = prepared.get(connection) ?? new Map<string, StatementSync>();
  prepared.set(connection, statements);
  const statement = statements.get(sql) ?? connection.prepare(sql);
  if (statements.size < MAX_PREPARED) statements.set(sql, statement);
  return statement.all(...params) as Record<string, SqlValue>[];
}

function rollBack(connection: DatabaseSync): void {
  try {
    connection.exec('ROLLBACK');
  } catch {
    // SQLite has rolled back already, as on a full disk.
  }
}

/** Repeats an attempt while another connection writes. */
async function whenFree<T>(attempt: () => T): Promise<T> {
  const end = monotonic() + MAX_BUSY_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || monotonic() > end) throw error;
      await sleep(BUSY_WAIT_MS * randomFraction());
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
}
