import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { calculate, currentTime, fileTools } from './tools.ts';

const home = mkdtempSync(join(tmpdir(), 'troupe-chat-'));
const root = join(home, 'root');
const { signal } = new AbortController();
const [listFiles, readFile] = fileTools(root);

beforeAll(() => {
  mkdirSync(join(root, 'sub/.git'), { recursive: true });
  mkdirSync(join(home, 'root-2'));
  writeFileSync(join(root, 'notes.txt'), 'remember the milk');
  writeFileSync(join(root, '.env'), 'KEY=secret');
  writeFileSync(join(root, 'sub/a.txt'), 'a');
  writeFileSync(join(root, 'sub/.git/config'), 'secret');
  writeFileSync(join(root, '..odd.txt'), 'odd');
  writeFileSync(join(home, 'outside.txt'), 'secret');
  writeFileSync(join(home, 'root-2/b.txt'), 'secret');
  symlinkSync(join(home, 'outside.txt'), join(root, 'link.txt'));
  symlinkSync(home, join(root, 'up'));
  symlinkSync('notes.txt', join(root, 'fine.txt'));
});

afterAll(() => rmSync(home, { recursive: true }));

test('lists the files of a folder, without the hidden ones', async () => {
  expect(await listFiles!.run({}, signal)).toBe('fine.txt\nlink.txt\nnotes.txt\nsub/\nup');
  expect(await listFiles!.run({ folder: 'sub' }, signal)).toBe('a.txt');
});

test('lists no more files than fit', async () => {
  const many = join(root, 'many');
  mkdirSync(many);
  for (let i = 0; i < 250; i++) writeFileSync(join(many, `${String(i).padStart(3, '0')}.txt`), '');
  const lines = (await listFiles!.run({ folder: 'many' }, signal)).split('\n');
  rmSync(many, { recursive: true });
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([201, '000.txt', '… and 50 more']);
});

test('reads a file, also by a link that stays inside', async () => {
  expect(await readFile!.run({ path: 'notes.txt' }, signal)).toBe('remember the milk');
  expect(await readFile!.run({ path: './sub/../fine.txt' }, signal)).toBe('remember the milk');
  expect(await readFile!.run({ path: join(root, 'notes.txt') }, signal)).toBe('remember the milk');
});

test.each([
  '../outside.txt',
  'sub/../../outside.txt',
  'link.txt',
  'up/outside.txt',
  '../root-2/b.txt',
  '/etc/passwd',
  '.env',
  'sub/.git/config',
  '..odd.txt',
  'missing.txt',
  'notes.txt\0.png',
])('there is no %j', async (path) => {
  await expect(async () => readFile!.run({ path }, signal)).rejects.toThrow(
    `There is no '${path}' in this folder.`,
  );
});

test.each(['..', '/', 'up', 'sub/.git'])('there is no folder %j', async (folder) => {
  await expect(async () => listFiles!.run({ folder }, signal)).rejects.toThrow('There is no');
});

test('reads only the start of a long file', async () => {
  writeFileSync(join(root, 'long.txt'), 'x'.repeat(100_000));
  const text = await readFile!.run({ path: 'long.txt' }, signal);
  rmSync(join(root, 'long.txt'));
  expect(text).toBe(`${'x'.repeat(8_000)}\n… (only the first 8000 bytes)`);
});

test('reads neither binary files nor what is not a file', async () => {
  writeFileSync(join(root, 'data.bin'), Buffer.from([1, 0, 2]));
  await expect(async () => readFile!.run({ path: 'data.bin' }, signal)).rejects.toThrow('not a text file');
  rmSync(join(root, 'data.bin'));
  await expect(async () => readFile!.run({ path: 'sub' }, signal)).rejects.toThrow('not a file');
});

test.runIf(process.platform !== 'win32')('does not wait for a pipe', async () => {
  execFileSync('mkfifo', [join(root, 'pipe')]);
  await expect(async () => readFile!.run({ path: 'pipe' }, signal)).rejects.toThrow('not a file');
  rmSync(join(root, 'pipe'));
});

test('tells the time, here and elsewhere', async () => {
  const year = String(new Date().getFullYear());
  expect(await currentTime.run({}, signal)).toContain(year);
  expect(await currentTime.run({ timezone: 'Asia/Tokyo' }, signal)).toMatch(/GMT\+9|JST/);
  expect(() => currentTime.run({ timezone: 'Nowhere/Land' }, signal)).toThrow('Nowhere/Land');
});

test('refuses arguments of another type', () => {
  expect(() => calculate.run({ expression: 3 }, signal)).toThrow("'expression' must be a string.");
  expect(calculate.run({ expression: '6 * 7' }, signal)).toBe('42');
});
