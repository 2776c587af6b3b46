import { expect, test } from 'vitest';

import { fileNameIn } from './file-name.ts';

test('a name is the last part of a path, on one line and not too long', () => {
  const given = ['a.txt', '../../etc/pass\nwd', 'x:/a/b.bin', 'C:\\temp\\c.doc', 'folder//', '', '///'];
  expect(given.map(fileNameIn)).toEqual([
    'a.txt',
    'pass wd',
    'b.bin',
    'c.doc',
    'folder',
    undefined,
    undefined,
  ]);
  expect(fileNameIn(`/${'a'.repeat(1000)}.pdf`)).toBe(`${'a'.repeat(196)}.pdf`);
});

test('a very long name takes no longer', () => {
  const long = `${'a'.repeat(5_000_000)}/x/`; // a search from each of its characters on would take hours
  expect(fileNameIn(long)).toBe('x');
});
