import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findHistoryFaults } from 'troupe';
import { ServiceClient } from 'troupe/client';
import { afterEach, expect, test } from 'vitest';

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];
const children: ChildProcess[] = [];
const dirs: string[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

async function start(dir: string, killAt: string): Promise<{ child: ChildProcess; url: string }> {
  const program = join(import.meta.dirname, 'service-process.ts');
  const args = [...FLAGS, program, join(dir, 'service.sqlite'), join(dir, 'effects'), killAt];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { child, url: line.trim() };
}

test.each(['0', '1', '3', '5', '8'])(
  'a service killed with -9 in the middle of body %s goes on at its next start',
  async (killAt) => {
    const dir = mkdtempSync(join(tmpdir(), 'troupe-killed-'));
    dirs.push(dir);
    const first = await start(dir, killAt);
    const exit = once(first.child, 'exit');
    const client = new ServiceClient({ url: first.url, maxAttempts: 2 });
    await client.createSession('assistant', { id: 's' });
    const run = await client.start('s', 'Go.').catch(() => undefined);
    expect(await exit).toEqual([null, 'SIGKILL']);

    const second = await start(dir, 'never');
    const again = new ServiceClient({ url: second.url });
    const id = run?.id ?? '';
    const numbers: number[] = [];
    for await (const { n } of again.events(id)) numbers.push(n);
    expect(await again.run(id)).toMatchObject({ status: 'finished', attempt: 2 });
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    const { msgs } = await again.messages('s');
    expect(findHistoryFaults(msgs)).toEqual([]);
    const effects = readFileSync(join(dir, 'effects'), 'utf8').trim().split('\n');
    for (const name of ['charge', 'store'])
      expect(effects.filter((line) => line.startsWith(`${name} `))).toHaveLength(1);
    expect(new Set(effects).size).toBe(3);
  },
);
