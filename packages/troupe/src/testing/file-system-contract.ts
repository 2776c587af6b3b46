import type { FileSystemBase } from '../filesystem/file-system-base.ts';
import { FileSystemError, type FileSystemErrorKind } from '../filesystem/file-system-error.ts';
import { parsePath, type LogicalPath } from '../filesystem/logical-path.ts';
import type { ContractCase } from './chat-model-contract.ts';
import { check, checkSame, thrownBy } from './contract-checks.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_ENTRIES = 1000;

const at = (name: string): LogicalPath => parsePath(`/workspace/${name}`);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

async function textAt(files: FileSystemBase, path: LogicalPath): Promise<string> {
  return new TextDecoder().decode((await files.read(path, { maxBytes: MAX_BYTES })).bytes);
}

async function listed(files: FileSystemBase, path: LogicalPath): Promise<readonly string[]> {
  const entries = await files.list(path, MAX_ENTRIES);
  return entries.map((entry) => `${entry.kind} ${entry.path}`).sort();
}

async function fails(
  work: Promise<unknown>,
  kind: FileSystemErrorKind,
  path: string,
  what: string,
): Promise<void> {
  const error = await thrownBy(work, what);
  check(FileSystemError.isInstance(error), `${what} should throw a FileSystemError, not ${String(error)}.`);
  checkSame([error.kind, error.path, error.cause], [kind, path, undefined], `The error of ${what}`);
}

const CASES: readonly { name: string; run(files: FileSystemBase): Promise<void> }[] = [
  {
    name: 'written bytes are read back exactly',
    async run(files) {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256);
      const written = files.write(at('data.bin'), bytes);
      bytes.fill(0); // a copy was taken
      await written;
      const { bytes: found, size } = await files.read(at('data.bin'), { maxBytes: MAX_BYTES });
      checkSame([found.length, size], [70_000, 70_000], 'The size');
      check(
        found.every((byte, i) => byte === (i * 7) % 256),
        'The bytes that are read differ from those that were written.',
      );
      await files.write(at('empty'), new Uint8Array());
      checkSame(await textAt(files, at('empty')), '', 'An empty file');
    },
  },
  {
    name: 'a part is read, and never more than requested',
    async run(files) {
      await files.write(at('a'), bytesOf('0123456789'));
      const part = async (offset: number, maxBytes: number): Promise<unknown> => {
        const { bytes, size } = await files.read(at('a'), { offset, maxBytes });
        return [new TextDecoder().decode(bytes), size];
      };
      checkSame(await part(2, 3), ['234', 10], 'Three bytes');
      checkSame(await part(8, 100), ['89', 10], 'The end');
      checkSame(await part(20, 5), ['', 10], 'Past the end');
      checkSame(await part(0, 0), ['', 10], 'Nothing');
      const { bytes, size } = await files.read(at('a'), { maxBytes: 10, wholeOnly: true });
      checkSame([bytes.length, size], [10, 10], 'All of it');
      const { bytes: some, size: all } = await files.read(at('a'), { maxBytes: 9, wholeOnly: true });
      check(some.length <= 9 && all === 10, 'The size must be told of a file in which there is more.');
    },
  },
  {
    name: 'a write makes folders, and replaces an existing file',
    async run(files) {
      await files.write(at('a/b/c.txt'), bytesOf('one and two'));
      await files.write(at('a/b/c.txt'), bytesOf('three'));
      checkSame(await textAt(files, at('a/b/c.txt')), 'three', 'The text');
      checkSame(await listed(files, at('a')), ['directory /workspace/a/b'], 'The folder');
      checkSame(await listed(files, at('a/b')), ['file /workspace/a/b/c.txt'], 'The inner folder');
    },
  },
  {
    name: 'stat distinguishes files, folders and missing paths',
    async run(files) {
      await files.write(at('a/b.txt'), bytesOf('four'));
      const { updatedAt, ...info } = (await files.stat(at('a/b.txt'))) ?? {};
      checkSame(info, { path: at('a/b.txt'), kind: 'file', size: 4 }, 'The file');
      check(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(updatedAt ?? ''), `'${updatedAt}' is no time.`);
      checkSame(await files.stat(at('a')), { path: at('a'), kind: 'directory' }, 'The folder');
      checkSame(
        await files.stat(parsePath('/workspace')),
        { path: '/workspace', kind: 'directory' },
        'The root folder',
      );
      for (const name of ['b', 'a/c', 'a/b.txt/c', 'x/y/z']) {
        checkSame(await files.stat(at(name)), undefined, `What is not there (${name})`);
      }
    },
  },
  {
    name: 'every failure is a FileSystemError with the logical path',
    async run(files) {
      await files.write(at('file'), bytesOf('text'));
      await files.write(at('folder/inner'), bytesOf('text'));
      const read = (name: string): Promise<unknown> => files.read(at(name), { maxBytes: MAX_BYTES });
      const write = (name: string): Promise<void> => files.write(at(name), bytesOf('new'));
      const list = (name: string): Promise<unknown> => files.list(at(name), MAX_ENTRIES);
      await fails(read('gone'), 'not_found', at('gone'), 'reading what is not there');
      await fails(read('gone/too'), 'not_found', at('gone/too'), 'reading in a folder that is not there');
      await fails(read('file/x'), 'not_found', at('file/x'), 'reading in a file');
      await fails(read('folder'), 'not_a_file', at('folder'), 'reading a folder');
      await fails(list('gone'), 'not_found', at('gone'), 'listing what is not there');
      await fails(list('file'), 'not_a_directory', at('file'), 'listing a file');
      await fails(list('file/x'), 'not_found', at('file/x'), 'listing in a file');
      await fails(write('folder'), 'not_a_file', at('folder'), 'writing a folder');
      await fails(write('file/x'), 'not_a_directory', at('file'), 'writing in a file');
      await fails(write('file/x/y'), 'not_a_directory', at('file'), 'writing below a file');
      await fails(files.delete(at('gone')), 'not_found', at('gone'), 'deleting what is not there');
      await fails(files.delete(at('file/x')), 'not_found', at('file/x'), 'deleting in a file');
      await fails(
        files.delete(at('folder')),
        'conflict',
        at('folder'),
        'deleting a folder that is not empty',
      );
      await fails(files.list(at('folder'), 0), 'too_large', at('folder'), 'listing more than is allowed');
      checkSame(await textAt(files, at('file')), 'text', 'What nothing has changed');
    },
  },
  {
    name: 'a file and an empty folder are deleted',
    async run(files) {
      await files.write(at('a/b'), bytesOf('text'));
      await files.delete(at('a/b'));
      checkSame(await listed(files, at('a')), [], 'The folder');
      await files.delete(at('a'));
      checkSame(await listed(files, parsePath('/workspace')), [], 'The root folder');
    },
  },
  {
    name: 'a root is never deleted, even if empty',
    async run(files) {
      const root = parsePath('/workspace');
      await fails(files.delete(root), 'not_a_file', root, 'deleting a root');
      await files.write(at('a'), bytesOf('text'));
      checkSame(await textAt(files, at('a')), 'text', 'What is written then');
    },
  },
  {
    name: 'a write can require a version, or a missing file',
    async run(files) {
      const version = async (): Promise<string> => (await files.read(at('a'), { maxBytes: 0 })).version;
      await files.write(at('a'), bytesOf('one'), { expected: null });
      await fails(
        files.write(at('a'), bytesOf('no'), { expected: null }),
        'conflict',
        at('a'),
        'a second new one',
      );
      const first = await version();
      checkSame(await version(), first, 'The version of what has not changed');
      await files.write(at('a'), bytesOf('two'), { expected: first });
      check((await version()) !== first, 'The version did not change with the content.');
      await fails(
        files.write(at('a'), bytesOf('no'), { expected: first }),
        'conflict',
        at('a'),
        'an old version',
      );
      await fails(
        files.write(at('b/c'), bytesOf('no'), { expected: first }),
        'not_found',
        at('b/c'),
        'a version of nothing',
      );
      checkSame(await textAt(files, at('a')), 'two', 'The text');
    },
  },
  {
    name: 'of concurrent writers with the same version exactly one succeeds',
    async run(files) {
      await files.write(at('a'), bytesOf('0'));
      const { version } = await files.read(at('a'), { maxBytes: 10 });
      const writers = Array.from({ length: 8 }, (_, i) =>
        files.write(at('a'), bytesOf(`writer ${i}`), { expected: version }).then(() => i),
      );
      const outcomes = await Promise.allSettled(writers);
      const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      checkSame(winners.length, 1, 'How many have written');
      checkSame(await textAt(files, at('a')), `writer ${winners[0]}`, 'The text');
    },
  },
  {
    name: 'a read during writes gives one complete content',
    async run(files) {
      const contents = ['a', 'b', 'c'].map((letter) => letter.repeat(50_000));
      await files.write(at('a'), bytesOf(contents[0] ?? ''));
      const writes = contents.map((content) => files.write(at('a'), bytesOf(content)));
      const reads = Array.from({ length: 10 }, () => textAt(files, at('a')));
      for (const text of await Promise.all(reads)) {
        check(contents.includes(text), `A text of ${text.length} characters was never written.`);
      }
      await Promise.all(writes);
      checkSame(await listed(files, parsePath('/workspace')), ['file /workspace/a'], 'The folder');
    },
  },
  {
    name: 'special characters in names have no meaning',
    async run(files) {
      const names = [
        '__proto__',
        'constructor',
        '%2e%2e',
        '~',
        '..a',
        'a..b',
        '.hidden',
        '-rf',
        '日本 語.txt',
        '$HOME',
      ];
      for (const name of names) await files.write(at(name), bytesOf(name));
      for (const name of names) checkSame(await textAt(files, at(name)), name, `The text of ${name}`);
      checkSame(
        await listed(files, parsePath('/workspace')),
        names.map((name) => `file ${at(name)}`).sort(),
        'The folder',
      );
    },
  },
];

/**
 * Cases that every file system has to pass, for any test runner: `for (const { name, run } of
 * fileSystemContract(make)) test(name, run)`.
 * @param make makes a file system with an empty `/workspace`; called for each case
 */
export function fileSystemContract(
  make: () => FileSystemBase | Promise<FileSystemBase>,
): readonly ContractCase[] {
  return CASES.map(({ name, run }) => ({ name, run: async () => run(await make()) }));
}
