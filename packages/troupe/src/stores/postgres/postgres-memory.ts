import type { ConversationId } from '../../memory/stored-memory.ts';
import { SqlMemory } from '../sql/sql-memory.ts';
import { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';

/** A memory in PostgreSQL, by the package `pg`. */
export class PostgresMemory extends SqlMemory {
  /** @param database how to reach it, or a database that is used for other things too, and is not closed with the memory */
  constructor(database: PostgresOptions | PostgresDatabase, id: ConversationId) {
    const isShared = database instanceof PostgresDatabase;
    super(isShared ? database : new PostgresDatabase(database), id, { isOwn: !isShared });
  }
}
