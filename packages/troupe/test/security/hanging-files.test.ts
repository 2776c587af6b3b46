// Files that are no files, and heads that ask for endless work, in the place of saved sessions.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test, vi } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import { InMemoryMemory } from '../../src/memory/in-memory-memory.ts';
import { readHead, writeHead, type Head } from '../../src/session/format/session-format.ts';
import { toSessionKey } from '../../src/session/format/session-key.ts';
import { InMemoryStore } from '../../src/session/in-memory-session.ts';
import { Session } from '../../src/session/session.ts';
import { PermissionRules } from '../../src/permission/permission-rules.ts';
import { JsonSession } from '../../src/stores/json/json-session.ts';
import { SqliteSession } from '../../src/stores/sqlite/sqlite-session.ts';
import { newDir } from '../json-folder.ts';

async function replaceByPipe(path: string): Promise<void> {
  await rm(path, { force: true });
  execFileSync('mkfifo', [path]);
}

test.each([/^\d+-.*\.jsonl$/, /^1\.json$/])(
  'a pipe in place of %s is refused, and nobody waits',
  async (name) => {
    const dir = await newDir();
    const session = new JsonSession(dir);
    const memory = new InMemoryMemory();
    await memory.add('Hello!');
    await session.save('s', { memory });
    const folder = join(dir, 'sessions', 's');
    const file = (await readdir(folder)).find((one) => name.test(one)) ?? '';
    await replaceByPipe(join(folder, file));
    await expect(session.load('s', { memory: new InMemoryMemory() })).rejects.toThrow(
      'is not a regular file',
    );
  },
);

test('a pipe in place of the key is no key', async () => {
  const dir = await newDir();
  const session = new JsonSession(dir);
  await session.save('s', { rules: new PermissionRules({ mode: 'bypass' }) });
  await replaceByPipe(join(dir, 'approval-key'));
  const rules = new PermissionRules();
  await new JsonSession(dir).load('s', { rules });
  expect(rules.mode).toBe('default');
});

test.each(['without', 'with'])('a pipe %s a reader in place of a SQLite file is refused', async (reader) => {
  const path = join(await newDir(), 'db');
  await replaceByPipe(path);
  const pipe = reader === 'with' ? openSync(path, constants.O_RDWR | constants.O_NONBLOCK) : undefined;
  try {
    if (pipe !== undefined) writeSync(pipe, 'x'.repeat(4096)); // so that reading it does not wait
    const session = new SqliteSession(path);
    const load = session.load('s', { memory: new InMemoryMemory() });
    await expect(load).rejects.toThrow(pipe === undefined ? "can't be opened" : 'it is not a regular file');
    await session.close();
  } finally {
    if (pipe !== undefined) closeSync(pipe);
  }
});

test('a head with 200 000 ranges, or with the same range again and again, is refused before anything is read', async () => {
  const store = new InMemoryStore();
  const session = new Session(store);
  const memory = new InMemoryMemory();
  for (let i = 0; i < 100; i++) await memory.add(`message ${i}`);
  await session.save('s', { memory });
  const key = await toSessionKey('s');
  const readItems = vi.spyOn(store, 'readItems');
  const forge = async (
    edit: (ranges: Head['lists'][number]['ranges']) => Head['lists'][number]['ranges'],
  ) => {
    const stored = await store.readHead(key, 'current');
    const head = readHead(stored?.text ?? '', '');
    const revision = head.revision + 1;
    const lists = head.lists.map((list) => ({ ...list, ranges: edit(list.ranges) }));
    const text = writeHead({ ...head, revision, lists });
    const base = { revision: head.revision, log: head.log };
    await store.commit(key, { ...head, base, revision, parts: [], head: () => text });
    return session.load('s', { memory: new InMemoryMemory() });
  };
  const many = Array.from({ length: 200_000 }, (_, i) => ({ from: i, to: i + 1, count: 1 }));
  await expect(forge(() => many)).rejects.toThrow('not a valid head');
  expect(readItems).not.toHaveBeenCalled();
  await session.restorePrevious('s');
  readItems.mockClear();
  await expect(forge((ranges) => Array.from({ length: 5 }, () => ranges).flat())).rejects.toThrow(
    'not a valid head',
  );
  expect(readItems).not.toHaveBeenCalled();
});

test('a list in many pieces is written as one again, long before there are too many', async () => {
  const store = new InMemoryStore();
  const session = new Session(store);
  const memory = new InMemoryMemory();
  await memory.add(Array.from({ length: 15_100 }, (_, i) => Msg.user(`m${i}`)));
  await session.save('s', { memory });
  const all = await memory.getMemory();
  await memory.delete(all.filter((_, i) => i % 3 === 1).map(({ id }) => id));
  await session.save('s', { memory });
  const stored = await store.readHead(await toSessionKey('s'), 'current');
  expect(readHead(stored?.text ?? '', '').lists.map(({ ranges }) => ranges.length)).toEqual([1]);
  const again = new InMemoryMemory();
  await session.load('s', { memory: again });
  expect(await again.getMemory()).toEqual(await memory.getMemory());
});
