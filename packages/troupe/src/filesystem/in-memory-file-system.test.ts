import { describe, expect, test } from 'vitest';

import { FakeClock } from '../testing/fake-clock.ts';
import { fileSystemContract } from '../testing/file-system-contract.ts';
import { useClock } from '../util/clock.ts';
import { InMemoryFileSystem } from './in-memory-file-system.ts';
import { parsePath } from './logical-path.ts';

describe('the contract', () => {
  test.each(fileSystemContract(() => new InMemoryFileSystem()))('$name', ({ run }) => run());
});

test('it can begin with files, and tells when they were changed', async () => {
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

test('what was read belongs to the reader', async () => {
  const files = new InMemoryFileSystem({ '/workspace/a': 'abc' });
  const path = parsePath('/workspace/a');
  (await files.read(path, { maxBytes: 9 })).bytes.fill(0);
  expect(new TextDecoder().decode((await files.read(path, { maxBytes: 9 })).bytes)).toBe('abc');
});
