// A Studio that is killed, away or slow: programs go on, nothing told is lost, and everything that is open is open again.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterEach, expect, test } from 'vitest';

import { ReActAgent, withRunConfig } from 'troupe';
import { StudioConnection } from 'troupe/studio';
import { ScriptedModel } from 'troupe/testing';

import type { RunEntry } from '../src/protocol.ts';
import type { Studio } from '../src/start-studio.ts';
import { StudioClient, Studios } from './studio-client.ts';

const studios = new Studios();
const children: ChildProcess[] = [];
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await studios.closeAll();
});

const FLAGS = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];
/** Each process compiles the library for itself, which takes long on a busy machine. */
const SLOW = { timeout: 180_000 };
const PATIENT = { timeout: 120_000 };
const TOKEN = 'token-of-the-test-0123456789';

function start(file: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [...FLAGS, join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

/** A Studio in a process of its own, and a page that is logged in. */
async function startProcess(dir: string, port: string): Promise<{ child: ChildProcess; page: StudioClient }> {
  const child = start('studio-process.ts', [dir, port, TOKEN]);
  const [line] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string];
  const studio = { url: line.trim(), token: TOKEN } as Studio;
  return { child, page: await new StudioClient(studio).login() };
}

test('a question survives the kill of the Studio, and is answered in the next one', SLOW, async () => {
  const dir = studios.folder();
  const { child, page } = await startProcess(dir, '0');
  const program = start('connected-program.ts', ['asks', page.studio.url, TOKEN]);
  let output = '';
  program.stdout!.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const ended = once(program, 'close');
  const live = await page.live();
  await live.until(({ messages }) =>
    messages.find((one) => one.type === 'waiting' && one.waiting.length === 1),
  );
  child.kill('SIGKILL');
  await once(child, 'close');
  await live.closed;

  const next = await startProcess(dir, new URL(page.studio.url).port);
  expect((await next.page.get('api/runs/run-asks')).body.run.id).toBe('run-asks');
  const again = await next.page.live();
  const question = await again.until(({ messages }) =>
    messages
      .flatMap((one) => (one.type === 'waiting' ? one.waiting : []))
      .find(({ state }) => state === 'waiting'),
  );
  const action = { type: 'answer', id: question.id, content: 'Late.', structured: { age: 4 } };
  // An answer is refused with 410 until the program is connected again.
  await expect.poll(() => next.page.act(question.runId, action), PATIENT).toMatchObject({ status: 200 });
  await ended;
  expect(output.trim()).toBe('Late. {"age":4}');
});

/** Calls an agent under a connection, and returns the answer. */
async function answered(
  studioUrl: string,
  options: object = {},
): Promise<{ text: string; connection: StudioConnection }> {
  return withRunConfig({ runId: 'in-test', logging: 'silent' }, async () => {
    const connection = new StudioConnection({ studioUrl, studioToken: 'x', ...options });
    closers.push(() => connection.close());
    const agent = new ReActAgent({
      name: 'Ann',
      model: new ScriptedModel([{ text: 'word '.repeat(2000), chunkSize: 5 }]),
      console: false,
    });
    const { text } = await agent.call('Hi!');
    return { text, connection };
  });
}

test('a Studio that is down fails no agent call', async () => {
  const { text } = await answered('http://127.0.0.1:9');
  expect(text).toHaveLength(10_000);
});

test('a Studio that never answers fails no agent call, and the buffer stays within its limits', async () => {
  const server = createServer(() => {}); // takes requests and says nothing
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { text, connection } = await answered(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    maxItems: 8,
  });
  expect(text).toHaveLength(10_000);
  expect(connection.dropped).toBeGreaterThan(0);
});

test('dropped items are told to the Studio when it is there', SLOW, async () => {
  const place = createServer(() => {}); // holds the port of the Studio, and takes nothing, while the program drops items
  place.listen(0, '127.0.0.1');
  await once(place, 'listening');
  const { port } = place.address() as AddressInfo;
  const agent = new ReActAgent({
    name: 'Ann',
    model: new ScriptedModel([
      { thinking: 'a', text: 'b', toolCalls: [{ id: 'c', name: 'none', input: {} }] },
      'Done.',
    ]),
    console: false,
  });
  const dropped = await withRunConfig({ runId: 'dropped', logging: 'silent' }, async () => {
    const connection = new StudioConnection({
      studioUrl: `http://127.0.0.1:${port}`,
      studioToken: TOKEN,
      maxItems: 8,
    });
    closers.push(() => connection.close());
    await agent.call('Hi!');
    return connection.dropped;
  });
  expect(dropped).toBeGreaterThan(0);
  place.closeAllConnections();
  await new Promise((resolve) => place.close(resolve));
  const { page } = await startProcess(studios.folder(), String(port));
  const told = async (): Promise<number> =>
    (await page.get('api/runs/dropped/entries')).body.entries
      ?.filter(({ kind }: RunEntry) => kind === 'dropped')
      .reduce((sum: number, { count }: { count: number }) => sum + count, 0);
  await expect.poll(told, PATIENT).toBeGreaterThanOrEqual(dropped);
  expect((await page.get('api/runs/dropped')).body.run.dropped).toBe(await told());
});

test('a wrong token fails no agent call', async () => {
  const page = await studios.start();
  const { text, connection } = await answered(page.studio.url);
  await connection.flush();
  expect(text).toHaveLength(10_000);
});
