import type { ServiceDatabase, SqlRow } from './database.ts';

/** The last sign of life of a process that runs runs. */
export interface OwnerRecord {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly beatAt: number;
}

/** Class of the advisory locks that processes hold: a number unlikely to be used by another program. */
export const LOCK_CLASS = 740_712;
const FREE_LOCK = `lock_key IS NOT NULL AND lock_key NOT IN (SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory'
  AND classid = ${LOCK_CLASS} AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

/** Statements about the processes that share the database. */
export class OwnerTable {
  readonly #db: ServiceDatabase;

  constructor(db: ServiceDatabase) {
    this.#db = db;
  }

  /** Writes a sign of life. @param lock the lock that the process holds in the database */
  async beat({ id, host, pid, beatAt }: OwnerRecord, lock: number | undefined): Promise<void> {
    await this.#db.query(
      `INSERT INTO service_owners (id, host, pid, beat_at, lock_key) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, lock_key = excluded.lock_key`,
      [id, host, pid, beatAt, lock ?? null],
    );
  }

  async all(): Promise<readonly OwnerRecord[]> {
    return (await this.#db.query('SELECT id, host, pid, beat_at FROM service_owners')).map(toOwner);
  }

  /** Removes a process that ends. */
  async remove(id: string): Promise<void> {
    await this.#db.query('DELETE FROM service_owners WHERE id = ?', [id]);
  }

  /** Removes processes that gave no sign of life since a time. */
  async removeSilent(since: number): Promise<void> {
    await this.#db.query('DELETE FROM service_owners WHERE beat_at < ?', [since]);
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
    beatAt: Number(row['beat_at']),
  };
}
