import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, test } from 'vitest';

import { hasPostgres, hasRedis, POSTGRES, REDIS_URL } from '../../test/servers.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { PostgresMemory } from '../stores/postgres/postgres-memory.ts';
import { RedisMemory } from '../stores/redis/redis-memory.ts';
import { SqliteMemory } from '../stores/sqlite/sqlite-memory.ts';
import { memoryContract } from './memory-contract.ts';

const folder = await mkdtemp(join(tmpdir(), 'troupe-memory-'));
afterAll(() => rm(folder, { recursive: true }));

const isStored = true;

describe('in memory', () => {
  test.each(memoryContract(() => new InMemoryMemory()))('$name', ({ run }) => run());
});

describe('SQLite', () => {
  const contract = memoryContract((id) => new SqliteMemory(join(folder, 'memory.db'), id), { isStored });
  test.each(contract)('$name', ({ run }) => run());
});

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  const contract = memoryContract((id) => new PostgresMemory(POSTGRES, id), { isStored });
  test.each(contract)('$name', ({ run }) => run());
});

describe.skipIf(!hasRedis)('Redis', () => {
  const contract = memoryContract((id) => new RedisMemory(REDIS_URL, { ...id, ttlMs: 60_000 }), { isStored });
  test.each(contract)('$name', ({ run }) => run());
});
