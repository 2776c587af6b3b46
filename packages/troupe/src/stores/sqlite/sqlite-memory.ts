import type { ConversationId } from '../../memory/stored-memory.ts';
import { SqlMemory } from '../sql/sql-memory.ts';
import { SqliteDatabase } from './sqlite-database.ts';

/** Memory in a SQLite file, with Node's own driver. Several processes may share the file. */
export class SqliteMemory extends SqlMemory {
  static override readonly componentName: string = 'sqliteMemory';

  /**
   * @param database path of a file, ':memory:', or a shared database, which stays open when the memory closes
   */
  constructor(database: string | SqliteDatabase, id: ConversationId) {
    const isOwn = typeof database === 'string';
    super(isOwn ? new SqliteDatabase(database) : database, id, { isOwn });
  }
}
