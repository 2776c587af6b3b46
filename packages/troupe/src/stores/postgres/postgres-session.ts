import { Session } from '../../session/session.ts';
import { SqlSessionStore } from '../sql/sql-session-store.ts';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';

/** Keeps sessions in PostgreSQL. It needs the package `pg`. */
export class PostgresSession extends Session {
  /** @param database how to reach it, or a database that others use too and that is not closed with the session */
  constructor(database: PostgresOptions | PostgresDatabase) {
    const isGiven = database instanceof PostgresDatabase;
    super(new SqlSessionStore(isGiven ? database : new PostgresDatabase(database), !isGiven));
  }
}
