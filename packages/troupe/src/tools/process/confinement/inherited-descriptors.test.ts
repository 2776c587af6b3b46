import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const FLAGS = ['--no-warnings', '--experimental-transform-types', '--conditions=troupe:source'];
/** Node closes lower descriptors of its own accord. */
const [FOLDER_FD, DEVICE_FD] = [230, 231];
const LOOK = `for f in /proc/self/fd/*; do ls "$f/" 2>/dev/null; [ -c "$f" ] && echo "device $(readlink "$f")"; done; cat /proc/self/fd/${FOLDER_FD}/secret`;

let outside = '';
beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), 'troupe-outside-'));
  writeFileSync(join(outside, 'secret'), 'the-secret');
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

/** Output of a program that is started by a process with an open folder and an open device that it did not open itself. */
async function seenBy(code: string): Promise<string> {
  const [folder, device] = [openSync(outside, 'r'), openSync('/dev/zero', 'r')];
  try {
    const stdio = Array.from({ length: DEVICE_FD + 1 }, (_, fd) =>
      fd === FOLDER_FD ? folder : fd === DEVICE_FD ? device : fd < 3 && fd > 0 ? 'pipe' : 'ignore',
    );
    const child = spawn(process.execPath, [...FLAGS, '--input-type=module', '-e', code], { stdio });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => void (output += chunk.toString()));
    await new Promise((resolve) => child.once('close', resolve));
    return output;
  } finally {
    closeSync(folder);
    closeSync(device);
  }
}

const source = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
const RUN = `(stdio) => spawn('/bin/sh', ['-c', ${JSON.stringify(LOOK)}], { stdio })`;

test('a started program does not get what its process inherited', async () => {
  const stdio = "['ignore', 'inherit', 'inherit']";
  const free = await seenBy(`import { spawn } from 'node:child_process'; (${RUN})(${stdio})`);
  expect([free.includes('the-secret'), free.includes('device /dev/zero')]).toEqual([true, true]); // the control
  const held = await seenBy(
    `import { spawn } from 'node:child_process'; import { withoutInherited } from ${source('./inherited-descriptors.ts')}; withoutInherited(${stdio}, ${RUN})`,
  );
  expect(held).toContain('device /dev/null');
  expect([held.includes('the-secret'), held.includes('/dev/zero')]).toEqual([false, false]);
}, 60_000);

test('neither does a confined command', async () => {
  const held = await seenBy(`
    import { shellTool } from ${source('../shell-tool.ts')};
    const confinement = { profile: 'accept_edits', folders: [] };
    const context = { signal: new AbortController().signal, emit() {}, confinement };
    const { content } = await shellTool({ cwd: '/var/tmp' }).execute({ command: ${JSON.stringify(LOOK)} }, context);
    console.log(content);`);
  expect(held).toContain('<returncode>');
  expect([held.includes('the-secret'), held.includes('device /dev/zero')]).toEqual([false, false]);
}, 60_000);
