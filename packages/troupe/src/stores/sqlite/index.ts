export { SqliteDatabase } from './sqlite-database.ts';
export { SqliteEmbeddingCache } from './sqlite-embedding-cache.ts';
export { SqliteMemory } from './sqlite-memory.ts';
export { SqliteSession } from './sqlite-session.ts';
export { SqliteVectorStore, type SqliteVectorStoreOptions } from './sqlite-vector-store.ts';
