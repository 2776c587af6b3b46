import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

const BIN = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
  join(import.meta.dirname, '../src/bin.ts'),
];
const run = promisify(execFile);

test('the command makes a token, serves a file to its bearer only, and revokes the token', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-bin-'));
  const agents = join(dir, 'agents.mjs');
  // The service wants a function; no run is started here.
  writeFileSync(agents, `export const assistant = () => { throw new Error('not made'); };\n`);
  const store = ['--store', join(dir, 'service.sqlite')];
  const bin = async (...args: string[]): Promise<string> =>
    (await run(process.execPath, [...BIN, ...args, ...store])).stdout;
  const made = await bin('token', 'make', 'anna');
  const token = /troupe_\S+/.exec(made)?.[0] ?? '';
  const id = /revoking: (\S+)/.exec(made)?.[1] ?? '';
  const child = spawn(process.execPath, [...BIN, agents, '--tokens', '--port', '0', ...store], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  try {
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const url = /http:\S+\d/.exec(line)?.[0] ?? '';
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${url}/api/agents`, { headers })).status;
    const bearer = { authorization: `Bearer ${token}` };
    expect([await status({}), await status(bearer)]).toEqual([401, 200]);
    expect(await bin('token', 'revoke', id)).toBe('Revoked.\n');
    expect(await status(bearer)).toBe(401);
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
});
