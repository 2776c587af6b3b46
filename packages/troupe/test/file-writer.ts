/**
 * A program that writes one file and kills itself in the middle of it: `file-writer.ts <root> <reach> <text> <n>`, right before the
 * n-th call of the system that the write makes. If there are fewer, it ends.
 */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

import { FileSystemHandle } from '../src/filesystem/file-system-handle.ts';
import { DiskFileSystem } from '../src/stores/disk/index.ts';

const [root = '', reach = '', text = '', n = ''] = process.argv.slice(2);
if (reach !== 'descriptors' && reach !== 'paths') throw new Error(`'${reach}' is no reach.`);

let callsLeft = Infinity;
function countCallsOf<Name extends string>(
  object: Record<Name, (this: unknown, ...args: never[]) => unknown>,
  names: readonly Name[],
): void {
  for (const name of names) {
    const call = object[name];
    object[name] = function (...args) {
      if (--callsLeft === 0) process.kill(process.pid, 'SIGKILL');
      return call.apply(this, args);
    };
  }
}

const files = await DiskFileSystem.open({ root, reach });
const handle = await fs.open(root);
countCallsOf(Object.getPrototypeOf(handle), ['writeFile', 'chmod', 'stat']);
countCallsOf(fs, ['open', 'lstat', 'mkdir', 'rename', 'unlink', 'realpath', 'readlink']);
syncBuiltinESMExports();

callsLeft = Number(n);
await new FileSystemHandle(files).write('/workspace/a/b.txt', text.repeat(100_000));
callsLeft = Infinity;
await handle.close();
