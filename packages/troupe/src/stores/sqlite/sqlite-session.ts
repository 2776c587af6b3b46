import { Session } from '../../session/session.ts';
import { SqlSessionStore } from '../sql/sql-session-store.ts';
import { SqliteDatabase } from './sqlite-database.ts';

/** Keeps sessions in a SQLite file, by Node's own driver. Several processes may use it at the same time. */
export class SqliteSession extends Session {
  /** @param database path of a file, or a shared database, which stays open when the session closes */
  constructor(database: string | SqliteDatabase) {
    const isPath = typeof database === 'string';
    super(new SqlSessionStore(isPath ? new SqliteDatabase(database) : database, isPath));
  }
}
