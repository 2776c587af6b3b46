import type { ConversationId } from '../../memory/stored-memory.ts';
import { SqlMemory } from '../sql/sql-memory.ts';
import { SqliteDatabase } from './sqlite-database.ts';

/** A memory in a SQLite file, by Node's own driver: nothing to install. Several processes may share the file. */
export class SqliteMemory extends SqlMemory {
  /** @param database a file, ':memory:', or a database that is used for other things too, and is not closed with the memory */
  constructor(database: string | SqliteDatabase, id: ConversationId) {
    const isOwn = typeof database === 'string';
    super(isOwn ? new SqliteDatabase(database) : database, id, { isOwn });
  }
}
