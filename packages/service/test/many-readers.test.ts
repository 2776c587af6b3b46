// Needs its own process: it counts memory and open connections.
import { Agent, get, type IncomingMessage } from 'node:http';

import { ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService } from '../src/index.ts';
import { RUNS_IN_FULL, sampleOf } from '../../troupe/test/fair-sample.ts';
import { CALLS_WAIT, Gate, gatedAgent, ServiceClient } from './service-client.ts';

const agent = new Agent({ keepAlive: false });

/** Opens the events of a run, and reads the first bytes. */
function open(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      response.once('data', () => resolve(response));
      response.on('error', () => {}); // the connection is cut off at the end
    });
    request.on('error', reject);
  });
}

async function gauge(client: ServiceClient, name: string): Promise<number> {
  const text = await (await client.send('GET', '/metrics')).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** The longest time in which no timer ran. */
class LongestStall {
  ms = 0;
  #last = performance.now();
  readonly #timer = setInterval(() => {
    const now = performance.now();
    this.ms = Math.max(this.ms, now - this.#last);
    this.#last = now;
  }, 5);

  end(): void {
    clearInterval(this.#timer);
  }
}

function report(figures: object): void {
  if (process.env['TROUPE_LOAD_REPORT'] !== undefined) console.log(figures);
}

test(
  'many runs that stream at the same time all reach their readers whole, and leave nothing',
  async () => {
    const runs = sampleOf('runs that stream at the same time', 1000, 40);
    const text = 'An answer of some length, in pieces. '.repeat(5);
    await using service = await createService({
      agents: {
        assistant: () =>
          new ReActAgent({ name: 'assistant', model: new ScriptedModel([{ text, chunkSize: 4 }]) }),
      },
      limits: { openRuns: Infinity, requestsPerMinute: Infinity },
      shutdownMs: 0,
    });
    const client = new ServiceClient(service.fetch);
    const stall = new LongestStall();
    const cpu = process.cpuUsage();
    const reads = await Promise.all(
      Array.from({ length: runs }, async (_, n) => {
        const session = await client.session('assistant', `s${n}`);
        const run = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
        return client.events(run.id);
      }),
    );
    const { user, system } = process.cpuUsage(cpu);
    stall.end();
    for (const { ids, events } of reads) {
      expect(ids).toEqual(ids.map((_, index) => index + 1));
      const read = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : [])).join('');
      expect(read).toBe(text);
    }
    const events = reads.reduce((sum, { ids }) => sum + ids.length, 0);
    report({
      runs,
      events,
      cpuMicrosPerEvent: Math.round((user + system) / events),
      maxStallMs: Math.round(stall.ms),
    });
    expect([await gauge(client, 'troupe_event_readers'), await gauge(client, 'troupe_runs_running')]).toEqual(
      [0, 0],
    );
  },
  RUNS_IN_FULL ? 300_000 : 60_000,
);

test(
  'readers that wait cost the database nothing, and readers that vanish leave nothing',
  async () => {
    const readers = sampleOf('open event streams', 5000, 100);
    const gate = new Gate();
    await using service = await createService({
      agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) },
      limits: { requestsPerMinute: Infinity },
      shutdownMs: 0,
    });
    const url = await service.listen({ port: 0 });
    const client = new ServiceClient(service.fetch);
    const session = await client.session();
    const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
    await gate.reached;
    const before = process.memoryUsage().rss;
    const streams: IncomingMessage[] = [];
    while (streams.length < readers) {
      const some = Math.min(100, readers - streams.length);
      streams.push(
        ...(await Promise.all(Array.from({ length: some }, () => open(`${url}/api/runs/${id}/events`)))),
      );
    }
    expect(await gauge(client, 'troupe_event_readers')).toBe(readers);
    report({
      readers,
      kilobytesPerReader: Math.round((process.memoryUsage().rss - before) / 1024 / readers),
    });
    for (const stream of streams.slice(1)) stream.destroy();
    while ((await gauge(client, 'troupe_event_readers')) > 1)
      await new Promise((resolve) => setImmediate(resolve));
    gate.open();
    const [last] = streams;
    const ended = new Promise((resolve) => last?.once('end', resolve));
    last?.resume();
    await ended;
    expect(await client.json('GET', `/api/runs/${id}`)).toMatchObject({ status: 'finished' });
    expect(await gauge(client, 'troupe_event_readers')).toBe(0);
  },
  RUNS_IN_FULL ? 300_000 : 60_000,
);
