import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path/posix';

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { FileSystemError } from '../../filesystem/file-system-error.ts';
import { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import { InMemoryFileSystem } from '../../filesystem/in-memory-file-system.ts';
import { DiskFileSystem } from './disk-file-system.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-same-'));
});
afterEach(() => rm(root, { recursive: true }));

class Refusal extends Error {}

/** Files in the order of a walk through the folders. */
function byFolders(a: string, b: string): number {
  const [one, other] = [a.split('/'), b.split('/')];
  for (const [i, name] of one.entries()) if (name !== other[i]) return name < (other[i] ?? '') ? -1 : 1;
  return -1;
}

/** The plainest file system there is: texts by their paths, null for folders. A Refusal says the kind of error. */
class Model {
  readonly nodes = new Map<string, string | null>([
    ['/workspace', null],
    ['/userinput', null],
  ]);

  at(path: string, canBeUsed: boolean): string | null {
    if (!canBeUsed) throw new Refusal('access_denied');
    const node = this.nodes.get(path);
    if (node === undefined) throw new Refusal('not_found');
    return node;
  }

  read(path: string): string {
    const node = this.at(path, !path.startsWith('/internal'));
    if (node === null) throw new Refusal('not_a_file');
    return node;
  }

  write(path: string, text: string, overwrite = true): number {
    if (!path.startsWith('/workspace/')) throw new Refusal('access_denied');
    const node = this.nodes.get(path);
    if (node === null) throw new Refusal('not_a_file');
    const folders: string[] = [];
    for (let up = dirname(path); up !== '/'; up = dirname(up)) folders.push(up);
    if (folders.some((folder) => typeof this.nodes.get(folder) === 'string'))
      throw new Refusal('not_a_directory');
    if (node !== undefined && !overwrite) throw new Refusal('conflict');
    for (const folder of folders) this.nodes.set(folder, null);
    this.nodes.set(path, text);
    return Buffer.byteLength(text);
  }

  edit(path: string, oldText: string, newText: string, all: boolean): number {
    if (!path.startsWith('/workspace/')) throw new Refusal('access_denied');
    const parts = this.read(path).split(oldText);
    if (oldText === '') throw new Refusal('invalid_argument');
    if (parts.length === 1) throw new Refusal('no_match');
    if (parts.length > 2 && !all) throw new Refusal('conflict');
    return this.write(path, parts.join(newText));
  }

  lines(path: string, start: number, count: number): readonly string[] {
    this.#mayRead(path);
    if (start < 1 || count < 1) throw new Refusal('invalid_argument');
    const lines = this.read(path).split('\n');
    if (lines.at(-1) === '') lines.pop();
    return lines.slice(start - 1, start - 1 + count);
  }

  bytes(path: string, offset: number, length: number): string {
    this.#mayRead(path);
    if (offset < 0) throw new Refusal('invalid_argument');
    return [...Buffer.from(this.read(path)).subarray(offset, offset + length)].join();
  }

  append(path: string, text: string): number {
    if (!path.startsWith('/workspace/')) throw new Refusal('access_denied');
    return this.write(path, this.read(path) + text);
  }

  /** The files of a name at or below a path. */
  named(name: string, path: string): readonly string[] {
    const node = this.at(path, !path.startsWith('/internal'));
    if (node !== null) return path.endsWith(`/${name}`) ? [path] : [];
    return [...this.nodes]
      .filter(([other, node]) => node !== null && other.startsWith(`${path}/`) && other.endsWith(`/${name}`))
      .map(([other]) => other)
      .sort(byFolders);
  }

  #mayRead(path: string): void {
    if (path.startsWith('/internal')) throw new Refusal('access_denied');
  }

  delete(path: string): undefined {
    this.at(path, path.startsWith('/workspace/'));
    if ([...this.nodes.keys()].some((other) => other.startsWith(`${path}/`))) throw new Refusal('conflict');
    this.nodes.delete(path);
  }

  list(path: string): unknown {
    if (this.at(path, !path.startsWith('/internal')) !== null) throw new Refusal('not_a_directory');
    return [...this.nodes]
      .filter(([other]) => dirname(other) === path)
      .map(([path, node]) => ({ path, kind: node === null ? 'directory' : 'file' }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  stat(path: string): unknown {
    const node = this.at(path, !path.startsWith('/internal'));
    return node === null
      ? { path, kind: 'directory' }
      : { path, kind: 'file', size: Buffer.byteLength(node) };
  }
}

interface Command {
  readonly label: string;
  run(files: FileSystemHandle): Promise<unknown>;
  expect(model: Model): unknown;
}

const path = fc
  .tuple(
    fc.constantFrom('/workspace', '/workspace', '/workspace', '/userinput', '/internal'),
    fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 }),
  )
  .map((parts) => parts.flat().join('/'));
const text = fc.constantFrom('', 'x', 'xx\ny\n', 'ünï');

const COMMANDS: readonly fc.Arbitrary<Command>[] = [
  fc.tuple(path, text, fc.boolean()).map(([path, text, overwrite]) => ({
    label: `write ${path} ${overwrite}`,
    run: (files) => files.write(path, text, { overwrite }),
    expect: (model) => model.write(path, text, overwrite),
  })),
  path.map((path) => ({
    label: `read ${path}`,
    run: (files) => files.readText(path),
    expect: (model) => model.read(path),
  })),
  fc.tuple(path, fc.constantFrom('x', 'y', '', 'q'), fc.boolean()).map(([path, oldText, all]) => ({
    label: `edit ${path} '${oldText}' ${all}`,
    run: (files) => files.edit(path, [{ oldText, newText: 'z', all }]),
    expect: (model) => model.edit(path, oldText, 'z', all),
  })),
  fc
    .tuple(path, fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 3 }))
    .map(([path, start, count]) => ({
      label: `lines ${path} ${start} ${count}`,
      run: async (files) => (await files.readLines(path, start, count)).lines,
      expect: (model) => model.lines(path, start, count),
    })),
  fc
    .tuple(path, fc.integer({ min: -1, max: 8 }), fc.integer({ min: 0, max: 9 }))
    .map(([path, offset, length]) => ({
      label: `bytes ${path} ${offset} ${length}`,
      run: async (files) => String(await files.readBytes(path, { offset, length })),
      expect: (model) => model.bytes(path, offset, length),
    })),
  fc.tuple(path, text).map(([path, text]) => ({
    label: `update ${path}`,
    run: (files) => files.update(path, (old) => old + text),
    expect: (model) => model.append(path, text),
  })),
  path.map((path) => ({
    label: `glob ${path}`,
    run: async (files) => (await files.glob('**/b', { path })).matches,
    expect: (model) => model.named('b', path),
  })),
  path.map((path) => ({
    label: `delete ${path}`,
    run: (files) => files.delete(path),
    expect: (model) => model.delete(path),
  })),
  path.map((path) => ({
    label: `list ${path}`,
    run: (files) => files.list(path),
    expect: (model) => model.list(path),
  })),
  path.map((path) => ({
    label: `stat ${path}`,
    async run(files) {
      const { updatedAt: _, ...info } = await files.stat(path);
      return info;
    },
    expect: (model) => model.stat(path),
  })),
];

async function outcomeOf(
  work: () => unknown,
): Promise<{ value?: unknown; kind?: unknown; message?: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (FileSystemError.isInstance(error)) return { kind: error.kind, message: error.message };
    if (error instanceof Refusal) return { kind: error.message };
    throw error;
  }
}

test.each(['descriptors', 'paths'] as const)(
  'on disk (by %s), in memory and in a plain model everything comes out the same, to the word',
  async (reach) => {
    let [runs, successes, failures] = [0, 0, 0];
    const commands = fc.array(fc.oneof(...COMMANDS), { minLength: 20, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(commands, async (commands) => {
        const files = await DiskFileSystem.open({ root: join(root, String(runs++)), reach });
        const [disk, memory, model] = [
          new FileSystemHandle(files),
          new FileSystemHandle(new InMemoryFileSystem()),
          new Model(),
        ];
        for (const { label, run, expect: expected } of commands) {
          const onDisk = await outcomeOf(() => run(disk));
          expect(onDisk, label).toEqual(await outcomeOf(() => run(memory)));
          const { message, ...outcome } = onDisk;
          expect(outcome, label).toEqual(await outcomeOf(() => expected(model)));
          if (message === undefined) successes++;
          else failures++;
        }
        expect(await disk.glob('**')).toEqual(await memory.glob('**'));
        expect(await disk.grep('x')).toEqual(await memory.grep('x'));
      }),
      { numRuns: 40 },
    );
    expect(Math.min(successes, failures)).toBeGreaterThan(50);
  },
);
