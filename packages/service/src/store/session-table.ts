import type { PendingCall } from 'troupe';

import type { ServiceDatabase, SqlQueries, SqlRow, SqlValue } from './database.ts';
import type { SessionRecord } from './run-record.ts';

const COLUMNS = 'user_id, id, agent, title, created_at, updated_at, active_run, talk_owner, pending';

/** Statements about sessions. Every lookup carries the user in the statement. */
export class SessionTable {
  readonly #db: ServiceDatabase;

  constructor(db: ServiceDatabase) {
    this.#db = db;
  }

  /** Adds a session. @returns false if the user has, or had, a session with this id */
  async add(
    session: Omit<SessionRecord, 'activeRun' | 'isTalking' | 'updatedAt' | 'pending'>,
  ): Promise<boolean> {
    const { user, id, agent, title, createdAt } = session;
    const rows = await this.#db.query(
      `INSERT INTO service_sessions (user_id, id, agent, title, created_at, updated_at, is_deleted) VALUES (?, ?, ?, ?, ?, ?, 0)
       ON CONFLICT (user_id, id) DO NOTHING RETURNING id`,
      [user, id, agent, title, createdAt, createdAt],
    );
    return rows.length > 0;
  }

  async find(user: string, id: string): Promise<SessionRecord | undefined> {
    return this.#find(user, id, 0);
  }

  /** A session that was deleted. */
  async findDeleted(user: string, id: string): Promise<SessionRecord | undefined> {
    return this.#find(user, id, 1);
  }

  async #find(user: string, id: string, isDeleted: 0 | 1): Promise<SessionRecord | undefined> {
    const sql = `SELECT ${COLUMNS} FROM service_sessions WHERE user_id = ? AND id = ? AND is_deleted = ?`;
    const [row] = await this.#db.query(sql, [user, id, isDeleted]);
    return row && toSession(row);
  }

  /** Sessions of a user, last used first, behind the given one. */
  async list(
    user: string,
    limit: number,
    after?: { readonly updatedAt: number; readonly id: string },
  ): Promise<readonly SessionRecord[]> {
    const where = after === undefined ? '' : 'AND (updated_at < ? OR (updated_at = ? AND id < ?))';
    const params: SqlValue[] = after === undefined ? [] : [after.updatedAt, after.updatedAt, after.id];
    const sql = `SELECT ${COLUMNS} FROM service_sessions WHERE user_id = ? AND is_deleted = 0 ${where} ORDER BY updated_at DESC, id DESC LIMIT ?`;
    return (await this.#db.query(sql, [user, ...params, limit])).map(toSession);
  }

  /** Marks a session as used, and locks it until the transaction ends. */
  async touch(tx: SqlQueries, user: string, id: string, now: number): Promise<SessionRecord | undefined> {
    const sql = `UPDATE service_sessions SET updated_at = ? WHERE user_id = ? AND id = ? AND is_deleted = 0 RETURNING ${COLUMNS}`;
    const [row] = await tx.query(sql, [now, user, id]);
    return row && toSession(row);
  }

  /** Makes a run the only one of its session. @returns false if the session has another run */
  async occupy(tx: SqlQueries, user: string, id: string, runId: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE service_sessions SET active_run = ? WHERE user_id = ? AND id = ? AND is_deleted = 0
       AND (active_run IS NULL OR active_run = ?) RETURNING id`,
      [runId, user, id, runId],
    );
    return rows.length > 0;
  }

  /** Writes which tool calls are pending in the saved state of the agent. */
  async setPending(tx: SqlQueries, user: string, id: string, pending: readonly PendingCall[]): Promise<void> {
    const json = pending.length === 0 ? null : JSON.stringify(pending);
    await tx.query('UPDATE service_sessions SET pending = ? WHERE user_id = ? AND id = ?', [json, user, id]);
  }

  /** Gives a session to a talk of a process, in a transaction that has touched it. @returns false while it has a run or another talk */
  async occupyByTalk(
    tx: SqlQueries,
    user: string,
    id: string,
    talk: { readonly id: string; readonly owner: string },
  ): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE service_sessions SET active_run = ?, talk_owner = ? WHERE user_id = ? AND id = ? AND is_deleted = 0 AND active_run IS NULL
       AND NOT EXISTS (SELECT 1 FROM service_runs WHERE user_id = ? AND session_id = ? AND status IN ('queued', 'running')) RETURNING id`,
      [talk.id, talk.owner, user, id, user, id],
    );
    return rows.length > 0;
  }

  /** Whether a session is still given to a run or a talk. */
  async isOccupiedBy(user: string, id: string, holder: string): Promise<boolean> {
    const sql = 'SELECT active_run FROM service_sessions WHERE user_id = ? AND id = ?';
    const [row] = await this.#db.query(sql, [user, id]);
    return row?.['active_run'] === holder;
  }

  /** Counts the talks of a user. */
  async countTalks(user: string): Promise<number> {
    const sql = 'SELECT COUNT(*) AS n FROM service_sessions WHERE user_id = ? AND talk_owner IS NOT NULL';
    const [row] = await this.#db.query(sql, [user]);
    return Number(row?.['n'] ?? 0);
  }

  /** Processes that have talks. */
  async talkOwners(): Promise<readonly string[]> {
    const sql = 'SELECT DISTINCT talk_owner FROM service_sessions WHERE talk_owner IS NOT NULL';
    return (await this.#db.query(sql)).map(({ talk_owner: owner }) => String(owner));
  }

  /** Frees the sessions of the talks of a process. */
  async freeTalksOf(owner: string): Promise<void> {
    const sql = 'UPDATE service_sessions SET active_run = NULL, talk_owner = NULL WHERE talk_owner = ?';
    await this.#db.query(sql, [owner]);
  }

  /** Ends the use of a session by a run or a talk. */
  async leave(tx: SqlQueries, user: string, id: string, runId: string): Promise<void> {
    await tx.query(
      'UPDATE service_sessions SET active_run = NULL, talk_owner = NULL WHERE user_id = ? AND id = ? AND active_run = ?',
      [user, id, runId],
    );
  }

  /** Marks a session as deleted. Its id stays taken. @returns false without such a session, or while a run or a talk uses it */
  async remove(tx: SqlQueries, user: string, id: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE service_sessions SET is_deleted = 1, title = '' WHERE user_id = ? AND id = ? AND active_run IS NULL
       RETURNING id`,
      [user, id],
    );
    if (rows.length === 0) return false;
    for (const table of ['service_files', 'service_schedules'])
      await tx.query(`DELETE FROM ${table} WHERE user_id = ? AND session_id = ?`, [user, id]);
    const runs = 'SELECT id FROM service_runs WHERE user_id = ? AND session_id = ?';
    for (const table of ['service_events', 'service_steps', 'service_inputs'])
      await tx.query(`DELETE FROM ${table} WHERE run_id IN (${runs})`, [user, id]);
    await tx.query('DELETE FROM service_runs WHERE user_id = ? AND session_id = ?', [user, id]);
    return true;
  }
}

function toSession(row: SqlRow): SessionRecord {
  const { active_run: activeRun, talk_owner: talkOwner, pending } = row;
  const isTalking = typeof talkOwner === 'string';
  return {
    user: String(row['user_id']),
    id: String(row['id']),
    agent: String(row['agent']),
    title: String(row['title']),
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
    activeRun: typeof activeRun === 'string' && !isTalking ? activeRun : undefined,
    isTalking,
    pending: typeof pending === 'string' ? (JSON.parse(pending) as readonly PendingCall[]) : [],
  };
}
