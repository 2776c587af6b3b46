// An agent's files lie below a root, and nothing else is read, written or listed: not through links, chains of links, hard links, /proc,
// or folders that are swapped for links at just the wrong moment; and no error or suggestion tells of it. (Filesystem
// MCP CVE-2025-53109 and 53110, Mastra CVE-2025-61685, Claude Code CVE-2026-25724 and 39861, agentscope-java #2358.)

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { FileSystemBase } from '../../src/filesystem/file-system-base.ts';
import { FileSystemError } from '../../src/filesystem/file-system-error.ts';
import { FileSystemHandle } from '../../src/filesystem/file-system-handle.ts';
import { DiskFileSystem } from '../../src/stores/disk/index.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import { fileTools } from '../../src/tools/index.ts';
import type { JsonObject } from '../../src/util/json.ts';

const SECRET = 'SECRET-FROM-OUTSIDE';

let base: string;
let root: string;
let outside: string;
let answers: string[];

beforeEach(async () => {
  base = await fs.realpath(await fs.mkdtemp(join(tmpdir(), 'troupe-root-')));
  [root, outside] = [join(base, 'root'), join(base, 'outside')];
  await fs.mkdir(join(outside, 'folder'), { recursive: true });
  await fs.writeFile(join(outside, 'secret.txt'), SECRET);
  await fs.writeFile(join(outside, 'folder', `${SECRET}.txt`), SECRET);
  answers = [];
});
afterEach(async () => {
  const names = ['folder', `folder/${SECRET}.txt`, 'secret.txt'];
  assert.deepEqual((await fs.readdir(outside, { recursive: true })).sort(), names);
  for (const name of names.slice(1)) assert.equal(await fs.readFile(join(outside, name), 'utf8'), SECRET);
  const leaks = answers.filter((answer) => answer.includes(SECRET) || answer.includes(base));
  assert.deepEqual(leaks, []);
  await fs.rm(base, { recursive: true });
});

/** Every use of a path by a model, and the tool results. */
function toolsOf(handle: FileSystemHandle): {
  attack(path: string): Promise<string[]>;
  call(name: string, input: JsonObject): Promise<string>;
} {
  const toolkit = new Toolkit();
  for (const tool of fileTools(handle)) toolkit.registerToolFunction(tool);
  for (const tool of fileTools(handle, { names: ['view_text_file', 'write_text_file'] }))
    toolkit.registerToolFunction(tool);
  const call = async (name: string, input: JsonObject): Promise<string> => {
    const { output, status } = await toolkit.callToolFunction({ type: 'tool_use', id: '1', name, input });
    const answer = `${status}: ${JSON.stringify(output)}`;
    answers.push(answer);
    return answer;
  };
  const attack = async (path: string): Promise<string[]> => {
    const content = 'overwritten';
    const calls: readonly (readonly [string, JsonObject])[] = [
      ['read_text_file', { path }],
      ['read_multiple_files', { paths: [path] }],
      ['view_text_file', { path }],
      ['list_directory', { path }],
      ['get_file_info', { path }],
      ['glob', { pattern: '**', path }],
      ['grep', { pattern: '.', path }],
      ['edit_file', { path, edits: [{ oldText: 'S', newText: 'X', all: true }] }],
      ['insert_text_file', { path, content, line_number: 1 }],
      ['write_file', { path, content }],
      ['write_text_file', { path, content }],
      ['delete_file', { path }],
    ];
    const results: string[] = [];
    for (const [name, input] of calls) results.push(await call(name, input));
    return results;
  };
  return { attack, call };
}

/** Every call of it is one too many. */
class Trap extends FileSystemBase {
  calls = 0;
  readonly #spring = async (): Promise<never> => {
    this.calls++;
    throw new Error('asked');
  };
  stat = this.#spring;
  list = this.#spring;
  read = this.#spring;
  write = this.#spring;
  delete = this.#spring;
}

test.each([
  '',
  '..',
  '../x',
  '~',
  '~/x',
  'a/b',
  '/workspace/../internal/x',
  '/workspace/..',
  '/workspace/a\\b',
  '/workspace/..\\..\\x',
  '/workspace/a\0b',
  '/workspace/con',
  '/workspace/a.',
  '/workspace/a ',
  '/workspace//a',
  '/workspace/x:y',
  `/workspace/${'x'.repeat(1_000)}`,
  '/etc/passwd',
  '/proc/self/fd/0',
  '/internal/x',
  '/workspace-evil/x',
  '/Workspace/x',
  '/%2e%2e/x',
])('%j gets no further than its name', async (path) => {
  const trap = new Trap();
  const results = await toolsOf(new FileSystemHandle(trap)).attack(path);
  for (const result of results) expect(result).toMatch(/Error: (?:Invalid path|Access denied)/);
  expect(trap.calls).toBe(0);
});

describe.each(['descriptors', 'paths'] as const)('by %s', (reach) => {
  const open = async (): Promise<FileSystemHandle> =>
    new FileSystemHandle(await DiskFileSystem.open({ root, reach }));

  test('no link leads out, of whatever kind', async () => {
    const handle = await open();
    const place = join(root, 'workspace');
    await handle.write('/workspace/dir/mine.txt', 'mine');
    await fs.symlink(join(outside, 'secret.txt'), join(place, 'absolute'));
    await fs.symlink('../../outside/secret.txt', join(place, 'relative'));
    await fs.symlink('absolute', join(place, 'chain1'));
    await fs.symlink('chain1', join(place, 'chain2'));
    await fs.symlink(join(outside, 'folder'), join(place, 'folder'));
    await fs.symlink('..', join(place, 'up'));
    await fs.symlink(join(outside, 'new'), join(place, 'to-be-made'));
    await fs.symlink('/proc/self/fd', join(place, 'fd'));
    await fs.symlink('/proc/self/cwd', join(place, 'cwd'));
    await fs.link(join(outside, 'secret.txt'), join(place, 'hard'));
    execFileSync('mkfifo', [join(place, 'pipe')]);
    const { attack, call } = toolsOf(handle);
    const names = [
      'absolute',
      'relative',
      'chain1',
      'chain2',
      'folder',
      'up',
      'to-be-made',
      'fd',
      'cwd',
      'hard',
      'pipe',
    ];
    const below = [
      `folder/${SECRET}.txt`,
      'folder/new',
      'folder/new/er',
      'up/internal/x',
      'up/up',
      'fd/0',
      'cwd/package.json',
    ];
    for (const name of names) await attack(`/workspace/${name}`);
    const results: string[] = [];
    for (const name of below) {
      const found = await attack(`/workspace/${name}`);
      answers.splice(-found.length); // the path itself names the secret
      results.push(...found);
    }
    for (const result of results) expect(result).toContain("Access denied: '/workspace/");
    for (const pattern of ['.', 'SECRET', 'secret']) await call('grep', { pattern });
    for (const pattern of ['**', '*', '*/*', 'folder/*']) await call('glob', { pattern });
    expect(await handle.readText('/workspace/dir/mine.txt')).toBe('mine');
    expect(answers.length).toBeGreaterThan(100);
  });

  test('a folder beside one that is granted is another one', async () => {
    const handle = await open();
    await handle.write('/workspace/subagents/bobby/secret.txt', SECRET);
    const bob = handle.narrow(['/workspace/subagents/bob']);
    const results = await toolsOf(bob).attack('/workspace/subagents/bobby/secret.txt');
    for (const result of results) expect(result).toContain('Access denied');
    expect(await handle.readText('/workspace/subagents/bobby/secret.txt')).toBe(SECRET);
  });

  test('a forbidden file stays forbidden under every other name', async () => {
    const files = await open();
    await files.write('/workspace/keys/id', SECRET);
    const handle = files.narrow(['/workspace/', { path: '/workspace/keys/', operations: [] }]);
    await fs.symlink('keys', join(root, 'workspace', 'alias'));
    await fs.symlink('keys/id', join(root, 'workspace', 'alias.txt'));
    await fs.link(join(root, 'workspace/keys/id'), join(root, 'workspace/hard.txt'));
    const { attack, call } = toolsOf(handle);
    for (const path of ['keys', 'keys/id', 'alias', 'alias/id', 'alias.txt', 'hard.txt'])
      await attack(`/workspace/${path}`);
    expect(await call('list_directory', { path: '/workspace' })).not.toContain('keys');
    expect(await call('glob', { pattern: '**' })).not.toContain('keys');
    expect(await call('grep', { pattern: '.' })).toBe('ok: "No lines found."');
    expect(await fs.readFile(join(root, 'workspace/keys/id'), 'utf8')).toBe(SECRET);
  });

  test('two sub-agents whose folders are linked into each other stay apart', async () => {
    const handle = await open();
    const [ann, bob] = ['ann', 'bob'].map((name) => handle.narrow([`/workspace/subagents/${name}/`]));
    await ann!.write('/workspace/subagents/ann/notes', SECRET);
    await bob!.write('/workspace/subagents/bob/notes', SECRET);
    await fs.symlink('../ann', join(root, 'workspace/subagents/bob/peer'));
    await fs.symlink('../bob', join(root, 'workspace/subagents/ann/peer'));
    for (const [handle, name] of [
      [ann!, 'ann'],
      [bob!, 'bob'],
    ] as const) {
      const { attack, call } = toolsOf(handle);
      for (const path of ['peer', 'peer/notes', 'peer/peer/notes', 'peer/new']) {
        for (const result of await attack(`/workspace/subagents/${name}/${path}`)) {
          expect(result).toMatch(/Access denied|^ok: "No (?:files|lines) found\."$|kind: other/);
        }
      }
      expect(await call('glob', { pattern: '**' })).toBe(`ok: "/workspace/subagents/${name}/notes"`);
    }
    expect(await fs.readdir(join(root, 'workspace/subagents/ann'))).toEqual(['notes', 'peer']);
  });
});

test('a folder that keeps turning into a link and back never leads out', async () => {
  const handle = new FileSystemHandle(await DiskFileSystem.open({ root, reach: 'descriptors' }));
  await handle.write('/workspace/dir/secret.txt', 'mine');
  const place = join(root, 'workspace', 'dir');
  const state = new Int32Array(new SharedArrayBuffer(8)); // [whether to stop, how often it was swapped]
  const swapper = new Worker(
    `const { workerData: { place, outside, state } } = require('node:worker_threads');
     const fs = require('node:fs');
     const attempt = (deed) => { try { return deed(), true; } catch { return false; } };
     while (Atomics.wait(state, 0, 0, 1) === 'timed-out') { // for a moment it is a folder
       fs.renameSync(place, place + '-away');
       if (attempt(() => fs.symlinkSync(outside, place))) Atomics.add(state, 1, 1);
       // By now it may also be a folder that somebody has made, as there was none.
       while (!attempt(() => fs.renameSync(place + '-away', place))) {
         attempt(() => fs.rmSync(place, { recursive: true, force: true }));
       }
     }`,
    { eval: true, workerData: { place, outside, state } },
  );
  const ended = new Promise<number>((resolve) => swapper.on('exit', resolve));
  const seen = new Map<string, number>();
  const count = (outcome: string): void => void seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  const kindOf = (error: unknown): string => (FileSystemError.isInstance(error) ? error.kind : String(error));
  const note = async (work: Promise<unknown>): Promise<void> => count(await work.then(String, kindOf));
  try {
    await new Promise((resolve) => swapper.on('online', resolve));
    const isEnough = (): boolean => state[1]! >= 50 && seen.has('mine');
    for (let i = 0; i < 40 || (i < 1_000 && !isEnough()); i++) {
      await note(handle.readText('/workspace/dir/secret.txt'));
      await note(handle.list('/workspace/dir').then((entries) => entries.map(({ path }) => path)));
      await note(handle.write('/workspace/dir/new.txt', 'mine').then(() => 'written'));
      await note(handle.write('/workspace/dir/secret.txt', 'mine').then(() => 'written'));
      await note(handle.delete('/workspace/dir/new.txt').then(() => 'deleted'));
      await note(
        handle.grep('.', { path: '/workspace/dir' }).then(({ matches }) => matches.map(({ text }) => text)),
      );
      await note(handle.write('/workspace/dir/folder/x', 'mine').then(() => 'written'));
      await note(handle.delete('/workspace/dir/folder/x').then(() => 'deleted'));
    }
  } finally {
    Atomics.store(state, 0, 1);
    expect(await ended).toBe(0);
  }
  expect(state[1]).toBeGreaterThanOrEqual(50);
  expect(seen.get('mine') ?? 0).toBeGreaterThan(0);
  for (const outcome of seen.keys()) expect(outcome).not.toMatch(/SECRET|outside/);
});
