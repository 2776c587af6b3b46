/** SQL values: JSON is stored as text, a time as milliseconds. */
export type SqlValue = string | number | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface SqlQueries {
  /** Runs one statement with `?` for each parameter. Returns the rows, including those of `RETURNING`. */
  query(sql: string, params?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
}

/**
 * The database of a service: `SqliteDatabase` of `troupe/stores/sqlite`, or `PostgresDatabase` of `troupe/stores/postgres`. Statements
 * use only the SQL that both know.
 */
export interface ServiceDatabase extends SqlQueries {
  readonly dialect: 'sqlite' | 'postgres';
  /** Runs all statements of the body, or none. */
  transaction<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T>;
  /** Transaction without any other exclusive transaction at the same time, in any process. */
  exclusive<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
