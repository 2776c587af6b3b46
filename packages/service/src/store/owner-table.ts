import type { ServiceDatabase, SqlRow } from './database.ts';

/** A process that runs runs. */
export interface Owner {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
}

/** A process with the milliseconds since its last sign of life. */
export interface OwnerRecord extends Owner {
  readonly silentMs: number;
}

/** Class of the advisory locks that processes hold: a number unlikely to be used by another program. */
export const LOCK_CLASS = 740_712;
const FREE_LOCK = `lock_key IS NOT NULL AND lock_key NOT IN (SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory'
  AND classid = ${LOCK_CLASS} AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

/** The clock of PostgreSQL in milliseconds: processes on several machines have clocks that differ. */
const POSTGRES_CLOCK = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)';

/** Statements about the processes that share the database. Signs of life have the time of PostgreSQL, and with SQLite that of the one machine. */
export class OwnerTable {
  readonly #db: ServiceDatabase;
  readonly #clock: string;

  constructor(db: ServiceDatabase) {
    this.#db = db;
    this.#clock = db.dialect === 'postgres' ? POSTGRES_CLOCK : 'CAST(? AS BIGINT)';
  }

  /** Writes a sign of life. @param lock the lock that the process holds in the database */
  async beat({ id, host, pid }: Owner, lock: number | undefined, now: number): Promise<void> {
    await this.#db.query(
      `INSERT INTO service_owners (id, host, pid, beat_at, lock_key) VALUES (?, ?, ?, ${this.#clock}, ?)
       ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, lock_key = excluded.lock_key`,
      [id, host, pid, ...this.#times(now), lock ?? null],
    );
  }

  async all(now: number): Promise<readonly OwnerRecord[]> {
    const sql = `SELECT id, host, pid, ${this.#clock} - beat_at AS silent_ms FROM service_owners`;
    return (await this.#db.query(sql, this.#times(now))).map(toOwner);
  }

  /** Removes a process that ends. */
  async remove(id: string): Promise<void> {
    await this.#db.query('DELETE FROM service_owners WHERE id = ?', [id]);
  }

  /** Removes processes that gave no sign of life for some time. */
  async removeSilent(ms: number, now: number): Promise<void> {
    const sql = `DELETE FROM service_owners WHERE beat_at < ${this.#clock} - CAST(? AS BIGINT)`;
    await this.#db.query(sql, [...this.#times(now), ms]);
  }

  /** Parameters of the clock in a statement. */
  #times(now: number): readonly number[] {
    return this.#db.dialect === 'postgres' ? [] : [now];
  }

  /** Processes whose lock is free: their connection has ended. Only for PostgreSQL. */
  async withoutLock(): Promise<readonly string[]> {
    return (await this.#db.query(`SELECT id FROM service_owners WHERE ${FREE_LOCK}`)).map(({ id }) =>
      String(id),
    );
  }

  /** Removes a process whose lock is still free. Only for PostgreSQL. @returns false if it has a lock again, or is gone */
  async removeWithoutLock(id: string): Promise<boolean> {
    const sql = `DELETE FROM service_owners WHERE id = ? AND ${FREE_LOCK} RETURNING id`;
    return (await this.#db.query(sql, [id])).length > 0;
  }
}

function toOwner(row: SqlRow): OwnerRecord {
  return {
    id: String(row['id']),
    host: String(row['host']),
    pid: Number(row['pid']),
    silentMs: Number(row['silent_ms']),
  };
}
