import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { FileSystemError } from './file-system-error.ts';
import { isWithin, joinPath, nameOf, parentOf, parsePath, pathOfFound, segmentsOf } from './logical-path.ts';

/** Paths of hostile or confused models, with the error text. */
const REFUSED: readonly (readonly [path: string, problem: RegExp])[] = [
  ['', /must begin with '\/'/],
  ['workspace/a', /must begin with '\/'/],
  ['~/a', /must begin with '\/'/],
  ['C:\\a', /must begin with '\/'/],
  ['file:///workspace/a', /must begin with '\/'/],
  ['//', /a segment is empty/],
  ['//server/share', /a segment is empty/],
  ['/workspace//a', /a segment is empty/],
  ['/workspace/a//', /a segment is empty/],
  ['/..', /'\.\.' is not allowed/],
  ['/workspace/../internal/a', /'\.\.' is not allowed/],
  ['/workspace/a/..', /'\.\.' is not allowed/],
  ['/workspace/./a', /'\.' is not allowed/],
  ['/workspace/a\0.png', /control characters/],
  ['/workspace/a\nb', /control characters/],
  ['/workspace/a\x7f', /control characters/],
  ['/workspace/a\x9b31m', /control characters/],
  ['/workspace/a\u2028b', /control characters/],
  ['/workspace/\u202etxt.exe', /control characters/],
  ['/workspace/\ud800', /control characters/],
  ['/workspace\\..\\internal', /none of/],
  ['/workspace/a:stream', /none of/],
  ['/workspace/*', /none of/],
  ['/workspace/a?', /none of/],
  ['/workspace/a|b', /none of/],
  ['/workspace/a.', /end in a dot or a space/],
  ['/workspace/a ', /end in a dot or a space/],
  ['/workspace/...', /end in a dot or a space/],
  ['/workspace/ /a', /end in a dot or a space/],
  ['/workspace/con', /name of a device/],
  ['/workspace/NUL.txt', /name of a device/],
  ['/workspace/aux.tar.gz', /name of a device/],
  ['/workspace/COM1/a', /name of a device/],
  ['/workspace/lpt¹', /name of a device/],
  [`/workspace/${'x'.repeat(256)}`, /longer than 255 bytes/],
  [`/workspace/${'é'.repeat(128)}`, /longer than 255 bytes/],
  [`/workspace/${'x/'.repeat(1000)}`, /longer than 1024 characters/],
  [`/workspace/${'x/'.repeat(100)}`, /deeper than 100 folders/],
];

test.each(REFUSED)('%j is refused', (path, problem) => {
  expect(() => parsePath(path)).toThrow(FileSystemError);
  expect(() => parsePath(path)).toThrow(problem);
  expect(() => parsePath(path)).toThrow(expect.objectContaining({ kind: 'invalid_path' }));
});

test('an error shows no more than 64 characters of it, on one line', () => {
  expect(() => parsePath('x'.repeat(900))).toThrow(`Invalid path '${'x'.repeat(63)}…': it must begin`);
  expect(() => parsePath('a\r\n\x1b[2J')).toThrow(/^Invalid path 'a \[2J': it must begin/);
  expect(() => parsePath(undefined as never)).toThrow("Invalid path '': a path is a text.");
});

test.each([
  ['/', '/'],
  ['/workspace', '/workspace'],
  ['/workspace/', '/workspace'],
  ['/workspace/a..b', '/workspace/a..b'],
  ['/workspace/..a/.hidden', '/workspace/..a/.hidden'],
  ['/workspace/%2e%2e/a', '/workspace/%2e%2e/a'],
  ['/workspace/~/con1/console', '/workspace/~/con1/console'],
  ['/workspace/[id].tsx', '/workspace/[id].tsx'],
  ['/workspace/cafe\u0301', '/workspace/caf\u00e9'],
  ['/workspace/ a b', '/workspace/ a b'],
  ['/workspace/__proto__', '/workspace/__proto__'],
  ['/workspace/👩‍🚀', '/workspace/👩‍🚀'],
])('%j is %j', (text, path) => {
  expect(parsePath(text)).toBe(path);
});

test('a parsed path stays as it is, and is the path of its segments', () => {
  const name = fc
    .string({ minLength: 1, unit: 'grapheme' })
    .filter((name) => pathOfFound(parsePath('/workspace'), name) !== undefined);
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), (names) => {
      const path = parsePath(`/${names.join('/')}`);
      expect(parsePath(path)).toBe(path);
      expect(segmentsOf(path)).toEqual(names);
      expect(`${parentOf(path)}/${nameOf(path)}`.replace('//', '/')).toBe(path);
      expect(joinPath(parentOf(path), nameOf(path))).toBe(path);
    }),
  );
});

describe('a joined name', () => {
  const folder = parsePath('/workspace/subagents');

  test('is one segment, with any content', () => {
    expect(joinPath(folder, 'bob')).toBe('/workspace/subagents/bob');
    expect(joinPath(parsePath('/'), 'workspace')).toBe('/workspace');
  });

  test.each(['', '.', '..', '/', 'a/b', '../x', 'a\\b', 'a\0', 'con', 'a.', 'a/', '/a'])(
    'can not be %j',
    (name) => {
      expect(() => joinPath(folder, name)).toThrow(expect.objectContaining({ kind: 'invalid_path' }));
    },
  );
});

test.each([
  ['/', '/workspace/a', true],
  ['/workspace/a', '/workspace/a', true],
  ['/workspace/a', '/workspace/a/b', true],
  ['/workspace/a', '/workspace/ab', false],
  ['/workspace/a/b', '/workspace/a', false],
])('within %s is %s: %s', (folder, path, isInside) => {
  expect(isWithin(parsePath(folder), parsePath(path))).toBe(isInside);
});

test.each(['a\nb', 'con', 'x.', 'a\\b', 'a/b', 'cafe\u0301', '', '..', 'x'.repeat(250)])(
  'a file named %j is not shown',
  (name) => {
    const folder = parsePath(`/workspace/${'x'.repeat(200)}${`/${'y'.repeat(200)}`.repeat(3)}`);
    expect(pathOfFound(folder, name)).toBe(undefined);
    expect(pathOfFound(folder, 'fine')).toBe(`${folder}/fine`);
  },
);

test('a path that is too deep is not shown', () => {
  const folder = parsePath(`/workspace/${'x/'.repeat(98)}`);
  expect(pathOfFound(folder, 'fine')).toBe(`${folder}/fine`);
  expect(pathOfFound(parsePath(`${folder}/y`), 'fine')).toBe(undefined);
});

test('characters that change the writing direction are escaped in errors', () => {
  expect(() => parsePath('/workspace/\u202ea')).toThrow(
    "Invalid path '/workspace/ a': it contains control characters.",
  );
});
