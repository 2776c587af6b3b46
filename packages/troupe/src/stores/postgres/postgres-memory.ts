import type { ConversationId } from '../../memory/stored-memory.ts';
import { SqlMemory } from '../sql/sql-memory.ts';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';

/** Memory in PostgreSQL. Needs the package `pg`. */
export class PostgresMemory extends SqlMemory {
  static override readonly componentName: string = 'postgresMemory';

  /** @param database connection, or a shared database, which stays open when the memory closes */
  constructor(database: PostgresOptions | PostgresDatabase, id: ConversationId) {
    const isShared = database instanceof PostgresDatabase;
    super(isShared ? database : new PostgresDatabase(database), id, { isOwn: !isShared });
  }
}
