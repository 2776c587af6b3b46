import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { EXAMPLE_ENV } from '../run-example.ts';

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];

test('the program behind `npm run service` serves its agent, and ends by Ctrl-C', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-service-'));
  const env = { ...EXAMPLE_ENV, PORT: '0', TROUPE_SERVICE_DIR: dir };
  const child = spawn(process.execPath, [...FLAGS, join(import.meta.dirname, 'main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  const ended = once(child, 'exit');
  try {
    let text = '';
    let url: string | undefined;
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      text += String(chunk);
      url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
      if (url !== undefined && text.includes('Ctrl-C ends')) break;
    }
    const post = async (path: string, body: object): Promise<{ id: string }> => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(response.ok).toBe(true);
      return (await response.json()) as { id: string };
    };
    await post('/api/sessions', { agent: 'assistant', id: 's1' });
    const run = await post('/api/sessions/s1/runs', { input: 'What time is it?' });
    const events = await (await fetch(`${url}/api/runs/${run.id}/events`)).text();
    expect(events).toContain('"status":"finished"');
    child.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
});
