import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FileSystemHandle } from '../src/filesystem/file-system-handle.ts';
import { DiskFileSystem } from '../src/stores/disk/index.ts';
import { bundle } from './bundle.ts';

const MINUTE = 60_000;
const [OLD, NEW] = ['old '.repeat(100_000), 'new '.repeat(100_000)];

let folder: string;
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-file-kill-'));
  program = await bundle('file-writer.ts', join(folder, 'out'));
}, MINUTE);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** End of the writer. */
function run(...args: readonly string[]): Promise<number | string> {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code ?? -1)));
}

test.each(['descriptors', 'paths'] as const)(
  'a writer that is killed at any point (by %s) leaves the old file or the new one, and nothing that is in the way',
  async (reach) => {
    let kills = 0;
    for (let n = 1; ; n++) {
      const root = join(folder, `${reach}-${n}`);
      await mkdir(join(root, 'workspace', 'a'), { recursive: true });
      await writeFile(join(root, 'workspace', 'a', 'b.txt'), OLD);
      const end = await run(root, reach, 'new ', String(n));
      const handle = new FileSystemHandle(await DiskFileSystem.open({ root, reach }));
      const text = await handle.readText('/workspace/a/b.txt');
      expect([OLD, NEW].indexOf(text), `after ${n} calls`).not.toBe(-1);
      expect(await handle.list('/workspace/a')).toEqual([{ path: '/workspace/a/b.txt', kind: 'file' }]);
      await handle.write('/workspace/a/b.txt', 'on it goes');
      await handle.delete('/workspace/a/b.txt');
      await handle.delete('/workspace/a');
      expect(await handle.list('/workspace')).toEqual([]);
      if (end === 0) {
        expect(text).toBe(NEW);
        break;
      }
      expect(end).toBe('SIGKILL');
      kills++;
    }
    expect(kills).toBeGreaterThan(8);
  },
  MINUTE,
);
