import { positionsFrom } from '../../session/format/positions.ts';
import { SessionConflictError, SessionCorruptError } from '../../session/format/session-error.ts';
import { keyName, type CheckedKey } from '../../session/format/session-key.ts';
import type {
  Commit,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from '../../session/format/session-store.ts';
import { prepareSchema, type SchemaSteps } from './schema.ts';
import type { SqlDatabase, SqlQueries, SqlRow, SqlValue } from './sql-database.ts';

const SCHEMA: SchemaSteps = [
  [
    `CREATE TABLE troupe_sessions (
      user_id TEXT NOT NULL, session_id TEXT NOT NULL,
      revision BIGINT NOT NULL, saved_at BIGINT NOT NULL, log TEXT NOT NULL, head TEXT NOT NULL,
      previous_revision BIGINT, previous_log TEXT, previous_head TEXT,
      PRIMARY KEY (user_id, session_id))`,
    'CREATE INDEX troupe_sessions_by_time ON troupe_sessions (saved_at DESC, user_id, session_id)',
    'CREATE INDEX troupe_sessions_by_user ON troupe_sessions (user_id, saved_at DESC, session_id)',
    `CREATE TABLE troupe_session_items (
      user_id TEXT NOT NULL, session_id TEXT NOT NULL, log TEXT NOT NULL, position BIGINT NOT NULL, item TEXT NOT NULL,
      PRIMARY KEY (user_id, session_id, log, position))`,
  ],
];

const OF_KEY = 'user_id = ? AND session_id = ?';
/** Maximum rows in one statement. */
const MAX_ROWS = 1000;
/** Maximum ranges read by one statement. */
const MAX_RANGES = 200;
/** Distance between the first positions of two lists. */
const LIST_SIZE = 2 ** 40;

/**
 * Session store in two tables of a SQL database. A save is one transaction that checks the revision.
 * Folder `stores/sql`: start here.
 */
export class SqlSessionStore implements SessionStore {
  readonly minGarbage = 256;
  readonly #db: SqlDatabase;
  readonly #isOwn: boolean;
  #ready: Promise<void> | undefined;

  /** @param isOwn whether the database is closed with the store */
  constructor(db: SqlDatabase, isOwn: boolean) {
    this.#db = db;
    this.#isOwn = isOwn;
  }

  async approvalKey(purpose: 'read' | 'make'): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#db.approvalKey?.(purpose);
  }

  async readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined> {
    const columns =
      which === 'current' ? 'revision, head' : 'previous_revision AS revision, previous_head AS head';
    const db = await this.#prepared();
    const [row] = await db.query(`SELECT ${columns} FROM troupe_sessions WHERE ${OF_KEY}`, params(key));
    if (row === undefined || row['head'] === null) return undefined;
    const revision = Number(row['revision']);
    return {
      revision,
      text: String(row['head']),
      location: `revision ${revision} of session ${keyName(key)}`,
    };
  }

  async readItems(
    key: CheckedKey,
    log: string,
    listNumber: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]> {
    const db = await this.#prepared();
    const items: StoredItem[] = [];
    for (let first = 0; first < ranges.length; first += MAX_RANGES) {
      const some = ranges.slice(first, first + MAX_RANGES);
      const rows = await db.query(
        `SELECT position, item FROM troupe_session_items
         WHERE ${OF_KEY} AND log = ? AND (${some.map(() => '(position >= ? AND position < ?)').join(' OR ')})`,
        [
          ...params(key),
          log,
          ...some.flatMap(({ from, to }) => [listNumber * LIST_SIZE + from, listNumber * LIST_SIZE + to]),
        ],
      );
      const texts = new Map(
        rows.map((row) => [Number(row['position']) - listNumber * LIST_SIZE, String(row['item'])]),
      );
      for (const { from, to } of some) {
        for (let at = from; at < to; at++) {
          const item = { text: texts.get(at) ?? '', from: at, to: at + 1 };
          if (!texts.has(at))
            throw new SessionCorruptError(this.locationOf(key, log, listNumber, item), 'is missing');
          items.push(item);
        }
      }
    }
    return items;
  }

  async commit(key: CheckedKey, commit: Commit): Promise<void> {
    const db = await this.#prepared();
    const work = db.transaction(async (tx) => {
      const [current] = await tx.query(
        `SELECT revision, log, previous_log FROM troupe_sessions WHERE ${OF_KEY}`,
        params(key),
      );
      const positions: (readonly number[])[] = [];
      for (const { listNumber, items } of commit.parts) {
        const [end] = await tx.query(
          `SELECT MAX(position) AS position FROM troupe_session_items
           WHERE ${OF_KEY} AND log = ? AND position >= ? AND position < ?`,
          [...params(key), commit.log, listNumber * LIST_SIZE, (listNumber + 1) * LIST_SIZE],
        );
        const last = end?.['position'] ?? null;
        positions.push(positionsFrom(last === null ? 0 : Number(last) - listNumber * LIST_SIZE + 1, items));
      }
      if (!(await replaceHead(tx, key, commit, commit.head(positions)))) throw new SessionConflictError(key);
      for (const [i, { listNumber, items }] of commit.parts.entries())
        await insertItems(tx, key, commit.log, items, listNumber * LIST_SIZE + (positions[i]?.[0] ?? NaN));
      const retired = current?.['previous_log'] ?? null;
      if (retired !== null && retired !== commit.log && retired !== current?.['log']) {
        await tx.query(`DELETE FROM troupe_session_items WHERE ${OF_KEY} AND log = ?`, [
          ...params(key),
          retired,
        ]);
      }
    });
    try {
      await work;
    } catch (error) {
      throw isLostRace(error) ? new SessionConflictError(key) : error;
    }
  }

  async list({ user, limit, after }: ListQuery): Promise<readonly SessionInfo[]> {
    const db = await this.#prepared();
    const conditions: string[] = [];
    const values: SqlValue[] = [];
    if (user !== undefined) {
      conditions.push('user_id = ?');
      values.push(user);
    }
    if (after !== undefined) {
      conditions.push(
        '(saved_at < ? OR (saved_at = ? AND (user_id > ? OR (user_id = ? AND session_id > ?))))',
      );
      values.push(after.savedAt, after.savedAt, after.user, after.user, after.session);
    }
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const rows = await db.query(
      `SELECT user_id, session_id, revision, saved_at FROM troupe_sessions ${where}
       ORDER BY saved_at DESC, user_id, session_id LIMIT ?`,
      [...values, limit],
    );
    return rows.map(toInfo);
  }

  async delete(key: CheckedKey, revision?: number): Promise<boolean> {
    const db = await this.#prepared();
    return db.transaction(async (tx) => {
      const [where, values] = revision === undefined ? ['', []] : [' AND revision = ?', [revision]];
      const deleted = await tx.query(
        `DELETE FROM troupe_sessions WHERE ${OF_KEY}${where} RETURNING revision`,
        [...params(key), ...values],
      );
      if (deleted.length === 0) return false;
      await tx.query(`DELETE FROM troupe_session_items WHERE ${OF_KEY}`, params(key));
      return true;
    });
  }

  locationOf(key: CheckedKey, log: string, listNumber: number, { from }: StoredItem): string {
    return `item ${from} of log ${log}, list ${listNumber}, of session ${keyName(key)}`;
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#db.close();
  }

  /** Database with its tables. */
  async #prepared(): Promise<SqlDatabase> {
    this.#ready ??= prepareSchema(this.#db, 'sessions', SCHEMA).catch((error: unknown) => {
      this.#ready = undefined; // the next use tries again
      throw error;
    });
    await this.#ready;
    return this.#db;
  }
}

/** Replaces the head. Returns false if the base is not the newest revision. */
async function replaceHead(tx: SqlQueries, key: CheckedKey, commit: Commit, head: string): Promise<boolean> {
  const { base, revision, savedAt, log } = commit;
  if (base === undefined) {
    const made = await tx.query(
      `INSERT INTO troupe_sessions (user_id, session_id, revision, saved_at, log, head) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (user_id, session_id) DO NOTHING RETURNING revision`,
      [...params(key), revision, savedAt, log, head],
    );
    return made.length === 1;
  }
  const [where, values] = base.log === undefined ? ['', []] : [' AND log = ?', [base.log]];
  const changed = await tx.query(
    `UPDATE troupe_sessions
     SET previous_revision = revision, previous_log = log, previous_head = head,
         revision = ?, saved_at = ?, log = ?, head = ?
     WHERE ${OF_KEY} AND revision = ?${where} RETURNING revision`,
    [revision, savedAt, log, head, ...params(key), base.revision, ...values],
  );
  return changed.length === 1;
}

async function insertItems(
  tx: SqlQueries,
  key: CheckedKey,
  log: string,
  items: readonly string[],
  start: number,
): Promise<void> {
  for (let from = 0; from < items.length; from += MAX_ROWS) {
    const rows = items.slice(from, from + MAX_ROWS);
    await tx.query(
      `INSERT INTO troupe_session_items (user_id, session_id, log, position, item)
       VALUES ${rows.map(() => '(?, ?, ?, ?, ?)').join(', ')}`,
      rows.flatMap((item, i) => [...params(key), log, start + from + i, item]),
    );
  }
}

/** Tells whether PostgreSQL has rolled back a transaction in favor of another. */
function isLostRace(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '40001' || error.code === '40P01');
}

function params({ user, session }: CheckedKey): [user: string, session: string] {
  return [user, session];
}

function toInfo(row: SqlRow): SessionInfo {
  const user = String(row['user_id']);
  return {
    session: String(row['session_id']),
    ...(user !== '' && { user }),
    revision: Number(row['revision']),
    savedAt: Number(row['saved_at']),
  };
}
