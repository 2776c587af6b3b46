import { expect, test } from 'vitest';

import { openDatabase } from '../store/database.ts';
import { StudioStore } from '../store/studio-store.ts';
import { Programs } from './programs.ts';
import { RunHub } from './run-hub.ts';

test('a connection that ends after the Studio leaves no timer behind', () => {
  const timers = new Set<() => void>();
  const startTimer = (_ms: number, callback: () => void): (() => void) => {
    timers.add(callback);
    return () => void timers.delete(callback);
  };
  const store = new StudioStore(openDatabase(':memory:', 0).db, ':memory:');
  const programs = new Programs(new RunHub(store, () => 0), {
    startTimer,
    lostAfterMs: 1,
    commandTimeoutMs: 1,
  });
  const run = { project: 'p', name: 'n', createdAt: '2026-01-01T00:00:00.000Z' };
  programs.takeBatch({ id: 'p1', library: 'x', protocol: 1 }, 1, 0, [{ runId: 'r', kind: 'run', run }]);
  const [first, second] = [programs.connect('p1', () => {}), programs.connect('p2', () => {})];
  first();
  expect(timers.size).toBe(1); // the program may come back
  programs.close();
  second();
  expect(timers.size).toBe(0);
});
