// 50 runs that stream at once, as fast as the server takes them: nothing is lost, and its memory stays flat, whoever reads or does not.

import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';

import { afterEach, expect, test } from 'vitest';

import { sampleOf } from '../../troupe/test/fair-sample.ts';
import { MIB, RUNS, startLoaded, Streams, type LoadedStudio } from './load-streams.ts';
import { Studios, type StudioClient } from './studio-client.ts';

const studios = new Studios();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  await studios.closeAll();
});

/** Starts a Studio that ends with the test. */
async function startProcess(): Promise<LoadedStudio> {
  const loaded = await startLoaded(studios.folder());
  closers.push(loaded.close);
  return loaded;
}

/** A tab that has opened its live connection, watches all runs, and then reads nothing and answers no ping. */
async function silentTab({ studio, cookie }: StudioClient): Promise<Socket> {
  const { host, port, hostname } = new URL(studio.url);
  const socket = createConnection(Number(port), hostname);
  closers.push(() => socket.destroy());
  const head = [
    'GET /api/live HTTP/1.1',
    `Host: ${host}`,
    `Origin: ${studio.url}`,
    `Cookie: ${cookie}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  socket.pause();
  for (const runId of RUNS) {
    const frame = Buffer.from(JSON.stringify({ type: 'watch_run', runId, after: 0 }));
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | frame.byteLength, 0, 0, 0, 0]), frame])); // masked with zeros
  }
  return socket;
}

const DELTAS = sampleOf('deltas of 50 runs that stream at once', 60_000, 6000);

test('50 runs at once: every delta reaches the page in order, and the memory of the server stays flat', async () => {
  const { page, memory } = await startProcess();
  const streams = new Streams(page);
  await streams.open();
  const live = await page.live();
  const last = new Map<string, number>();
  let gaps = 0;
  live.socket.on('message', (data) => {
    live.messages.length = 0; // only counted
    const message = JSON.parse((data as Buffer).toString());
    for (const { seq } of message.type === 'entries' ? message.entries : []) {
      if (seq !== (last.get(message.runId) ?? 0) + 1) gaps++;
      last.set(message.runId, seq);
    }
  });
  for (const runId of RUNS) live.send({ type: 'watch_run', runId, after: 0 });
  const rounds = DELTAS / RUNS.length;
  const sizes: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await streams.deltas(`word ${round} `);
    if (round === rounds / 4 || round === rounds) sizes.push(await memory());
  }
  // the start of the reply, the connection of the program, and the deltas
  await live.until(() => (RUNS.every((runId) => last.get(runId) === rounds + 2) ? true : undefined));
  expect(gaps).toBe(0);
  const [early = 0, late = Infinity] = sizes;
  expect(late - early).toBeLessThan(4 * MIB);
});

test(
  'a tab that is gone without a word costs no more than its buffer, and is then dropped',
  { timeout: 120_000 },
  async () => {
    const { page, memory } = await startProcess();
    const streams = new Streams(page);
    await streams.open();
    const tabs = [await silentTab(page), await silentTab(page), await silentTab(page)];
    const text = 'x'.repeat(20_000); // 1 MB in each round
    for (let round = 0; round < 5; round++) await streams.deltas(text);
    const before = await memory();
    for (let round = 0; round < 45; round++) await streams.deltas(text);
    const after = await memory();
    // 3 tabs with 45 MB each would hold 135 MB
    expect(after - before).toBeLessThan(16 * MIB);
    const ended = tabs.map((tab) => once(tab, 'close'));
    for (const tab of tabs) tab.on('error', () => {}).resume();
    await Promise.all(ended); // the server has closed them
  },
);
