import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { prepareSchema } from '../sql/schema.ts';
import { SqliteDatabase } from './sqlite-database.ts';

const dirs: string[] = [];
const open: SqliteDatabase[] = [];

afterEach(async () => {
  for (const db of open.splice(0)) await db.close();
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

async function newFile(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-sqlite-'));
  dirs.push(dir);
  return join(dir, 'test.db');
}

function database(path = ':memory:'): SqliteDatabase {
  const db = new SqliteDatabase(path);
  open.push(db);
  return db;
}

test('committed data is on the disk, readable by the owner only', async () => {
  const file = await newFile();
  const db = database(file);
  await db.query('CREATE TABLE t (a BIGINT, b TEXT)');
  expect(await db.query('INSERT INTO t VALUES (?, ?), (?, ?) RETURNING b', [1, 'x', 2 ** 52, null])).toEqual([
    { b: 'x' },
    { b: null },
  ]);
  expect(await database(file).query('SELECT * FROM t ORDER BY a')).toEqual([
    { a: 1, b: 'x' },
    { a: 2 ** 52, b: null },
  ]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(`${file}-wal`)).mode & 0o777).toBe(0o600);
  expect(await db.query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
  expect(await db.query('PRAGMA synchronous')).toEqual([{ synchronous: 2 }]);
});

test('a transaction is all or nothing, and nothing of others comes in between', async () => {
  const db = database();
  await db.query('CREATE TABLE t (a BIGINT)');
  const problem = new Error('no');
  const failing = db.transaction(async (tx) => {
    await tx.query('INSERT INTO t VALUES (1)');
    await Promise.resolve();
    throw problem;
  });
  const outside = db.query('INSERT INTO t VALUES (2)');
  const good = db.transaction(async (tx) => {
    await tx.query('INSERT INTO t VALUES (3)');
    return 'done';
  });
  await expect(failing).rejects.toBe(problem);
  await outside;
  expect(await good).toBe('done');
  expect(await db.query('SELECT a FROM t ORDER BY a')).toEqual([{ a: 2 }, { a: 3 }]);
  await expect(db.transaction((tx) => tx.query('nonsense'))).rejects.toThrow(/syntax error/);
  expect(await db.query('SELECT COUNT(*) AS n FROM t')).toEqual([{ n: 2 }]);
});

test('another writer is waited for, and does not block this process', async () => {
  const file = await newFile();
  const [a, b] = [database(file), database(file)];
  await a.query('CREATE TABLE t (a BIGINT)');
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let hasBegun: () => void = () => {};
  const begun = new Promise<void>((resolve) => (hasBegun = resolve));
  const slow = a.transaction(async (tx) => {
    await tx.query('INSERT INTO t VALUES (1)');
    hasBegun();
    await held;
  });
  await begun;
  const order: string[] = [];
  const waiting = b.transaction((tx) => tx.query('INSERT INTO t VALUES (2)')).then(() => order.push('b'));
  const reading = database(file).query('SELECT COUNT(*) AS n FROM t');
  expect(await reading).toEqual([{ n: 0 }]); // a reader does not wait
  order.push('released');
  release();
  await Promise.all([slow, waiting]);
  expect(order).toEqual(['released', 'b']);
});

test('an invalid file and a closed database are reported', async () => {
  const file = await newFile();
  await writeFile(file, 'this is not a database, but long enough to be read as one'.repeat(20));
  await expect(database(file).query('SELECT 1')).rejects.toThrow(
    /The SQLite file '.*' can't be opened: file is not a database/,
  );
  const db = database();
  await db.close();
  await expect(db.query('SELECT 1')).rejects.toThrow('was closed');
  expect(() => new SqliteDatabase('')).toThrow('needs the path of a file');
});

test('tables are made once, brought up to date, and never taken from the future', async () => {
  const file = await newFile();
  const first = [['CREATE TABLE t (a BIGINT)']];
  const both = [...first, ['ALTER TABLE t ADD COLUMN b BIGINT', 'UPDATE t SET b = a + 1']];
  await Promise.all([1, 2, 3].map(() => prepareSchema(database(file), 'things', first)));
  const db = database(file);
  await db.query('INSERT INTO t VALUES (1)');
  await prepareSchema(db, 'things', both);
  await prepareSchema(db, 'things', both);
  expect(await db.query('SELECT * FROM t')).toEqual([{ a: 1, b: 2 }]);
  await expect(prepareSchema(db, 'things', first)).rejects.toThrow(
    'The tables of things have version 2; this program knows versions up to 1. Update it.',
  );
  const broken = [...both, ['CREATE TABLE u (a BIGINT)', 'nonsense']];
  await expect(prepareSchema(db, 'things', broken)).rejects.toThrow('syntax error');
  expect(await db.query("SELECT name FROM sqlite_master WHERE name = 'u'")).toEqual([]);
});
