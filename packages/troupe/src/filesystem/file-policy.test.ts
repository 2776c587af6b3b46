import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { FILE_OPERATIONS, FilePolicy, type FileGrant } from './file-policy.ts';
import { parsePath } from './logical-path.ts';

const at = (policy: FilePolicy, path: string): string => policy.operationsAt(parsePath(path)).join(' ');

test.each([
  ['/userinput/a', 'list read'],
  ['/workspace/a/b', 'list read write delete'],
  ['/internal/a', ''],
  ['/etc/passwd', ''],
  ['/workspaces/a', ''],
  ['/', ''],
])('by default %s allows: %s', (path, operations) => {
  expect(at(new FilePolicy(), path)).toBe(operations);
});

test('no grant gives more than its namespace, and there are no others', () => {
  const policy = new FilePolicy(['/', '/etc', '/userinput/', '/internal/']);
  expect(['/userinput/a', '/workspace/a', '/internal/a', '/etc/a'].map((path) => at(policy, path))).toEqual([
    'list read',
    'list read write delete',
    'list read write',
    '',
  ]);
});

test('a grant is for whole segments, and the longest one counts', () => {
  const policy = new FilePolicy([
    { path: '/workspace/a/b', operations: ['list'] },
    { path: '/workspace/a/', operations: ['read', 'write'] },
    { path: '/workspace/a/secret/', operations: [] },
  ]);
  const paths = ['a', 'a/x', 'ab', 'a/b', 'a/b/c', 'a/bc', 'a/secret/x', 'x'];
  expect(Object.fromEntries(paths.map((path) => [path, at(policy, `/workspace/${path}`)]))).toEqual({
    a: 'read write',
    'a/x': 'read write',
    ab: '',
    'a/b': 'list',
    'a/b/c': 'list',
    'a/bc': 'read write',
    'a/secret/x': '',
    x: '',
  });
});

test('of two grants for one path the later counts', () => {
  const policy = new FilePolicy(['/workspace/', { path: '/workspace', operations: ['list'] }]);
  expect(at(policy, '/workspace/a')).toBe('list');
});

test('grants are copied', () => {
  const operations: FileGrant['operations'][number][] = ['list'];
  const policy = new FilePolicy([{ path: '/workspace', operations }]);
  operations.push('write');
  expect(at(policy, '/workspace/a')).toBe('list');
});

describe('the report of a policy', () => {
  test('lists every path with other permissions than its folder, and never /internal/', () => {
    const policy = new FilePolicy([
      '/internal/',
      { path: '/userinput/', operations: FILE_OPERATIONS },
      { path: '/workspace/', operations: ['list', 'read'] },
      { path: '/workspace/same/', operations: ['read', 'list'] },
      { path: '/workspace/out/', operations: FILE_OPERATIONS },
      { path: '/workspace/secret/', operations: [] },
      { path: '/workspace/todo.txt', operations: ['read', 'write'] },
    ]);
    expect(policy.visible).toEqual([
      { path: '/userinput/', operations: ['list', 'read'] },
      { path: '/workspace/', operations: ['list', 'read'] },
      { path: '/workspace/out/', operations: ['list', 'read', 'write', 'delete'] },
      { path: '/workspace/todo.txt', operations: ['read', 'write'] },
    ]);
    expect(policy.describe()).toBe(
      [
        '- `/userinput/`: list, read',
        '- `/workspace/`: list, read',
        '- `/workspace/out/`: list, read, write, delete',
        '- `/workspace/secret/`: nothing',
        '- `/workspace/todo.txt`: read, write',
        '',
        'Where two of these apply, the longer path counts. No other files can be used.',
      ].join('\n'),
    );
  });

  test('is nothing without grants', () => {
    expect(new FilePolicy([]).visible).toEqual([]);
    expect(new FilePolicy(['/internal/']).describe()).toBe('You can use no files.');
    const carved = new FilePolicy(['/workspace/', { path: '/workspace/keys/', operations: [] }]);
    expect(carved.describe()).toContain('- `/workspace/keys/`: nothing\n');
    expect(carved.visible.map(({ path }) => path)).toEqual(['/workspace/']);
  });

  test('of a narrowed one is only its own', () => {
    const policy = new FilePolicy(
      ['/workspace/subagents/bob/', '/userinput/'],
      new FilePolicy(['/workspace/']),
    );
    expect(policy.visible).toEqual([{ path: '/workspace/subagents/bob/', operations: FILE_OPERATIONS }]);
  });
});

test('narrowing never gives more, however often and by whatever grants', () => {
  const place = fc
    .array(fc.constantFrom('a', 'b', 'ab'), { maxLength: 3 })
    .chain((names) =>
      fc.constantFrom('/workspace', '/userinput', '/internal', '').map((root) => [root, ...names]),
    )
    .map((names) => names.join('/') || '/');
  const grant = fc.record({ path: place, operations: fc.subarray([...FILE_OPERATIONS]) });
  const grants = fc.array(grant, { maxLength: 5 });
  let allowed = 0;
  fc.assert(
    fc.property(
      grants,
      fc.array(grants, { minLength: 1, maxLength: 3 }),
      fc.array(place),
      (first, others, places) => {
        let outer = new FilePolicy(first);
        for (const next of others) {
          const inner = new FilePolicy(next, outer);
          for (const path of places.map(parsePath)) {
            const operations = inner.operationsAt(path);
            allowed += operations.length;
            expect(outer.operationsAt(path)).toEqual(expect.arrayContaining([...operations]));
          }
          outer = inner;
        }
      },
    ),
    { numRuns: 1500 },
  );
  expect(allowed).toBeGreaterThan(50);
});
