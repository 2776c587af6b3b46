import { appendFile, cp, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import * as nodeFiles from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  filesIn,
  loadTexts,
  logIn,
  newDir,
  remember,
  textsOf,
  thrown,
  twoSaves,
} from '../../../test/json-folder.ts';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { SessionCorruptError, SessionVersionError } from '../../session/format/session-error.ts';
import { Session } from '../../session/session.ts';
import { fingerprint } from '../../util/hash.ts';
import { JsonSession } from './json-session.ts';
import { JsonStore } from './json-store.ts';
import { strideOf } from '../../../test/fair-sample.ts';

describe('damaged files', () => {
  /** A session whose head and log are both some kB long. */
  async function bigSession(): Promise<{ dir: string; folder: string; texts: readonly string[] }> {
    const dir = await newDir();
    const texts = Array.from({ length: 8 }, (_, i) => `☕ message ${i} ${'x'.repeat(400)}`);
    const session = new JsonSession(dir);
    const memory = await remember(new InMemoryMemory(), ...texts.slice(0, 4));
    await memory.updateCompressedSummary('s'.repeat(3000));
    await session.save('s', { memory });
    await session.save('s', { memory: await remember(memory, ...texts.slice(4)) });
    return { dir, folder: join(dir, 'sessions', 's'), texts };
  }

  /** Loads a damaged session: it must be refused by name, and stay as it is. */
  async function expectRefused(dir: string, file: string, what: string): Promise<void> {
    const folder = join(dir, 'sessions', 's');
    const before = await filesIn(folder);
    const memory = await remember(new InMemoryMemory(), 'mine');
    const error = await thrown(new JsonSession(dir).load('s', { memory }));
    expect(error, what).toBeInstanceOf(SessionCorruptError);
    expect(String(error), what).toContain(file);
    if (file.endsWith('.jsonl')) expect(String(error), what).toMatch(/byte \d+/);
    expect(await textsOf(memory), what).toStrictEqual(['mine']);
    expect(await filesIn(folder), what).toStrictEqual(before);
  }

  test.each(['head', 'log'])('a %s that ends at any percent is refused', async (which) => {
    const { dir, folder } = await bigSession();
    const file = which === 'head' ? join(folder, '2.json') : await logIn(folder);
    const whole = await readFile(file);
    for (let percent = 0; percent < 100; percent++) {
      await writeFile(file, whole.subarray(0, Math.floor((whole.length * percent) / 100)));
      await expectRefused(dir, file, `${percent} %`);
    }
    await writeFile(file, whole.subarray(0, whole.length - 1));
    await expectRefused(dir, file, 'one byte less');
  });

  test.each(['head', 'log'])('a %s with a byte of its first 4 kB flipped is refused', async (which) => {
    const { dir, folder } = await bigSession();
    const file = which === 'head' ? join(folder, '2.json') : await logIn(folder);
    const whole = await readFile(file);
    let bytes = whole;
    // Reads of the file are answered from here: four thousand loads need not wait for the disk.
    const open = async (path: string, flags: number): Promise<unknown> => {
      if (path !== file) return nodeFiles.open(path, flags);
      const read = async (into: Buffer, at: number, length: number, from: number): Promise<object> => {
        return { bytesRead: bytes.copy(into, at, from, from + length) };
      };
      const stat = async (): Promise<object> => ({ size: bytes.length, isFile: () => true });
      return { read, stat, readFile: async () => bytes.toString('utf8'), close: async () => {} };
    };
    const names = await readdir(folder);
    const files = {
      ...nodeFiles,
      open,
      readdir: async () => names,
      realpath: async (path: string) => path,
    } as never;
    const session = new Session(new JsonStore(dir, { files }));
    expect(await session.load('s', { memory: new InMemoryMemory() })).toBe(true);
    const flips = Math.min(4096, whole.length);
    expect(flips).toBeGreaterThan(3000);
    const stride = strideOf(`flipped bytes of a saved ${which}`, 9); // no multiple of 8, so that every bit has its turn
    for (let at = 0; at < flips; at += stride) {
      bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      const memory = new InMemoryMemory();
      const error = await thrown(session.load('s', { memory }));
      expect(error, `byte ${at}`).toBeInstanceOf(SessionCorruptError);
      expect(await memory.size()).toBe(0);
    }
  });

  test('the save before can be restored when the newest head is damaged', async () => {
    const { dir, folder, texts } = await bigSession();
    await truncate(join(folder, '2.json'), 100);
    const session = new JsonSession(dir);
    await session.restorePrevious('s');
    expect(await loadTexts(dir)).toStrictEqual(texts.slice(0, 4));
    const memory = new InMemoryMemory();
    await session.load('s', { memory });
    await session.save('s', { memory: await remember(memory, 'on') });
    expect(await loadTexts(dir)).toStrictEqual([...texts.slice(0, 4), 'on']);
  });

  test('a save that is damaged itself is not restored', async () => {
    const { dir, folder } = await bigSession();
    await truncate(await logIn(folder), 10);
    expect(await thrown(new JsonSession(dir).restorePrevious('s'))).toBeInstanceOf(SessionCorruptError);
    expect((await readdir(folder)).filter((name) => name.endsWith('.json'))).toStrictEqual([
      '1.json',
      '2.json',
    ]);
  });

  test('damaged data is not copied, restored or rewritten as valid', async () => {
    const { dir, folder } = await bigSession();
    const session = new JsonSession(dir);
    const [memory, other] = [new InMemoryMemory(), await remember(new InMemoryMemory(), 'x'.repeat(100_000))];
    await session.load('s', { memory, other });
    await session.save('s', { other });
    const log = await logIn(folder);
    const bytes = await readFile(log);
    bytes[50] = (bytes[50] ?? 0) ^ 1;
    await writeFile(log, bytes);
    expect(await thrown(session.copy('s', 'copy'))).toBeInstanceOf(SessionCorruptError);
    expect(await thrown(session.restorePrevious('s'))).toBeInstanceOf(SessionCorruptError);
    await other.clear(); // most of the log is garbage now
    expect(await thrown(session.save('s', { other }))).toBeInstanceOf(SessionCorruptError);
    expect((await session.list()).sessions.map((info) => [info.session, info.revision])).toStrictEqual([
      ['s', 3],
    ]);
  });

  test('a damaged session can be overwritten or deleted on purpose', async () => {
    const { dir, folder } = await bigSession();
    await writeFile(join(folder, '2.json'), 'not a head');
    const session = new JsonSession(dir);
    await session.save('s', { memory: await remember(new InMemoryMemory(), 'new') }, { overwrite: true });
    expect(await loadTexts(dir)).toStrictEqual(['new']);
    expect(await session.delete('s')).toBe(true);
  });

  test('a newer format is refused with both versions, and left as it is', async () => {
    const { dir, folder } = await twoSaves(await newDir()).then(async (made) => ({
      ...made,
      dir: join(made.folder, '..', '..'),
    }));
    const body = '{"new":"things"}';
    const text = `{"format":"troupe-session","version":7,"checksum":"${fingerprint(`7 ${body}`)}","head":${body}}\n`;
    await writeFile(join(folder, '2.json'), text);
    const error = await thrown(new JsonSession(dir).load('s', { memory: new InMemoryMemory() }));
    expect(error).toBeInstanceOf(SessionVersionError);
    expect(String(error)).toContain('has format 7; this program knows formats up to 1. Update it.');
    expect(await readFile(join(folder, '2.json'), 'utf8')).toBe(text);
  });

  test.each([
    ['no object', '[]'],
    ['an empty object', '{}'],
    ['a log outside', '{"revision":2,"savedAt":1,"log":"../../x","logEnd":0,"components":{},"lists":[]}'],
    ['a revision of 0', '{"revision":0,"savedAt":1,"log":"1-a","logEnd":0,"components":{},"lists":[]}'],
    ['a time of text', '{"revision":2,"savedAt":"x","log":"1-a","logEnd":0,"components":{},"lists":[]}'],
    ['components of text', '{"revision":2,"savedAt":1,"log":"1-a","logEnd":0,"components":"x","lists":[]}'],
    [
      'a list without a path',
      '{"revision":2,"savedAt":1,"log":"1-a","logEnd":0,"components":{},"lists":[[[],[]]]}',
    ],
    [
      'a path of numbers',
      '{"revision":2,"savedAt":1,"log":"1-a","logEnd":0,"components":{},"lists":[[[1],[]]]}',
    ],
    [
      'a range backwards',
      '{"revision":2,"savedAt":1,"log":"1-a","logEnd":0,"components":{},"lists":[[["a"],[[5,1,1]]]]}',
    ],
    [
      'a range of nothing',
      '{"revision":2,"savedAt":1,"log":"1-a","logEnd":0,"components":{},"lists":[[["a"],[[1,5,0]]]]}',
    ],
    [
      'a range too full',
      '{"revision":2,"savedAt":1,"log":"1-a","logEnd":0,"components":{},"lists":[[["a"],[[1,5,9]]]]}',
    ],
    [
      'a range below 0',
      '{"revision":2,"savedAt":1,"log":"1-a","logEnd":0,"components":{},"lists":[[["a"],[[-1,5,1]]]]}',
    ],
    ['too much depth', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
  ])('a head with %s is refused, though its checksum is right', async (_what, body) => {
    const { folder, session } = await twoSaves(await newDir());
    const text = `{"format":"troupe-session","version":1,"checksum":"${fingerprint(`1 ${body}`)}","head":${body}}\n`;
    await writeFile(join(folder, '2.json'), text);
    expect(await thrown(session.load('s', { memory: new InMemoryMemory() }))).toBeInstanceOf(
      SessionCorruptError,
    );
  });

  test('a head that counts other items than there are is refused, though its checksum is right', async () => {
    const { folder, session } = await twoSaves(await newDir());
    const { head } = JSON.parse(await readFile(join(folder, '2.json'), 'utf8')) as {
      head: Record<string, unknown>;
    };
    const [[path, [range = []]] = [[], []]] = head['lists'] as [string[], number[][]][];
    const body = JSON.stringify({ ...head, lists: [[path, [[range[0], range[1], 1]]]] });
    const text = `{"format":"troupe-session","version":1,"checksum":"${fingerprint(`1 ${body}`)}","head":${body}}\n`;
    await writeFile(join(folder, '2.json'), text);
    const error = await thrown(session.load('s', { memory: new InMemoryMemory() }));
    expect(String(error)).toContain('byte 0, has 2 items instead of 1');
  });

  test('a log that lost a line, or got one more in between, is refused', async () => {
    const { dir, folder } = await bigSession();
    const log = await logIn(folder);
    const lines = (await readFile(log, 'utf8')).split('\n');
    await writeFile(log, [...lines.slice(0, 3), ...lines.slice(4)].join('\n'));
    await expectRefused(dir, log, 'a line less');
    await writeFile(log, [...lines.slice(0, 3), '["0"]', ...lines.slice(3)].join('\n'));
    await expectRefused(dir, log, 'a line more');
  });

  test('a log that got something at its end is fine: no head names it', async () => {
    const { dir, folder, texts } = await bigSession();
    await appendFile(await logIn(folder), '["torn');
    expect(await loadTexts(dir)).toStrictEqual(texts);
    const session = new JsonSession(dir);
    const memory = new InMemoryMemory();
    await session.load('s', { memory });
    await session.save('s', { memory: await remember(memory, 'on') });
    expect(await loadTexts(dir)).toStrictEqual([...texts, 'on']);
  });

  test('a copy of the directory is as good', async () => {
    const { dir, texts } = await bigSession();
    const copy = await newDir();
    await cp(dir, copy, { recursive: true });
    expect(await loadTexts(copy)).toStrictEqual(texts);
  });
});
