import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Toolkit, type JsonObject } from 'troupe';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { calculate, currentTime, fileTools } from './tools.ts';

const home = mkdtempSync(join(tmpdir(), 'troupe-chat-'));
const root = join(home, 'root');
const toolkit = new Toolkit();
for (const tool of [calculate, currentTime, ...fileTools(root)]) toolkit.registerToolFunction(tool);

/** The tool result that a model gets for this tool call. */
async function call(name: string, input: JsonObject): Promise<string> {
  const { output } = await toolkit.callToolFunction({ type: 'tool_use', id: 'c1', name, input });
  return String(output);
}

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
  expect(await call('list_files', {})).toBe('fine.txt\nlink.txt\nnotes.txt\nsub/\nup');
  expect(await call('list_files', { folder: 'sub' })).toBe('a.txt');
});

test('lists no more files than fit', async () => {
  const many = join(root, 'many');
  mkdirSync(many);
  for (let i = 0; i < 250; i++) writeFileSync(join(many, `${String(i).padStart(3, '0')}.txt`), '');
  const lines = (await call('list_files', { folder: 'many' })).split('\n');
  rmSync(many, { recursive: true });
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([201, '000.txt', '… and 50 more']);
});

test('reads a file, also by a link that stays inside', async () => {
  expect(await call('read_file', { path: 'notes.txt' })).toBe('remember the milk');
  expect(await call('read_file', { path: './sub/../fine.txt' })).toBe('remember the milk');
  expect(await call('read_file', { path: join(root, 'notes.txt') })).toBe('remember the milk');
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
])('the file %j does not exist', async (path) => {
  expect(await call('read_file', { path })).toBe(`Error: There is no '${path}' in this folder.`);
});

test.each(['..', '/', 'up', 'sub/.git'])('the folder %j does not exist', async (folder) => {
  expect(await call('list_files', { folder })).toBe(`Error: There is no '${folder}' in this folder.`);
});

test('reads only the start of a long file', async () => {
  writeFileSync(join(root, 'long.txt'), 'x'.repeat(100_000));
  const text = await call('read_file', { path: 'long.txt' });
  rmSync(join(root, 'long.txt'));
  expect(text).toBe(`${'x'.repeat(8_000)}\n… (only the first 8000 bytes)`);
});

test('reads neither binary files nor what is not a file', async () => {
  writeFileSync(join(root, 'data.bin'), Buffer.from([1, 0, 2]));
  expect(await call('read_file', { path: 'data.bin' })).toBe('Error: That is not a text file.');
  rmSync(join(root, 'data.bin'));
  expect(await call('read_file', { path: 'sub' })).toBe('Error: That is not a file.');
});

test.runIf(process.platform !== 'win32')('does not wait for a pipe', async () => {
  execFileSync('mkfifo', [join(root, 'pipe')]);
  expect(await call('read_file', { path: 'pipe' })).toBe('Error: That is not a file.');
  rmSync(join(root, 'pipe'));
});

test('tells the time, here and elsewhere', async () => {
  const year = String(new Date().getFullYear());
  expect(await call('current_time', {})).toContain(year);
  expect(await call('current_time', { timezone: 'Asia/Tokyo' })).toMatch(/GMT\+9|JST/);
  expect(await call('current_time', { timezone: 'Nowhere/Land' })).toMatch(/^Error: .*Nowhere\/Land/);
});

test('calculates, and refuses what is no expression', async () => {
  expect(await call('calculate', { expression: '6 * 7' })).toBe('42');
  expect(await call('calculate', { expression: '1 / 0' })).toBe('Error: Nothing can be divided by zero.');
  expect(await call('calculate', { expression: ['6'] })).toMatch(
    /^Arguments Validation Error: .*expression/s,
  );
});
