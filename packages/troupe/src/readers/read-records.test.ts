import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { SimpleKnowledge } from '../rag/simple-knowledge.ts';
import { CsvRows, csvRows } from './csv-rows.ts';
import { readFolder } from './read-folder.ts';
import { readRecords } from './read-records.ts';

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test('CSV of a stream: one document for each part, with the names of the columns and the true rows', async () => {
  const text = `name,drink\n${Array.from({ length: 5 }, (_, index) => `n${index},"té, ${index}"`).join('\n')}`;
  const documents = await allOf(
    readRecords(pieces(text, 3), { id: 'log.csv', format: 'csv', recordsPerDocument: 3, tables: 'json' }),
  );
  expect(documents).toEqual([
    {
      id: 'log.csv#1',
      metadata: { source: 'log.csv' },
      sections: [
        {
          content: { type: 'text', text: '{"name":"n0","drink":"té, 0"}\n{"name":"n1","drink":"té, 1"}' },
          metadata: { rows: '2-3' },
        },
      ],
    },
    {
      id: 'log.csv#2',
      metadata: { source: 'log.csv' },
      sections: [
        {
          content: {
            type: 'text',
            text: '{"name":"n2","drink":"té, 2"}\n{"name":"n3","drink":"té, 3"}\n{"name":"n4","drink":"té, 4"}',
          },
          metadata: { rows: '4-6' },
        },
      ],
    },
  ]);
});

test('JSON lines of a stream; a record that never ends is refused', async () => {
  const options = { id: 'a', format: 'jsonl', recordsPerDocument: 2 } as const;
  const documents = await allOf(readRecords(pieces('{"a":1}\r\n\n{"a":2}\n{"a":"é"}', 2), options));
  expect(documents.map(({ sections }) => sections.map(({ content }) => content))).toEqual([
    [{ type: 'text', text: '[{"a":1},{"a":2}]' }],
    [{ type: 'text', text: '[{"a":"é"}]' }],
  ]);
  for (const format of ['csv', 'jsonl'] as const) {
    const endless = readRecords(pieces(`"${'x'.repeat(5000)}`, 100), {
      id: 'a',
      format,
      limits: { maxChars: 1000 },
    });
    await expect(allOf(endless)).rejects.toThrow("A record never ends (the limit 'maxChars').");
  }
});

test('any cells survive CSV, whole or in pieces', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', ';', '\n', '\r', ' ', 'é') });
  const row = fc.array(cell, { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 5 }),
      (rows, size) => {
        const text = rows
          .map((cells) => cells.map((one) => `"${one.replaceAll('"', '""')}"`).join(','))
          .join('\r\n');
        const reader = new CsvRows(',');
        const read: (readonly string[])[] = [];
        for (let at = 0; at < text.length; at += size) read.push(...reader.read(text.slice(at, at + size)));
        read.push(...reader.end());
        expect(read).toEqual(rows);
        expect(csvRows(text)).toEqual(rows);
      },
    ),
  );
});

test('a folder: files of known types in order, no hidden ones, no links; a broken one does not stop the rest', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-readers-'));
  try {
    await mkdir(join(folder, 'b'));
    await writeFile(join(folder, 'b/tea.md'), '# Tea\nSencha is green.');
    await writeFile(join(folder, 'a.json'), '{"open":');
    await writeFile(join(folder, 'c.txt'), 'Cups are on the shelf.');
    await writeFile(join(folder, '.secret.txt'), 'no');
    await writeFile(join(folder, 'd.bin'), 'no');
    await writeFile(join(folder, 'e.png'), Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a));
    await symlink(join(folder, 'c.txt'), join(folder, 'link.txt'));
    const failed: string[] = [];
    const knowledge = new SimpleKnowledge();
    const read = (): ReturnType<typeof readFolder> =>
      readFolder(folder, { onError: (path) => failed.push(path) });
    expect(await knowledge.sync(read(), { removeMissing: true })).toMatchObject({ added: 2, removed: 0 });
    expect(failed).toEqual(['a.json']);
    expect((await knowledge.retrieve('sencha'))[0]).toMatchObject({
      documentId: 'b/tea.md',
      metadata: { source: 'b/tea.md', title: 'Tea', heading: 'Tea' },
    });
    const all = await allOf(readFolder(folder, { includeImages: true, onError: () => {} }));
    expect(all.map(({ id }) => id)).toEqual(['b/tea.md', 'c.txt', 'e.png']);
    await rm(join(folder, 'c.txt'));
    expect(await knowledge.sync(read(), { removeMissing: true })).toMatchObject({ unchanged: 1, removed: 1 });
    await expect(allOf(readFolder(join(folder, 'none')))).rejects.toThrow("can't be read");
  } finally {
    await rm(folder, { recursive: true });
  }
});
