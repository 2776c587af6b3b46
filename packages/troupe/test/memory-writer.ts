// A process of its own that adds messages to a memory, for tests of several at once:
// `node memory-writer.ts <backend> <where> <session> <name> <other> <count>`. After its first message it waits for that
// of the other, so that both write at the same time.

import { setImmediate as immediate } from 'node:timers/promises';

import { Msg } from '../src/message/msg.ts';
import type { StoredMemory } from '../src/memory/stored-memory.ts';
import { PostgresMemory } from '../src/stores/postgres/postgres-memory.ts';
import { RedisMemory } from '../src/stores/redis/redis-memory.ts';
import { SqliteMemory } from '../src/stores/sqlite/sqlite-memory.ts';
import { POSTGRES, REDIS_URL } from './servers.ts';

const [backend = '', where = '', sessionId = '', name = '', other = '', count = '0'] = process.argv.slice(2);

function open(): StoredMemory {
  if (backend === 'sqlite') return new SqliteMemory(where, { sessionId });
  if (backend === 'postgres') return new PostgresMemory(POSTGRES, { sessionId });
  return new RedisMemory(REDIS_URL, { sessionId });
}

const memory = open();
for (let i = 0; i < Number(count); i++) {
  await memory.add([Msg.user(`${i}`, { id: `${name}${i}` }), Msg.user('', { id: `both${i}` })]);
  while (i === 0 && !(await memory.getMemory()).some(({ id }) => id === `${other}0`)) await immediate();
}
await memory.close();
