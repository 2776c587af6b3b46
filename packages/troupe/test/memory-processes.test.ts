import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, expect, test } from 'vitest';

import type { StoredMemory } from '../src/memory/stored-memory.ts';
import { PostgresDatabase } from '../src/stores/postgres/postgres-database.ts';
import { PostgresMemory } from '../src/stores/postgres/postgres-memory.ts';
import { RedisMemory } from '../src/stores/redis/redis-memory.ts';
import type { SqlDatabase } from '../src/stores/sql/sql-database.ts';
import { SqliteDatabase } from '../src/stores/sqlite/sqlite-database.ts';
import { SqliteMemory } from '../src/stores/sqlite/sqlite-memory.ts';
import { newId } from '../src/util/ids.ts';
import { hasPostgres, hasRedis, POSTGRES, REDIS_URL } from './servers.ts';

const EACH = 200;
const WRITER = fileURLToPath(new URL('memory-writer.ts', import.meta.url));
const FLAGS = [
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
  '--conditions=troupe:source',
];

const folder = await mkdtemp(join(tmpdir(), 'troupe-memory-'));
const running = new Set<ChildProcess>();
afterEach(() => running.forEach((child) => child.kill('SIGKILL')));
afterAll(() => rm(folder, { recursive: true }));

/** Two processes that add to one conversation at the same time, each as fast as it can. */
async function writeFromTwoProcesses(backend: string, where: string, sessionId: string): Promise<void> {
  const ends = [
    ['a', 'b'],
    ['b', 'a'],
  ].map(async (names) => {
    const args = [...FLAGS, WRITER, backend, where, sessionId, ...names, String(EACH)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    running.add(child);
    const [code] = (await once(child, 'close')) as unknown[];
    running.delete(child);
    return code;
  });
  expect(await Promise.all(ends)).toEqual([0, 0]);
}

/** Nothing is lost or doubled, and each process's messages are in the order in which it added them. */
async function checkMessages(memory: StoredMemory): Promise<void> {
  const ids = (await memory.getMemory()).map(({ id }) => id);
  for (const name of ['a', 'b']) {
    const expected = Array.from({ length: EACH }, (_, i) => `${name}${i}`);
    expect(ids.filter((id) => /^[ab]\d/.test(id) && id[0] === name)).toEqual(expected);
  }
  expect(ids.filter((id) => id.startsWith('both')).toSorted()).toEqual(
    Array.from({ length: EACH }, (_, i) => `both${i}`).toSorted(),
  );
  expect(ids.slice(0, 3).toSorted()).toEqual(['a0', 'b0', 'both0']); // both were at work from the start
}

async function checkSql(database: SqlDatabase, sessionId: string): Promise<void> {
  const rows = await database.query(
    `SELECT m.seq FROM troupe_message m JOIN troupe_conversation c ON c.birth = m.birth
      WHERE c.session_id = ? ORDER BY m.seq`,
    [sessionId],
  );
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 3 * EACH }, (_, i) => i));
}

test('two processes add to one conversation in SQLite: all is kept, and the order has no gaps', async () => {
  const [path, sessionId] = [join(folder, 'memory.db'), newId()];
  await writeFromTwoProcesses('sqlite', path, sessionId);
  const database = new SqliteDatabase(path);
  await checkMessages(new SqliteMemory(database, { sessionId }));
  await checkSql(database, sessionId);
  await database.close();
});

test.skipIf(!hasPostgres)('and in PostgreSQL', async () => {
  const sessionId = newId();
  await writeFromTwoProcesses('postgres', '', sessionId);
  const database = new PostgresDatabase(POSTGRES);
  const memory = new PostgresMemory(database, { sessionId });
  await checkMessages(memory);
  await checkSql(database, sessionId);
  await memory.clear();
  await database.close();
});

test.skipIf(!hasRedis)('and in Redis', async () => {
  const sessionId = newId();
  await writeFromTwoProcesses('redis', '', sessionId);
  await using memory = new RedisMemory(REDIS_URL, { sessionId });
  await checkMessages(memory);
  await memory.clear();
});
