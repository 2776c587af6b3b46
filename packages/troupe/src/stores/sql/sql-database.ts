/** What SQL takes and gives: JSON is kept as text, a time as milliseconds. */
export type SqlValue = string | number | null;
export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface SqlQueries {
  /** Runs one statement with `?` for each parameter; gives its rows, also those of `RETURNING`. */
  query(sql: string, params?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
}

/**
 * A database that speaks what SQLite and PostgreSQL have in common: `?` for parameters, `ON CONFLICT`, `RETURNING`,
 * TEXT, BIGINT and DOUBLE PRECISION. A whole number comes back as a number, whichever it is.
 */
export interface SqlDatabase extends SqlQueries {
  readonly dialect: 'sqlite' | 'postgres';

  /**
   * All of the body's statements or none. They go through `tx`: a statement that goes through the database itself may
   * wait for the transaction to end.
   */
  transaction<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T>;

  /** A transaction beside which no other exclusive one runs, in any process: for making tables. */
  exclusive<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T>;

  /** Ends the connections that it has made itself. */
  close(): Promise<void>;
}
