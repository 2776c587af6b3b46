import { Session, type SessionOptions } from '../../session/session.ts';
import { SqlSessionStore } from '../sql/sql-session-store.ts';
import { SqliteDatabase } from './sqlite-database.ts';

/** Sessions in a SQLite file, with Node's own driver. Several processes may share the file. */
export class SqliteSession extends Session {
  /** @param database path of a file, or a shared database, which stays open when the session closes */
  constructor(database: string | SqliteDatabase, options: SessionOptions = {}) {
    const isPath = typeof database === 'string';
    super(new SqlSessionStore(isPath ? new SqliteDatabase(database) : database, isPath), options);
  }
}
