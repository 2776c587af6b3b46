import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import * as browser from './local-file.browser.ts';
import * as node from './local-file.node.ts';
import { readLocalFile } from './local-file.node.ts';
import { LocalFileError } from './local-file.ts';

type Step = (path: string) => Promise<void>;

/** Functions that run around each opening of a file, the opened files, and the inspected files. */
const opening = vi.hoisted(() => {
  const nothing: Step = async () => {};
  return {
    before: nothing,
    after: nothing,
    paths: [] as string[],
    files: [] as fs.FileHandle[],
    looked: [] as string[],
  };
});
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof fs>();
  return {
    ...real,
    async open(path: string, flags?: number) {
      await opening.before(path);
      opening.paths.push(path);
      const file = await real.open(path, flags);
      opening.files.push(file);
      await opening.after(path);
      return file;
    },
    realpath(path: string) {
      opening.looked.push(path);
      return real.realpath(path);
    },
  };
});

let root: string;
let allowed: string;
let outside: string;

beforeEach(async () => {
  root = await fs.realpath(await fs.mkdtemp(join(tmpdir(), 'troupe-files-')));
  allowed = join(root, 'allowed');
  outside = join(root, 'outside');
  await Promise.all([allowed, outside, join(root, 'allowed-too')].map((dir) => fs.mkdir(dir)));
  await Promise.all(
    [allowed, outside, join(root, 'allowed-too')].map((dir) => fs.writeFile(join(dir, 'a.txt'), dir)),
  );
  Object.assign(opening, { before: async () => {}, after: async () => {}, paths: [], files: [], looked: [] });
});

afterEach(async () => {
  await fs.rm(root, { recursive: true });
  if (opening.files.some(({ fd }) => fd !== -1)) throw new Error('A file was left open.');
});

const read = async (place: string, allowedDirs = [allowed], maxBytes = 1000): Promise<string> =>
  new TextDecoder().decode(await readLocalFile(place, { allowedDirs, maxBytes }));

async function expectRefused(place: string, problem: string): Promise<void> {
  const error = await read(place).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LocalFileError);
  expect((error as Error).message).toBe(`The file '${place}' ${problem}`);
}
const NOT_INSIDE = 'is not read: the folders in allowedDirs have no such file.';

describe('reads', () => {
  test('below an allowed folder, by path or URL', async () => {
    await fs.mkdir(join(allowed, 'sub'));
    await fs.writeFile(join(allowed, 'sub', 'ü %.txt'), 'deep');
    await fs.writeFile(join(allowed, '..dots'), 'dots');
    expect(await read(join(allowed, 'a.txt'))).toBe(allowed);
    expect(await read(pathToFileURL(join(allowed, 'a.txt')).href)).toBe(allowed);
    expect(await read(pathToFileURL(join(allowed, 'sub', 'ü %.txt')).href)).toBe('deep');
    expect(await read(join(allowed, '..dots'))).toBe('dots');
    expect(await read(join(allowed, 'sub', '..', 'a.txt'))).toBe(allowed);
    expect(await read(join(outside, 'a.txt'), [allowed, outside])).toBe(outside);
  });

  test('through links that stay inside, and in a folder that is named by a link', async () => {
    await fs.symlink(join(allowed, 'a.txt'), join(allowed, 'link'));
    await fs.symlink(allowed, join(root, 'linked'));
    expect(await read(join(allowed, 'link'))).toBe(allowed);
    expect(await read(join(root, 'linked', 'a.txt'), [join(root, 'linked')])).toBe(allowed);
    expect(await read(join(allowed, 'a.txt'), [join(root, 'linked')])).toBe(allowed);
  });

  test('a file of exactly the limit, and none larger', async () => {
    await fs.writeFile(join(allowed, 'ten'), 'x'.repeat(10));
    expect(await read(join(allowed, 'ten'), [allowed], 10)).toBe('x'.repeat(10));
    await expect(read(join(allowed, 'ten'), [allowed], 9)).rejects.toThrow(
      `The file '${join(allowed, 'ten')}' is larger than 9 bytes, the limit of maxBytes.`,
    );
  });
});

describe('reads nothing', () => {
  afterEach(() => {
    if (opening.paths.length > 0) throw new Error(`${opening.paths.join(', ')} was opened`);
  });

  test('outside, however that is written', async () => {
    await fs.symlink(join(outside, 'a.txt'), join(allowed, 'link'));
    await fs.symlink(outside, join(allowed, 'dir'));
    await fs.symlink(join(outside, 'missing'), join(allowed, 'dangling'));
    await fs.symlink('/proc/self/root', join(allowed, 'proc'));
    for (const place of [
      join(outside, 'a.txt'),
      join(outside, 'missing'),
      `${allowed}/../outside/a.txt`,
      join(root, 'allowed-too', 'a.txt'),
      join(allowed, 'link'),
      join(allowed, 'dir', 'a.txt'),
      join(allowed, 'dangling'),
      join(allowed, 'proc', outside, 'a.txt'),
      join(allowed, 'missing'),
      join(allowed, 'a.txt', 'b'),
      join(allowed, 'a.txt\0.png'),
      allowed,
      root,
      '/etc/passwd',
      'a.txt',
      '',
      process.cwd(),
      pathToFileURL(join(outside, 'a.txt')).href,
      `file:///${allowed}/%2e%2e/outside/a.txt`,
      `file://server${allowed}/a.txt`,
      `FILE://server/share/a.txt`,
      'file://[',
      'file:',
      '//server/share/a.txt',
      '\\\\server\\share\\a.txt',
    ]) {
      await expectRefused(place, NOT_INSIDE);
    }
    await expect(read(join(allowed, 'a.txt'), [])).rejects.toThrow(NOT_INSIDE);
    await expect(read(join(allowed, 'a.txt'), [join(root, 'missing')])).rejects.toThrow(NOT_INSIDE);
  });

  test('that is written outside, nor looks at it', async () => {
    await fs.symlink(join(allowed, 'a.txt'), join(outside, 'back'));
    for (const place of [
      join(outside, 'back'),
      join(outside, 'a.txt'),
      '/etc/passwd',
      '//server/share/a.txt',
    ]) {
      await expectRefused(place, NOT_INSIDE);
    }
    expect(new Set(opening.looked)).toEqual(new Set([allowed]));
  });

  test('that is no regular file', async () => {
    await fs.mkdir(join(allowed, 'dir'));
    execFileSync('mkfifo', [join(allowed, 'pipe')]);
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(join(allowed, 'socket'), resolve));
    for (const name of ['dir', 'pipe', 'socket'])
      await expectRefused(join(allowed, name), 'is not read: it is not a regular file.');
    await new Promise((resolve) => server.close(resolve));
    await expect(read('/dev/zero', ['/dev'])).rejects.toThrow('is not read: it is not a regular file.');
  });

  test('after an abort', async () => {
    const options = { allowedDirs: [allowed], maxBytes: 1000, signal: AbortSignal.abort('enough') };
    await expect(readLocalFile(join(allowed, 'a.txt'), options)).rejects.toBe('enough');
  });

  test('of which an error would show more than 200 characters', async () => {
    await expect(read('x'.repeat(1000))).rejects.toThrow(`The file '${'x'.repeat(199)}…' ${NOT_INSIDE}`);
  });
});

describe('changes between check and open', () => {
  const place = (): string => join(allowed, 'sub', 'a.txt');
  const swap = async (): Promise<void> => {
    await fs.rename(join(allowed, 'sub'), join(allowed, 'was'));
    await fs.symlink(outside, join(allowed, 'sub'));
  };
  const swapBack = async (): Promise<void> => {
    await fs.rm(join(allowed, 'sub'));
    await fs.rename(join(allowed, 'was'), join(allowed, 'sub'));
  };

  beforeEach(async () => {
    await fs.mkdir(join(allowed, 'sub'));
    await fs.writeFile(place(), 'inside');
  });

  test('a file that becomes a link is not opened', async () => {
    opening.before = async (path) => {
      await fs.rm(path);
      await fs.symlink(join(outside, 'a.txt'), path);
    };
    await expectRefused(place(), "can't be read (ELOOP).");
  });

  test('a folder that becomes a link does not lead out', async () => {
    opening.before = swap;
    await expectRefused(place(), NOT_INSIDE);
    expect(opening.paths).toEqual([place()]);
  });

  test('nor if it is a folder again right after', async () => {
    opening.before = swap;
    opening.after = swapBack;
    await expectRefused(place(), NOT_INSIDE);
    expect(opening.paths).toEqual([place()]);
    expect(await read(join(allowed, 'a.txt'))).toBe(allowed);
  });

  test('a file that becomes a pipe does not block', async () => {
    opening.before = async (path) => {
      await fs.rm(path);
      execFileSync('mkfifo', [path]);
    };
    await expectRefused(place(), NOT_INSIDE);
  });

  test('a file that vanishes is an error', async () => {
    opening.before = (path) => fs.rm(path);
    await expectRefused(place(), "can't be read (ENOENT).");
  });
});

test('a browser has no files', async () => {
  expect(Object.keys(browser)).toEqual(Object.keys(node));
  await expect(browser.readLocalFile('a.png', { allowedDirs: ['/'], maxBytes: 1 })).rejects.toThrow(
    "The file 'a.png' is not read: this platform has no local files. Give the bytes as base64.",
  );
});
