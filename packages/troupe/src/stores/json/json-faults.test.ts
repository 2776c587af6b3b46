import * as nodeFiles from 'node:fs/promises';
import { readdir, type FileHandle } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { FaultyFiles, type Fault } from '../../../test/faulty-files.ts';
import {
  filesIn,
  loadTexts,
  newDir,
  remember,
  textsOf,
  thrown,
  twoSaves,
} from '../../../test/json-folder.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { SessionConflictError, SessionError } from '../../session/format/session-error.ts';
import { Session } from '../../session/session.ts';
import { JsonStore } from './json-store.ts';

describe('a disk that fails', () => {
  const CODES: readonly [Fault, string][] = [
    ['before', 'EIO'],
    ['before', 'ENOSPC'],
    ['after', 'EIO'],
    ['half', 'ENOSPC'],
  ];

  test.each(CODES)(
    'at every operation of a save (%s, %s): nothing is lost or torn, and the next save works',
    async (fault, code) => {
      let isDone = false;
      let faults = 0;
      for (let n = 1; !isDone; n++) {
        const dir = await newDir();
        await twoSaves(dir);
        const loader = new FaultyFiles();
        // Counts the operations of loading, so that the fault hits the save.
        const probe = new Session(new JsonStore(dir, { files: loader.files }));
        await probe.load('s', { memory: new InMemoryMemory() });
        const faulty = new FaultyFiles(loader.operations.length + n, fault, code);
        const session = new Session(new JsonStore(dir, { files: faulty.files }));
        const memory = new InMemoryMemory();
        await session.load('s', { memory });
        const error = await thrown(session.save('s', { memory: await remember(memory, 'three') }));
        isDone = faulty.operations.length < loader.operations.length + n;
        const texts = await loadTexts(dir);
        if (error === undefined) expect(texts, `operation ${n}`).toStrictEqual(['one', 'two', 'three']);
        else {
          faults++;
          expect(error, `operation ${n}`).toBeInstanceOf(SessionError);
          expect(error).not.toBeInstanceOf(SessionConflictError);
          expect([2, 3], `operation ${n}`).toContain(texts.length);
          expect(texts).toStrictEqual(['one', 'two', 'three'].slice(0, texts.length));
        }
        faulty.heal();
        await session.save('s', { memory: await remember(memory, 'four') });
        expect(await loadTexts(dir), `after operation ${n}`).toStrictEqual(['one', 'two', 'three', 'four']);
      }
      expect(faults).toBeGreaterThan(10);
    },
  );

  test('a write that the disk took only half of, without a word, is found out', async () => {
    const dir = await newDir();
    const { folder } = await twoSaves(dir);
    const open = async (path: string, flags: number, mode: number): Promise<FileHandle> => {
      const file = await nodeFiles.open(path, flags, mode);
      const write = file.write.bind(file) as (data: Uint8Array) => Promise<object>;
      file.write = ((data: Uint8Array) => write(data.subarray(0, data.length / 2))) as never;
      return file;
    };
    const session = new Session(new JsonStore(dir, { files: { ...nodeFiles, open } as never }));
    const memory = new InMemoryMemory();
    await session.load('s', { memory });
    const error = await thrown(session.save('s', { memory: await remember(memory, 'three') }));
    expect(String(error)).toContain('Is the disk full?');
    expect(await loadTexts(dir)).toStrictEqual(['one', 'two']);
    expect((await readdir(folder)).filter((name) => name.endsWith('.json'))).toStrictEqual([
      '1.json',
      '2.json',
    ]);
  });

  test('at every operation of a first save: the next one works', async () => {
    let isDone = false;
    for (let n = 1; !isDone; n++) {
      const dir = await newDir();
      const faulty = new FaultyFiles(n, 'after');
      const session = new Session(new JsonStore(dir, { files: faulty.files }));
      const memory = await remember(new InMemoryMemory(), 'one');
      await thrown(session.save('s', { memory }));
      isDone = faulty.operations.length < n;
      faulty.heal();
      await session.save('s', { memory: await remember(memory, 'two') });
      expect(await loadTexts(dir), `after operation ${n}`).toStrictEqual(['one', 'two']);
    }
  });

  test('at every operation of a load or a list: a typed error, and nothing has changed', async () => {
    const dir = await newDir();
    const { folder } = await twoSaves(dir);
    const before = await filesIn(folder);
    for (const what of ['load', 'list'] as const) {
      let isDone = false;
      for (let n = 1; !isDone; n++) {
        const faulty = new FaultyFiles(n);
        const session = new Session(new JsonStore(dir, { files: faulty.files }));
        const memory = await remember(new InMemoryMemory(), 'mine');
        const work = what === 'load' ? session.load('s', { memory }) : session.list({ allUsers: true });
        const error = await thrown(work);
        isDone = faulty.operations.length < n;
        if (error === undefined) continue;
        expect(error).toBeInstanceOf(SessionError);
        expect(await textsOf(memory)).toStrictEqual(['mine']);
      }
    }
    expect(await filesIn(folder)).toStrictEqual(before);
  });
});
