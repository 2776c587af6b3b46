import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { messageOf } from '../errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { fileSystemContract } from '../testing/file-system-contract.ts';
import { useClock } from '../util/clock.ts';
import type { FileSystemError } from './file-system-error.ts';
import { InMemoryFileSystem } from './in-memory-file-system.ts';
import { parsePath } from './logical-path.ts';

describe('the contract', () => {
  test.each(fileSystemContract(() => new InMemoryFileSystem()))('$name', ({ run }) => run());
});

test('starts with given files, and reports their time of change', async () => {
  const stop = useClock(new FakeClock());
  const files = new InMemoryFileSystem({ '/userinput/a.txt': 'ä', '/internal/b': new Uint8Array([1, 2, 3]) });
  expect(await files.stat(parsePath('/userinput/a.txt'))).toEqual({
    path: '/userinput/a.txt',
    kind: 'file',
    size: 2,
    updatedAt: '2026-01-01T00:00:00.000Z',
  });
  expect((await files.read(parsePath('/internal/b'), { maxBytes: 9 })).bytes).toEqual(
    new Uint8Array([1, 2, 3]),
  );
  stop();
  expect(() => new InMemoryFileSystem({ '/elsewhere/a': '' })).toThrow("Path not found: '/'");
});

test('the size is limited, and a deletion frees space', async () => {
  const files = new InMemoryFileSystem({ '/workspace/a': '12345' }, { maxBytes: 10 });
  const write = (name: string, size: number) =>
    files.write(parsePath(`/workspace/${name}`), new Uint8Array(size)).then(
      () => 'ok',
      (error: unknown) => messageOf(error),
    );
  const full = (name: string): string =>
    `'/workspace/${name}' does not fit: all files together may have 10 bytes.`;
  expect(await write('b', 6)).toBe(full('b'));
  expect(await files.stat(parsePath('/workspace/b'))).toBe(undefined);
  expect(await write('d/b', 5)).toBe('ok');
  expect(await write('a', 6)).toBe(full('a'));
  expect(await write('a', 1)).toBe('ok');
  expect(await write('c', 4)).toBe('ok');
  await files.delete(parsePath('/workspace/d/b'));
  expect(await write('e', 6)).toBe(full('e'));
  expect(await write('e', 5)).toBe('ok');
  expect(() => new InMemoryFileSystem({}, { maxBytes: NaN })).toThrow('maxBytes must be a number');
  expect(() => new InMemoryFileSystem({ '/workspace/a': '12' }, { maxBytes: 1 })).toThrow(
    full('a').replace('10', '1'),
  );
});

test('the free space always equals the limit minus the files', async () => {
  const name = fc.constantFrom('a', 'b', 'd/a', 'd/e/f', 'a/b');
  const step = fc.record({
    name,
    what: fc.constantFrom('write', 'make', 'replace', 'delete'),
    size: fc.nat({ max: 15 }),
  });
  let full = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const files = new InMemoryFileSystem({ '/workspace/a': '123' }, { maxBytes: 20 });
      const sizes = new Map([['a', 3]]);
      for (const { name, what, size } of steps) {
        const path = parsePath(`/workspace/${name}`);
        const expected = what === 'make' ? null : what === 'replace' ? 'no such version' : undefined;
        const work =
          what === 'delete' ? files.delete(path) : files.write(path, new Uint8Array(size), { expected });
        const failure = await work.then(
          () => undefined,
          (error: unknown) => (error as FileSystemError).kind,
        );
        if (failure === 'too_large') full++;
        if (failure !== undefined) continue;
        if (what === 'delete') sizes.delete(name);
        else sizes.set(name, size);
      }
      const room = 20 - [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
      const rest = parsePath('/workspace/rest');
      await expect(files.write(rest, new Uint8Array(room + 1))).rejects.toMatchObject({ kind: 'too_large' });
      await files.write(rest, new Uint8Array(room));
    }),
    { numRuns: 300 },
  );
  expect(full).toBeGreaterThan(100);
});

test('bytes that were read are a copy', async () => {
  const files = new InMemoryFileSystem({ '/workspace/a': 'abc' });
  const path = parsePath('/workspace/a');
  (await files.read(path, { maxBytes: 9 })).bytes.fill(0);
  expect(new TextDecoder().decode((await files.read(path, { maxBytes: 9 })).bytes)).toBe('abc');
});
