import type { ServiceDatabase } from './database.ts';

/** Statements from one version of the tables to the next. */
const VERSIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE service_sessions (
      user_id TEXT NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL, title TEXT NOT NULL,
      created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, active_run TEXT, is_deleted BIGINT NOT NULL,
      PRIMARY KEY (user_id, id))`,
    'CREATE INDEX service_sessions_by_time ON service_sessions (user_id, updated_at, id)',
    `CREATE TABLE service_runs (
      id TEXT PRIMARY KEY, user_id TEXT NOT NULL, session_id TEXT NOT NULL, agent TEXT NOT NULL, status TEXT NOT NULL,
      request_key TEXT NOT NULL, fingerprint TEXT NOT NULL, request TEXT NOT NULL, base_revision BIGINT, attempt BIGINT NOT NULL,
      owner TEXT, created_at BIGINT NOT NULL, started_at BIGINT, ended_at BIGINT, outcome TEXT, usage TEXT, interrupt TEXT,
      last_event BIGINT NOT NULL, UNIQUE (user_id, request_key))`,
    'CREATE INDEX service_runs_by_session ON service_runs (user_id, session_id, created_at, id)',
    'CREATE INDEX service_runs_by_status ON service_runs (status, created_at)',
    'CREATE TABLE service_events (run_id TEXT NOT NULL, n BIGINT NOT NULL, attempt BIGINT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, n))',
    `CREATE TABLE service_steps (
      run_id TEXT NOT NULL, step_key TEXT NOT NULL, kind TEXT NOT NULL, n BIGINT NOT NULL, attempt BIGINT NOT NULL, result TEXT,
      PRIMARY KEY (run_id, step_key))`,
    `CREATE TABLE service_inputs (
      run_id TEXT NOT NULL, n BIGINT NOT NULL, kind TEXT NOT NULL, msg TEXT NOT NULL, seen_step TEXT, PRIMARY KEY (run_id, n))`,
    `CREATE TABLE service_tokens (
      hash TEXT PRIMARY KEY, id TEXT NOT NULL, user_id TEXT NOT NULL, name TEXT NOT NULL, created_at BIGINT NOT NULL, revoked_at BIGINT)`,
    'CREATE TABLE service_owners (id TEXT PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL, beat_at BIGINT NOT NULL)',
    `CREATE TABLE service_usage (
      user_id TEXT NOT NULL, day TEXT NOT NULL, tokens BIGINT NOT NULL, cost DOUBLE PRECISION NOT NULL, PRIMARY KEY (user_id, day))`,
  ],
  [
    `CREATE TABLE service_schedules (
      id TEXT PRIMARY KEY, user_id TEXT NOT NULL, session_id TEXT NOT NULL, cron TEXT NOT NULL, timezone TEXT NOT NULL,
      missed TEXT NOT NULL, msgs TEXT NOT NULL, is_paused BIGINT NOT NULL, next_at BIGINT NOT NULL)`,
    'CREATE INDEX service_schedules_by_user ON service_schedules (user_id, next_at)',
    'CREATE INDEX service_schedules_by_time ON service_schedules (is_paused, next_at)',
  ],
  [
    'ALTER TABLE service_sessions ADD COLUMN pending TEXT',
    'ALTER TABLE service_runs ADD COLUMN journal_format BIGINT',
    'CREATE INDEX service_runs_by_end ON service_runs (ended_at)',
  ],
  ['ALTER TABLE service_owners ADD COLUMN lock_key BIGINT'],
  [
    'ALTER TABLE service_runs ADD COLUMN forked_from TEXT',
    `CREATE TABLE service_files (
      user_id TEXT NOT NULL, session_id TEXT NOT NULL, path TEXT NOT NULL, folder TEXT NOT NULL, kind TEXT NOT NULL, size BIGINT NOT NULL,
      version TEXT NOT NULL, updated_at BIGINT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (user_id, session_id, path))`,
    'CREATE INDEX service_files_by_folder ON service_files (user_id, session_id, folder, path)',
  ],
  [
    'ALTER TABLE service_sessions ADD COLUMN talk_owner TEXT',
    'CREATE INDEX service_sessions_by_talk ON service_sessions (user_id) WHERE talk_owner IS NOT NULL',
  ],
];

/** Makes the tables of the service, or updates them. @throws Error, without any change, if the tables are newer than this program */
export async function prepareTables(db: ServiceDatabase): Promise<void> {
  await db.exclusive(async (tx) => {
    await tx.query(
      'CREATE TABLE IF NOT EXISTS troupe_schema (name TEXT PRIMARY KEY, version BIGINT NOT NULL)',
    );
    const [row] = await tx.query('SELECT version FROM troupe_schema WHERE name = ?', ['service']);
    const version = Number(row?.['version'] ?? 0);
    if (version > VERSIONS.length)
      throw new Error(
        `The tables of the service have version ${version}; this program knows versions up to ${VERSIONS.length}. Update it.`,
      );
    if (version === VERSIONS.length) return;
    for (const statement of VERSIONS.slice(version).flat()) await tx.query(statement);
    await tx.query(
      'INSERT INTO troupe_schema (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version',
      ['service', VERSIONS.length],
    );
  });
}
