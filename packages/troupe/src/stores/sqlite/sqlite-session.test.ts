import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { Msg } from '../../message/msg.ts';
import { sessionContract } from '../../testing/session-contract.ts';
import { SqliteDatabase } from './sqlite-database.ts';
import { SqliteSession } from './sqlite-session.ts';

const dirs: string[] = [];

afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

describe('SqliteSession', () => {
  const place = async () => {
    const dir = await mkdtemp(join(tmpdir(), 'troupe-sqlite-'));
    dirs.push(dir);
    return () => new SqliteSession(join(dir, 'sessions.db'));
  };
  test.each(sessionContract(place))('$name', ({ run }) => run());

  test('data that no save needs is deleted', async () => {
    const db = new SqliteDatabase(':memory:');
    const session = new SqliteSession(db);
    const memory = new InMemoryMemory();
    for (let i = 0; i < 12; i++) {
      await memory.clear();
      await memory.add(Array.from({ length: 200 }, (_, k) => Msg.user(`${i}.${k}`)));
      await session.save('s', { memory });
    }
    const [row] = await db.query(
      'SELECT COUNT(*) AS rows, COUNT(DISTINCT log) AS logs FROM troupe_session_items',
    );
    expect(row?.['logs']).toBeLessThan(3);
    expect(row?.['rows']).toBeLessThan(1400);
    await session.delete('s');
    expect(await db.query('SELECT * FROM troupe_session_items')).toEqual([]);
    await session.close();
    expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }]); // the database is not the session's to close
    await db.close();
  });
});
