import { randomBytes } from 'node:crypto';

import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';

const SERVER = process.env['TROUPE_TEST_POSTGRES'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** Key of approvals, for every service on one database. */
export const APPROVAL_KEY = 'a key of sixteen bytes or more';

async function isThere(): Promise<boolean> {
  const client = new pg.Client({ connectionString: SERVER });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** Whether there is a PostgreSQL for tests. */
export const hasPostgres = await isThere();

async function admin(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** A database for the tests of one file, dropped at the end. */
export function useDatabase(name: string): { readonly url: string } {
  const database = `troupe_${name}_${randomBytes(6).toString('hex')}`;
  const url = new URL(SERVER);
  url.pathname = `/${database}`;
  beforeAll(() => (hasPostgres ? admin(`CREATE DATABASE ${database}`) : undefined));
  afterAll(() => (hasPostgres ? admin(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`) : undefined));
  return { url: url.href };
}
