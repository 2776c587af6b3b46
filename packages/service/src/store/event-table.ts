import type { ServiceDatabase, SqlQueries, SqlValue } from './database.ts';

/** An event as it is stored. `n` counts the events of a run, over all attempts, from 1. */
export interface StoredEvent {
  readonly n: number;
  /** The event as JSON. */
  readonly data: string;
}

const ROWS_PER_STATEMENT = 100;

/** Statements about events. */
export class EventTable {
  readonly #db: ServiceDatabase;

  constructor(db: ServiceDatabase) {
    this.#db = db;
  }

  /** Appends events behind the newest event of a run. @returns the number of the first */
  async append(tx: SqlQueries, runId: string, attempt: number, events: readonly string[]): Promise<number> {
    const [row] = await tx.query(
      'UPDATE service_runs SET last_event = last_event + ? WHERE id = ? RETURNING last_event',
      [events.length, runId],
    );
    const first = Number(row?.['last_event']) - events.length + 1;
    for (let start = 0; start < events.length; start += ROWS_PER_STATEMENT) {
      const part = events.slice(start, start + ROWS_PER_STATEMENT);
      const params = part.flatMap((data, index): SqlValue[] => [runId, first + start + index, attempt, data]);
      await tx.query(
        `INSERT INTO service_events (run_id, n, attempt, data) VALUES ${part.map(() => '(?, ?, ?, ?)').join(', ')}`,
        params,
      );
    }
    return first;
  }

  async read(runId: string, after: number, limit: number): Promise<readonly StoredEvent[]> {
    const sql = 'SELECT n, data FROM service_events WHERE run_id = ? AND n > ? ORDER BY n LIMIT ?';
    const rows = await this.#db.query(sql, [runId, after, limit]);
    return rows.map((row) => ({ n: Number(row['n']), data: String(row['data']) }));
  }

  /** Number of the last attempt that has told events. */
  async lastAttempt(tx: SqlQueries, runId: string): Promise<number> {
    const sql = 'SELECT MAX(attempt) AS attempt FROM service_events WHERE run_id = ?';
    const [row] = await tx.query(sql, [runId]);
    return Number(row?.['attempt'] ?? 1);
  }

  /** Number before the first event of the last attempt: a reader without earlier events begins behind it. */
  async startOf(runId: string): Promise<number> {
    const sql = `SELECT MIN(n) AS n FROM service_events WHERE run_id = ?
      AND attempt = (SELECT MAX(attempt) FROM service_events WHERE run_id = ?)`;
    const [row] = await this.#db.query(sql, [runId, runId]);
    return Math.max(0, Number(row?.['n'] ?? 1) - 1);
  }
}
