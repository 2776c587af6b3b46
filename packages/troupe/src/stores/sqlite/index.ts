export { SqliteDatabase } from './sqlite-database.ts';
export { SqliteMemory } from './sqlite-memory.ts';
export { SqliteSession } from './sqlite-session.ts';
