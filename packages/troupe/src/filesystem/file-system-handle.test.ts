import { describe, expect, test, vi } from 'vitest';

import { FileSystemError } from './file-system-error.ts';
import { FileSystemHandle, type FileSystemHandleOptions } from './file-system-handle.ts';
import { InMemoryFileSystem } from './in-memory-file-system.ts';
import { parsePath } from './logical-path.ts';

const FILES = {
  '/userinput/brief.txt': 'Build a house.\n',
  '/workspace/a.txt': 'one\ntwo\nthree\n',
  '/workspace/src/main.ts': 'const a = 1;\nexport const b = a;\n',
  '/workspace/src/deep/er.ts': 'export const c = 2;\n',
  '/workspace/node_modules/x/index.ts': 'export const x = 0;\n',
  '/internal/key': 'secret',
};

function make(options?: FileSystemHandleOptions, files: Record<string, string | Uint8Array> = FILES) {
  const store = new InMemoryFileSystem(files);
  return { store, handle: new FileSystemHandle(store, options) };
}

const failureOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!FileSystemError.isInstance(error)) throw new Error(`That was no FileSystemError: ${String(error)}`);
  return `${error.kind}: ${error.message}`;
};

describe('the policy', () => {
  type Try = (handle: FileSystemHandle, path: string) => Promise<unknown>;
  const TRIES: Readonly<Record<string, Try>> = {
    stat: (handle, path) => handle.stat(path),
    list: (handle, path) => handle.list(path),
    readBytes: (handle, path) => handle.readBytes(path),
    readText: (handle, path) => handle.readText(path),
    readLines: (handle, path) => handle.readLines(path),
    write: (handle, path) => handle.write(path, 'x'),
    update: (handle, path) => handle.update(path, () => 'x'),
    edit: (handle, path) => handle.edit(path, [{ oldText: 'a', newText: 'b' }]),
    delete: (handle, path) => handle.delete(path),
    glob: (handle, path) => handle.glob('**', { path }),
    grep: (handle, path) => handle.grep('.', { path }),
  };

  test.each(Object.entries(TRIES))('%s does not access the files without permission', async (_, attempt) => {
    const { store, handle } = make();
    const calls = (['stat', 'list', 'read', 'write', 'delete'] as const).map((name) => vi.spyOn(store, name));
    const inside = handle.narrow(['/workspace/src/']);
    for (const path of [
      '/internal/key',
      '/internal/none',
      '/etc/passwd',
      '/workspace/a.txt',
      '/workspace/srcs/x',
      '/workspace',
    ]) {
      expect(await failureOf(attempt(inside, path))).toMatch(
        new RegExp(
          `^access_denied: Access denied: '${path}' can't be \\w+\\. That is possible in: '/workspace/src/'\\.$`,
        ),
      );
    }
    for (const path of ['/workspace/src/../a.txt', '/workspace/src/\0', 'src/main.ts', '/workspace//src']) {
      expect(await failureOf(attempt(inside, path))).toMatch(/^invalid_path: /);
    }
    expect(calls.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0, 0, 0]);
  });

  test('user input is only read, and roots are neither written nor deleted', async () => {
    const { handle } = make({ grants: ['/'] });
    expect(await handle.readText('/userinput/brief.txt')).toBe('Build a house.\n');
    expect(await failureOf(handle.write('/userinput/new', ''))).toBe(
      "access_denied: Access denied: '/userinput/new' can't be written. That is possible in: '/workspace/'.",
    );
    for (const work of [
      handle.delete('/userinput/brief.txt'),
      handle.edit('/userinput/brief.txt', [{ oldText: 'a', newText: 'b' }]),
      handle.delete('/workspace'),
      handle.write('/workspace/', ''),
      handle.write('/new', ''),
      handle.delete('/internal/key'),
    ]) {
      expect(await failureOf(work)).toMatch(/^access_denied: /);
    }
  });

  test('files with write but without read permission can not be edited, because edits reveal content', async () => {
    const { handle } = make({ grants: [{ path: '/workspace/', operations: ['write'] }] });
    expect(await handle.write('/workspace/a.txt', 'new')).toBe(3);
    expect(await failureOf(handle.edit('/workspace/a.txt', [{ oldText: 'n', newText: 'm' }]))).toBe(
      "access_denied: Access denied: '/workspace/a.txt' can't be read. That is possible in: nowhere.",
    );
  });

  test('/internal/ can be used with a grant, and is never shown', async () => {
    const { handle } = make({ grants: ['/'] });
    await handle.write('/internal/offload/1', 'text');
    expect(await handle.readText('/internal/offload/1')).toBe('text');
    expect((await handle.list('/internal')).map(({ path }) => path)).toEqual([
      '/internal/key',
      '/internal/offload',
    ]);
    const shown = JSON.stringify([
      handle.allowedDirectories,
      handle.describe(),
      await handle.list(),
      await handle.glob('**'),
      await handle.grep('.'),
      await failureOf(handle.readText('/nowhere')),
    ]);
    expect(shown).not.toContain('internal');
    expect(shown).toContain('/userinput/');
  });

  test('a narrower handle has fewer permissions, and reports nested grants', async () => {
    const { handle } = make();
    const bob = handle.narrow([
      '/workspace/subagents/bob/',
      { path: '/userinput/', operations: ['read', 'write'] },
    ]);
    await bob.write('/workspace/subagents/bob/notes', 'hi');
    expect(await handle.readText('/workspace/subagents/bob/notes')).toBe('hi');
    expect(bob.allowedDirectories).toEqual([
      { path: '/userinput/', operations: ['read'] },
      { path: '/workspace/subagents/bob/', operations: ['list', 'read', 'write', 'delete'] },
    ]);
    expect(bob.can('write', '/workspace/subagents/bobby/x')).toBe(false);
    expect(await failureOf(bob.readText('/workspace/subagents/bobby/x'))).toMatch(/^access_denied/);
    expect(bob.narrow(['/']).allowedDirectories).toEqual(bob.allowedDirectories);
    expect(bob.narrow([]).describe()).toBe('You can use no files.');
  });

  test('a narrower handle keeps the limits', async () => {
    const { handle } = make({ limits: { maxFileBytes: 3 } });
    expect(await failureOf(handle.narrow(['/workspace/']).write('/workspace/x', '1234'))).toMatch(
      /^too_large/,
    );
  });

  test('forbidden paths inside an allowed folder are neither listed nor found', async () => {
    const { handle } = make({ grants: ['/workspace/', { path: '/workspace/src/deep', operations: [] }] });
    expect((await handle.list('/workspace/src')).map(({ path }) => path)).toEqual(['/workspace/src/main.ts']);
    expect((await handle.glob('**/*.ts', { path: '/workspace/src' })).matches).toEqual([
      '/workspace/src/main.ts',
    ]);
    expect((await handle.grep('export', { path: '/workspace/src' })).matches.map(({ path }) => path)).toEqual(
      ['/workspace/src/main.ts'],
    );
  });

  test('files with list but without read permission are found by name only', async () => {
    const { handle } = make({ grants: [{ path: '/workspace/src', operations: ['list'] }] });
    expect((await handle.glob('*.ts')).matches).toEqual(['/workspace/src/main.ts']);
    expect((await handle.grep('const')).matches).toEqual([]);
  });
});

describe('looking', () => {
  test('a folder is listed in order, and / is what may be used', async () => {
    const { handle } = make({
      grants: ['/userinput/', '/workspace/src/', '/workspace/a.txt', '/workspace/none/'],
    });
    expect(await handle.list('/workspace/src/')).toEqual([
      { path: '/workspace/src/deep', kind: 'directory' },
      { path: '/workspace/src/main.ts', kind: 'file' },
    ]);
    const top = [
      { path: '/userinput', kind: 'directory' },
      { path: '/workspace/a.txt', kind: 'file' },
      { path: '/workspace/src', kind: 'directory' },
    ];
    expect(await handle.list()).toEqual(top);
    expect(await handle.list('/')).toEqual(top);
  });

  test('missing paths are reported', async () => {
    const { handle } = make();
    expect(await failureOf(handle.stat('/workspace/b'))).toBe("not_found: Path not found: '/workspace/b'.");
    expect((await handle.stat('/workspace/a.txt')).size).toBe(14);
  });

  test('a folder with too many entries is not listed', async () => {
    const { handle } = make({ limits: { maxEntries: 2 } });
    expect(await failureOf(handle.list('/workspace'))).toBe(
      "too_large: '/workspace' has more than 2 entries.",
    );
  });
});

describe('reading', () => {
  test.each([
    [1, Infinity, ['one', 'two', 'three']],
    [2, 1, ['two']],
    [2, 9, ['two', 'three']],
    [4, 1, []],
  ])('lines from %i on, %f of them', async (start, count, lines) => {
    const { handle } = make();
    expect(await handle.readLines('/workspace/a.txt', start, count)).toEqual({
      lines,
      startLine: start,
      totalLines: 3,
    });
  });

  test.each([
    ['', []],
    ['\n', ['']],
    ['a', ['a']],
    ['a\r\nb\r\n', ['a', 'b']],
    ['a\n\n', ['a', '']],
    ['a\rb', ['a\rb']],
  ])('the lines of %j', async (text, lines) => {
    const { handle } = make({}, { '/workspace/a': text });
    expect((await handle.readLines('/workspace/a')).lines).toEqual(lines);
    expect(await handle.readText('/workspace/a')).toBe(text);
  });

  test.each([
    [0, 1, 'startLine must be a whole number of 1 or more, not 0.'],
    [1.5, 1, 'startLine must be a whole number of 1 or more, not 1.5.'],
    [1, 0, 'lineCount must be a whole number of 1 or more, not 0.'],
  ])('line %d and %d of them are refused', async (start, count, problem) => {
    const { handle } = make();
    expect(await failureOf(handle.readLines('/workspace/a.txt', start, count))).toBe(
      `invalid_argument: ${problem}`,
    );
  });

  test('bytes, or a range of bytes', async () => {
    const { handle } = make({ limits: { maxFileBytes: 5 } });
    const read = async (options?: { offset?: number; length?: number }) =>
      new TextDecoder().decode(await handle.readBytes('/workspace/a.txt', options));
    expect(await failureOf(read())).toBe(
      "too_large: '/workspace/a.txt' has 14 bytes, and no more than 5 can be read.",
    );
    expect(await read({ offset: 9 })).toBe('hree\n');
    expect(await read({ offset: 4, length: 3 })).toBe('two');
    expect(await failureOf(read({ length: 100 }))).toMatch(/^too_large/);
    expect(await read({ offset: 12, length: 100 })).toBe('e\n');
    expect(await failureOf(read({ offset: -1 }))).toMatch(/^invalid_argument: offset/);
    expect(await failureOf(handle.readText('/workspace/a.txt'))).toMatch(/^too_large/);
  });

  test('a text is UTF-8, and its byte order mark is part of it', async () => {
    const { handle } = make(
      {},
      { '/workspace/bom': '\ufeffa', '/workspace/bin': new Uint8Array([0xff, 0xfe]) },
    );
    expect(await handle.readText('/workspace/bom')).toBe('\ufeffa');
    expect(await failureOf(handle.readText('/workspace/bin'))).toBe(
      "not_text: '/workspace/bin' is not a text in UTF-8.",
    );
  });
});

describe('writing', () => {
  test('texts and bytes, with their size', async () => {
    const { handle } = make();
    expect(await handle.write('/workspace/x/y', 'ä')).toBe(2);
    expect(await handle.write('/workspace/x/y', new Uint8Array([65]))).toBe(1);
    expect(await handle.readText('/workspace/x/y')).toBe('A');
  });

  test('not over an existing file, with overwrite: false', async () => {
    const { handle } = make();
    expect(await failureOf(handle.write('/workspace/a.txt', 'x', { overwrite: false }))).toBe(
      "conflict: '/workspace/a.txt' exists already, and is not to be overwritten.",
    );
    await handle.write('/workspace/b.txt', 'x', { overwrite: false });
    await handle.write('/workspace/a.txt', 'x', { overwrite: true });
    expect(await handle.readText('/workspace/a.txt')).toBe('x');
  });

  test('not more than the limit, and no half characters', async () => {
    const { handle } = make({ limits: { maxFileBytes: 3 } });
    expect(await failureOf(handle.write('/workspace/x', 'ää'))).toBe(
      "too_large: '/workspace/x' would have 4 bytes, and no more than 3 can be written.",
    );
    expect(await failureOf(handle.write('/workspace/x', '\ud83d'))).toBe(
      "invalid_argument: The text for '/workspace/x' has half a character in it.",
    );
    expect(await failureOf(handle.stat('/workspace/x'))).toMatch(/^not_found/);
  });

  test('nothing but texts and bytes', async () => {
    const { handle } = make();
    const problem = 'invalid_argument: The content must be a text or bytes.';
    expect(await failureOf(handle.write('/workspace/a.txt', undefined as never))).toBe(problem);
    expect(await failureOf(handle.update('/workspace/a.txt', (() => {}) as never))).toBe(problem);
    expect(await handle.readText('/workspace/a.txt')).toBe('one\ntwo\nthree\n');
  });

  test('a file and an empty folder are deleted', async () => {
    const { handle } = make();
    await handle.delete('/workspace/src/deep/er.ts');
    await handle.delete('/workspace/src/deep');
    expect((await handle.list('/workspace/src')).length).toBe(1);
    expect(await failureOf(handle.delete('/workspace/src'))).toMatch(
      /^conflict: '\/workspace\/src' is not empty/,
    );
  });
});

describe('editing', () => {
  const edited = async (text: string, ...edits: { oldText: string; newText: string; all?: boolean }[]) => {
    const { handle } = make({}, { '/workspace/a': text });
    const work = handle.edit('/workspace/a', edits);
    const outcome = await work.catch(() => failureOf(work));
    return [outcome, await handle.readText('/workspace/a')];
  };

  test('one place is replaced, literally', async () => {
    expect(await edited('a.b', { oldText: '.', newText: '$&' })).toEqual([4, 'a$&b']);
  });

  test('edits follow one another', async () => {
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'b', newText: 'c' },
    ];
    expect(await edited('a', ...edits)).toEqual([1, 'c']);
  });

  test('no match changes nothing, not even by the edits before', async () => {
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'x', newText: 'c' },
    ];
    expect(await edited('a', ...edits)).toEqual([
      "no_match: oldText of edit 2 is not in '/workspace/a'. Read the file again, and copy the text exactly. Nothing was changed.",
      'a',
    ]);
  });

  test('several matches are refused, unless all are meant', async () => {
    expect(await edited('a a', { oldText: 'a', newText: 'b' })).toEqual([
      "conflict: oldText is in '/workspace/a' 2 times. Give more of the text around it, or set all to true. Nothing was changed.",
      'a a',
    ]);
    expect(await edited('a a', { oldText: 'a', newText: 'bb', all: true })).toEqual([5, 'bb bb']);
  });

  test('an empty text is refused, and so are no edits', async () => {
    expect(await edited('a', { oldText: '', newText: 'b' })).toEqual([
      'invalid_argument: oldText is empty. Give the text that is to be replaced.',
      'a',
    ]);
    expect(await edited('a')).toEqual(['invalid_argument: There are no edits to be made.', 'a']);
  });

  test('plain line ends match other line ends, which stay unchanged', async () => {
    expect(await edited('a\r\nb\r\nc', { oldText: 'a\nb', newText: 'x\ny\nz' })).toEqual([
      10,
      'x\r\ny\r\nz\r\nc',
    ]);
  });

  test('inserted text gets the line ends of the file', async () => {
    expect((await edited('a\r\nb\r\n', { oldText: 'b', newText: 'x\ny' }))[1]).toBe('a\r\nx\r\ny\r\n');
    expect((await edited('a\r\nb\nc', { oldText: 'c', newText: 'x\ny' }))[1]).toBe('a\r\nb\nx\ny');
    expect((await edited('a\r\nb\nc', { oldText: 'a\nb', newText: 'x\ny' }))[1]).toBe('x\r\ny\nc');
    expect((await edited('a\r\nb', { oldText: 'a\r\n', newText: '\n' }))[1]).toBe('\nb');
  });

  test('overlapping occurrences are counted', async () => {
    expect(await edited('a\n\n\nb', { oldText: '\n\n', newText: '-' })).toEqual([
      "conflict: oldText is in '/workspace/a' several times. Give more of the text around it, or set all to true. Nothing was changed.",
      'a\n\n\nb',
    ]);
    expect((await edited('aaaa', { oldText: 'aa', newText: 'b', all: true }))[1]).toBe('bb');
  });

  test('edits of several at the same time are all made', async () => {
    const { handle } = make({}, { '/workspace/a': '1 2 3' });
    const edit = (n: string) => handle.edit('/workspace/a', [{ oldText: n, newText: `<${n}>` }]);
    await Promise.all([edit('1'), edit('2'), edit('3')]);
    expect(await handle.readText('/workspace/a')).toBe('<1> <2> <3>');
  });

  test('however many, by whichever handle', async () => {
    const { store, handle } = make({}, { '/workspace/a': '' });
    const handles = [handle, handle.narrow(['/workspace/a']), new FileSystemHandle(store)];
    const work = Array.from({ length: 60 }, (_, i) =>
      handles[i % 3]!.update('/workspace/a', (text) => `${text}${i},`),
    );
    await Promise.all(work);
    expect(await handle.readText('/workspace/a')).toBe(`${[...Array(60).keys()].join(',')},`);
  });

  test('an edit that always conflicts gives up', async () => {
    const { store, handle } = make();
    let changes = 0;
    const late = handle.update('/workspace/a.txt', (text) => {
      void store.write(parsePath('/workspace/a.txt'), new TextEncoder().encode(`${++changes}`));
      return `${text}!`;
    });
    expect(await failureOf(late)).toBe("conflict: '/workspace/a.txt' has changed meanwhile. Read it again.");
    expect(await handle.readText('/workspace/a.txt')).toBe('5');
  });
});

describe('searching', () => {
  test('files by their names', async () => {
    const { handle } = make();
    expect(await handle.glob('**/*.ts', { skipFolders: ['node_modules'] })).toEqual({
      matches: ['/workspace/src/deep/er.ts', '/workspace/src/main.ts'],
      isComplete: true,
    });
    expect((await handle.glob('*.ts', { path: '/workspace/src' })).matches).toEqual([
      '/workspace/src/main.ts',
    ]);
    expect((await handle.glob('*')).matches).toEqual(['/userinput/brief.txt', '/workspace/a.txt']);
    const inside = await handle.glob('**', {
      path: '/workspace/node_modules',
      skipFolders: ['node_modules'],
    });
    expect(inside.matches).toEqual(['/workspace/node_modules/x/index.ts']);
    expect(await handle.glob('**', { maxMatches: 2 })).toEqual({
      matches: ['/userinput/brief.txt', '/workspace/a.txt'],
      isComplete: false,
    });
    expect(await failureOf(handle.glob('**', { path: '/workspace/none' }))).toMatch(/^not_found/);
  });

  test('a glob that begins with a slash is for whole paths, wherever the search begins', async () => {
    const { store, handle } = make();
    const main = ['/workspace/src/main.ts'];
    for (const path of [undefined, '/', '/workspace', '/workspace/src', '/workspace/src/main.ts'])
      expect((await handle.glob('/workspace/src/*.ts', { path })).matches).toEqual(main);
    expect((await handle.glob('/**/main.ts')).matches).toEqual(main);
    expect((await handle.glob('./src/*.ts', { path: '/workspace' })).matches).toEqual(main);
    const found = await handle.grep('.', { include: '/workspace/src/*.ts' });
    expect([...new Set(found.matches.map(({ path }) => path))]).toEqual(main);
    const list = vi.spyOn(store, 'list');
    expect((await handle.glob('/workspace/src/*.ts', { path: '/userinput' })).matches).toEqual([]);
    expect(list).not.toHaveBeenCalled();
    await expect(handle.glob('src/../*', { path: '/workspace' })).rejects.toThrow("has '..' in it");
  });

  test('folders without possible matches are not visited', async () => {
    const { store, handle } = make();
    const list = vi.spyOn(store, 'list');
    expect((await handle.glob('src/*.ts', { path: '/workspace' })).matches).toEqual([
      '/workspace/src/main.ts',
    ]);
    expect(list.mock.calls.map(([path]) => path)).toEqual(['/workspace', '/workspace/src']);
  });

  test('nested grants are searched once', async () => {
    const { handle } = make({
      grants: ['/workspace/', { path: '/workspace/src/', operations: ['list', 'read'] }],
    });
    expect((await handle.glob('**/main.ts')).matches).toEqual(['/workspace/src/main.ts']);
    expect((await handle.glob('*.ts')).matches).toEqual(['/workspace/src/main.ts']); // from the inner one
  });

  test('lines by an expression', async () => {
    const { handle } = make();
    expect(await handle.grep('^export const [bc]')).toEqual({
      matches: [
        { path: '/workspace/src/deep/er.ts', line: 1, text: 'export const c = 2;' },
        { path: '/workspace/src/main.ts', line: 2, text: 'export const b = a;' },
      ],
      isComplete: true,
    });
    expect((await handle.grep('T', { path: '/workspace/a.txt', ignoreCase: true })).matches).toEqual([
      { path: '/workspace/a.txt', line: 2, text: 'two' },
      { path: '/workspace/a.txt', line: 3, text: 'three' },
    ]);
    expect((await handle.grep('.', { include: '*.txt' })).matches.length).toBe(4);
    expect((await handle.grep('.', { include: 'src/*' })).matches.length).toBe(2);
    expect(await handle.grep('.', { maxMatches: 1 })).toEqual({
      matches: [{ path: '/userinput/brief.txt', line: 1, text: 'Build a house.' }],
      isComplete: false,
    });
    expect(await failureOf(handle.grep('(a'))).toBe(
      "invalid_argument: The pattern has a '(' without its ')'.",
    );
  });

  test('binary and large files are skipped', async () => {
    const files = {
      '/workspace/bin': new Uint8Array([0xff, 0x61]),
      '/workspace/zero': 'a\0b',
      '/workspace/big': 'a'.repeat(100),
      '/workspace/ok': 'a',
    };
    const { handle } = make({ limits: { maxFileBytes: 50 } }, files);
    expect(await handle.grep('a')).toEqual({
      matches: [{ path: '/workspace/ok', line: 1, text: 'a' }],
      isComplete: false,
    });
    expect((await handle.grep('a', { include: '{bin,zero,ok}' })).isComplete).toBe(true);
  });

  test('a file that is named and can not be searched is no file without matches', async () => {
    const files = {
      '/workspace/bin': new Uint8Array([0xff]),
      '/workspace/zero': 'a\0b',
      '/workspace/big': 'a'.repeat(51),
    };
    const { handle } = make({ limits: { maxFileBytes: 50 } }, files);
    const failure = (path: string): Promise<string> => failureOf(handle.grep('a', { path }));
    expect(await failure('/workspace/bin')).toBe("not_text: '/workspace/bin' is not a text in UTF-8.");
    expect(await failure('/workspace/zero')).toMatch(/^not_text/);
    expect(await failure('/workspace/big')).toBe(
      "too_large: '/workspace/big' has 51 bytes, and no more than 50 can be searched.",
    );
    const granted = handle.narrow(['/workspace/bin', '/workspace/zero']);
    expect(await granted.grep('a')).toEqual({ matches: [], isComplete: true }); // none was named
    const listed = handle.narrow([{ path: '/workspace/', operations: ['list'] }]);
    expect(await failureOf(listed.grep('a', { path: '/workspace/zero' }))).toMatch(/^access_denied/);
  });

  test('a file that may be read is searched, though it may not be listed', async () => {
    const { handle } = make({ grants: [{ path: '/workspace/', operations: ['read'] }] });
    expect((await handle.grep('two', { path: '/workspace/a.txt' })).matches.length).toBe(1);
    expect(await failureOf(handle.grep('two', { path: '/workspace/src' }))).toMatch(/^access_denied/);
    expect(await failureOf(handle.glob('*', { path: '/workspace/a.txt' }))).toMatch(/^access_denied/);
  });

  test('a byte order mark is in no line', async () => {
    const { handle } = make({}, { '/workspace/a': '\uFEFFone\r\ntwo\r\n' });
    expect((await handle.grep('^one$')).matches).toEqual([{ path: '/workspace/a', line: 1, text: 'one' }]);
    expect((await handle.readLines('/workspace/a')).lines).toEqual(['one', 'two']);
    expect(await handle.readText('/workspace/a')).toBe('\uFEFFone\r\ntwo\r\n');
  });

  test.each([NaN, -1])('%j is no number of results', async (maxMatches) => {
    const { handle } = make();
    await expect(handle.glob('**', { maxMatches })).rejects.toThrow(
      'maxMatches must be a number of 0 or more.',
    );
  });

  test('a place that can not be looked at keeps nobody from the others', async () => {
    const { store, handle } = make({ grants: ['/workspace/src/', '/userinput/'] });
    const stat = store.stat.bind(store);
    store.stat = async (path) => {
      if (path.startsWith('/userinput')) throw new FileSystemError('access_denied', path, 'It is a link.');
      return stat(path);
    };
    expect(await handle.list()).toEqual([{ path: '/workspace/src', kind: 'directory' }]);
    expect((await handle.glob('*')).matches).toEqual(['/workspace/src/main.ts']);
  });

  test('files below the maximum depth are skipped', async () => {
    const folder = `/workspace/${'x/'.repeat(98)}`;
    const { store, handle } = make({}, { [`${folder}a`]: 'x' });
    expect(await handle.glob('**')).toEqual({ matches: [`${folder}a`], isComplete: true });
    const list = store.list.bind(store);
    store.list = async (path, max) =>
      path === `${folder}a` ? [] : (await list(path, max)).map(({ path }) => ({ path, kind: 'directory' }));
    expect(await handle.glob('**')).toEqual({ matches: [], isComplete: false });
  });

  test('once the task is over a search finds nothing more', async () => {
    const { store, handle } = make();
    const controller = new AbortController();
    const narrowed = handle.narrow(['/workspace/'], controller.signal);
    const list = store.list.bind(store);
    let lists = 0;
    store.list = async (path, max) => {
      if (++lists === 2) controller.abort();
      return list(path, max);
    };
    expect(await narrowed.grep('.')).toMatchObject({ isComplete: false });
    expect(lists).toBe(2);
  });

  /** Text with maximum search work, without repetition. */
  const noise = (length: number): string => {
    let seed = 1;
    const next = (): number => (seed = (seed * 48_271) % 2_147_483_647);
    return Array.from({ length }, () => 'ab'[(next() >> 8) % 2]).join('');
  };

  test('a search that takes too much work ends, and is not complete', { timeout: 60_000 }, async () => {
    const files = { '/workspace/a': noise(50_000), '/workspace/b': 'x' };
    const { handle } = make({ limits: { maxSearchedBytes: 60_000 } }, files);
    expect(await handle.grep('[ab]*a[ab]{1800}x')).toEqual({ matches: [], isComplete: false });
    expect(await handle.grep('[ab]*a[ab]{8}x')).toEqual({ matches: [], isComplete: true });
    const lines = `${noise(200_000).replaceAll(/.{4000}/g, '$&\n')}END`;
    const { handle: other } = make({}, { '/workspace/a': lines });
    expect((await other.grep('END')).matches.length).toBe(1);
    const narrow = new FileSystemHandle(new InMemoryFileSystem({ '/workspace/a': lines }), {
      limits: { maxSearchedBytes: lines.length },
    });
    expect(await narrow.grep('[ab]*a[ab]{1800}x|END')).toEqual({ matches: [], isComplete: false });
  });

  test(
    'however hard the patterns are, others get their turn, and it can be aborted',
    { timeout: 60_000 },
    async () => {
      const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`/workspace/${i}`, '']));
      const { handle } = make({}, { '/workspace/noise': noise(40_000), ...many });
      const hard: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
        grep: (signal) => handle.grep('[ab]*a[ab]{1500}x', { signal }),
        glob: (signal) => handle.glob(`${'*/**/'.repeat(150)}{a,b}`, { signal }),
      };
      for (const search of Object.values(hard)) {
        const controller = new AbortController();
        let turns = 0;
        const tick = (): void => {
          if (++turns === 3) controller.abort(new Error('enough'));
          else setImmediate(tick);
        };
        setImmediate(tick);
        await expect(search(controller.signal)).rejects.toThrow('enough');
      }
    },
  );

  test('the number of visited files is limited', async () => {
    const { handle } = make({ limits: { maxVisited: 4 } });
    expect(await handle.glob('**')).toEqual({
      matches: ['/userinput/brief.txt', '/workspace/a.txt'],
      isComplete: false,
    });
    const { handle: other } = make({ limits: { maxSearchedBytes: 20 } });
    const { matches, isComplete } = await other.grep('.');
    expect([matches.length, isComplete]).toEqual([1, false]);
  });

  test('no more bytes are read than a search may, whatever is in the files', async () => {
    const files = new InMemoryFileSystem();
    const writer = new FileSystemHandle(files);
    for (const i of [0, 1, 2, 3]) await writer.write(`/workspace/${i}`, new Uint8Array(100));
    let read = 0;
    const readOne = files.read.bind(files);
    files.read = async (path, options) => {
      const content = await readOne(path, options);
      read += content.bytes.length;
      return content;
    };
    const search = async (limits: FileSystemHandleOptions['limits']): Promise<unknown> => {
      read = 0;
      const { isComplete } = await new FileSystemHandle(files, { limits }).grep('x');
      return [read, isComplete];
    };
    expect(await search({ maxSearchedBytes: 250 })).toEqual([200, false]);
    expect(await search({ maxSearchedBytes: 400 })).toEqual([400, true]);
    expect(await search({ maxFileBytes: 99 })).toEqual([0, false]); // larger files are left out unread
  });

  test('the end of a very long line is not searched', async () => {
    const { handle } = make({}, { '/workspace/a': `${'x'.repeat(100_000)}NEEDLE` });
    expect(await handle.grep('NEEDLE')).toEqual({ matches: [], isComplete: false });
  });

  test('a named file is searched only if it matches `include`', async () => {
    const { handle } = make({}, { '/workspace/a.md': 'x' });
    const found = async (include: string): Promise<number> =>
      (await handle.grep('x', { path: '/workspace/a.md', include })).matches.length;
    expect([await found('*.ts'), await found('*.md'), await found('**')]).toEqual([0, 1, 1]);
    expect((await handle.glob('*.ts', { path: '/workspace/a.md' })).matches).toEqual([]);
    expect((await handle.glob('*.md', { path: '/workspace/a.md' })).matches).toEqual(['/workspace/a.md']);
  });

  test('a folder that can not be listed is left out, and missed', async () => {
    const many = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`/workspace/many/${i}`, '']));
    const { handle } = make(
      { limits: { maxEntries: 4 } },
      { '/workspace/a': '', ...many, '/workspace/z': '' },
    );
    expect(await handle.glob('**')).toEqual({ matches: ['/workspace/a', '/workspace/z'], isComplete: false });
  });

  test('lines with nothing on them take something, too: of millions not all are looked at', async () => {
    const size = 8_000_000;
    const { handle } = make({ limits: { maxSearchedBytes: size } }, { '/workspace/a': '\n'.repeat(size) });
    expect(await handle.grep('x')).toEqual({ matches: [], isComplete: false });
    expect(await handle.readLines('/workspace/a', size, 2)).toEqual({
      lines: [''],
      startLine: size,
      totalLines: size,
    });
  });

  test('a search stops at once', async () => {
    const { handle } = make();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(handle.glob('**', { signal })).rejects.toThrow('enough');
    await expect(handle.grep('.', { signal })).rejects.toThrow('enough');
  });

  test('a search stops in the middle of a file, too', async () => {
    const { handle } = make({}, { '/workspace/a': 'aaaaaaaaa\n'.repeat(100_000) });
    const controller = new AbortController();
    const work = handle.grep('(b|c)', { signal: controller.signal });
    setImmediate(() => controller.abort(new Error('enough')));
    await expect(work).rejects.toThrow('enough');
  });
});

describe('limits', () => {
  test('undefined means the default', async () => {
    const { handle } = make({ limits: { maxFileBytes: undefined } }, { '/workspace/a': 'precious\n' });
    await handle.update('/workspace/a', (text) => `${text}more`);
    expect(await handle.readText('/workspace/a')).toBe('precious\nmore');
  });

  test.each([NaN, -1])('%j is none', (value) => {
    const limits = { maxFileBytes: value };
    expect(() => new FileSystemHandle(new InMemoryFileSystem(), { limits })).toThrow(
      'limits.maxFileBytes must be a number of 0 or more.',
    );
  });

  test('an edit with a too large result is refused before the write', async () => {
    const { handle } = make({}, { '/workspace/a': 'a'.repeat(20_000) });
    const edit = { oldText: 'a', newText: 'b'.repeat(50_000), all: true };
    await expect(handle.edit('/workspace/a', [edit])).rejects.toMatchObject({
      kind: 'too_large',
      message:
        "'/workspace/a' would have 1000000000 bytes or more, and no more than 10485760 can be written.",
    });
  });
});
