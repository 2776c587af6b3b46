import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';

import { hasPostgres, hasRedis, POSTGRES, REDIS_URL } from '../../test/servers.ts';
import { AutoContextMemory } from '../compression/auto-context/auto-context-memory.ts';
import { Msg } from '../message/msg.ts';
import { PostgresDatabase } from '../stores/postgres/postgres-database.ts';
import { PostgresMemory } from '../stores/postgres/postgres-memory.ts';
import { RedisClient } from '../stores/redis/redis-client.ts';
import { RedisMemory } from '../stores/redis/redis-memory.ts';
import { SqliteDatabase } from '../stores/sqlite/sqlite-database.ts';
import { SqliteMemory } from '../stores/sqlite/sqlite-memory.ts';
import { newId } from '../util/ids.ts';
import { InMemoryMemory } from './in-memory-memory.ts';
import type { MarkChange, MemoryBase, MemoryFilter } from './memory-base.ts';

/** A memory in as few words as possible. */
class Model {
  rows: { id: string; text: string; marks: string[] }[] = [];
  summary = '';

  run(op: Op): unknown {
    const has = (id: string): boolean => this.rows.some((row) => row.id === id);
    switch (op.type) {
      case 'add':
        for (const { id, text } of op.msgs) {
          if (!has(id)) this.rows.push({ id, text, marks: [...new Set(op.marks)] });
        }
        return undefined;
      case 'delete':
        return this.#drop((row) => op.ids.includes(row.id));
      case 'deleteByMark':
        return this.#drop((row) => row.marks.some((mark) => op.marks.includes(mark)));
      case 'mark':
        return this.#mark(op.change);
      case 'summary':
        this.summary = op.text;
        return undefined;
      case 'clear':
        this.rows = [];
        this.summary = '';
        return undefined;
      case 'get': {
        const { mark, excludeMark, prependSummary } = op.filter;
        const found = this.rows.filter(
          ({ marks }) =>
            (mark === undefined || marks.includes(mark)) &&
            (excludeMark === undefined || !marks.includes(excludeMark)),
        );
        const first = prependSummary !== false && this.summary !== '' ? [this.summary] : [];
        return [...first, ...found.map(({ text }) => text)];
      }
    }
  }

  #drop(isGone: (row: Model['rows'][number]) => boolean): number {
    const before = this.rows.length;
    this.rows = this.rows.filter((row) => !isGone(row));
    return before - this.rows.length;
  }

  #mark({ newMark, oldMark, msgIds }: MarkChange): number {
    let changed = 0;
    for (const row of this.rows) {
      if (msgIds !== undefined && !msgIds.includes(row.id)) continue;
      if (oldMark !== undefined && !row.marks.includes(oldMark)) continue;
      const marks = new Set(row.marks);
      if (oldMark !== undefined) marks.delete(oldMark);
      if (newMark !== undefined) marks.add(newMark);
      if (marks.size !== row.marks.length || row.marks.some((mark) => !marks.has(mark))) changed++;
      row.marks = [...marks];
    }
    return changed;
  }
}

type Op =
  | { type: 'add'; msgs: { id: string; text: string }[]; marks: string[] }
  | { type: 'delete'; ids: string[] }
  | { type: 'deleteByMark'; marks: string[] }
  | { type: 'mark'; change: MarkChange }
  | { type: 'summary'; text: string }
  | { type: 'clear' }
  | { type: 'get'; filter: MemoryFilter };

async function run(memory: MemoryBase, op: Op): Promise<unknown> {
  switch (op.type) {
    case 'add':
      return memory.add(
        op.msgs.map(({ id, text }) => Msg.user(text, { id })),
        { marks: op.marks },
      );
    case 'delete':
      return memory.delete(op.ids);
    case 'deleteByMark':
      return memory.deleteByMark(op.marks);
    case 'mark':
      return memory.updateMessagesMark(op.change);
    case 'summary':
      return memory.updateCompressedSummary(op.text);
    case 'clear':
      return memory.clear();
    case 'get':
      return (await memory.getMemory(op.filter)).map(({ text }) => text);
  }
}

/**
 * Few names, so that equal names are frequent. Each has a meaning in some database, and some differ only where a database ignores
 * the difference.
 */
const NASTY = [
  `';--`,
  `x') OR '1'='1`,
  '$1',
  '?',
  '__proto__',
  'constructor',
  '\u0000',
  '\ud800',
  '\udc00',
  '\ufffd',
  '\\d800',
  '\\0000',
  'é',
  'e\u0301',
  'l'.repeat(3_000),
  `${'l'.repeat(2_999)}m`,
];
const id = fc.oneof(fc.constantFrom(...NASTY, ''), fc.constantFrom('0', '1', '2', '3'));
const mark = fc.oneof({ weight: 2, arbitrary: fc.constantFrom('a', 'b') }, fc.constantFrom(...NASTY));
const text = fc.oneof(fc.constantFrom(...NASTY, '{"', '"]'), fc.string());
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('add' as const),
      msgs: fc.array(fc.record({ id, text }), { maxLength: 4 }),
      marks: fc.array(mark, { maxLength: 2 }),
    }),
  },
  fc.record({ type: fc.constant('delete' as const), ids: fc.array(id, { maxLength: 3 }) }),
  fc.record({ type: fc.constant('deleteByMark' as const), marks: fc.array(mark, { maxLength: 2 }) }),
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('mark' as const),
      change: fc
        .record({
          newMark: optional(mark),
          oldMark: optional(mark),
          msgIds: optional(fc.array(id, { maxLength: 4 })),
        })
        .filter(({ newMark, oldMark }) => newMark !== undefined || oldMark !== undefined),
    }),
  },
  fc.record({ type: fc.constant('summary' as const), text: fc.oneof(text, fc.constant('')) }),
  { weight: 1, arbitrary: fc.constant({ type: 'clear' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('get' as const),
      filter: fc.record({
        mark: optional(mark),
        excludeMark: optional(mark),
        prependSummary: optional(fc.boolean()),
      }),
    }),
  },
);

/** Each operation is done by one of several memories of the same conversation: one that knows it, and others that don't. */
async function behavesAsTheModel(open: () => readonly MemoryBase[], numRuns: number): Promise<void> {
  let reads = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(op, fc.nat({ max: 1 })), { minLength: 8, maxLength: 25 }),
      async (ops) => {
        const [model, memories] = [new Model(), open()];
        for (const [one, which] of ops) {
          const found = await run(memories[which % memories.length]!, one);
          expect(found).toEqual(model.run(one));
          if (one.type === 'get' && model.rows.length > 0) reads++;
        }
        for (const memory of memories) {
          expect(await run(memory, { type: 'get', filter: {} })).toEqual(
            model.run({ type: 'get', filter: {} }),
          );
          expect(await memory.size()).toBe(model.rows.length);
        }
        await memories[0]!.clear();
      },
    ),
    { numRuns },
  );
  expect(reads).toBeGreaterThan(numRuns / 4);
}

const folder = await mkdtemp(join(tmpdir(), 'troupe-memory-'));
const sqlite = new SqliteDatabase(join(folder, 'memory.db'));
const postgres = new PostgresDatabase(POSTGRES);
const redis = new RedisClient(REDIS_URL);
afterAll(async () => {
  await Promise.all([sqlite.close(), postgres.close(), redis.close()]);
  await rm(folder, { recursive: true });
});

describe('any operations give what a list of rows gives', () => {
  test('in memory', () => behavesAsTheModel(() => [new InMemoryMemory()], 300));

  test('in a memory that keeps itself small', () => behavesAsTheModel(() => [new AutoContextMemory()], 300));

  test('in SQLite', () =>
    behavesAsTheModel(() => {
      const sessionId = newId();
      return [new SqliteMemory(sqlite, { sessionId }), new SqliteMemory(sqlite, { sessionId })];
    }, 50));

  test.skipIf(!hasPostgres)('in PostgreSQL', () =>
    behavesAsTheModel(() => {
      const sessionId = newId();
      return [new PostgresMemory(postgres, { sessionId }), new PostgresMemory(postgres, { sessionId })];
    }, 40),
  );

  test.skipIf(!hasRedis)('in Redis', () =>
    behavesAsTheModel(() => {
      const sessionId = newId();
      return [new RedisMemory(redis, { sessionId }), new RedisMemory(redis, { sessionId })];
    }, 100),
  );
});
