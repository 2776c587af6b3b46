/**
 * CPU time of saving a session after one more reply, with 5 000 old messages (left) against 50 (right).
 * PostgreSQL and Redis are measured if TROUPE_BENCH_POSTGRES and TROUPE_BENCH_REDIS have their addresses.
 * `npm run bench`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { AutoContextMemory, InMemoryMemory, Msg } from 'troupe';
import { JsonSession } from 'troupe/stores/json';
import { PostgresSession } from 'troupe/stores/postgres';
import { RedisSession } from 'troupe/stores/redis';
import { SqliteSession } from 'troupe/stores/sqlite';

import { row } from './measure.ts';

type AnySession = JsonSession | SqliteSession | PostgresSession | RedisSession;

const SAVES = 60;
const ROUNDS = 5;
const TEXT = 'x'.repeat(400);

const turn = (i: number): Msg[] => [Msg.user(`question ${i} ${TEXT}`), Msg.assistant(`answer ${i} ${TEXT}`)];

/** Session with a number of messages, which gets one more reply with every save. */
async function longSession(
  session: AnySession,
  id: string,
  messages: number,
  memory: InMemoryMemory | AutoContextMemory,
): Promise<() => Promise<number>> {
  for (let i = 0; i < messages / 2; i++) await memory.add(turn(i));
  await session.save(id, { memory });
  return async () => {
    const start = process.cpuUsage();
    for (let i = 0; i < SAVES; i++) {
      await memory.add(turn(i));
      await session.save(id, { memory });
    }
    const { user, system } = process.cpuUsage(start);
    return (user + system) / SAVES / 1000;
  };
}

async function measureSession(
  name: string,
  session: AnySession,
  newMemory: () => InMemoryMemory | AutoContextMemory = () => new InMemoryMemory(),
): Promise<void> {
  const ids = ['bench-many', 'bench-few'] as const;
  for (const id of ids) await session.delete(id);
  const many = await longSession(session, ids[0], 5_000, newMemory());
  const few = await longSession(session, ids[1], 50, newMemory());
  const best = { many: Infinity, few: Infinity };
  for (let i = 0; i < ROUNDS; i++) {
    best.many = Math.min(best.many, await many());
    best.few = Math.min(best.few, await few());
  }
  row(`one more turn saved by ${name}, 5 000 : 50`, best.many, best.few, 'ms CPU');
  for (const id of ids) await session.delete(id);
  await session.close();
}

export async function measureSessions(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-bench-'));
  try {
    await measureSession('JsonSession', new JsonSession(join(dir, 'json')));
    await measureSession(
      'JsonSession, AutoContextMemory',
      new JsonSession(join(dir, 'two-lists')),
      () => new AutoContextMemory(),
    );
    await measureSession('SqliteSession', new SqliteSession(join(dir, 'sessions.db')));
    const { TROUPE_BENCH_POSTGRES: postgres, TROUPE_BENCH_REDIS: redis } = process.env;
    if (postgres !== undefined) await measureSession('PostgresSession', new PostgresSession(postgres));
    if (redis !== undefined) await measureSession('RedisSession', new RedisSession(redis));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
