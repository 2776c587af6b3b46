import * as nodeFiles from 'node:fs/promises';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesIn, loadTexts, newDir, remember, thrown, twoSaves } from '../../../test/json-folder.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { SessionConflictError, SessionError } from '../../session/format/session-error.ts';
import { Session } from '../../session/session.ts';
import type { Files } from './durable-file.ts';
import { JsonSession } from './json-session.ts';
import { JsonStore, type CrashPoint } from './json-store.ts';

/** A session whose file operations wait for something when the store has reached a point for the first time. */
function stoppedAt(dir: string, point: CrashPoint, meanwhile: () => Promise<unknown>): Session {
  let others: Promise<unknown> | undefined;
  const files: Files = new Proxy(nodeFiles, {
    get: (target, name) => {
      const operation = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        await others;
        return operation(...args);
      };
    },
  });
  const reached = (at: CrashPoint): void => void (at === point && (others ??= meanwhile()));
  return new Session(new JsonStore(dir, { files, reached }));
}

const POINTS: readonly CrashPoint[] = ['before log', 'after log', 'after draft'];

describe.each(POINTS)('a session that is deleted and made anew while a save is stopped %s', (point) => {
  /** @param saves how often the new one is saved */
  const anew = async (dir: string, saves: number): Promise<void> => {
    const other = new JsonSession(dir);
    await other.delete('s');
    const memory = await remember(new InMemoryMemory(), 'anew');
    for (let i = 0; i < saves; i++) await other.save('s', { memory });
  };

  test.each([1, 2, 3])('gives the one that comes late a conflict, and stays (%i saves)', async (saves) => {
    const dir = await newDir();
    await twoSaves(dir);
    const late = stoppedAt(dir, point, () => anew(dir, saves));
    const memory = new InMemoryMemory();
    await late.load('s', { memory });
    const error = await thrown(late.save('s', { memory: await remember(memory, 'late') }));
    expect(error).toBeInstanceOf(SessionConflictError);
    expect(await loadTexts(dir)).toStrictEqual(['anew']);
  });

  test('also when the late one writes its log anew, or overwrites', async () => {
    for (const overwrite of [false, true]) {
      const dir = await newDir();
      const session = new JsonSession(dir);
      await session.save('s', { memory: await remember(new InMemoryMemory(), 'x'.repeat(200_000)) });
      const late = stoppedAt(dir, point, () => anew(dir, 1));
      const memory = new InMemoryMemory();
      await late.load('s', { memory });
      await memory.clear();
      const work = late.save('s', { memory: await remember(memory, 'late') }, { overwrite });
      expect(await thrown(work)).toBeInstanceOf(SessionConflictError);
      expect(await loadTexts(dir)).toStrictEqual(['anew']);
      expect(JSON.stringify(await filesIn(join(dir, 'sessions', 's')))).not.toContain('late');
    }
  });

  test('also when the late one makes a new session', async () => {
    const dir = await newDir();
    const late = stoppedAt(dir, point, async () => {
      await twoSaves(dir);
      await anew(dir, 1);
    });
    const error = await thrown(late.save('s', { memory: await remember(new InMemoryMemory(), 'late') }));
    expect(error).toBeInstanceOf(SessionConflictError);
    expect(await loadTexts(dir)).toStrictEqual(['anew']);
  });

  test('also when the late one restores the save before', async () => {
    if (point === 'after draft' || point === 'after log') {
      const dir = await newDir();
      await twoSaves(dir);
      const late = stoppedAt(dir, point, () => anew(dir, 1));
      expect(await thrown(late.restorePrevious('s'))).toBeInstanceOf(SessionConflictError);
      expect(await loadTexts(dir)).toStrictEqual(['anew']);
    }
  });

  test('also when the folder was removed in between', async () => {
    const dir = await newDir();
    const { folder } = await twoSaves(dir);
    const late = stoppedAt(dir, point, async () => {
      await nodeFiles.rm(folder, { recursive: true });
      const other = new JsonSession(dir);
      const memory = await remember(new InMemoryMemory(), 'anew');
      for (let i = 0; i < 2; i++) await other.save('s', { memory });
    });
    const memory = new InMemoryMemory();
    await late.load('s', { memory });
    const error = await thrown(late.save('s', { memory: await remember(memory, 'late') }));
    expect(error).toBeInstanceOf(SessionConflictError);
    expect(await loadTexts(dir)).toStrictEqual(['anew']);
  });
});

test('another session of the same name and revision is not taken for the one that was loaded', async () => {
  const dir = await newDir();
  const session = new JsonSession(dir);
  const memory = await remember(new InMemoryMemory(), 'x'.repeat(200_000));
  await session.save('s', { memory });
  await nodeFiles.rm(join(dir, 'sessions', 's'), { recursive: true }); // as a day after it was deleted
  await new JsonSession(dir).save('s', { memory: await remember(new InMemoryMemory(), 'anew') });
  await memory.clear();
  expect(await thrown(session.save('s', { memory }))).toBeInstanceOf(SessionConflictError);
  expect(await loadTexts(dir)).toStrictEqual(['anew']);
});

test('a first save beside one that counts on from a deletion, just when that is forgotten, is a conflict', async () => {
  const [dir, elsewhere] = [await newDir(), await newDir()];
  const { session, folder } = await twoSaves(elsewhere);
  await session.delete('s');
  await session.save('s', { memory: await remember(new InMemoryMemory(), 'anew') });
  for (const name of await readdir(folder))
    if (/^[123]\.json$/.test(name)) await nodeFiles.rm(join(folder, name));
  const late = stoppedAt(dir, 'after draft', () =>
    nodeFiles.cp(folder, join(dir, 'sessions', 's'), { recursive: true }),
  );
  const error = await thrown(late.save('s', { memory: await remember(new InMemoryMemory(), 'late') }));
  expect(error).toBeInstanceOf(SessionConflictError);
  expect(await loadTexts(dir)).toStrictEqual(['anew']);
});

describe('a deletion', () => {
  test('of one revision keeps later saves', async () => {
    const dir = await newDir();
    const { session, memory } = await twoSaves(dir);
    const pruning = stoppedAt(dir, 'after draft', async () =>
      session.save('s', { memory: await remember(memory, 'three') }),
    );
    expect(await pruning.prune({})).toBe(0);
    expect(await loadTexts(dir)).toStrictEqual(['one', 'two', 'three']);
  });

  test('of the whole session removes later saves too', async () => {
    const dir = await newDir();
    const { session, memory } = await twoSaves(dir);
    const deleting = stoppedAt(dir, 'after draft', async () =>
      session.save('s', { memory: await remember(memory, 'three') }),
    );
    expect(await deleting.delete('s')).toBe(true);
    expect(await loadTexts(dir)).toStrictEqual(['nothing']);
  });
});

const WORK = [
  'load',
  'save',
  'delete',
  'save',
  'load',
  'overwrite',
  'save',
  'restore',
  'save',
  'load',
  'save',
];

test('many that save, load, delete and restore at once never find a damaged session', async () => {
  const dir = await newDir();
  const outcomes = new Map<string, number>();
  const act = async (name: string): Promise<void> => {
    const session = new JsonSession(dir);
    const memory = new InMemoryMemory();
    for (let i = 0; i < 60; i++) {
      const what = WORK[(i * (i + 3 + name.length)) % WORK.length] ?? '';
      if (i % 3 === 0) await memory.clear();
      await remember(memory, `${name} ${i} ${'x'.repeat(40_000)}`);
      const work =
        what === 'load'
          ? session.load('s', { memory })
          : what === 'delete'
            ? session.delete('s')
            : what === 'restore'
              ? session.restorePrevious('s')
              : session.save('s', { memory }, { overwrite: what === 'overwrite' });
      const error = await thrown(work);
      const outcome = `${what}: ${error instanceof Error ? error.name : 'done'}`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(['a', 'bb', 'cccc'].map(act));
  const expected =
    /^(?:\w+: done|(?:save|overwrite|restore): SessionConflictError|restore: SessionNotFoundError)$/;
  expect([...outcomes.keys()].filter((outcome) => !expected.test(outcome))).toStrictEqual([]);
  expect(outcomes.get('delete: done')).toBeGreaterThan(5);
  expect(outcomes.get('save: done')).toBeGreaterThan(5);
});

describe('the folders of a session', () => {
  test('are synced, each one that was made', async () => {
    const dir = await newDir();
    const synced: string[] = [];
    const open = async (path: string, ...rest: [number, number?]): Promise<nodeFiles.FileHandle> => {
      const file = await nodeFiles.open(path, ...rest);
      const sync = file.sync.bind(file);
      file.sync = () => {
        synced.push(path.slice(dir.length));
        return sync();
      };
      return file;
    };
    const store = new JsonStore(join(dir, 'a', 'b'), { files: { ...nodeFiles, open } as never });
    await new Session(store).save({ user: 'anna', session: 's' }, { memory: new InMemoryMemory() });
    const folders = ['', '/a', '/a/b', '/a/b/users', '/a/b/users/anna', '/a/b/users/anna/s'];
    expect(synced.filter((path) => !path.endsWith('.draft')).sort()).toStrictEqual(folders);
  });

  test('are not tried again and again below a link that leads nowhere', async () => {
    const dir = await newDir();
    await symlink(join(dir, 'nowhere'), join(dir, 'broken'));
    let tries = 0;
    const countedMkdir = async (path: string, options: { mode: number }): Promise<void> => {
      if (++tries > 10) throw new Error('It tries again and again.');
      await mkdir(path, options);
    };
    const store = new JsonStore(join(dir, 'broken', 'a'), {
      files: { ...nodeFiles, mkdir: countedMkdir } as never,
    });
    const error = await thrown(new Session(store).save('s', { memory: new InMemoryMemory() }));
    expect(error).toBeInstanceOf(SessionError);
    expect(String(error)).toContain('ENOENT');
    expect(tries).toBe(3); // the folder, its parent, the folder again
  });

  test('are not made behind a link', async () => {
    const [dir, outside] = [await newDir(), await newDir()];
    await symlink(outside, join(dir, 'sessions'));
    await mkdir(join(dir, 'users'));
    await symlink(outside, join(dir, 'users', 'anna'));
    for (const key of ['s', { user: 'anna', session: 's' }]) {
      const error = await thrown(new JsonSession(dir).save(key, { memory: new InMemoryMemory() }));
      expect(String(error)).toContain('is a link, or behind a link');
    }
    expect(await readdir(outside)).toStrictEqual([]);
  });
});

test('overwriting again and again leaves the logs of the last two saves', async () => {
  const dir = await newDir();
  const session = new JsonSession(dir);
  for (let i = 0; i < 10; i++) {
    const memory = await remember(new InMemoryMemory(), `${i}`);
    await session.save('s', { memory }, { overwrite: true });
  }
  const names = await readdir(join(dir, 'sessions', 's'));
  expect(
    names.filter((name) => name.endsWith('.jsonl')).map((name) => name.replace(/-.*/, '')),
  ).toStrictEqual(['10', '9']);
  await session.restorePrevious('s');
  expect(await loadTexts(dir)).toStrictEqual(['8']);
});
