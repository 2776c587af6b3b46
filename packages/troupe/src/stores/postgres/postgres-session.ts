import { Session, type SessionOptions } from '../../session/session.ts';
import { SqlSessionStore } from '../sql/sql-session-store.ts';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';

/** Sessions in PostgreSQL. Needs the package `pg`. */
export class PostgresSession extends Session {
  /** @param database connection, or a shared database, which stays open when the session closes */
  constructor(database: PostgresOptions | PostgresDatabase, options: SessionOptions = {}) {
    const isGiven = database instanceof PostgresDatabase;
    super(new SqlSessionStore(isGiven ? database : new PostgresDatabase(database), !isGiven), options);
  }
}
