import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { hasPostgres, POSTGRES } from '../../../test/servers.ts';
import { newId } from '../../util/ids.ts';
import { prepareSchema } from '../sql/schema.ts';
import { PostgresDatabase } from './postgres-database.ts';

const table = `test_${newId().toLowerCase()}`;

describe.skipIf(!hasPostgres)('PostgresDatabase', () => {
  const db = new PostgresDatabase(POSTGRES);

  afterAll(async () => {
    await db.query(`DROP TABLE IF EXISTS ${table}`);
    await db.query('DELETE FROM troupe_schema WHERE name = ?', [table]);
    await db.close();
  });

  test('a database that was closed says so', async () => {
    const closed = new PostgresDatabase(POSTGRES);
    await closed.close();
    await expect(closed.query('SELECT 1')).rejects.toThrow('was closed');
  });

  test('concurrent creation of the same tables works once', async () => {
    const steps = [[`CREATE TABLE ${table} (a BIGINT, b TEXT)`]];
    const databases = Array.from({ length: 5 }, () => new PostgresDatabase(POSTGRES));
    await Promise.all(databases.map((one) => prepareSchema(one, table, steps)));
    for (const one of databases) await one.close();
    expect(await db.query(`SELECT * FROM ${table}`)).toEqual([]);
  });

  test('a whole number is a number, and a transaction is all or nothing', async () => {
    expect(await db.query(`INSERT INTO ${table} VALUES (?, ?) RETURNING *`, [2 ** 52, 'a ? b'])).toEqual([
      { a: 2 ** 52, b: 'a ? b' },
    ]);
    const problem = new Error('no');
    await expect(
      db.transaction(async (tx) => {
        await tx.query(`DELETE FROM ${table}`);
        throw problem;
      }),
    ).rejects.toBe(problem);
    await expect(db.transaction((tx) => tx.query('nonsense'))).rejects.toThrow(/syntax error/);
    expect(await db.query(`SELECT COUNT(*) AS n FROM ${table}`)).toEqual([{ n: 1 }]);
  });

  test('a pool of the program is used and not ended', async () => {
    const pool = new pg.Pool(POSTGRES);
    const own = new PostgresDatabase({ pool });
    expect(await own.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await own.close();
    expect((await pool.query('SELECT 2 AS two')).rows).toEqual([{ two: 2 }]);
    await pool.end();
  });

  test('a connection that breaks in a transaction is not used again', async () => {
    const pool = new pg.Pool({ ...POSTGRES, max: 1 });
    pool.on('error', () => {});
    const own = new PostgresDatabase({ pool });
    await expect(
      own.transaction(async (tx) => {
        const [row] = await tx.query('SELECT pg_backend_pid() AS pid');
        await db.query('SELECT pg_terminate_backend(?)', [Number(row?.['pid'])]);
        await tx.query('SELECT 1');
      }),
    ).rejects.toThrow(/terminat|connection/i);
    expect(await own.query('SELECT 3 AS three')).toEqual([{ three: 3 }]);
    await pool.end();
  });

  test('an unreachable server is reported', async () => {
    const nowhere = new PostgresDatabase({ host: '127.0.0.1', port: 1 });
    await expect(nowhere.query('SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
    await nowhere.close();
  });
});

/** A message of PostgreSQL's protocol. */
function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(body, 'latin1');
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
}

test('a connection that the server ends as soon as it is open fails its transaction, not the process', async () => {
  const opened = Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')]);
  const ended = message('E', 'SFATAL\0C57P01\0Mterminating connection\0\0');
  const server = createServer((socket) => {
    socket.once('data', () => void socket.end(Buffer.concat([opened, ended])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const db = new PostgresDatabase({ host: '127.0.0.1', port, user: 'nobody', database: 'none' });
  await expect(db.transaction((tx) => tx.query('SELECT 1'))).rejects.toThrow(
    /terminat|connection|queryable/i,
  );
  await expect(db.query('SELECT 1')).rejects.toThrow(/terminat|connection|queryable/i);
  await db.close();
  server.close();
});
