import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService, postgresStorage, type Service } from '../src/index.ts';
import { hasPostgres, useDatabase } from './postgres-database.ts';
import { Gate, ServiceClient } from './service-client.ts';

const database = useDatabase('service');

/** Counts how many runs of one session are in their tool at the same time. */
class Overlap {
  readonly #inside = new Map<string, number>();
  most = 0;
  calls = 0;

  async pass(session: string): Promise<void> {
    const now = (this.#inside.get(session) ?? 0) + 1;
    this.#inside.set(session, now);
    this.most = Math.max(this.most, now);
    this.calls++;
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.#inside.set(session, (this.#inside.get(session) ?? 1) - 1);
  }
}

async function open(overlap: Overlap): Promise<Service> {
  return createService({
    store: postgresStorage(database.url, { approvalKey: 'a key of sixteen bytes or more' }),
    shutdownMs: 0,
    limits: { openRuns: 1000, requestsPerMinute: Infinity },
    agents: {
      assistant: {
        onBusy: 'queue',
        make: ({ session }) =>
          new ReActAgent({
            name: 'assistant',
            model: new ScriptedModel([{ toolCalls: [{ name: 'pass', input: {} }] }, 'Done.']),
            tools: [
              tool({
                name: 'pass',
                execute: async () => {
                  await overlap.pass(session);
                  return 'Passed.';
                },
              }),
            ],
          }),
      },
    },
  });
}

test.runIf(hasPostgres)(
  'three services on one PostgreSQL run one run of a session at a time, and lose none',
  async () => {
    const overlap = new Overlap();
    const services = await Promise.all([open(overlap), open(overlap), open(overlap)]);
    const clients = services.map(({ fetch }) => new ServiceClient(fetch));
    const [first = new ServiceClient(fetch)] = clients;
    for (const session of ['s1', 's2']) await first.session('assistant', session);
    const started = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        clients[n % 3]?.json('POST', `/api/sessions/s${(n % 2) + 1}/runs`, { input: `Message ${n}.` }),
      ),
    );
    for (const [n, { id }] of started.entries()) {
      const { ids, events } = (await clients[(n + 1) % 3]?.events(id)) ?? { ids: [], events: [] }; // by another process
      expect(ids).toEqual(ids.map((_, index) => index + 1));
      expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
    }
    expect([overlap.most, overlap.calls]).toEqual([1, 24]);
    for (const session of ['s1', 's2']) {
      const { data } = await first.json('GET', `/api/sessions/${session}/messages?limit=200`);
      const texts = data.filter(({ role }: { role: string }) => role === 'user');
      expect(texts).toHaveLength(12);
    }
    for (const service of services) await service.close();
  },
);

test.runIf(hasPostgres)('an interrupt through one service stops a run of another', async () => {
  const gate = new Gate();
  const agents = {
    assistant: () =>
      new ReActAgent({
        name: 'assistant',
        model: new ScriptedModel([{ toolCalls: [{ name: 'wait', input: {} }] }]),
        tools: [tool({ name: 'wait', execute: (_input: object, { signal }) => gate.pass(signal) })],
      }),
  };
  const make = (): Promise<Service> =>
    createService({
      agents,
      shutdownMs: 0,
      store: postgresStorage(database.url, { approvalKey: 'a key of sixteen bytes or more' }),
    });
  const [one, two] = [await make(), await make()];
  const [runner, other] = [new ServiceClient(one.fetch), new ServiceClient(two.fetch)];
  await runner.session('assistant', 'waiting');
  const { id } = await runner.json('POST', '/api/sessions/waiting/runs', { input: 'Go.' });
  await gate.reached;
  expect(await other.json('POST', `/api/runs/${id}/interrupt`, {})).toEqual({ done: true });
  expect(await other.ended(id)).toMatchObject({ status: 'interrupted' });
  await one.close();
  await two.close();
});
