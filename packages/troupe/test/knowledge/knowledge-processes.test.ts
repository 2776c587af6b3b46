import { spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, afterEach, expect, test } from 'vitest';

import { textOfChunk } from '../../src/document/chunk.ts';
import { SqliteDatabase } from '../../src/stores/sqlite/sqlite-database.ts';
import { SqliteVectorStore } from '../../src/stores/sqlite/sqlite-vector-store.ts';
import { pointsOf } from '../fair-sample.ts';
import { countingKnowledge, versionOf } from './synced-documents.ts';

const WRITER = fileURLToPath(new URL('knowledge-writer.ts', import.meta.url));
const FLAGS = [
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
  '--conditions=troupe:source',
];
const folder = await mkdtemp(join(tmpdir(), 'troupe-knowledge-'));
const running = new Set<ChildProcess>();
afterEach(() => running.forEach((child) => child.kill('SIGKILL')));
afterAll(() => rm(folder, { recursive: true }));

/** Synchronises in a new process. @returns the end of the process, and the numbers of embedded chunks and statements */
function sync(file: string, version: 'old' | 'new', killAt = 0): Promise<readonly [number | string, string]> {
  const args = [...FLAGS, WRITER, file, version, String(killAt)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  let text = '';
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve([signal ?? code ?? -1, text]);
    });
  });
}

/** Texts of all chunks, by document, and the numbers of rows of the three tables. */
async function contentOf(
  file: string,
): Promise<{ texts: Record<string, readonly string[]>; rows: readonly unknown[] }> {
  await using store = new SqliteVectorStore(file);
  const texts: Record<string, readonly string[]> = {};
  for (const { documentId } of await store.listDocuments())
    texts[documentId] = (await store.get({ documentIds: [documentId] })).map(textOfChunk);
  await store.search({ embedding: Float32Array.from([1, 1]) }); // a broken vector table fails here
  const database = new SqliteDatabase(file);
  const rows: unknown[] = [];
  for (const table of ['troupe_chunks', 'troupe_terms_docsize', 'troupe_vectors_1_rowids'])
    rows.push((await database.query(`SELECT count(*) AS n FROM ${table}`))[0]?.['n']);
  await database.close();
  return { texts, rows };
}

const NEW_TEXTS = Object.fromEntries(
  versionOf('new').map(({ id, sections }) => [
    id,
    sections.map(({ content }) => (content.type === 'text' ? content.text : '')),
  ]),
);

test(
  'a sync that is killed at any statement loses nothing, and the next one does only what is left',
  { timeout: 300_000 },
  async () => {
    const before = join(folder, 'before.db');
    expect((await sync(before, 'old'))[1]).toMatch(/^6 /);
    const old = await contentOf(before);
    expect(old.rows).toEqual([6, 6, 6]);
    const whole = join(folder, 'whole.db');
    await cp(before, whole);
    const [, written] = await sync(whole, 'new');
    const statements = Number(written.split(' ')[1]);
    expect(statements).toBeGreaterThan(20);
    for (const n of pointsOf('statements of a sync that is killed', statements, 6)) {
      const file = join(folder, `killed-${n}.db`);
      await cp(before, file);
      expect((await sync(file, 'new', n + 1))[0], `at statement ${n + 1}`).toBe('SIGKILL');
      const { texts, rows } = await contentOf(file);
      expect(new Set(rows).size, `at statement ${n + 1}`).toBe(1); // chunk, words and vector come and go together
      expect(texts['stays']).toEqual(old.texts['stays']);
      expect(texts['changes']).toContain('The first part stays.');
      const all = texts['changes']?.join(' ') ?? '';
      const isOldWhole = all.includes('is old.') && all.includes('old is');
      expect(isOldWhole || (all.includes('is new.') && all.includes('new is')), all).toBe(true);
      const stored = Object.values(texts).flat();
      const missing = Object.values(NEW_TEXTS)
        .flat()
        .filter((text) => !stored.includes(text));
      await using store = new SqliteVectorStore(file);
      const report = await countingKnowledge(store).sync(versionOf('new'), { removeMissing: true });
      expect(report.embeddedChunks).toBe(missing.length);
      expect((await contentOf(file)).texts).toEqual(NEW_TEXTS);
    }
  },
);

test('two processes that synchronise one file at the same time duplicate nothing', async () => {
  const file = join(folder, 'two.db');
  const ends = await Promise.all([sync(file, 'new'), sync(file, 'new'), sync(file, 'new')]);
  expect(ends.map(([code]) => code)).toEqual([0, 0, 0]);
  expect(await contentOf(file)).toEqual({ texts: NEW_TEXTS, rows: [7, 7, 7] });
});
