import { SqliteDatabase, SqliteSession } from 'troupe/stores/sqlite';
import { PostgresDatabase, PostgresSession, type PostgresOptions } from 'troupe/stores/postgres';
import type { Session } from 'troupe';
import type { ApprovalKey } from 'troupe/store';

import { CommitQueue } from './commit-queue.ts';
import type { ServiceDatabase } from './database.ts';
import { EventTable } from './event-table.ts';
import { OwnerTable } from './owner-table.ts';
import { PostgresNotices } from './postgres-notices.ts';
import { RunTable } from './run-table.ts';
import { SessionTable } from './session-table.ts';
import type { StoreNotices } from './store-notices.ts';
import { prepareTables } from './tables.ts';
import { UsageTable } from './usage-table.ts';

/** Where a service keeps its tables, and the states of its agents. */
export interface ServiceStorage {
  readonly database: ServiceDatabase;
  readonly sessions: Session;
  /** Tells the processes that share the database what has changed. @default each looks by itself, ten times a second */
  readonly notices?: StoreNotices | undefined;
}

/** Keeps everything in one SQLite file. @param path a file, or ':memory:' */
export function sqliteStorage(path: string): ServiceStorage {
  const database = new SqliteDatabase(path);
  return { database, sessions: new SqliteSession(database) };
}

/**
 * Keeps everything in PostgreSQL. Needs the package `pg`. With an address or options, one more connection listens for notices of other
 * processes; with a pool of your own, or behind a pooler in transaction mode, processes look for changes by themselves.
 */
export function postgresStorage(
  options: PostgresOptions,
  { approvalKey }: { readonly approvalKey: ApprovalKey },
): ServiceStorage {
  const database = new PostgresDatabase(options);
  const sessions = new PostgresSession(database, { approvalKey });
  if (typeof options === 'object' && 'pool' in options) return { database, sessions };
  const config = typeof options === 'string' ? { connectionString: options } : options;
  return { database, sessions, notices: new PostgresNotices(database, config) };
}

/** The tables of a service. Folder `store`: start here. */
export class ServiceStore {
  readonly database: ServiceDatabase;
  readonly sessionStates: Session;
  readonly sessions: SessionTable;
  readonly runs: RunTable;
  readonly owners: OwnerTable;
  readonly events: EventTable;
  readonly usage: UsageTable;
  readonly commits: CommitQueue;
  readonly notices: StoreNotices | undefined;

  private constructor({ database, sessions, notices }: ServiceStorage) {
    this.database = database;
    this.sessionStates = sessions;
    this.sessions = new SessionTable(database);
    this.runs = new RunTable(database);
    this.owners = new OwnerTable(database);
    this.events = new EventTable(database);
    this.usage = new UsageTable(database);
    this.commits = new CommitQueue(database);
    this.notices = notices;
  }

  static async open(storage: ServiceStorage): Promise<ServiceStore> {
    await prepareTables(storage.database);
    return new ServiceStore(storage);
  }

  async close(): Promise<void> {
    await this.commits.idle();
    await this.notices?.close();
    await this.sessionStates.close();
    await this.database.close();
  }
}
