import { expect, test } from 'vitest';

import { Programs } from '../runs/programs.ts';
import { RunHub } from '../runs/run-hub.ts';
import { openDatabase } from '../store/database.ts';
import { StudioStore } from '../store/studio-store.ts';
import { programRoutes } from './program-routes.ts';

test('a program that never reads its commands is disconnected before they fill the memory', async () => {
  const hub = new RunHub(new StudioStore(openDatabase(':memory:', 0).db, ':memory:'), () => 0);
  const startTimer = () => () => {};
  const programs = new Programs(hub, { startTimer, lostAfterMs: 1, commandTimeoutMs: 1 });
  const app = programRoutes({ programs, instance: 'i', version: '0', maxBatchBytes: 1, startTimer });
  const run = { project: 'p', name: 'n', createdAt: '2026-01-01T00:00:00.000Z' };
  programs.takeBatch({ id: 'p1', library: 'x', protocol: 1 }, 1, 0, [{ runId: 'r', kind: 'run', run }]);
  const { body } = await app.request('/commands?program=p1');
  const content = 'x'.repeat(1024 * 1024);
  const send = () => void programs.command('r', { type: 'send', agentId: 'a', content });
  for (let n = 0; n < 60; n++) send();
  const reader = body!.getReader();
  expect(await reader.read()).toMatchObject({ done: false }); // within the limit
  for (let n = 0; n < 10; n++) send();
  await expect(reader.read()).rejects.toThrow('does not read its commands');
});
