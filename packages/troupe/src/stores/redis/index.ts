export type { RedisSessionOptions } from './redis-session-store.ts';
export { RedisClient, type RedisConnection, type RedisOptions } from './redis-client.ts';
export { RedisMemory, type RedisMemoryOptions } from './redis-memory.ts';
export { RedisSession } from './redis-session.ts';
