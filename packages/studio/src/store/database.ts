import { chmodSync, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const SCHEMA_VERSION = 1;

const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
  id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, source TEXT NOT NULL,
  updated_at TEXT NOT NULL, fork_of TEXT, session_id TEXT, data TEXT NOT NULL, texts TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX runs_by_time ON runs (updated_at DESC, id);
CREATE TABLE entries (run_id TEXT NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, seq)) WITHOUT ROWID;
CREATE TABLE agents (run_id TEXT NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, id)) WITHOUT ROWID;
CREATE TABLE waiting (
  run_id TEXT NOT NULL, id TEXT NOT NULL, is_open INTEGER NOT NULL, asked_at TEXT NOT NULL, agent_id TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (run_id, id)
) WITHOUT ROWID;
CREATE INDEX waiting_open ON waiting (is_open, asked_at);
CREATE TABLE prompts (run_id TEXT NOT NULL, n INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, n)) WITHOUT ROWID;
CREATE TABLE parts (run_id TEXT NOT NULL, hash TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, hash)) WITHOUT ROWID;
CREATE TABLE insides (
  run_id TEXT NOT NULL, agent_id TEXT NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run_id, agent_id, seq)
) WITHOUT ROWID;
CREATE TABLE calls (
  run_id TEXT NOT NULL, at INTEGER NOT NULL, project TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, agent TEXT NOT NULL,
  is_error INTEGER NOT NULL, duration REAL NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cached INTEGER NOT NULL, cost REAL NOT NULL
);
CREATE INDEX calls_by_time ON calls (at);
CREATE INDEX calls_by_run ON calls (run_id);
CREATE TABLE spans (
  trace_id TEXT NOT NULL, id TEXT NOT NULL, run_id TEXT, start_ms REAL NOT NULL, service TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (trace_id, id)
) WITHOUT ROWID;
CREATE INDEX spans_by_run ON spans (run_id);
CREATE INDEX spans_by_time ON spans (start_ms);
CREATE TABLE files (run_id TEXT NOT NULL, id TEXT NOT NULL, media_type TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (run_id, id));
CREATE INDEX files_by_id ON files (id);
CREATE TABLE turns (
  run_id TEXT NOT NULL, call_id TEXT NOT NULL, seq INTEGER NOT NULL, state BLOB, steps BLOB, PRIMARY KEY (run_id, call_id)
) WITHOUT ROWID;
`;

/** Tables whose rows belong to a run. */
export const RUN_TABLES = [
  'entries',
  'agents',
  'waiting',
  'prompts',
  'parts',
  'insides',
  'calls',
  'files',
  'turns',
] as const;

export interface OpenedDatabase {
  readonly db: DatabaseSync;
  /** Where a database that could not be read was put. */
  readonly setAside?: string;
}

/**
 * Opens the database of a Studio. A file that is damaged, or was written by a later version, is set aside and a new one is made: a Studio
 * must start. Survives the end of the process at any point: SQLite's log (WAL) is replayed at the next start.
 * @throws Error if another Studio has the database open
 */
export function openDatabase(path: string, now: number): OpenedDatabase {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const isNew = path === ':memory:' || !existsSync(path) || statSync(path).size === 0;
  if (isNew) return { db: create(path) };
  try {
    return { db: openExisting(path) };
  } catch (error) {
    if (isBusy(error))
      throw new Error(`Another Studio uses ${path}. End it, or choose another folder (--dir).`);
    const setAside = `${path}.set-aside-${new Date(now).toISOString().replace(/[:.]/g, '-')}`;
    for (const ending of ['', '-wal', '-shm'])
      if (existsSync(path + ending)) renameSync(path + ending, setAside + ending);
    return { db: create(path), setAside };
  }
}

function create(path: string): DatabaseSync {
  const db = configured(path);
  db.exec(SCHEMA);
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  return db;
}

function openExisting(path: string): DatabaseSync {
  const db = configured(path);
  try {
    const check = db.prepare('PRAGMA quick_check(1)').get();
    if (check?.['quick_check'] !== 'ok') throw new Error('damaged');
    const version = db.prepare('PRAGMA user_version').get()?.['user_version'];
    if (version !== SCHEMA_VERSION) throw new Error('of another version');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function configured(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 1000 });
  try {
    // one Studio for each database; the lock ends with the process
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL');
    if (path !== ':memory:') chmodSync(path, 0o600); // conversations are private
    db.exec('PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; COMMIT');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (error.errcode === 5 || error.errcode === 261);
}
