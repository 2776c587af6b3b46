import { describe, expect, test, vi } from 'vitest';

import { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import { InMemoryFileSystem } from '../filesystem/in-memory-file-system.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import type { JsonObject } from '../util/json.ts';
import { fileTools, type FileToolName, type FileToolsOptions } from './file-tools.ts';

const ALL: readonly FileToolName[] = [
  'read_text_file',
  'read_multiple_files',
  'list_directory',
  'get_file_info',
  'list_allowed_directories',
  'write_file',
  'delete_file',
  'edit_file',
  'fs_describe_permissions_markdown',
  'insert_text_file',
  'glob',
  'grep',
  'view_text_file',
  'write_text_file',
];
const FILES = {
  '/userinput/brief.txt': 'Build it.\n',
  '/workspace/a.txt': Array.from({ length: 12 }, (_, i) => `line ${i + 1}\n`).join(''),
  '/workspace/src/main.ts': 'export const a = 1;\n',
  '/internal/key': 'secret',
};

function make(
  options: FileToolsOptions = { names: ALL },
  files: Record<string, string | Uint8Array> = FILES,
) {
  const handle = new FileSystemHandle(new InMemoryFileSystem(files));
  const toolkit = new Toolkit();
  for (const tool of fileTools(handle, options)) toolkit.registerToolFunction(tool);
  const call = async (name: string, input: JsonObject = {}): Promise<string> => {
    const { status, output } = await toolkit.callToolFunction({ type: 'tool_use', id: '1', name, input });
    return status === 'ok' ? String(output) : `${status}: ${String(output)}`;
  };
  return { handle, toolkit, call };
}

describe('the set', () => {
  test('has no doubles, unless they are named', () => {
    const { handle } = make();
    expect(fileTools(handle).map(({ name }) => name)).toEqual(ALL.slice(0, 12));
    expect(fileTools(handle, { names: ['view_text_file'] }).map(({ name }) => name)).toEqual([
      'view_text_file',
    ]);
    expect(() => fileTools(handle, { names: ['toString' as any] })).toThrow(
      "There is no file tool 'toString'.",
    );
  });

  test('has only the tools that the handle allows', () => {
    const { handle } = make();
    const names = (grants: Parameters<FileSystemHandle['narrow']>[0]) =>
      fileTools(handle.narrow(grants)).map(({ name }) => name);
    expect(names(['/userinput/'])).toEqual([
      'read_text_file',
      'read_multiple_files',
      'list_directory',
      'get_file_info',
      'list_allowed_directories',
      'fs_describe_permissions_markdown',
      'glob',
      'grep',
    ]);
    expect(names([])).toEqual(['list_allowed_directories', 'fs_describe_permissions_markdown']);
  });

  test('tells what changes something, and shows no handle to the model', () => {
    const { handle, toolkit } = make();
    const tools = fileTools(handle, { names: ALL });
    const changing = tools.filter(({ sideEffect }) => sideEffect).map(({ name }) => name);
    expect(changing).toEqual([
      'write_file',
      'delete_file',
      'edit_file',
      'insert_text_file',
      'write_text_file',
    ]);
    expect(tools.filter(({ readOnly, sideEffect }) => readOnly === sideEffect)).toEqual([]);
    const schemas = JSON.stringify(toolkit.getJsonSchemas());
    expect(schemas).not.toMatch(/handle|service|internal/);
    expect(schemas).toContain('The full path of the file, in: /userinput/, /workspace/');
  });

  test('cuts long output', async () => {
    const { call } = make({ names: ['read_text_file'], maxOutputChars: 10 });
    expect(await call('read_text_file', { path: '/workspace/a.txt' })).toBe(
      'line 1\nlin…\n<system-info>The output has 86 characters. Only the first 10 are shown.</system-info>',
    );
  });

  test('an unknown argument is refused', async () => {
    const { call } = make();
    expect(await call('read_text_file', { path: '/workspace/a.txt', service: 'x' })).toMatch(
      /^error: Arguments Validation Error/,
    );
  });
});

test.each(ALL.filter((name) => !name.startsWith('list_allowed') && !name.startsWith('fs_')))(
  '%s is refused what the handle refuses, and says nothing of it',
  async (name) => {
    const { call, handle } = make();
    const [tool] = fileTools(handle, { names: [name] });
    const { properties } = tool!.schema as { properties: object };
    const answerFor = (path: string): Promise<string> => {
      const others = { content: 'x', line_number: 1, pattern: '.*', edits: [{ oldText: 'e', newText: 'x' }] };
      const input = Object.entries({ path, paths: [path], ...others }).filter(([key]) => key in properties);
      return call(name, Object.fromEntries(input));
    };
    const answer = await answerFor('/internal/key');
    expect(answer).toMatch(/Error: Access denied: '\/internal\/key' can't be \w+\. That is possible in: /);
    expect(answer).not.toContain('secret');
    expect((await answerFor('/internal/none')).replaceAll('none', 'key')).toBe(answer);
  },
);

describe('reading', () => {
  test('a text file, plain or with numbers and a header', async () => {
    const { call } = make();
    const path = '/workspace/a.txt';
    expect(await call('read_text_file', { path, start_line: 11 })).toBe('line 11\nline 12');
    expect(
      await call('read_text_file', {
        path,
        start_line: 9,
        read_lines: 2,
        with_line_numbers: true,
        with_header: true,
      }),
    ).toBe('[/workspace/a.txt: lines 9-10 of 12, as "number: text"]\n 9: line 9\n10: line 10');
    expect(await call('read_text_file', { path, start_line: 99 })).toBe(
      `<system-info>${path} has 12 lines, so none from 99 on.</system-info>`,
    );
    expect(await call('read_text_file', { path, start_line: 99, with_header: true })).toBe(
      '[/workspace/a.txt: no lines of 12]\n',
    );
    expect(await call('read_text_file', { path: '/workspace/none' })).toBe(
      "error: Error: Path not found: '/workspace/none'.",
    );
  });

  test('of a long file whole lines, and where to go on', async () => {
    const text = Array.from({ length: 5000 }, (_, i) => `This is line ${i + 1}.`).join('\n');
    const files = { '/workspace/long': text, '/workspace/one': `${'x'.repeat(9000)}\nend` };
    const { call } = make({ names: ['read_text_file'], maxOutputChars: 8000 }, files);
    for (const how of [{}, { with_line_numbers: true, with_header: true }]) {
      const seen: string[] = [];
      for (let start = 1; start <= 5000;) {
        const part = await call('read_text_file', { path: '/workspace/long', start_line: start, ...how });
        expect(part.length).toBeLessThanOrEqual(8000);
        const found = part.match(/This is line \d+\./g) ?? [];
        seen.push(...found);
        const [, last, next] =
          /\n<system-info>This is as much as fits, up to line (\d+) of 5000\. Go on with start_line = (\d+)\.<\/system-info>$/.exec(
            part,
          ) ?? [];
        if ('with_header' in how)
          expect(part).toContain(`: lines ${start}-${start + found.length - 1} of 5000,`);
        start += found.length;
        expect([last, next]).toEqual(start > 5000 ? [undefined, undefined] : [`${start - 1}`, `${start}`]);
      }
      expect(seen.join('\n')).toBe(text);
    }
    expect(await call('read_text_file', { path: '/workspace/one' })).toMatch(
      /^x+…\n<system-info>The output has/,
    );
  });

  test('several files, of which some fail', async () => {
    const { call } = make();
    const paths = ['/userinput/brief.txt', '/workspace/none', '/workspace/../x', '/workspace/src/main.ts'];
    expect(await call('read_multiple_files', { paths })).toBe(
      [
        '## /userinput/brief.txt\nBuild it.',
        "## /workspace/none\nError: Path not found: '/workspace/none'.",
        "## /workspace/../x\nError: Invalid path '/workspace/../x': '..' is not allowed. Write the path in full.",
        '## /workspace/src/main.ts\nexport const a = 1;',
      ].join('\n\n'),
    );
  });

  test('several files, until the answer is long enough', async () => {
    const files = { '/workspace/a': 'a'.repeat(90), '/workspace/b': 'b'.repeat(30), '/workspace/c': 'c' };
    const { call, handle } = make({ names: ['read_multiple_files'], maxOutputChars: 100 }, files);
    const read = vi.spyOn(handle, 'readLines');
    expect(await call('read_multiple_files', { paths: Object.keys(files) })).toContain('## /workspace/a');
    expect(read.mock.calls).toEqual([['/workspace/a'], ['/workspace/b']]);
  });

  test('a view has line numbers, and its ranges may count from the end', async () => {
    const { call } = make();
    const path = '/workspace/a.txt';
    const view = (ranges: readonly number[]) => call('view_text_file', { path, ranges });
    expect(await call('view_text_file', { path: '/userinput/brief.txt' })).toBe(
      '/userinput/brief.txt, lines 1-1 of 1:\n```\n1: Build it.\n```',
    );
    expect(await view([9, 10])).toBe(
      '/workspace/a.txt, lines 9-10 of 12:\n```\n 9: line 9\n10: line 10\n```',
    );
    expect(await view([12, 99])).toBe('/workspace/a.txt, lines 12-12 of 12:\n```\n12: line 12\n```');
    expect(await view([-2, -1])).toBe(
      '/workspace/a.txt, lines 11-12 of 12:\n```\n11: line 11\n12: line 12\n```',
    );
    expect(await view([13, 14])).toBe(
      'error: InvalidArgumentError: The start line 13 is beyond /workspace/a.txt, which has 12 lines.',
    );
    for (const ranges of [
      [0, 2],
      [3, 2],
      [-20, 2],
    ])
      expect(await view(ranges)).toMatch(/^error: InvalidArgumentError: \[/);
    expect(await view([1])).toMatch(/^error: Arguments Validation Error/);
  });

  test('an empty file is no error', async () => {
    const { call } = make(undefined, { '/workspace/empty': '' });
    expect(await call('view_text_file', { path: '/workspace/empty' })).toBe(
      '/workspace/empty has 0 lines, and none of them is shown.',
    );
    expect(await call('read_text_file', { path: '/workspace/empty' })).toBe('');
  });

  test('folders, granted paths, and facts about a file', async () => {
    const { call, handle } = make();
    expect(await call('list_directory', { path: '/workspace/' })).toBe('[DIR] src/\n[FILE] a.txt');
    expect(await call('list_directory')).toBe('[DIR] /userinput/\n[DIR] /workspace/');
    expect(await call('list_directory', { path: '/' })).toBe('[DIR] /userinput/\n[DIR] /workspace/');
    await handle.delete('/workspace/src/main.ts');
    expect(await call('list_directory', { path: '/workspace/src' })).toBe('<empty>');
    expect(await call('get_file_info', { path: '/workspace/a.txt' })).toMatch(
      /^path: \/workspace\/a\.txt\nkind: file\nsize: 87\nupdated: \d{4}-/,
    );
    expect(await call('get_file_info', { path: '/workspace/src' })).toBe(
      'path: /workspace/src\nkind: directory',
    );
    expect(await call('list_allowed_directories')).toBe('/userinput/\n/workspace/');
    expect(await call('fs_describe_permissions_markdown')).toBe(handle.describe());
  });
});

describe('writing', () => {
  test('a whole file', async () => {
    const { call, handle } = make();
    expect(await call('write_file', { path: '/workspace/new/b', content: 'ä' })).toBe(
      'wrote 2 bytes to /workspace/new/b',
    );
    expect(await call('write_file', { path: '/workspace/new/b', content: 'x', overwrite: false })).toBe(
      "error: Error: '/workspace/new/b' exists already, and is not to be overwritten.",
    );
    expect(await handle.readText('/workspace/new/b')).toBe('ä');
    expect(await call('delete_file', { path: '/workspace/new/b' })).toBe('deleted /workspace/new/b');
    expect(await call('delete_file', { path: '/workspace/new/b' })).toBe(
      "error: Error: Path not found: '/workspace/new/b'.",
    );
  });

  test('edits, of which none may miss', async () => {
    const { call, handle } = make();
    const path = '/workspace/src/main.ts';
    expect(await call('edit_file', { path, edits: [{ oldText: '1', newText: '22' }] })).toBe(
      'edited /workspace/src/main.ts (size=21)',
    );
    expect(await call('edit_file', { path, edits: [{ oldText: '2', newText: '3', all: true }] })).toBe(
      'edited /workspace/src/main.ts (size=21)',
    );
    expect(await handle.readText(path)).toBe('export const a = 33;\n');
    expect(await call('edit_file', { path, edits: [{ oldText: 'x y', newText: '' }] })).toMatch(
      /^error: Error: oldText is not in/,
    );
    expect(await call('edit_file', { path, edits: [{ oldText: '', newText: '' }] })).toMatch(
      /^error: Error: oldText is empty/,
    );
    expect(await call('edit_file', { path, edits: [{ old_text: '3', newText: '' }] })).toMatch(
      /^error: Arguments Validation Error/,
    );
  });

  test('lines are inserted at 1 to n + 1', async () => {
    const { call, handle } = make(undefined, { '/workspace/a': 'one\ntwo' });
    const insert = (line_number: number, content: string, path = '/workspace/a') =>
      call('insert_text_file', { path, content, line_number });
    expect(await insert(3, 'three\n')).toBe(
      'Inserted into /workspace/a at line 3.\n/workspace/a, lines 1-3 of 3:\n```\n1: one\n2: two\n3: three\n```',
    );
    expect(await insert(1, 'zero')).toMatch(/^Inserted into \/workspace\/a at line 1\.\n/);
    expect(await handle.readText('/workspace/a')).toBe('zero\none\ntwo\nthree\n');
    expect(await insert(6, 'x')).toBe(
      'error: InvalidArgumentsError: line_number is 6, but must be from 1 to 5 in /workspace/a.',
    );
    expect(await insert(0, 'x')).toMatch(
      /^error: InvalidArgumentsError: line_number is 0, but must be from 1 to 5/,
    );
    expect(await insert(1, 'x', '/workspace/none')).toBe(
      "error: InvalidArgumentsError: Path not found: '/workspace/none'.",
    );
    expect(await insert(1, 'x', '/userinput/x')).toMatch(/^error: Error: Access denied/);
  });

  test('an empty line is a line, and a byte order mark stays in front', async () => {
    const { call, handle } = make(undefined, { '/workspace/a': '\uFEFFone\r\ntwo', '/workspace/b': 'one\n' });
    const insert = (path: string, line_number: number, content: string) =>
      call('insert_text_file', { path, content, line_number });
    await insert('/workspace/a', 1, 'zero\nhalf');
    expect(await handle.readText('/workspace/a')).toBe('\uFEFFzero\r\nhalf\r\none\r\ntwo');
    await call('write_text_file', { path: '/workspace/a', content: 'ZERO', ranges: [1, 1] });
    expect(await handle.readText('/workspace/a')).toBe('\uFEFFZERO\r\nhalf\r\none\r\ntwo');
    expect(await insert('/workspace/b', 1, '')).toBe(
      'Inserted into /workspace/b at line 1.\n/workspace/b, lines 1-2 of 2:\n```\n1: \n2: one\n```',
    );
  });

  test('a range of lines is replaced, and shown with five lines around it', async () => {
    const { call, handle } = make();
    const path = '/workspace/a.txt';
    const write = (content: string, ranges?: readonly number[]) =>
      call('write_text_file', { path, content, ...(ranges ? { ranges } : {}) });
    expect(await write('new\nlines\n', [7, 9])).toBe(
      [
        'Wrote lines 7-9 of /workspace/a.txt.',
        '/workspace/a.txt, lines 2-11 of 11:',
        '```',
        ' 2: line 2',
        ' 3: line 3',
        ' 4: line 4',
        ' 5: line 5',
        ' 6: line 6',
        ' 7: new',
        ' 8: lines',
        ' 9: line 10',
        '10: line 11',
        '11: line 12',
        '```',
      ].join('\n'),
    );
    expect(await write('x', [12, 13])).toBe(
      'error: Error: The start line 12 is beyond /workspace/a.txt, which has 11 lines.',
    );
    expect(await write('all')).toBe('Overwrote /workspace/a.txt.');
    expect(await handle.readText(path)).toBe('all');
    const created = { path: '/workspace/b.txt', content: 'b', ranges: [4, 5] };
    expect(await call('write_text_file', created)).toBe(
      'Created /workspace/b.txt. It is new, so the ranges were ignored.',
    );
    expect(await call('write_text_file', { path: '/workspace/c.txt', content: 'c' })).toBe(
      'Created /workspace/c.txt.',
    );
    expect(await handle.readText('/workspace/b.txt')).toBe('b');
  });
});

describe('searching', () => {
  test('by name and by content', async () => {
    const { call } = make(undefined, {
      ...FILES,
      '/workspace/node_modules/x.ts': 'const a',
      '/workspace/long': 'y'.repeat(900),
    });
    expect(await call('glob', { pattern: '**/*.ts' })).toBe('/workspace/src/main.ts');
    expect(await call('glob', { pattern: '*', path: '/workspace/node_modules' })).toBe(
      '/workspace/node_modules/x.ts',
    );
    expect(await call('glob', { pattern: '*.py' })).toBe('No files found.');
    expect(await call('grep', { pattern: 'LINE 1$', ignore_case: true })).toBe('/workspace/a.txt:1: line 1');
    expect(await call('grep', { pattern: 'const', include: '*.ts' })).toBe(
      '/workspace/src/main.ts:1: export const a = 1;',
    );
    expect(await call('grep', { pattern: 'nothing' })).toBe('No lines found.');
    expect(await call('grep', { pattern: 'y+' })).toBe(`/workspace/long:1: ${'y'.repeat(500)}…`);
    expect(await call('grep', { pattern: '(?=x)' })).toBe(
      'error: Error: The pattern has a lookaround such as (?=, which is not supported.',
    );
  });

  test('a file that can not be searched is said to be so, and no character is cut in two', async () => {
    const { call } = make(undefined, {
      '/workspace/bin': new Uint8Array([0xff]),
      '/workspace/long': `${'y'.repeat(499)}😀y`,
    });
    expect(await call('grep', { pattern: 'y', path: '/workspace/bin' })).toBe(
      "error: Error: '/workspace/bin' is not a text in UTF-8.",
    );
    expect((await call('grep', { pattern: 'y', path: '/workspace/long' })).isWellFormed()).toBe(true);
    expect(() => make({ maxMatches: NaN })).toThrow('maxMatches must be a number of 0 or more.');
  });

  test('more than is shown is said to be there', async () => {
    const { call } = make({ maxMatches: 2 });
    const note = '(There may be more: this is as far as one search goes. Be more specific.)';
    expect(await call('grep', { pattern: 'line' })).toBe(
      `/workspace/a.txt:1: line 1\n/workspace/a.txt:2: line 2\n${note}`,
    );
    expect(await call('glob', { pattern: '**' })).toBe(`/userinput/brief.txt\n/workspace/a.txt\n${note}`);
  });
});
