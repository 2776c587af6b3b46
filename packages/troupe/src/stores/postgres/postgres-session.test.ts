import { afterEach, describe, expect, test } from 'vitest';
import { hasPostgres, POSTGRES } from '../../../test/servers.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { SessionConflictError } from '../../session/format/session-error.ts';
import { sessionContract } from '../../testing/session-contract.ts';
import { newId } from '../../util/ids.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { PostgresSession } from './postgres-session.ts';

const schemas: string[] = [];

/** A schema of its own for each test. */
async function newSchema(): Promise<string> {
  const name = `sessions_${newId().toLowerCase()}`;
  const db = new PostgresDatabase(POSTGRES);
  await db.query(`CREATE SCHEMA ${name}`);
  await db.close();
  schemas.push(name);
  return name;
}

afterEach(async () => {
  const db = new PostgresDatabase(POSTGRES);
  for (const name of schemas.splice(0)) await db.query(`DROP SCHEMA ${name} CASCADE`);
  await db.close();
});

describe.skipIf(!hasPostgres)('PostgresSession', () => {
  const place = async () => {
    const schema = await newSchema();
    return () => new PostgresSession({ ...POSTGRES, options: `-c search_path=${schema}` });
  };
  test.each(sessionContract(place))('$name', ({ run }) => run());

  test('a transaction that PostgreSQL undoes for another one is a conflict', async () => {
    const schema = await newSchema();
    const options = `-c search_path=${schema} -c default_transaction_isolation=serializable`;
    const sessions = [0, 1].map(() => new PostgresSession({ ...POSTGRES, options }));
    await sessions[0]?.save('s', { memory: new InMemoryMemory() });
    for (let i = 0; i < 10; i++) {
      const saves = await Promise.all(
        sessions.map(async (session) => {
          const memory = new InMemoryMemory();
          await session.load('s', { memory });
          return { session, memory };
        }),
      );
      const ends = await Promise.allSettled(
        saves.map(({ session, memory }) => session.save('s', { memory })),
      );
      const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
      expect(failures).toStrictEqual([expect.any(SessionConflictError)]);
    }
    for (const session of sessions) await session.close();
  });
});
