import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, expect, test } from 'vitest';

import { RunHub } from '../src/runs/run-hub.ts';
import { startStudio } from '../src/start-studio.ts';
import { openDatabase } from '../src/store/database.ts';
import { enforceRetention, Retention, trimRun } from '../src/store/retention.ts';
import { StudioStore } from '../src/store/studio-store.ts';
import { Studios } from './studio-client.ts';

const studios = new Studios();
afterEach(() => studios.closeAll());
const DAY_MS = 86_400_000;

/** A hub with a database in memory and a clock of the test. */
function hubAt(start: number): { hub: RunHub; clock: { now: number } } {
  const clock = { now: start };
  const { db } = openDatabase(':memory:', start);
  return { hub: new RunHub(new StudioStore(db, ':memory:'), () => clock.now), clock };
}

test('a corrupt database is set aside with a message, and the Studio starts', async () => {
  const dir = studios.folder();
  writeFileSync(join(dir, 'studio.sqlite'), 'SQLite format 3\0 and then nonsense'.repeat(1000));
  const lines: string[] = [];
  const page = await studios.start({ dir, log: (line) => lines.push(line) });
  expect(lines).toEqual([expect.stringContaining('It was set aside as')]);
  const { body } = await page.get('api/info');
  expect(body.storage.setAside).toContain('studio.sqlite.set-aside-');
  expect(readdirSync(dir).filter((name) => name.startsWith('studio.sqlite.set-aside'))).toHaveLength(1);
  expect((await page.get('api/runs')).body.runs).toEqual([]);
});

test('a second Studio on the same folder is refused with advice', async () => {
  const dir = studios.folder();
  await studios.start({ dir });
  await expect(startStudio({ dir, tokenDir: dir, port: 0, log: () => {} })).rejects.toThrow(
    'Another Studio uses',
  );
});

test('agents are listed in the order in which they were told first', () => {
  const { hub } = hubAt(0);
  hub.openRun({ id: 'run', project: 'p', name: 'x', source: 'program' });
  const put = (id: string, name: string): void =>
    hub.store.putAgent('run', {
      id,
      name,
      className: 'A',
      path: [name],
      hubs: [],
      isRunning: false,
      isReachable: true,
    });
  for (const id of ['9', '1', '5', '0']) put(id, `agent ${id}`);
  put('1', 'renamed');
  const names = hub.store.agents('run').map(({ name }) => name);
  expect(names).toEqual(['agent 9', 'renamed', 'agent 5', 'agent 0']);
});

test('old runs that have ended are deleted, and runs that go on are kept', () => {
  const { hub, clock } = hubAt(Date.UTC(2026, 0, 1));
  hub.openRun({ id: 'old', project: 'p', name: 'old', source: 'otlp' });
  hub.openRun({ id: 'going', project: 'p', name: 'going', source: 'agentscope', isConnected: true });
  hub.putWaiting(
    {
      id: 'q',
      runId: 'going',
      runName: '',
      agentPath: [],
      askedAt: '',
      changedAt: '',
      state: 'waiting',
      kind: 'question',
      agentId: 'a',
      agentName: 'a',
      schema: null,
    },
    'a',
  );
  clock.now += 40 * DAY_MS;
  hub.openRun({ id: 'new', project: 'p', name: 'new', source: 'otlp' });
  const limits = { keepDays: 30, maxBytes: 1024 ** 3, maxRunEntries: 100 };
  expect(enforceRetention(hub, limits, clock.now)).toBe(1);
  expect(['old', 'going', 'new'].map((id) => hub.run(id)?.status)).toEqual([undefined, 'waiting', 'done']);
});

test('the oldest runs are deleted while the database is too large', () => {
  const { hub, clock } = hubAt(Date.UTC(2026, 0, 1));
  for (let n = 0; n < 20; n++) {
    clock.now += 1000;
    hub.openRun({ id: `run-${n}`, project: 'p', name: 'x', source: 'otlp' });
    hub.addEntry(`run-${n}`, { kind: 'program', state: 'connected', reason: 'x'.repeat(100_000) });
  }
  const limits = { keepDays: null, maxBytes: 1_000_000, maxRunEntries: 100 };
  expect(enforceRetention(hub, limits, clock.now)).toBeGreaterThan(5);
  expect(hub.store.usedBytes).toBeLessThan(1_000_000);
  expect([hub.run('run-0'), hub.run('run-19')?.id]).toEqual([undefined, 'run-19']);
});

test('a run with too many entries loses the oldest ones, and says so', () => {
  const { hub } = hubAt(0);
  hub.openRun({ id: 'long', project: 'p', name: 'x', source: 'program' });
  for (let n = 0; n < 150; n++) hub.addEntry('long', { kind: 'dropped', count: n });
  trimRun(hub, 'long', { keepDays: null, maxBytes: 1, maxRunEntries: 100 });
  expect(hub.run('long')).toMatchObject({ lastSeq: 150, removedUpTo: 60 });
  expect(hub.store.entries('long', 0, 1000, 1000).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 90 }, (_, i) => i + 61),
  );
});

test('a run is cut while it grows, whatever the size of its batches', () => {
  const { hub, clock } = hubAt(0);
  hub.openRun({ id: 'long', project: 'p', name: 'x', source: 'program' });
  const limits = { keepDays: null, maxBytes: 1024 ** 3, maxRunEntries: 100 };
  new Retention(hub, limits, () => clock.now).watch(() => {});
  for (let batch = 0; batch < 50; batch++)
    hub.change(() => {
      for (let n = 0; n < 7; n++) hub.addEntry('long', { kind: 'dropped', count: n });
    });
  const kept = hub.store.entries('long', 0, 1000, 1000).length;
  expect([hub.run('long')?.lastSeq, kept >= 90 && kept <= 107]).toEqual([350, true]);
});

test('snapshots of removed entries are removed with them', () => {
  const { hub } = hubAt(0);
  hub.openRun({ id: 'long', project: 'p', name: 'x', source: 'program' });
  for (let n = 1; n <= 20; n++) {
    hub.addEntry('long', { kind: 'dropped', count: n });
    hub.store.putInside('long', 'a', n, '{}');
    hub.store.putTurn('long', { callId: `c${n}`, seq: n, state: undefined, steps: undefined });
  }
  trimRun(hub, 'long', { keepDays: null, maxBytes: 1, maxRunEntries: 10 });
  expect(hub.store.inside('long', 'a', 11)).toBeUndefined();
  expect(hub.store.inside('long', 'a', 12)).toEqual({ seq: 12, json: '{}' });
  expect(hub.store.turns('long').map(({ seq }) => seq)).toEqual([12, 13, 14, 15, 16, 17, 18, 19, 20]);
});

test('runs that go on, and spans of no run, do not fill the database beyond its limit', () => {
  const { hub, clock } = hubAt(0);
  const limits = { keepDays: null, maxBytes: 2_000_000, maxRunEntries: 1_000_000 };
  const retention = new Retention(hub, limits, () => clock.now);
  let cuts = 0;
  retention.watch(() => {
    cuts++;
    retention.enforce();
  });
  hub.openRun({ id: 'going', project: 'p', name: 'x', source: 'program', isConnected: true });
  const reason = 'x'.repeat(5000);
  let most = 0;
  for (let n = 0; n < 2000; n++) {
    hub.addEntry('going', { kind: 'program', state: 'connected', reason });
    most = Math.max(most, hub.store.usedBytes);
  }
  const base = {
    name: reason,
    kind: 'other',
    status: 'ok',
    agentPath: [],
    attributes: {},
    events: [],
  } as const;
  for (let n = 0; n < 2000; n++) {
    hub.change(() => hub.store.putSpan({ ...base, id: `${n}`, traceId: 't', startMs: n }, undefined, ''));
    most = Math.max(most, hub.store.usedBytes);
  }
  expect(cuts).toBeGreaterThan(5);
  expect(most).toBeLessThan(limits.maxBytes * 1.1);
  expect(hub.run('going')).toMatchObject({ lastSeq: 2000, status: 'idle' });
  expect(hub.run('going')?.removedUpTo).toBeGreaterThan(500);
});

test('a run that was known by its spans alone becomes a run of its program, with the time of its start', () => {
  const { hub, clock } = hubAt(Date.UTC(2026, 0, 2));
  hub.openRun({ id: 'r', project: 'traces', name: 'chat', source: 'otlp' });
  const program = { id: 'p1', library: 'troupe', protocol: 1 };
  const run = { project: 'zoo', name: 'first', createdAt: '2026-01-01T00:00:00.000Z' };
  hub.ingest(
    program,
    [
      { runId: 'r', kind: 'run', run },
      { runId: 'new', kind: 'run', run },
    ],
    0,
  );
  hub.setConnected(['r'], true);
  expect(hub.run('r')).toMatchObject({ source: 'program', project: 'zoo', status: 'idle' });
  expect(hub.store.queryRuns({ source: 'otlp', statuses: [], limit: 10 }).total).toBe(0);
  expect(hub.run('new')).toMatchObject({
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: new Date(clock.now).toISOString(),
  });
  hub.ingest(program, [{ runId: 'odd', kind: 'run', run: { ...run, createdAt: 'yesterday' } }], 0);
  expect(hub.run('odd')?.createdAt).toBe(new Date(clock.now).toISOString());
});

test('nothing is told that could not be stored', () => {
  const { hub } = hubAt(0);
  const told: number[] = [];
  hub.listen({
    onEntries: (_id, entries) => told.push(...entries.map(({ seq }) => seq)),
    onRun() {},
    onRunsDeleted() {},
    onWaiting() {},
  });
  hub.openRun({ id: 'r', project: 'p', name: 'x', source: 'program' });
  const fail = (): void =>
    hub.change(() => {
      hub.addEntry('r', { kind: 'dropped', count: 1 });
      throw new Error('the disk is full');
    });
  expect(fail).toThrow('the disk is full');
  expect([told, hub.run('r')?.lastSeq]).toEqual([[], 0]);
  hub.addEntry('r', { kind: 'dropped', count: 2 });
  expect([told, hub.run('r')?.lastSeq]).toEqual([[1], 1]);
});
