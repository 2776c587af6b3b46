import type { JsonObject, Usage } from 'troupe';

import type { ServiceDatabase, SqlQueries, SqlRow, SqlValue } from './database.ts';
import type { RunInput, RunOutcome, RunRecord, RunRequest, ServiceRunStatus } from './run-record.ts';

/** A write of an attempt that another process has taken over. Nothing was written. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor(runId: string) {
    super(`The run ${runId} goes on elsewhere.`);
  }
}

/** A run that is to be stored. */
export type NewRun = Pick<
  RunRecord,
  'id' | 'user' | 'session' | 'agent' | 'request' | 'fingerprint' | 'createdAt'
> &
  Partial<Pick<RunRecord, 'forkedFrom'>>;

/** Status of a run and the number of its newest event. */
export type RunProgress = Pick<RunRecord, 'status' | 'lastEvent'>;

const IDS_PER_STATEMENT = 500;
const COLUMNS = `id, user_id, session_id, agent, status, request, fingerprint, base_revision, attempt, owner, created_at, started_at,
  ended_at, outcome, usage, interrupt, last_event, journal_format, forked_from`;

/** Statements about runs. Lookups for a user carry the user in the statement. */
export class RunTable {
  readonly #db: ServiceDatabase;

  constructor(db: ServiceDatabase) {
    this.#db = db;
  }

  async find(user: string, id: string, tx: SqlQueries = this.#db): Promise<RunRecord | undefined> {
    const [row] = await tx.query(`SELECT ${COLUMNS} FROM service_runs WHERE id = ? AND user_id = ?`, [
      id,
      user,
    ]);
    return row && toRun(row);
  }

  /** A run of any user, for the scheduler. */
  async get(id: string): Promise<RunRecord | undefined> {
    const [row] = await this.#db.query(`SELECT ${COLUMNS} FROM service_runs WHERE id = ?`, [id]);
    return row && toRun(row);
  }

  /** Status and newest event of a run, for readers of its events. */
  async progress(id: string): Promise<RunProgress | undefined> {
    return (await this.progressOf([id])).get(id);
  }

  async progressOf(ids: readonly string[]): Promise<ReadonlyMap<string, RunProgress>> {
    const progress = new Map<string, RunProgress>();
    for (let start = 0; start < ids.length; start += IDS_PER_STATEMENT) {
      const part = ids.slice(start, start + IDS_PER_STATEMENT);
      const sql = `SELECT id, status, last_event FROM service_runs WHERE id IN (${part.map(() => '?').join(', ')})`;
      for (const row of await this.#db.query(sql, part))
        progress.set(String(row['id']), {
          status: row['status'] as ServiceRunStatus,
          lastEvent: Number(row['last_event']),
        });
    }
    return progress;
  }

  async byKey(user: string, key: string, tx: SqlQueries = this.#db): Promise<RunRecord | undefined> {
    const sql = `SELECT ${COLUMNS} FROM service_runs WHERE user_id = ? AND request_key = ?`;
    const [row] = await tx.query(sql, [user, key]);
    return row && toRun(row);
  }

  /** Runs of a session, newest first, before the given run. */
  async ofSession(
    user: string,
    session: string,
    limit: number,
    before?: { readonly createdAt: number; readonly id: string },
  ): Promise<readonly RunRecord[]> {
    const where = before === undefined ? '' : 'AND (created_at < ? OR (created_at = ? AND id < ?))';
    const params: SqlValue[] = before === undefined ? [] : [before.createdAt, before.createdAt, before.id];
    const sql = `SELECT ${COLUMNS} FROM service_runs WHERE user_id = ? AND session_id = ? ${where} ORDER BY created_at DESC, id DESC LIMIT ?`;
    return (await this.#db.query(sql, [user, session, ...params, limit])).map(toRun);
  }

  /** Adds a run. @returns false if the user has a run with this key */
  async add(tx: SqlQueries, run: NewRun, key: string): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO service_runs (id, user_id, session_id, agent, status, request_key, fingerprint, request, attempt, created_at, last_event,
       forked_from) VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, 0, ?, 0, ?) ON CONFLICT (user_id, request_key) DO NOTHING RETURNING id`,
      [
        run.id,
        run.user,
        run.session,
        run.agent,
        key,
        run.fingerprint,
        JSON.stringify(run.request),
        run.createdAt,
        run.forkedFrom ?? null,
      ],
    );
    return rows.length > 0;
  }

  /** Counts runs of a user that have not ended. */
  async countOpen(user: string): Promise<number> {
    const sql = `SELECT COUNT(*) AS n FROM service_runs WHERE user_id = ? AND status IN ('queued', 'running')`;
    const [row] = await this.#db.query(sql, [user]);
    return Number(row?.['n'] ?? 0);
  }

  /** Creation time of the newest run of a session; 0 without a run. */
  async newestOf(tx: SqlQueries, user: string, session: string): Promise<number> {
    const sql = 'SELECT MAX(created_at) AS at FROM service_runs WHERE user_id = ? AND session_id = ?';
    const [row] = await tx.query(sql, [user, session]);
    return Number(row?.['at'] ?? 0);
  }

  /** Processes that have running runs; undefined if a run was given back and nobody has it. */
  async runningOwners(): Promise<readonly (string | undefined)[]> {
    const sql = "SELECT DISTINCT owner FROM service_runs WHERE status = 'running'";
    return (await this.#db.query(sql)).map(({ owner }) => text(owner));
  }

  /** Ids of the running runs of a process. */
  async runningIds(owner: string): Promise<readonly string[]> {
    const sql = "SELECT id FROM service_runs WHERE status = 'running' AND owner = ?";
    return (await this.#db.query(sql, [owner])).map(({ id }) => String(id));
  }

  /** Running runs of some processes, and running runs without a process, oldest first. */
  async runningOf(owners: readonly string[], limit: number): Promise<readonly RunRecord[]> {
    const isOneOf = owners.length === 0 ? '' : `OR owner IN (${owners.map(() => '?').join(', ')})`;
    const sql = `SELECT ${COLUMNS} FROM service_runs WHERE status = 'running' AND (owner IS NULL ${isOneOf}) ORDER BY created_at, id LIMIT ?`;
    return (await this.#db.query(sql, [...owners, limit])).map(toRun);
  }

  /** Queued runs whose session has no run, oldest first. */
  async ready(limit: number): Promise<readonly RunRecord[]> {
    const sql = `SELECT ${COLUMNS} FROM service_runs WHERE status = 'queued' AND EXISTS (SELECT 1 FROM service_sessions
      WHERE service_sessions.user_id = service_runs.user_id AND service_sessions.id = service_runs.session_id AND active_run IS NULL)
      ORDER BY created_at, id LIMIT ?`;
    return (await this.#db.query(sql, [limit])).map(toRun);
  }

  /** Begins the next attempt at a run, whose writes alone count from now on. @returns undefined if another process was faster */
  async beginAttempt(
    tx: SqlQueries,
    { id, attempt }: RunRecord,
    owner: string,
    now: number,
  ): Promise<RunRecord | undefined> {
    const [row] = await tx.query(
      `UPDATE service_runs SET status = 'running', owner = ?, attempt = attempt + 1, started_at = COALESCE(started_at, ?)
       WHERE id = ? AND attempt = ? AND status IN ('queued', 'running') RETURNING ${COLUMNS}`,
      [owner, now, id, attempt],
    );
    return row && toRun(row);
  }

  /** Writes what a later attempt needs for its replay. */
  async setBase(tx: SqlQueries, id: string, revision: number, journalFormat: number): Promise<void> {
    const sql = 'UPDATE service_runs SET base_revision = ?, journal_format = ? WHERE id = ?';
    await tx.query(sql, [revision, journalFormat, id]);
  }

  /** Gives a run back, so that another process, or the next start, goes on with it. */
  async release(tx: SqlQueries, id: string): Promise<void> {
    await tx.query(`UPDATE service_runs SET owner = NULL WHERE id = ?`, [id]);
  }

  async end(
    tx: SqlQueries,
    id: string,
    {
      outcome,
      usage,
      now,
    }: { readonly outcome: RunOutcome; readonly usage: Usage | undefined; readonly now: number },
  ): Promise<void> {
    await tx.query(
      'UPDATE service_runs SET status = ?, outcome = ?, usage = ?, ended_at = ?, owner = NULL WHERE id = ?',
      [outcome.status, JSON.stringify(outcome), usage === undefined ? null : JSON.stringify(usage), now, id],
    );
  }

  /** Holds an attempt against all others until the transaction ends. @throws FencedError */
  async assertAttempt(tx: SqlQueries, id: string, attempt: number): Promise<void> {
    const lock = this.#db.dialect === 'postgres' ? 'FOR UPDATE' : '';
    const [row] = await tx.query(`SELECT attempt, status FROM service_runs WHERE id = ? ${lock}`, [id]);
    if (row?.['attempt'] !== attempt || row['status'] !== 'running') throw new FencedError(id);
  }

  /** Asks a run to stop. @returns false if it has ended, or was asked before */
  async setInterrupt(
    tx: SqlQueries,
    user: string,
    id: string,
    msgs: readonly JsonObject[],
  ): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE service_runs SET interrupt = ? WHERE id = ? AND user_id = ? AND interrupt IS NULL AND status IN ('queued', 'running')
       RETURNING id`,
      [JSON.stringify(msgs), id, user],
    );
    return rows.length > 0;
  }

  /** Ids of runs that ended before a time, oldest first. */
  async endedBefore(before: number, limit: number): Promise<readonly string[]> {
    const sql = 'SELECT id FROM service_runs WHERE ended_at < ? ORDER BY ended_at LIMIT ?';
    return (await this.#db.query(sql, [before, limit])).map(({ id }) => String(id));
  }

  /** Deletes runs with their events, steps and inputs. */
  async delete(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const list = ids.map(() => '?').join(', ');
    await this.#db.transaction(async (tx) => {
      for (const table of ['service_events', 'service_steps', 'service_inputs'])
        await tx.query(`DELETE FROM ${table} WHERE run_id IN (${list})`, ids);
      await tx.query(`DELETE FROM service_runs WHERE id IN (${list})`, ids);
    });
  }

  /** Ids of all runs of a session. */
  async idsOf(user: string, session: string): Promise<readonly string[]> {
    const sql = 'SELECT id FROM service_runs WHERE user_id = ? AND session_id = ?';
    return (await this.#db.query(sql, [user, session])).map(({ id }) => String(id));
  }

  /** Holds a run until the transaction ends, so that it does not end meanwhile. @returns false if it has ended */
  async holdOpen(tx: SqlQueries, user: string, id: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE service_runs SET last_event = last_event WHERE id = ? AND user_id = ? AND status IN ('queued', 'running') RETURNING id`,
      [id, user],
    );
    return rows.length > 0;
  }

  /** Adds a message for a run that is held, unless it has one with this id: the request was repeated. */
  async addInput(tx: SqlQueries, runId: string, kind: RunInput['kind'], msg: JsonObject): Promise<void> {
    const inputs = await this.inputs(runId, tx);
    if (inputs.some((input) => input.msg['id'] === msg['id'])) return;
    const sql = 'INSERT INTO service_inputs (run_id, n, kind, msg) VALUES (?, ?, ?, ?)';
    await tx.query(sql, [runId, (inputs.at(-1)?.n ?? 0) + 1, kind, JSON.stringify(msg)]);
  }

  async inputs(runId: string, tx: SqlQueries = this.#db): Promise<readonly RunInput[]> {
    const sql = 'SELECT n, kind, msg, seen_step FROM service_inputs WHERE run_id = ? ORDER BY n';
    return (await tx.query(sql, [runId])).map((row) => ({
      n: Number(row['n']),
      kind: row['kind'] === 'steer' ? 'steer' : 'follow_up',
      msg: parsed<JsonObject>(row['msg']),
      seenStep: text(row['seen_step']),
    }));
  }

  /** Moves messages that suspended runs of a session have not taken to another run of it. */
  async moveUnread(tx: SqlQueries, { id, user, session }: NewRun): Promise<void> {
    const rows = await tx.query(
      `DELETE FROM service_inputs WHERE seen_step IS NULL AND run_id IN
       (SELECT id FROM service_runs WHERE user_id = ? AND session_id = ? AND status = 'suspended') RETURNING n, kind, msg`,
      [user, session],
    );
    let n = 0;
    for (const { kind, msg } of rows.toSorted((a, b) => Number(a['n']) - Number(b['n'])))
      await tx.query('INSERT INTO service_inputs (run_id, n, kind, msg) VALUES (?, ?, ?, ?)', [
        id,
        ++n,
        kind ?? null,
        msg ?? null,
      ]);
  }

  async setInputSeen(tx: SqlQueries, runId: string, n: number, step: string): Promise<void> {
    await tx.query('UPDATE service_inputs SET seen_step = ? WHERE run_id = ? AND n = ?', [step, runId, n]);
  }
}

function toRun(row: SqlRow): RunRecord {
  return {
    id: String(row['id']),
    user: String(row['user_id']),
    session: String(row['session_id']),
    agent: String(row['agent']),
    status: row['status'] as ServiceRunStatus,
    request: parsed<RunRequest>(row['request']),
    fingerprint: String(row['fingerprint']),
    baseRevision: number(row['base_revision']),
    attempt: Number(row['attempt']),
    owner: text(row['owner']),
    createdAt: Number(row['created_at']),
    startedAt: number(row['started_at']),
    endedAt: number(row['ended_at']),
    outcome: row['outcome'] == null ? undefined : parsed<RunOutcome>(row['outcome']),
    usage: row['usage'] == null ? undefined : parsed<Usage>(row['usage']),
    interrupt: row['interrupt'] == null ? undefined : parsed<readonly JsonObject[]>(row['interrupt']),
    lastEvent: Number(row['last_event']),
    journalFormat: number(row['journal_format']),
    forkedFrom: text(row['forked_from']),
  };
}

/** JSON that this service has written. */
function parsed<T>(value: SqlValue | undefined): T {
  return JSON.parse(String(value)) as T;
}

function text(value: SqlValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: SqlValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
