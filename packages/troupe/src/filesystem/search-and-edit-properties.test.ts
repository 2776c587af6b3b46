// Searches and edits equal a simple reference implementation, for any files, patterns and texts.
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { FileSystemError } from './file-system-error.ts';
import { FileSystemHandle } from './file-system-handle.ts';
import { InMemoryFileSystem } from './in-memory-file-system.ts';

const name = fc.constantFrom('a', 'b', 'ab', '.a', 'é');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/workspace/${names.join('/')}.t`);
const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n', '\r', '😀', '$&'), maxLength: 12 });

/** Files whose names end in `.t`, so that no file is also a folder. */
const tree = fc.dictionary(path, text, { maxKeys: 8 });

/** A glob as a regular expression for whole paths. */
function globToRegExp(glob: string, from: string): RegExp {
  const parts = glob.split('/').filter(Boolean);
  const source = parts.map((part) =>
    part === '**'
      ? '(?:[^/]+/)*'
      : `${part
          .replaceAll('.', '\\.')
          .replaceAll('*', '[^/]*')
          .replaceAll('?', '[^/]')
          .replace(/\{(.*),(.*)\}/, '(?:$1|$2)')}/`,
  );
  return new RegExp(`^${glob.startsWith('/') ? '/' : `${from}/`}${source.join('')}$`, 'u');
}

test('a glob finds what a plain matcher finds, by whole paths too', async () => {
  const part = fc.constantFrom('a', 'b', '*', '**', '?', '{a,b}', 'a*', '*.t', '?.t', '{a,ab}.t', '.*');
  const glob = fc
    .tuple(
      fc.constantFrom('', '', '/workspace/', '/*/', '/**/'),
      fc.array(part, { minLength: 1, maxLength: 4 }),
    )
    .map(([start, parts]) => start + parts.join('/'));
  let found = 0;
  await fc.assert(
    fc.asyncProperty(tree, glob, fc.constantFrom('/workspace', '/workspace/a'), async (files, glob, from) => {
      const handle = new FileSystemHandle(new InMemoryFileSystem({ ...files, '/workspace/a/x': '' }));
      const pattern = globToRegExp(glob, from);
      const expected = [...Object.keys(files), '/workspace/a/x']
        .filter((path) => path.startsWith(`${from}/`) && pattern.test(`${path}/`))
        .sort();
      const { matches, isComplete } = await handle.glob(glob, { path: from });
      expect([[...matches].sort(), isComplete]).toEqual([expected, true]);
      found += matches.length;
    }),
    { numRuns: 500 },
  );
  expect(found).toBeGreaterThan(100);
});

test('a grep finds the lines that JavaScript finds', async () => {
  const pattern = fc.constantFrom(
    'a',
    'aa',
    '^a',
    'b$',
    '^$',
    'a.b',
    '[^a]b',
    'a|b{2}',
    '(ab)+',
    '\\$&',
    '\\W',
  );
  let found = 0;
  await fc.assert(
    fc.asyncProperty(tree, pattern, fc.boolean(), async (files, pattern, ignoreCase) => {
      const handle = new FileSystemHandle(new InMemoryFileSystem(files));
      const regExp = new RegExp(pattern, ignoreCase ? 'ui' : 'u');
      const expected = Object.entries(files).flatMap(([path, text]) =>
        text
          .replace(/\n$/, '')
          .split('\n')
          .map((line, i) => ({ path, line: i + 1, text: line.replace(/\r$/, '') }))
          .filter(({ text: line }) => text !== '' && regExp.test(line)),
      );
      const { matches } = await handle.grep(pattern, { ignoreCase });
      const key = ({ path, line, text }: (typeof expected)[number]): string => `${path}:${line}:${text}`;
      expect(matches.map(key).sort()).toEqual(expected.map(key).sort());
      found += matches.length;
    }),
    { numRuns: 500 },
  );
  expect(found).toBeGreaterThan(300);
});

test('an edit replaces as a text is split and joined, or changes nothing', async () => {
  const short = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '$&'), maxLength: 3 });
  const edit = fc.record({ oldText: short, newText: short, all: fc.boolean() });
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom('a', 'b', '\n', '$&'), maxLength: 8 }),
      fc.boolean(),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      async (plain, isCrLf, edits) => {
        const file = '/workspace/a';
        const before = isCrLf ? plain.replaceAll('\n', '\r\n') : plain;
        const handle = new FileSystemHandle(new InMemoryFileSystem({ [file]: before }));
        let expected = plain;
        let problem = '';
        for (const { oldText, newText, all } of edits) {
          const places = Array.from(expected, (_, at) => expected.startsWith(oldText, at)).filter(
            Boolean,
          ).length;
          if (oldText === '') problem ||= 'invalid_argument';
          else if (places === 0) problem ||= 'no_match';
          else if (places > 1 && !all) problem ||= 'conflict';
          else expected = expected.split(oldText).join(newText);
        }
        const failure = await handle.edit(file, edits).then(
          () => '',
          (error: unknown) => (error as FileSystemError).kind,
        );
        outcomes.set(failure, (outcomes.get(failure) ?? 0) + 1);
        expect(failure).toBe(problem);
        const after = await handle.readText(file);
        if (failure !== '') expect(after).toBe(before);
        else if (!isCrLf) expect(after).toBe(expected);
        else if (plain.includes('\n')) expect(after.replaceAll('\r\n', '\n')).toBe(expected);
      },
    ),
    { numRuns: 1000 },
  );
  for (const outcome of ['', 'invalid_argument', 'no_match', 'conflict'])
    expect(outcomes.get(outcome)).toBeGreaterThan(30);
});
