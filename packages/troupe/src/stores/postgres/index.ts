export { PostgresDatabase, type PostgresOptions } from './postgres-database.ts';
export { PostgresMemory } from './postgres-memory.ts';
export { PostgresSession } from './postgres-session.ts';
export { PostgresVectorStore, type PostgresVectorStoreOptions } from './postgres-vector-store.ts';
