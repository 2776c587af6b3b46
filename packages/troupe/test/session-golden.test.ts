import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { InMemoryMemory } from '../src/memory/in-memory-memory.ts';
import { Session } from '../src/session/session.ts';
import { StateModule } from '../src/state/state-module.ts';
import { JsonSession } from '../src/stores/json/json-session.ts';
import { SqlSessionStore } from '../src/stores/sql/sql-session-store.ts';
import type { SqlValue } from '../src/stores/sql/sql-database.ts';
import { SqliteDatabase } from '../src/stores/sqlite/sqlite-database.ts';

/**
 * Sessions as released versions have written them. They stay for ever, and load for ever: a change of the format adds
 * a folder, and never changes one.
 */
const GOLDEN = join(import.meta.dirname, 'golden');

const dirs: string[] = [];

afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-golden-'));
  dirs.push(dir);
  return dir;
}

class Settings extends StateModule {
  theme = '';
  constructor() {
    super();
    this.registerState('theme');
  }
}

const components = () => ({ memory: new InMemoryMemory(), settings: new Settings() });

async function contentOf(memory: InMemoryMemory): Promise<unknown> {
  return {
    summary: await memory.getCompressedSummary(),
    messages: (await memory.getMemory({ prependSummary: false })).map((msg) => msg.toJSON()),
    hints: (await memory.getMemory({ mark: 'hint', prependSummary: false })).map((msg) => msg.id),
  };
}

/** Contents of the sessions of version 1. */
async function expectVersion1(session: Session, key: { user: string; session: string }): Promise<void> {
  const { memory, settings } = components();
  expect(await session.load(key, { memory, settings })).toBe(true);
  expect(settings.theme).toBe('dark ☕');
  const expected = JSON.parse(await readFile(join(GOLDEN, 'session-v1', 'memory.json'), 'utf8')) as unknown;
  expect(await contentOf(memory)).toStrictEqual(expected);

  await session.save(key, { memory, settings });
  const again = components();
  await session.load(key, again);
  expect(await contentOf(again.memory)).toStrictEqual(expected);
  expect(again.settings.theme).toBe('dark ☕');
}

const KEY = { user: 'Anna', session: 'golden.1' };

test('files of version 1 load, and are the same after a save', async () => {
  const dir = await newDir();
  await cp(join(GOLDEN, 'session-v1', 'json'), dir, { recursive: true });
  const session = new JsonSession(dir);
  const info = { user: 'Anna', session: 'golden.1', revision: 3 };
  expect((await session.list({ user: 'Anna' })).sessions).toMatchObject([info]);
  await expectVersion1(session, KEY);
  await session.close();
});

test('the save before the last of version 1 can be restored', async () => {
  const dir = await newDir();
  await cp(join(GOLDEN, 'session-v1', 'json'), dir, { recursive: true });
  const session = new JsonSession(dir);
  await session.restorePrevious(KEY);
  const { memory, settings } = components();
  await session.load(KEY, { memory, settings });
  expect([await memory.size(), settings.theme]).toStrictEqual([5, 'light']);
});

test('rows of version 1 load, and are the same after a save', async () => {
  const db = new SqliteDatabase(':memory:');
  const dump = JSON.parse(await readFile(join(GOLDEN, 'session-v1', 'sql.json'), 'utf8')) as {
    readonly tables: readonly string[];
    readonly rows: Readonly<Record<string, readonly Readonly<Record<string, SqlValue>>[]>>;
  };
  for (const statement of dump.tables) await db.query(statement);
  for (const [table, rows] of Object.entries(dump.rows)) {
    for (const row of rows) {
      const names = Object.keys(row);
      const marks = names.map(() => '?').join(', ');
      await db.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})`, Object.values(row));
    }
  }
  const session = new Session(new SqlSessionStore(db, true));
  await expectVersion1(session, KEY);
  await session.close();
});
