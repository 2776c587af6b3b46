import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { afterEach, expect, test } from 'vitest';

import { Studios } from './studio-client.ts';

const studios = new Studios();
afterEach(() => studios.closeAll());

const TROUPE = join(import.meta.dirname, '../../troupe/bin/troupe.mjs');

test('npx troupe studio starts a Studio, prints its address, and ends by Ctrl-C', async () => {
  const dir = studios.folder();
  const child = spawn(process.execPath, [TROUPE, 'studio', '--port', '0', '--dir', dir, '--no-browser'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], TROUPE_STUDIO_DIR: dir },
  });
  const closed = once(child, 'close');
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    text += String(chunk);
    const [, url, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#t=(\S+)/.exec(text) ?? [];
    if (url === undefined || !text.includes('Ctrl-C')) continue;
    const answer = await fetch(`${url}/api/info`, { headers: { authorization: `Bearer ${token}` } });
    expect(await answer.json()).toMatchObject({ agents: [], storage: { path: join(dir, 'studio.sqlite') } });
    child.kill('SIGINT');
  }
  expect(await closed).toEqual([0, null]);
});

test('npx troupe without a command says how to use it', () => {
  const { status, stderr } = spawnSync(process.execPath, [TROUPE], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringContaining('Usage: troupe studio')]);
});
