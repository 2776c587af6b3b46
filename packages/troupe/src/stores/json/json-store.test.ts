import { mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FaultyFiles } from '../../../test/faulty-files.ts';
import { filesIn, loadTexts, logIn, newDir, remember, thrown, twoSaves } from '../../../test/json-folder.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { SessionConflictError } from '../../session/format/session-error.ts';
import { Session } from '../../session/session.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { appendLines } from './durable-file.ts';
import { JsonSession } from './json-session.ts';
import { JsonStore, type CrashPoint } from './json-store.ts';

describe('files on the disk', () => {
  test('a head for each of the last two revisions and one log, for the owner only', async () => {
    const dir = join(await newDir(), 'new');
    const { folder } = await twoSaves(dir);
    const names = await readdir(folder);
    expect(names.map((name) => name.replace(/-.*(?=\.)/, '-id')).sort()).toStrictEqual([
      '1-id.jsonl',
      '1.json',
      '2.json',
    ]);
    for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    for (const path of [dir, join(dir, 'sessions'), folder])
      expect((await stat(path)).mode & 0o777).toBe(0o700);
    const lines = (await readFile(await logIn(folder), 'utf8')).split('\n');
    expect(
      lines.map((line) =>
        line === '' ? '' : (JSON.parse(line) as [string, { content: string }])[1].content,
      ),
    ).toStrictEqual(['one', 'two', '']);
  });

  test('folders with names that no file system takes for one another, or for something else', async () => {
    const dir = await newDir();
    const session = new JsonSession(dir);
    const ids = [
      'a/b',
      '../../x',
      'CON',
      'con',
      'naïve',
      'nai\u0308ve',
      '\u212a',
      'k',
      'K',
      'X'.repeat(500),
      'x'.repeat(500),
    ];
    const texts = [...ids, 'old.Id_1@example-1'];
    for (const text of texts) {
      await session.save(text, { memory: await remember(new InMemoryMemory(), text) });
      await session.save(
        { user: text, session: 's' },
        { memory: await remember(new InMemoryMemory(), text) },
      );
    }
    expect((await readdir(dir)).sort()).toStrictEqual(['sessions', 'users']);
    for (const parent of ['sessions', 'users']) {
      const names = await readdir(join(dir, parent));
      expect(names).toContain('old.id_1@example-1~42000'); // as before
      expect(new Set(names.map((name) => name.normalize('NFKC').toLowerCase())).size).toBe(texts.length);
      for (const name of names) {
        expect(name).toMatch(/^[a-z0-9=][a-z0-9@._=~-]*$/);
        expect(name.length).toBeLessThanOrEqual(255);
      }
    }
    for (const text of texts) expect(await loadTexts(dir, text)).toStrictEqual([text]);
  });

  test('older revisions are emptied and in the end removed; the log is written anew when most of it is garbage', async () => {
    const dir = await newDir();
    const session = new JsonSession(dir);
    const memory = new InMemoryMemory();
    const logs = new Set<string>();
    for (let i = 0; i < 60; i++) {
      await memory.clear();
      await session.save('s', { memory: await remember(memory, `${i} ${'x'.repeat(4000)}`, 'y') });
      logs.add(await logIn(join(dir, 'sessions', 's')));
    }
    const sizes = await Promise.all(
      (await readdir(join(dir, 'sessions', 's'))).map(async (name) => ({
        name,
        size: (await stat(join(dir, 'sessions', 's', name))).size,
      })),
    );
    const heads = sizes.filter(({ name }) => name.endsWith('.json'));
    expect(heads.filter(({ size }) => size > 0).map(({ name }) => name)).toStrictEqual([
      '59.json',
      '60.json',
    ]);
    expect(heads).toHaveLength(32);
    expect(logs.size).toBeGreaterThan(2);
    const total = sizes.reduce((sum, { size }) => sum + size, 0);
    expect(total).toBeLessThan(64 * 1024 + 4 * 4200);
    expect((await loadTexts(dir)).map((text) => text.length)).toStrictEqual([4003, 1]);
    await session.restorePrevious('s');
    expect((await loadTexts(dir))[0]?.slice(0, 4)).toBe('58 x');
  });

  test('a second save writes only what is new', async () => {
    const bytesOfOneMore = async (count: number): Promise<number> => {
      const dir = await newDir();
      const session = new JsonSession(dir);
      const texts = Array.from({ length: count }, (_, i) => `message ${i} ${'x'.repeat(300)}`);
      const memory = await remember(new InMemoryMemory(), ...texts);
      await session.save('s', { memory });
      const log = await logIn(join(dir, 'sessions', 's'));
      const before = (await stat(log)).size;
      await session.save('s', { memory: await remember(memory, 'x'.repeat(300)) });
      return (await stat(log)).size - before + (await stat(join(dir, 'sessions', 's', '2.json'))).size;
    };
    expect((await bytesOfOneMore(5000)) / (await bytesOfOneMore(50))).toBeLessThan(1.05);
  });

  test('files left by killed processes are removed', async () => {
    const dir = await newDir();
    const { session, memory, folder } = await twoSaves(dir);
    for (let i = 0; i < 100; i++)
      await writeFile(join(folder, `${2 + (i % 3)}-left${i}.draft`), 'half a head');
    await writeFile(join(folder, '3-orphan.jsonl'), 'half a log');
    await writeFile(join(folder, '4-pending.jsonl'), 'of somebody who is writing revision 4');
    await writeFile(join(folder, 'notes.txt'), 'not ours');
    await session.save('s', { memory });
    const left = (await readdir(folder)).filter((name) => !/^(?:\d+\.json|1-.*)$/.test(name));
    expect(left.filter((name) => !name.endsWith('.draft')).sort()).toStrictEqual([
      '4-pending.jsonl',
      'notes.txt',
    ]);
    expect(left.filter((name) => name.endsWith('.draft')).every((name) => name.startsWith('4-'))).toBe(true);
    const old = new Date(Date.now() - 2 * 3_600_000);
    for (const name of left) await utimes(join(folder, name), old, old);
    await writeFile(join(folder, '4-young.draft'), 'being written');
    expect(await loadTexts(dir)).toStrictEqual(['one', 'two']);
    expect((await readdir(folder)).filter((name) => name.endsWith('.draft'))).toStrictEqual([
      '4-young.draft',
    ]);
  });

  test('a deletion leaves nothing of what was said, and its names for a day', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const dir = await newDir();
    const { session, folder } = await twoSaves(dir);
    await writeFile(join(folder, '2-left.draft'), 'half a head');
    expect(await session.delete('s')).toBe(true);
    expect(await filesIn(folder)).toStrictEqual({ '1.json': '', '2.json': '', '3.json': 'deleted\n' });
    await writeFile(join(folder, '3-left.jsonl'), 'of a deletion that was killed');
    expect([await session.delete('s'), await session.exists('s'), await session.list()]).toStrictEqual([
      false,
      false,
      { sessions: [] },
    ]);
    expect(Object.keys(await filesIn(folder))).toStrictEqual(['1.json', '2.json', '3.json']);
    await clock.advance(25 * 3_600_000);
    expect(await session.list()).toStrictEqual({ sessions: [] });
    expect(await readdir(join(dir, 'sessions'))).toStrictEqual([]);
  });

  test('a session that was made anew goes on counting, and can not be restored to what was deleted', async () => {
    const dir = await newDir();
    const { session } = await twoSaves(dir);
    await session.delete('s');
    const memory = await remember(new InMemoryMemory(), 'anew');
    expect((await session.save('s', { memory })).revision).toBe(4);
    expect(String(await thrown(session.restorePrevious('s')))).toContain('There is no earlier save');
    await session.save('s', { memory: await remember(memory, 'more') });
    expect(await loadTexts(dir)).toStrictEqual(['anew', 'more']);
    await session.restorePrevious('s');
    expect(await loadTexts(dir)).toStrictEqual(['anew']);
  });

  test('foreign folders are not sessions', async () => {
    const dir = await newDir();
    const { session } = await twoSaves(dir);
    for (const name of ['..x', 'Upper', 'a~', 'a~zz', 'a~1', 'con', '.git'])
      await mkdir(join(dir, 'sessions', name));
    await mkdir(join(dir, 'sessions', 'empty'));
    await writeFile(join(dir, 'sessions', 'notes.txt'), 'hi');
    expect((await session.list({ allUsers: true })).sessions.map((info) => info.session)).toStrictEqual([
      's',
    ]);
  });

  test('a link does not lead out of the directory', async () => {
    const dir = await newDir();
    const outside = await newDir();
    await twoSaves(outside);
    await mkdir(join(dir, 'sessions'), { recursive: true });
    await symlink(join(outside, 'sessions', 's'), join(dir, 'sessions', 's'));
    await symlink(outside, join(dir, 'users'));
    const before = await filesIn(join(outside, 'sessions', 's'));
    const session = new JsonSession(dir);
    for (const key of ['s', { user: 'sessions', session: 's' }]) {
      for (const work of [
        session.load(key, { memory: new InMemoryMemory() }),
        session.save(key, { memory: new InMemoryMemory() }),
        session.save(key, { memory: new InMemoryMemory() }, { overwrite: true }),
        session.delete(key),
        session.exists(key),
      ]) {
        expect(String(await thrown(work))).toMatch(/is a link, or behind a link/);
      }
    }
    expect(await filesIn(join(outside, 'sessions', 's'))).toStrictEqual(before);
    const linked = await newDir();
    const { folder } = await twoSaves(linked);
    await rm(join(folder, '2.json'));
    await symlink(join(outside, 'sessions', 's', '2.json'), join(folder, '2.json'));
    expect(String(await thrown(new JsonSession(linked).load('s', { memory: new InMemoryMemory() })))).toMatch(
      /ELOOP/,
    );
  });

  test('a directory that is itself behind a link is fine', async () => {
    const real = await newDir();
    const link = join(await newDir(), 'link');
    await symlink(real, link);
    await twoSaves(link);
    expect(await loadTexts(real)).toStrictEqual(['one', 'two']);
  });

  test('an id that is refused touches no file', async () => {
    const faulty = new FaultyFiles();
    const session = new Session(new JsonStore(await newDir(), { files: faulty.files }));
    for (const id of ['', '\ud800', 'x'.repeat(1025)]) {
      await thrown(session.save(id, { memory: new InMemoryMemory() }));
      await thrown(session.load({ user: id, session: 'x' }, { memory: new InMemoryMemory() }));
    }
    expect(faulty.operations).toStrictEqual([]);
  });
});

describe('two writers', () => {
  test.each([1, 5, 40])(
    'a process that is stopped while another saves %i times gets a conflict',
    async (saves) => {
      const points: CrashPoint[] = ['before log', 'after log', 'after draft'];
      for (const point of points) {
        const dir = await newDir();
        const { session, memory } = await twoSaves(dir);
        let others: Promise<void> | undefined;
        const meanwhile = async (): Promise<void> => {
          for (let i = 0; i < saves; i++)
            await session.save('s', { memory: await remember(memory, `other ${i}`) });
        };
        // The store stops where its next file operation waits for the others.
        const stopped = new FaultyFiles();
        const files = new Proxy(stopped.files, {
          get: (target, name) => {
            const operation = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
            return async (...args: unknown[]) => {
              await others;
              return operation(...args);
            };
          },
        });
        const slow = new Session(
          new JsonStore(dir, { files, reached: (at) => void (at === point && (others ??= meanwhile())) }),
        );
        const mine = new InMemoryMemory();
        await slow.load('s', { memory: mine });
        await expect(slow.save('s', { memory: await remember(mine, 'mine') })).rejects.toBeInstanceOf(
          SessionConflictError,
        );
        const expected = ['one', 'two', ...Array.from({ length: saves }, (_, i) => `other ${i}`)];
        expect(await loadTexts(dir)).toStrictEqual(expected);
        await slow.load('s', { memory: mine });
        await slow.save('s', { memory: await remember(mine, 'mine') });
        expect(await loadTexts(dir)).toStrictEqual([...expected, 'mine']);
      }
    },
  );

  test.each([1, 2, 20])(
    'a process that is stopped after its save has saved, although others save %i times',
    async (saves) => {
      const dir = await newDir();
      await twoSaves(dir);
      const session = new JsonSession(dir);
      let others: Promise<void> | undefined;
      const meanwhile = async (): Promise<void> => {
        for (let i = 0; i < saves; i++) {
          const memory = new InMemoryMemory();
          await session.load('s', { memory });
          await session.save('s', { memory: await remember(memory, `other ${i}`) });
        }
      };
      const files = new Proxy(new FaultyFiles().files, {
        get: (target, name) => {
          const operation = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
          return async (...args: unknown[]) => {
            await others;
            return operation(...args);
          };
        },
      });
      const slow = new Session(
        new JsonStore(dir, {
          files,
          reached: (at) => void (at === 'after link' && (others ??= meanwhile())),
        }),
      );
      const mine = new InMemoryMemory();
      await slow.load('s', { memory: mine });
      await slow.save('s', { memory: await remember(mine, 'mine') });
      const expected = ['one', 'two', 'mine', ...Array.from({ length: saves }, (_, i) => `other ${i}`)];
      expect(await loadTexts(dir)).toStrictEqual(expected);
      await expect(slow.save('s', { memory: mine })).rejects.toBeInstanceOf(SessionConflictError);
    },
  );

  test('a process that writes a new log does not mistake another session of the same name and revision for its own', async () => {
    const dir = await newDir();
    const session = new JsonSession(dir);
    const memory = await remember(new InMemoryMemory(), 'x'.repeat(100_000));
    await session.save('s', { memory });
    await session.delete('s');
    await session.save('s', { memory: await remember(new InMemoryMemory(), 'another') });
    await memory.clear();
    const error = await thrown(session.save('s', { memory: await remember(memory, 'mine') }));
    expect(error).toBeInstanceOf(SessionConflictError);
    expect(await loadTexts(dir)).toStrictEqual(['another']);
  });

  test('lines appended concurrently are found at their positions', async () => {
    const path = join(await newDir(), 'log');
    await writeFile(path, 'start\n');
    const files = new FaultyFiles().files;
    const writers = Array.from({ length: 20 }, (_, i) => [`a ${i} ☕`, `b ${i}`]);
    const places = await Promise.all(writers.map((lines) => appendLines(files, path, lines, 'must exist')));
    const bytes = await readFile(path);
    writers.forEach((lines, i) => {
      const [a = 0, b = 0, end = 0] = places[i] ?? [];
      expect([bytes.toString('utf8', a, b), bytes.toString('utf8', b, end)]).toStrictEqual(
        lines.map((line) => `${line}\n`),
      );
    });
  });
});
