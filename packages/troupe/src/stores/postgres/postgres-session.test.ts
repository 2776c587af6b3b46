import { afterEach, describe, test } from 'vitest';
import { hasPostgres, POSTGRES } from '../../../test/servers.ts';
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
});
