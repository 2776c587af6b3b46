import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';
import { findHistoryFaults } from 'troupe';
import { ServiceClient } from 'troupe/client';
import { afterEach, expect, test } from 'vitest';

import { createService, postgresStorage } from '../src/index.ts';
import { casesOf } from '../../troupe/test/fair-sample.ts';
import { durableAgent } from './durable-agents.ts';
import { APPROVAL_KEY, hasPostgres, useDatabase } from './postgres-database.ts';

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];
const database = useDatabase('killed');
/** The model calls and tools of a run. */
const BODIES = ['0', '1', '2', '3', '4', '5', '6', '7', '8'];
const children: ChildProcess[] = [];
const dirs: string[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

async function start(
  dir: string,
  killAt: string,
  store = join(dir, 'service.sqlite'),
): Promise<{ child: ChildProcess; url: string }> {
  const program = join(import.meta.dirname, 'service-process.ts');
  const args = [...FLAGS, program, store, join(dir, 'effects'), killAt];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { child, url: line.trim() };
}

test.each(casesOf('bodies in which a service is killed', BODIES, 5))(
  'a service killed with -9 in the middle of body %s goes on at its next start',
  async (killAt) => {
    const dir = mkdtempSync(join(tmpdir(), 'troupe-killed-'));
    dirs.push(dir);
    const first = await start(dir, killAt);
    const exit = once(first.child, 'exit');
    const client = new ServiceClient({ url: first.url, maxAttempts: 2 });
    await client.createSession('assistant', { id: 's' });
    const key = { idempotencyKey: 'k' };
    await client.start('s', 'Go.', key).catch(() => {}); // its answer may be lost
    expect(await exit).toEqual([null, 'SIGKILL']);

    const second = await start(dir, 'never');
    const again = new ServiceClient({ url: second.url });
    const { id } = await again.start('s', 'Go.', key);
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

test.runIf(hasPostgres)(
  'a run of a process that was killed on another machine is taken over when its connection is gone, not after its silence',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'troupe-killed-'));
    dirs.push(dir);
    const first = await start(dir, '3', database.url);
    const exit = once(first.child, 'exit');
    const client = new ServiceClient({ url: first.url, maxAttempts: 1 });
    await client.createSession('assistant', { id: 's' });
    const { id } = await client.start('s', 'Go.');
    await exit;
    const admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    await admin.query("UPDATE service_owners SET host = 'elsewhere'");
    await admin.end();

    const effects: string[] = [];
    await using service = await createService({
      store: postgresStorage(database.url, { approvalKey: APPROVAL_KEY }),
      takeOverMs: 3_600_000,
      shutdownMs: 0,
      agents: { assistant: () => durableAgent({ take: async (effect) => void effects.push(effect.tool) }) },
    });
    const again = new ServiceClient({ url: await service.listen({ port: 0 }) });
    for await (const { n } of again.events(id)) expect(n).toBeGreaterThan(0);
    expect(await again.run(id)).toMatchObject({ status: 'finished', attempt: 2 });
    expect(readFileSync(join(dir, 'effects'), 'utf8')).toMatch(/^charge .*\n$/);
    expect(effects).toEqual(['store', 'look']);
  },
);
