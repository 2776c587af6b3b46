/** SQL values: JSON is stored as text, a time as milliseconds. */
export type SqlValue = string | number | null;
/** A parameter of a statement. Bytes are for SQLite only. */
export type SqlParam = SqlValue | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface SqlQueries {
  /** Runs one statement with `?` for each parameter. Returns the rows, including those of `RETURNING`. */
  query(sql: string, params?: readonly SqlParam[]): Promise<readonly SqlRow[]>;
}

/**
 * Database with the SQL common to SQLite and PostgreSQL: `?` for parameters, `ON CONFLICT`, `RETURNING`,
 * TEXT, BIGINT and DOUBLE PRECISION. Whole numbers come back as numbers on both.
 */
export interface SqlDatabase extends SqlQueries {
  readonly dialect: 'sqlite' | 'postgres';

  /**
   * Runs all of the body's statements or none. Statements go through `tx`: a statement through the database
   * itself may wait for the end of the transaction.
   */
  transaction<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T>;

  /**
   * Transaction without any other exclusive transaction at the same time, in any process; for creating
   * tables.
   */
  exclusive<T>(body: (tx: SqlQueries) => Promise<T>): Promise<T>;

  /** Key for codes of saved states, kept outside of the database. None if the database has no such place. */
  approvalKey?(purpose: 'read' | 'make'): Promise<Uint8Array<ArrayBuffer> | undefined>;

  /** Closes connections made by this object. */
  close(): Promise<void>;
}
