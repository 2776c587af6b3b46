import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { FileSystemError } from '../../filesystem/file-system-error.ts';
import { parsePath, type LogicalPath } from '../../filesystem/logical-path.ts';
import { fileSystemContract } from '../../testing/file-system-contract.ts';
import { DiskFileSystem } from './disk-file-system.ts';

/** A function to run before a system call; and whether names are equal in any case. */
const system = vi.hoisted(() => ({
  before: async (_call: string, _path: string): Promise<void> => {},
  foldsCase: false,
}));
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof fs>();
  /** The real name of a file, as a file system finds it that ignores case. */
  const spelled = (path: string): string => {
    if (!system.foldsCase) return path;
    try {
      const name = readdirSync(dirname(path)).find(
        (other) => other.toLowerCase() === basename(path).toLowerCase(),
      );
      return name === undefined ? path : join(dirname(path), name);
    } catch {
      return path;
    }
  };
  const calls = [
    'open',
    'lstat',
    'rename',
    'unlink',
    'rmdir',
    'mkdir',
    'opendir',
    'readdir',
    'realpath',
  ] as const;
  const wrapped = calls.map((name) => [
    name,
    async (path: string, ...rest: unknown[]): Promise<unknown> => {
      await system.before(name, path);
      const call = real[name] as (...args: unknown[]) => Promise<unknown>;
      return call(spelled(path), ...rest);
    },
  ]);
  return { ...real, ...Object.fromEntries(wrapped) };
});

let root: string;
beforeEach(async () => {
  root = await fs.realpath(await fs.mkdtemp(join(tmpdir(), 'troupe-disk-')));
  Object.assign(system, { before: async () => {}, foldsCase: false });
});
afterEach(async () => {
  Object.assign(system, { before: async () => {}, foldsCase: false });
  await fs.rm(root, { recursive: true });
});

const at = (name: string): LogicalPath => parsePath(`/workspace/${name}`);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textAt = async (files: DiskFileSystem, name: string): Promise<string> =>
  new TextDecoder().decode((await files.read(at(name), { maxBytes: 1000 })).bytes);

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!FileSystemError.isInstance(error)) throw new Error(`That was no FileSystemError: ${String(error)}`);
  return `${error.kind}: ${error.message}`;
}
/** For a rejection that is looked at together with what might have come instead. */
const kindOf = (error: unknown): string => (FileSystemError.isInstance(error) ? error.kind : String(error));
const NEVER_USED = 'is a link, another spelling of a name, or no ordinary file. Such things are never used.';
const unusable = (name: string): string => `access_denied: Access denied: '/workspace/${name}' ${NEVER_USED}`;

describe.each(['descriptors', 'paths'] as const)('by %s', (reach) => {
  const open = (): Promise<DiskFileSystem> => DiskFileSystem.open({ root, reach });

  describe('the contract', () => {
    test.each(fileSystemContract(open))('$name', ({ run }) => run());
  });

  test('new files and folders are private, and a file that is replaced keeps its permissions', async () => {
    const files = await open();
    await files.write(at('a/b'), bytes('one'));
    const modeOf = async (path: string): Promise<string> =>
      ((await fs.lstat(join(root, path))).mode & 0o7777).toString(8);
    expect([await modeOf('workspace'), await modeOf('workspace/a'), await modeOf('workspace/a/b')]).toEqual([
      '700',
      '700',
      '600',
    ]);
    await fs.chmod(join(root, 'workspace/a/b'), 0o4755);
    await files.write(at('a/b'), bytes('two'));
    expect(await modeOf('workspace/a/b')).toBe('755');
  });

  test('special files are listed, and never used', async () => {
    const files = await open();
    const place = join(root, 'workspace');
    await fs.writeFile(join(root, 'outside'), 'secret');
    await fs.mkdir(join(root, 'elsewhere'));
    await fs.writeFile(join(root, 'elsewhere', 'inner'), 'secret');
    await files.write(at('inside/inner'), bytes('mine'));
    await fs.symlink(join(root, 'outside'), join(place, 'link'));
    await fs.symlink('link', join(place, 'chain'));
    await fs.symlink(join(root, 'elsewhere'), join(place, 'folder'));
    await fs.symlink('inside', join(place, 'harmless'));
    await fs.symlink('nowhere', join(place, 'dangling'));
    await fs.symlink('loop', join(place, 'loop'));
    await fs.symlink('/proc/self/fd', join(place, 'fds'));
    await fs.symlink('/proc/self/root', join(place, 'system'));
    await fs.link(join(root, 'outside'), join(place, 'hard'));
    execFileSync('mkfifo', [join(place, 'pipe')]);
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(join(place, 'socket'), resolve));
    const names = [
      'link',
      'chain',
      'folder',
      'harmless',
      'dangling',
      'loop',
      'fds',
      'system',
      'hard',
      'pipe',
      'socket',
    ];
    for (const name of names) {
      expect(await files.stat(at(name))).toEqual({ path: at(name), kind: 'other' });
      expect(await failureOf(files.read(at(name), { maxBytes: 9 }))).toBe(unusable(name));
      expect(await failureOf(files.write(at(name), bytes('x')))).toBe(unusable(name));
      expect(await failureOf(files.delete(at(name)))).toBe(unusable(name));
      if (name === 'hard') continue;
      expect(await failureOf(files.list(at(name), 99))).toBe(unusable(name));
      for (const below of [`${name}/inner`, `${name}/new`, `${name}/0`, `${name}/new/deeper`]) {
        expect(await failureOf(files.read(at(below), { maxBytes: 9 }))).toBe(unusable(name));
        expect(await failureOf(files.write(at(below), bytes('x')))).toBe(unusable(name));
        expect(await failureOf(files.delete(at(below)))).toBe(unusable(name));
        expect(await failureOf(files.stat(at(below)))).toBe(unusable(name));
        expect(await failureOf(files.list(at(below), 99))).toBe(unusable(name));
      }
    }
    const listed = await files.list(parsePath('/workspace'), 99);
    expect(Object.fromEntries(listed.map(({ path, kind }) => [path.slice(11), kind]))).toEqual({
      ...Object.fromEntries(names.map((name) => [name, 'other'])),
      hard: 'file', // a list doesn't look so closely
      inside: 'directory',
    });
    expect(await fs.readFile(join(root, 'outside'), 'utf8')).toBe('secret');
    expect(await fs.readdir(join(root, 'elsewhere'))).toEqual(['inner']);
    await new Promise((resolve) => server.close(resolve));
  });

  test('names that no path can have are not shown', async () => {
    const files = await open();
    for (const name of ['a\nb', 'con', 'x.', 'back\\slash', 'cafe\u0301', 'fine']) {
      await fs.writeFile(join(root, 'workspace', name), '');
    }
    expect((await files.list(parsePath('/workspace'), 99)).map(({ path }) => path)).toEqual([at('fine')]);
  });

  test('a write that fails leaves the old content and no draft', async () => {
    const files = await open();
    await files.write(at('a'), bytes('old'));
    system.before = async (call) => {
      if (call === 'rename') throw Object.assign(new Error(`secret ${root}`), { code: 'ENOSPC' });
    };
    expect(await failureOf(files.write(at('a'), bytes('new')))).toBe(
      "io_failed: '/workspace/a' can't be used (ENOSPC).",
    );
    expect(await textAt(files, 'a')).toBe('old');
    expect(await fs.readdir(join(root, 'workspace'))).toEqual(['a']);
  });

  test('a draft that was left behind is neither shown nor used', async () => {
    const files = await open();
    await fs.writeFile(join(root, 'workspace', '.troupe-draft-1'), 'half');
    expect(await files.list(parsePath('/workspace'), 99)).toEqual([]);
    expect(await failureOf(files.read(at('.troupe-draft-1'), { maxBytes: 9 }))).toMatch(/^access_denied/);
    expect(await failureOf(files.write(at('d/.troupe-draft-2/f'), bytes('x')))).toMatch(/^access_denied/);
    expect(await failureOf(files.list(at('.troupe-draft-2'), 9))).toMatch(/^access_denied/);
  });

  test('two of the same folder do not overwrite each other unseen', async () => {
    const [one, other] = [await open(), await open()];
    await one.write(at('a'), bytes('0'));
    const { version } = await one.read(at('a'), { maxBytes: 9 });
    const work = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? one : other).write(at('a'), bytes(`${i}`), { expected: version }),
    );
    const outcomes = await Promise.allSettled(work);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  });

  test('a folder with nothing but drafts is empty', async () => {
    const files = await open();
    await files.write(at('a/b'), bytes('x'));
    await fs.writeFile(join(root, 'workspace/a/.troupe-draft-1'), 'half');
    expect(await failureOf(files.delete(at('a')))).toMatch(/^conflict/);
    expect((await fs.readdir(join(root, 'workspace/a'))).length).toBe(2);
    await files.delete(at('a/b'));
    await files.delete(at('a'));
    expect(await fs.readdir(join(root, 'workspace'))).toEqual([]);
  });

  test('a file that is marked as read-only is not replaced', async () => {
    const files = await open();
    await files.write(at('a'), bytes('mine'));
    await fs.chmod(join(root, 'workspace/a'), 0o444);
    expect(await failureOf(files.write(at('a'), bytes('x')))).toBe(
      "access_denied: Access denied: '/workspace/a' is marked as read-only.",
    );
    expect(await textAt(files, 'a')).toBe('mine');
    await files.delete(at('a'));
  });

  test('another spelling of a name is neither there nor free', async () => {
    const files = await open();
    await files.write(at('Secret/a.txt'), bytes('mine'));
    system.foldsCase = true;
    expect(await textAt(files, 'Secret/a.txt')).toBe('mine');
    await files.write(at('Secret/b.txt'), bytes('new'));
    for (const name of ['Secret/A.TXT', 'Secret/A.txt']) {
      expect(await failureOf(files.read(at(name), { maxBytes: 9 }))).toBe(unusable(name));
      expect(await failureOf(files.write(at(name), bytes('x')))).toBe(unusable(name));
      expect(await failureOf(files.delete(at(name)))).toBe(unusable(name));
    }
    for (const name of ['secret/a.txt', 'SECRET/new']) {
      expect(await failureOf(files.write(at(name), bytes('x')))).toBe(unusable(name.slice(0, 6)));
    }
    expect((await files.list(at('Secret'), 9)).length).toBe(2);
    expect(await textAt(files, 'Secret/a.txt')).toBe('mine');
  });

  test('nothing stays open', async () => {
    const files = await open();
    const openOnes = async (): Promise<number> => {
      const targets = await Promise.all(
        (await fs.readdir('/proc/self/fd')).map((fd) => fs.readlink(`/proc/self/fd/${fd}`).catch(() => '')),
      );
      return targets.filter((target) => target.startsWith(root)).length;
    };
    await fs.symlink('/', join(root, 'workspace', 'link'));
    await files.write(at('a/b/c'), bytes('x'));
    await files.read(at('a/b/c'), { maxBytes: 9 });
    await files.list(at('a'), 9);
    await failureOf(files.list(at('a'), 0));
    await failureOf(files.read(at('a/b/c/d'), { maxBytes: 9 }));
    await failureOf(files.read(at('link/etc/passwd'), { maxBytes: 9 }));
    await failureOf(files.write(at('a/b'), bytes('x')));
    await failureOf(files.delete(at('a')));
    expect(await openOnes()).toBe(0);
  });

  const DEEDS: Readonly<Record<string, (files: DiskFileSystem) => Promise<unknown>>> = {
    read: (files) => files.read(at('a/b'), { maxBytes: 9 }),
    list: (files) => files.list(at('a'), 9),
    stat: (files) => files.stat(at('a/b')),
    write: (files) => files.write(at('a/b'), bytes('new')),
    make: (files) => files.write(at('c/d/e'), bytes('new')),
    delete: (files) => files.delete(at('a/b')),
    'delete a folder': (files) => files.delete(at('empty')),
  };

  test.each(Object.entries(DEEDS))(
    '%s fails in words, whichever call of the system fails',
    async (deed, run) => {
      let failures = 0;
      for (let n = 1; ; n++) {
        system.before = async () => {};
        const files = await open();
        await files.write(at('a/b'), bytes('old'));
        await files.write(at('empty/x'), bytes(''));
        await files.delete(at('empty/x'));
        let calls = 0;
        system.before = async (call, path) => {
          if (++calls === n)
            throw Object.assign(new Error(`EIO: i/o error, ${call} '${path}'`), { code: 'EIO', path });
        };
        const error = await run(files).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        system.before = async () => {};
        if (calls < n) break;
        if (error !== undefined) {
          failures++;
          expect(kindOf(error)).toBe('io_failed');
          expect(
            JSON.stringify(error, Object.getOwnPropertyNames(error as object)).replace(/"stack".*/, ''),
          ).not.toContain(root);
        }
        const text = await textAt(files, 'a/b').catch(kindOf);
        expect(['old', deed === 'write' ? 'new' : deed === 'delete' ? 'not_found' : 'old']).toContain(text);
        await fs.rm(join(root, 'workspace/c'), { recursive: true, force: true });
        const left = await fs.readdir(join(root, 'workspace'), { recursive: true });
        expect(left.filter((name) => name.includes('draft'))).toEqual([]);
      }
      expect(failures).toBeGreaterThan(2);
    },
  );

  describe('changes between check and use', () => {
    let swaps: number;
    /** Does something once, right before a call of the system about this name. */
    const before = (call: string, name: string, deed: () => Promise<void>): void => {
      swaps = 0;
      system.before = async (made, path) => {
        if (made !== call || basename(path) !== name || swaps > 0) return;
        swaps++;
        await deed();
      };
    };
    beforeEach(async () => {
      await fs.mkdir(join(root, 'elsewhere'));
      await fs.writeFile(join(root, 'elsewhere', 'a'), 'secret');
      const files = await open();
      await files.write(at('dir/a'), bytes('mine'));
    });
    afterEach(async () => {
      const found = await fs.readFile(join(root, 'elsewhere', 'a'), 'utf8');
      assert.deepEqual([swaps, await fs.readdir(join(root, 'elsewhere')), found], [1, ['a'], 'secret']);
    });
    const swapFile = async (): Promise<void> => {
      await fs.rm(join(root, 'workspace/dir/a'));
      await fs.symlink(join(root, 'elsewhere', 'a'), join(root, 'workspace/dir/a'));
    };
    const swapFolder = async (): Promise<void> => {
      await fs.rename(join(root, 'workspace/dir'), join(root, 'workspace/was'));
      await fs.symlink(join(root, 'elsewhere'), join(root, 'workspace/dir'));
    };

    test('a file that becomes a link is not read', async () => {
      const files = await open();
      before('open', 'a', swapFile);
      expect(await failureOf(files.read(at('dir/a'), { maxBytes: 9 }))).toBe(unusable('dir/a'));
    });

    test('a file that becomes a pipe does not block', async () => {
      const files = await open();
      before('open', 'a', async () => {
        await fs.rm(join(root, 'workspace/dir/a'));
        execFileSync('mkfifo', [join(root, 'workspace/dir/a')]);
      });
      expect(await failureOf(files.read(at('dir/a'), { maxBytes: 9 }))).toBe(unusable('dir/a'));
    });

    test('a folder that becomes a link is not gone into', async () => {
      const files = await open();
      before(reach === 'paths' ? 'lstat' : 'open', 'a', swapFolder);
      const outcome = await files
        .read(at('dir/a'), { maxBytes: 9 })
        .then(({ bytes }) => new TextDecoder().decode(bytes), kindOf);
      // By its descriptor it is still the same folder.
      expect(outcome).toBe(reach === 'paths' ? 'access_denied' : 'mine');
    });

    test('a folder that is a link for just a moment is not read in', async () => {
      const files = await open();
      before('open', 'a', async () => {
        await swapFolder();
        // As soon as anything else is looked at, it is a folder again.
        system.before = async () => {
          system.before = async () => {};
          await fs.unlink(join(root, 'workspace/dir'));
          await fs.rename(join(root, 'workspace/was'), join(root, 'workspace/dir'));
        };
      });
      const outcome = await files
        .read(at('dir/a'), { maxBytes: 9 })
        .then(({ bytes }) => new TextDecoder().decode(bytes), kindOf);
      expect(outcome).toBe(reach === 'paths' ? 'access_denied' : 'mine');
    });

    test('a folder above that becomes a link is not gone through', async () => {
      const files = await open();
      await files.write(at('dir/sub/a'), bytes('mine'));
      await fs.mkdir(join(root, 'other', 'sub'), { recursive: true });
      await fs.writeFile(join(root, 'other/sub/a'), 'secret');
      swaps = 0;
      let looks = 0;
      // By paths, a folder is looked at, then opened, which is a look too. The swap comes in between.
      system.before = async (call, path) => {
        if (basename(path) !== 'sub' || call !== (reach === 'paths' ? 'lstat' : 'open')) return;
        if (++looks !== (reach === 'paths' ? 2 : 1)) return;
        swaps++;
        await fs.rename(join(root, 'workspace/dir'), join(root, 'workspace/was'));
        await fs.symlink(join(root, 'other'), join(root, 'workspace/dir'));
      };
      const outcome = await files
        .read(at('dir/sub/a'), { maxBytes: 9 })
        .then(({ bytes }) => new TextDecoder().decode(bytes), kindOf);
      expect(outcome).toBe(reach === 'paths' ? 'access_denied' : 'mine');
    });

    test('a file that becomes a link is replaced itself', async () => {
      const files = await open();
      before('rename', 'a', async () => {});
      system.before = async (call) => {
        if (call !== 'rename' || swaps > 0) return;
        swaps++;
        await swapFile();
      };
      await files.write(at('dir/a'), bytes('new'));
      expect(await textAt(files, 'dir/a')).toBe('new');
    });

    test('a folder that becomes a link is not written to', async () => {
      const files = await open();
      swaps = 0;
      system.before = async (call, path) => {
        if (call !== 'open' || !path.includes('.troupe-draft-') || swaps > 0) return;
        swaps++;
        await swapFolder();
      };
      const outcome = await files.write(at('dir/a'), bytes('new')).then(() => 'written', kindOf);
      expect(outcome).toBe(reach === 'paths' ? 'access_denied' : 'written');
      const text = await fs.readFile(join(root, 'workspace/was/a'), 'utf8');
      expect(text).toBe(reach === 'paths' ? 'mine' : 'new');
    });

    test('a folder that becomes a link is not listed', async () => {
      const files = await open();
      swaps = 0;
      system.before = async (call) => {
        if (call !== 'opendir' || swaps > 0) return;
        swaps++;
        await swapFolder();
      };
      const outcome = await files
        .list(at('dir'), 9)
        .then((entries) => entries.map(({ path }) => path), kindOf);
      expect(outcome).toEqual(reach === 'paths' ? 'access_denied' : [at('dir/a')]);
    });
  });
});

describe.each(['descriptors', 'paths'] as const)('the folder of a namespace, by %s', (reach) => {
  test('a file is not reached through a folder that has become a link', async () => {
    await fs.mkdir(join(root, 'up', 'project'), { recursive: true });
    await fs.mkdir(join(root, 'evil', 'project'), { recursive: true });
    await fs.writeFile(join(root, 'evil/project/a'), 'secret');
    const files = await DiskFileSystem.open({ folders: { workspace: join(root, 'up/project') }, reach });
    await files.write(at('a'), bytes('mine'));
    await fs.rename(join(root, 'up'), join(root, 'was'));
    expect(await failureOf(files.read(at('a'), { maxBytes: 9 }))).toMatch(/^not_found/);
    await fs.symlink(join(root, 'evil'), join(root, 'up'));
    expect(await failureOf(files.read(at('a'), { maxBytes: 9 }))).toBe(unusable('a'));
    expect(await failureOf(files.write(at('b'), bytes('x')))).toBe(unusable('b'));
    expect(await failureOf(files.list(parsePath('/workspace'), 9))).toMatch(/^access_denied/);
    expect(await fs.readdir(join(root, 'evil/project'))).toEqual(['a']);
    await fs.unlink(join(root, 'up'));
    await fs.rename(join(root, 'was'), join(root, 'up'));
    expect(await textAt(files, 'a')).toBe('mine');
  });
});

describe('the folders', () => {
  test('can lie anywhere, and one that is left out has no files', async () => {
    const files = await DiskFileSystem.open({ folders: { workspace: join(root, 'project') } });
    await files.write(at('a'), bytes('x'));
    expect(await fs.readFile(join(root, 'project/a'), 'utf8')).toBe('x');
    expect(await files.stat(parsePath('/userinput'))).toBe(undefined);
    expect(await failureOf(files.read(parsePath('/internal/a'), { maxBytes: 9 }))).toBe(
      "not_found: Path not found: '/internal/a'.",
    );
  });

  test('may be named by a link, but not be links in the root', async () => {
    await fs.mkdir(join(root, 'real'));
    await fs.symlink(join(root, 'real'), join(root, 'link'));
    const files = await DiskFileSystem.open({ folders: { workspace: join(root, 'link') } });
    await files.write(at('a'), bytes('x'));
    expect(await fs.readdir(join(root, 'real'))).toEqual(['a']);
    await fs.mkdir(join(root, 'all'));
    await fs.symlink(join(root, 'real'), join(root, 'all/workspace'));
    await expect(DiskFileSystem.open({ root: join(root, 'all') })).rejects.toThrow(
      'A namespace in the root folder is a link. Name its folder by `folders`.',
    );
  });

  test('do not lie in one another', async () => {
    const place = join(root, 'a');
    for (const userinput of [place, join(place, 'b'), root]) {
      await expect(DiskFileSystem.open({ folders: { workspace: place, userinput } })).rejects.toThrow(
        'The folder of workspace overlaps with the folder of userinput. Give each a folder of its own.',
      );
    }
    await DiskFileSystem.open({ folders: { workspace: place, userinput: `${place}b` } });
    await expect(DiskFileSystem.open({ root, folders: { workspace: place } })).rejects.toThrow(
      'A DiskFileSystem has a root or folders, not both.',
    );
    await expect(DiskFileSystem.open({})).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_config' }),
    );
  });
});
