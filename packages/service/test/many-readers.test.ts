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

/** Opens the events of a run, and waits for the first bytes without reading them. */
function openUnread(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => response.once('readable', () => resolve(response))).on('error', reject);
  });
}

async function gauge(client: ServiceClient, name: string): Promise<number> {
  const text = await (await client.send('GET', '/metrics')).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** CPU time of this thread in milliseconds; without a report 0, as Node 22 can't tell. */
function cpuOfThread(): number {
  if (process.env['TROUPE_LOAD_REPORT'] === undefined) return 0;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The longest time in which no timer ran: by the clock, and as CPU time of the thread, which other programs do not lengthen. */
class LongestStall {
  ms = 0;
  cpuMs = 0;
  #last = performance.now();
  #cpu = cpuOfThread();
  readonly #timer = setInterval(() => {
    const now = performance.now();
    const cpu = cpuOfThread();
    this.ms = Math.max(this.ms, now - this.#last);
    this.cpuMs = Math.max(this.cpuMs, cpu - this.#cpu);
    this.#last = now;
    this.#cpu = cpu;
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
    const url = await service.listen({ port: 0 });
    const client = new ServiceClient((request) =>
      fetch(new Request(request.url.replace('http://127.0.0.1', url), request)),
    );
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
      maxStallCpuMs: Math.round(stall.cpuMs),
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

test(
  'every event of a run reaches all of its readers',
  async () => {
    const readers = sampleOf('readers of one run', 5000, 200);
    const text = 'An answer of some length, in pieces. '.repeat(5);
    const gate = new Gate();
    await using service = await createService({
      agents: { assistant: () => gatedAgent([CALLS_WAIT, { text, chunkSize: 8 }], gate) },
      limits: { requestsPerMinute: Infinity },
      shutdownMs: 0,
    });
    const url = await service.listen({ port: 0 });
    const client = new ServiceClient(service.fetch);
    const session = await client.session();
    const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
    await gate.reached;
    const reads: Promise<string>[] = [];
    while (reads.length < readers) {
      const some = Math.min(100, readers - reads.length);
      const streams = await Promise.all(
        Array.from({ length: some }, () => openUnread(`${url}/api/runs/${id}/events`)),
      );
      reads.push(...streams.map((stream) => textOf(stream)));
    }
    const stall = new LongestStall();
    const at = performance.now();
    gate.open();
    const texts = await Promise.all(reads);
    const ms = performance.now() - at;
    stall.end();
    const { lastEvent } = await client.json('GET', `/api/runs/${id}`);
    const numbers = Array.from({ length: lastEvent }, (_, index) => String(index + 1));
    for (const one of texts) expect([...one.matchAll(/^id: (\d+)$/gm)].map(([, n]) => n)).toEqual(numbers);
    report({
      readers,
      events: readers * lastEvent,
      eventsPerSecond: Math.round((readers * lastEvent * 1000) / ms),
      maxStallMs: Math.round(stall.ms),
      maxStallCpuMs: Math.round(stall.cpuMs),
    });
  },
  RUNS_IN_FULL ? 300_000 : 60_000,
);

async function textOf(stream: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += String(chunk);
  return text;
}

test('clients that do not read slow nobody down, and read everything later', async () => {
  const clients = sampleOf('clients that do not read', 10, 3);
  const pieces = 220;
  const text = 'x'.repeat(64 * 1024 * pieces); // more than the buffers of the system hold
  await using service = await createService({
    agents: {
      assistant: () =>
        new ReActAgent({
          name: 'assistant',
          model: new ScriptedModel([{ text, chunkSize: text.length / pieces }]),
          console: false,
        }),
    },
    limits: { requestsPerMinute: Infinity },
    shutdownMs: 0,
  });
  const url = await service.listen({ port: 0 });
  const client = new ServiceClient(service.fetch);
  const session = await client.session();
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
  const slow = await Promise.all(
    Array.from({ length: clients }, () => openUnread(`${url}/api/runs/${id}/events`)),
  );
  const fast = await Promise.all([1, 2, 3].map(() => client.events(id)));
  for (const { ids, events } of fast) {
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
  }
  expect(await gauge(client, 'troupe_event_readers')).toBe(clients); // none of them has come to the end
  for (const stream of slow) {
    const numbers = [...(await textOf(stream)).matchAll(/^id: (\d+)$/gm)].map(([, n]) => Number(n));
    expect(numbers).toEqual(fast[0]?.ids);
  }
  expect(await gauge(client, 'troupe_event_readers')).toBe(0);
});
