import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';

import { hasPostgres, POSTGRES } from '../../../test/servers.ts';
import { TroupeError } from '../../errors.ts';
import { CorruptMemoryError } from '../../memory/stored-memory.ts';
import { Msg } from '../../message/msg.ts';
import { newId } from '../../util/ids.ts';
import { PostgresDatabase } from '../postgres/postgres-database.ts';
import { SqliteDatabase } from '../sqlite/sqlite-database.ts';
import { SqliteMemory } from '../sqlite/sqlite-memory.ts';
import type { SqlDatabase, SqlQueries, SqlParam, SqlRow } from './sql-database.ts';
import { SqlMemory } from './sql-memory.ts';

const folder = await mkdtemp(join(tmpdir(), 'troupe-memory-'));
const opened: SqlDatabase[] = [];
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});
afterAll(() => rm(folder, { recursive: true }));

/** Each a database without tables. */
const DATABASES: readonly [string, boolean, () => Promise<SqlDatabase>][] = [
  ['SQLite', true, async () => new SqliteDatabase(join(folder, `${newId()}.db`))],
  ['PostgreSQL', hasPostgres, emptyPostgres],
];

async function emptyPostgres(): Promise<SqlDatabase> {
  const schema = `troupe_test_${newId().toLowerCase()}`;
  const outer = new PostgresDatabase({ ...POSTGRES, max: 1 });
  await outer.query(`CREATE SCHEMA ${schema}`);
  const database = new PostgresDatabase({ ...POSTGRES, max: 4, options: `-c search_path=${schema}` });
  const close = database.close.bind(database);
  database.close = async () => {
    await close();
    await outer.query(`DROP SCHEMA ${schema} CASCADE`);
    await outer.close();
  };
  return database;
}

/** Counts what goes through it. */
class Counter implements SqlDatabase {
  queries = 0;
  rows = 0;
  characters = 0;
  constructor(readonly inner: SqlDatabase) {}
  get dialect() {
    return this.inner.dialect;
  }
  query(sql: string, params?: readonly SqlParam[]) {
    return this.#count(this.inner, sql, params);
  }
  transaction<T>(body: (tx: SqlQueries) => Promise<T>) {
    return this.inner.transaction((tx) => body({ query: (sql, params) => this.#count(tx, sql, params) }));
  }
  exclusive<T>(body: (tx: SqlQueries) => Promise<T>) {
    return this.inner.exclusive(body);
  }
  async close() {}
  since() {
    const counts = { queries: this.queries, rows: this.rows, characters: this.characters };
    this.queries = this.rows = this.characters = 0;
    return counts;
  }
  async #count(on: SqlQueries, sql: string, params?: readonly SqlParam[]): Promise<readonly SqlRow[]> {
    this.queries++;
    const rows = await on.query(sql, params);
    this.rows += rows.length;
    this.characters += JSON.stringify(rows).length;
    return rows;
  }
}

function msgs(count: number): Msg[] {
  return Array.from({ length: count }, (_, i) => Msg.user('x'.repeat(200), { id: `${i}` }));
}

describe.each(DATABASES.filter(([, isThere]) => isThere))('in %s', (_name, _isThere, make) => {
  async function open(): Promise<SqlDatabase> {
    const database = await make();
    opened.push(database);
    return database;
  }

  test.each<[string, (memory: SqlMemory) => Promise<unknown>, unknown]>([
    ['add', (memory) => memory.add('Hi'), undefined],
    ['delete', (memory) => memory.delete(['a']), 0],
    ['deleteByMark', (memory) => memory.deleteByMark('a'), 0],
    ['updateMessagesMark', (memory) => memory.updateMessagesMark({ newMark: 'a' }), 0],
    ['size', (memory) => memory.size(), 0],
    ['clear', (memory) => memory.clear(), undefined],
    ['getMemory', (memory) => memory.getMemory(), []],
    ['getCompressedSummary', (memory) => memory.getCompressedSummary(), ''],
    ['updateCompressedSummary', (memory) => memory.updateCompressedSummary('a'), undefined],
  ])('the tables are made by whatever comes first: %s', async (_operation, run, expected) => {
    const database = await open();
    expect(await run(new SqlMemory(database, { sessionId: 's' }))).toEqual(expected);
    expect(await database.query("SELECT version FROM troupe_schema WHERE name = 'memory'")).toEqual([
      { version: 1 },
    ]);
  });

  test('several that come first at the same time make the tables once', async () => {
    const database = await open();
    const memories = Array.from({ length: 8 }, (_, i) => new SqlMemory(database, { sessionId: `${i}` }));
    await Promise.all(memories.map((memory) => memory.add('Hi')));
    expect(await Promise.all(memories.map((memory) => memory.size()))).toEqual(Array(8).fill(1));
  });

  test('tables of a later version are left alone, and the next call looks again', async () => {
    const database = await open();
    const memory = new SqlMemory(database, { sessionId: 's' });
    await memory.add('Hi');
    await database.query("UPDATE troupe_schema SET version = 99 WHERE name = 'memory'");
    const other = new SqlMemory(database, { sessionId: 's' });
    await expect(other.size()).rejects.toThrow(
      'The tables of memory have version 99; this program knows versions up to 1. Update it.',
    );
    await database.query("UPDATE troupe_schema SET version = 1 WHERE name = 'memory'");
    expect(await other.size()).toBe(1);
  });

  test('with 5000 messages, a look after one more reads nothing but what is new', async () => {
    const counter = new Counter(await open());
    const [one, other] = [0, 1].map(() => new SqlMemory(counter, { sessionId: 's' }));
    await one!.add(msgs(5_000));
    const parse = vi.spyOn(Msg, 'from');
    try {
      expect((await other!.getMemory()).length).toBe(5_000);
      expect(counter.since().rows).toBeGreaterThan(5_000); // the first look reads everything
      expect(parse).toHaveBeenCalledTimes(5_000);
      parse.mockClear();

      const mine = Msg.user('mine', { id: 'mine' });
      await one!.add(mine);
      counter.since();
      expect((await one!.getMemory()).at(-1)).toBe(mine);
      expect(counter.since()).toMatchObject({ queries: 1, rows: 1 }); // where it stands, and no message
      const before = await other!.getMemory();
      expect(counter.since()).toMatchObject({ queries: 1, rows: 1 }); // the new message
      expect(parse).toHaveBeenCalledTimes(1);

      await one!.updateMessagesMark({ newMark: 'm', msgIds: ['7'] });
      await one!.delete(['8']);
      await one!.delete(['nobody']);
      counter.since();
      await one!.getMemory();
      expect(counter.since()).toMatchObject({ queries: 1, rows: 1 }); // the memory remembers its own writes
      const after = await other!.getMemory();
      const { queries, characters } = counter.since();
      expect(queries).toBe(2);
      expect(characters).toBeLessThan(5_000 * 150); // marks, but no messages
      expect(parse).toHaveBeenCalledTimes(1);
      expect(after).toEqual(before.toSpliced(8, 1));
      expect(after.every((msg, i) => msg === before[i < 8 ? i : i + 1])).toBe(true);
    } finally {
      parse.mockRestore();
    }
  });

  test('adding one message to 5000 costs as many statements and rows as adding one to none', async () => {
    const counter = new Counter(await open());
    const memory = new SqlMemory(counter, { sessionId: 's' });
    const costs = [];
    for (const batch of [[], msgs(5_000)]) {
      await memory.add(batch);
      await memory.getMemory();
      counter.since();
      await memory.add('One more');
      const { queries, rows } = counter.since();
      costs.push({ queries, rows });
    }
    expect(costs).toEqual([
      { queries: 4, rows: 1 },
      { queries: 4, rows: 1 },
    ]);
  });

  test('a mark for 5000 messages takes a few statements', async () => {
    const counter = new Counter(await open());
    const memory = new SqlMemory(counter, { sessionId: 's' });
    await memory.add(msgs(5_000));
    counter.since();
    expect(await memory.updateMessagesMark({ newMark: 'compressed' })).toBe(5_000);
    expect(counter.since().queries).toBeLessThan(15);
  });

  test.each([
    ['text that is no JSON', { msg: '{"id":' }],
    ['JSON that is no message', { msg: '{"id":"b"}' }],
    [
      'a block that is none',
      { msg: JSON.stringify({ ...Msg.user('x').toJSON(), content: [{ type: 'tool_use' }] }) },
    ],
    ['marks that are no list', { marks: '7' }],
    ['a mark that is no text', { marks: '[7]' }],
  ])('a row with %s is named, and can be deleted', async (_problem, change) => {
    const database = await open();
    await new SqlMemory(database, { sessionId: 's' }).add(msgs(3));
    const [[column, value]] = Object.entries(change) as [[string, string]];
    await database.query(`UPDATE troupe_message SET ${column} = ? WHERE seq = 1`, [value]);
    const memory = new SqlMemory(database, { sessionId: 's' });
    const error = await memory.getMemory().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CorruptMemoryError);
    expect(error).toMatchObject({ code: 'memory_corrupt', row: 1, sessionId: 's' });
    expect(String(error)).toMatch(/^CorruptMemoryError: Row 1 of the memory of session 's' can't be read: /);
    await memory.add('It can still be added to');
    await expect(memory.size()).rejects.toThrow(CorruptMemoryError);
    expect(await memory.delete(['1'])).toBe(1);
    expect((await memory.getMemory()).map(({ text }) => text).at(-1)).toBe('It can still be added to');
  });

  test('a summary that is no text is named, and can be replaced', async () => {
    const database = await open();
    const memory = new SqlMemory(database, { sessionId: 's' });
    await memory.updateCompressedSummary('Sum.');
    await database.query("UPDATE troupe_conversation SET summary = '{'");
    await expect(memory.getMemory()).rejects.toMatchObject({ code: 'memory_corrupt' });
    await memory.updateCompressedSummary('Again.');
    expect(await memory.getCompressedSummary()).toBe('Again.');
  });

  test('a conversation that somebody has removed and begun anew is not mixed with the old one', async () => {
    const database = await open();
    const [one, other] = [0, 1].map(() => new SqlMemory(database, { sessionId: 's' }));
    await one!.add([Msg.user('old', { id: 'a' }), Msg.user('old', { id: 'b' })]);
    await one!.getMemory();
    await database.query('DELETE FROM troupe_message');
    await database.query('DELETE FROM troupe_conversation');
    await other!.add([Msg.user('new', { id: 'a' }), Msg.user('new', { id: 'b' })]);
    expect((await one!.getMemory()).map(({ text }) => text)).toEqual(['new', 'new']);
  });

  test('nothing is left of what was cleared', async () => {
    const database = await open();
    const memory = new SqlMemory(database, { sessionId: 's' });
    await memory.add(msgs(3));
    await memory.clear();
    expect(await database.query('SELECT seq FROM troupe_message')).toEqual([]);
    expect(await database.query('SELECT birth FROM troupe_conversation')).toEqual([]);
  });

  test('a failed write changes nothing, and the next one works', async () => {
    const database = await open();
    let isBroken = false;
    const breaking: SqlDatabase = {
      dialect: database.dialect,
      query: (sql, params) => database.query(sql, params),
      exclusive: (body) => database.exclusive(body),
      transaction: (body) =>
        database.transaction((tx) =>
          body({
            query: async (sql, params) => {
              if (isBroken && sql.startsWith('UPDATE troupe_conversation SET next_seq'))
                throw new Error('no');
              return tx.query(sql, params);
            },
          }),
        ),
      close: async () => {},
    };
    const memory = new SqlMemory(breaking, { sessionId: 's' });
    await memory.add(Msg.user('a', { id: 'a' }));
    isBroken = true;
    await expect(memory.add(Msg.user('b', { id: 'b' }))).rejects.toThrow('no');
    isBroken = false;
    expect(await memory.size()).toBe(1);
    await memory.add(Msg.user('c', { id: 'c' }));
    expect((await memory.getMemory()).map(({ text }) => text)).toEqual(['a', 'c']);
    expect(await database.query('SELECT seq FROM troupe_message ORDER BY seq')).toEqual([
      { seq: 0 },
      { seq: 1 },
    ]);
  });

  test('a marking sees the effect of an earlier marking', async () => {
    const database = await open();
    const other = new SqlMemory(database, { sessionId: 's' });
    let isFirst = true;
    const delayed: SqlDatabase = {
      dialect: database.dialect,
      query: (sql, params) => database.query(sql, params),
      exclusive: (body) => database.exclusive(body),
      transaction: async (body) => {
        if (isFirst) {
          isFirst = false;
          await other.updateMessagesMark({ newMark: 'theirs', msgIds: ['0'] });
          await other.delete(['1']);
        }
        return database.transaction(body);
      },
      close: async () => {},
    };
    await other.add(msgs(3));
    const memory = new SqlMemory(delayed, { sessionId: 's' });
    expect(await memory.updateMessagesMark({ newMark: 'mine' })).toBe(2);
    expect((await memory.getMemory({ mark: 'theirs' })).map(({ id }) => id)).toEqual(['0']);
    expect((await other.getMemory({ mark: 'mine' })).map(({ id }) => id)).toEqual(['0', '2']);
  });
});

test('ids must be texts that are not empty', () => {
  const database = new SqliteDatabase(':memory:');
  const make = (id: object) => () => new SqlMemory(database, id as { sessionId: string });
  expect(make({})).toThrow(TroupeError);
  expect(make({ sessionId: '' })).toThrow('sessionId must be a non-empty text.');
  expect(make({ sessionId: 's', userId: '' })).toThrow('userId must be a non-empty text.');
  expect(new SqlMemory(database, { sessionId: 's' }).stateDict()).toEqual({
    conversation: { userId: 'default', sessionId: 's' },
  });
});

test('close waits for what was begun, and closes only what the memory has opened itself', async () => {
  const path = join(folder, 'closing.db');
  const memory = new SqliteMemory(path, { sessionId: 's' });
  const added = memory.add('Hi');
  await memory.close();
  await added;
  await expect(memory.size()).rejects.toMatchObject({ code: 'store_failed' });

  const database = new SqliteDatabase(path);
  opened.push(database);
  const shared = new SqliteMemory(database, { sessionId: 's' });
  await shared[Symbol.asyncDispose]();
  expect(await new SqliteMemory(database, { sessionId: 's' }).size()).toBe(1);
});
