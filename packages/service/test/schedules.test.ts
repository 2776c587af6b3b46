import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { SqliteDatabase, SqliteSession } from 'troupe/stores/sqlite';
import { expect, test } from 'vitest';

import { createService, type Service } from '../src/index.ts';
import { dueTicks } from '../src/schedules/schedule-ticks.ts';
import { ServiceClient } from './service-client.ts';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1);
const hourly = { cron: '0 * * * *', timezone: 'UTC', nextAt: START + HOUR };

test.each([
  ['skip', []],
  ['last', [START + 3 * HOUR]],
  ['all', [START + HOUR, START + 2 * HOUR, START + 3 * HOUR]],
] as const)('ticks that nobody was there for, with missed %s', (missed, run) => {
  const due = dueTicks({ ...hourly, missed }, START + 3 * HOUR + 30 * 60_000);
  expect(due).toEqual({ run, next: START + 4 * HOUR });
});

test('a tick in time runs with every setting, and a schedule that was off for a year comes back at once', () => {
  for (const missed of ['skip', 'last', 'all'] as const)
    expect(dueTicks({ ...hourly, missed }, START + HOUR + 500)).toEqual({
      run: [START + HOUR],
      next: START + 2 * HOUR,
    });
  const late = dueTicks({ ...hourly, cron: '* * * * *', missed: 'all' }, START + 365 * 24 * HOUR);
  expect(late.run).toHaveLength(100);
  expect(late.next).toBe(START + 365 * 24 * HOUR + 60_000);
});

test('a time zone moves the ticks', () => {
  const daily = { cron: '0 9 * * *', timezone: 'America/New_York', missed: 'all' as const, nextAt: START };
  expect(dueTicks(daily, START).next).toBe(Date.UTC(2026, 0, 1, 14));
});

test('two services start one run for each tick, in the session of the schedule', async () => {
  let now = START;
  const dir = mkdtempSync(join(tmpdir(), 'troupe-schedules-'));
  const make = (): Promise<Service> =>
    createService({
      agents: {
        assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Good morning.']) }),
      },
      store: join(dir, 'service.sqlite'),
      now: () => now,
      shutdownMs: 0,
    });
  const services = [await make(), await make()];
  const client = new ServiceClient(services[0]?.fetch ?? fetch);
  const schedule = await client.json(
    'POST',
    '/api/schedules',
    { agent: 'assistant', cron: '0 * * * *', input: 'Report.' },
    201,
  );
  expect(schedule).toMatchObject({ nextAt: START + HOUR, isPaused: false, missed: 'skip' });
  for (let hour = 1; hour <= 3; hour++) {
    now = START + hour * HOUR;
    await Promise.all(services.flatMap((service) => [service.tick(), service.tick()]));
  }
  const runs = async (): Promise<readonly { id: string; status: string }[]> =>
    (await client.json('GET', `/api/sessions/${schedule.session}/runs`)).data;
  expect(await runs()).toHaveLength(3);
  for (const { id } of await runs()) expect(await client.ended(id)).toMatchObject({ status: 'finished' });

  await client.json('POST', `/api/schedules/${schedule.id}/pause`, {});
  now += 2 * HOUR;
  await services[1]?.tick();
  expect(await runs()).toHaveLength(3);
  const resumed = await client.json('POST', `/api/schedules/${schedule.id}/resume`, {});
  expect(resumed.nextAt).toBe(now + HOUR);
  await client.json('DELETE', `/api/schedules/${schedule.id}`, undefined, 204);
  now += 2 * HOUR;
  await services[0]?.tick();
  expect(await runs()).toHaveLength(3);
  expect((await client.json('GET', '/api/schedules')).data).toEqual([]);
  for (const service of services) await service.close();
  rmSync(dir, { recursive: true });
});

test('a schedule runs its last tick and is paused, and neither it nor one that fails stops the others', async () => {
  let now = START;
  const database = new SqliteDatabase(':memory:');
  const service = await createService({
    agents: {
      assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Good morning.']) }),
    },
    store: { database, sessions: new SqliteSession(database) },
    now: () => now,
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  const add = (cron: string): Promise<any> =>
    client.json('POST', '/api/schedules', { agent: 'assistant', cron, input: 'Report.' }, 201);
  const [once, broken, old, hourly] = [
    await add('0 0 1 1 1 * 2026'),
    await add('0 * * * *'),
    await add('0 * * * *'),
    await add('0 * * * *'),
  ];
  await database.query('UPDATE service_schedules SET msgs = ? WHERE id = ?', ['{', broken.id]);
  await database.query('UPDATE service_schedules SET cron = ? WHERE id = ?', ['2026-01-01T01:00', old.id]);
  for (let hour = 1; hour <= 2; hour++) {
    now = START + hour * HOUR;
    await service.tick();
  }
  const runs = async ({ session }: { session: string }): Promise<number> =>
    (await client.json('GET', `/api/sessions/${session}/runs`)).data.length;
  expect([await runs(once), await runs(broken), await runs(old), await runs(hourly)]).toEqual([1, 0, 0, 2]);
  await database.query('UPDATE service_schedules SET msgs = ? WHERE id = ?', ['[]', broken.id]);
  const { data } = await client.json('GET', '/api/schedules');
  const paused = data.filter((one: any) => one.isPaused).map((one: any) => one.id);
  expect(new Set(paused)).toEqual(new Set([once.id, old.id]));
  expect((await client.send('POST', `/api/schedules/${once.id}/resume`, {})).status).toBe(400);
  expect((await client.send('POST', `/api/schedules/${once.id}/pause`, {})).status).toBe(200);
  await service.close();
});

test.each(['nonsense', '0 0 30 2 *', '* * *', '2099-11-20T00:00:00'])(
  'the expression %s is refused',
  async (cron) => {
    const service = await createService({
      agents: { assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel([]) }) },
    });
    const client = new ServiceClient(service.fetch);
    expect(
      (await client.send('POST', '/api/schedules', { agent: 'assistant', cron, input: 'x' })).status,
    ).toBe(400);
    await service.close();
  },
);
