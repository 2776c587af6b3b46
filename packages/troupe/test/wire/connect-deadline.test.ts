// The deadline for the connection, over real connections: it ends when the request is sent, not with the answer.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

import { createOpenAI } from '@ai-sdk/openai';
import { afterEach, describe, expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import { ModelError } from '../../src/model/model-error.ts';
import { AiSdkModel } from '../../src/providers/ai-sdk/index.ts';
import { OpenAIChatModel } from '../../src/providers/openai/index.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { LOOPBACK_WIRES, serve, type LoopbackWire } from './loopback-wires.ts';

const ASK = { messages: [Msg.user('Hi.')] };
const MINUTE = 60_000;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** The Chat Completions API again, through a package of the AI SDK. */
const AI_SDK: LoopbackWire = {
  ...LOOPBACK_WIRES[0]!,
  name: 'ai-sdk',
  make: ({ deadlines, baseUrl, apiKey }) =>
    new AiSdkModel(
      createOpenAI({
        ...(baseUrl && { baseURL: `${baseUrl}/v1` }),
        ...(typeof apiKey === 'string' && { apiKey }),
      }).chat('gpt-4.1'),
      { deadlines },
    ),
};

describe.each([...LOOPBACK_WIRES, AI_SDK])('$name', ({ make, answers, contentType }) => {
  test('a server that accepts at once and answers late has all of firstByteMs', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    let respond = (): void => {};
    const arrived = Promise.withResolvers<void>();
    await using there = await serve((_request, response) => {
      respond = () => response.writeHead(200, { 'content-type': contentType }).end(answers.get('plain'));
      arrived.resolve();
    });
    const deadlines = { connectMs: 1000, firstByteMs: 3 * MINUTE };
    const model = make({ apiKey: 'k', baseUrl: `http://${there.host}`, deadlines });
    const calling = model.call(ASK);
    calling.catch(() => {});
    await arrived.promise;
    await clock.advance(3 * MINUTE - 1);
    respond();
    expect((await calling).finishReason).toBe('stop');
    expect(clock.pendingTimers).toBe(0);
  });

  test('a server that accepts and never answers has missed firstByteMs', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const arrived = Promise.withResolvers<void>();
    await using there = await serve(() => arrived.resolve());
    const deadlines = { connectMs: 1000, firstByteMs: 3 * MINUTE };
    const calling = make({ apiKey: 'k', baseUrl: `http://${there.host}`, deadlines }).call(ASK);
    const failure = calling.catch((error: unknown) => error);
    await arrived.promise;
    await clock.advance(3 * MINUTE);
    expect(await failure).toMatchObject({ kind: 'timeout', deadline: 'first_byte', isRetryable: true });
  });

  test('a head without a body does not prolong firstByteMs', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const arrived = Promise.withResolvers<void>();
    await using there = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': contentType }).flushHeaders();
      arrived.resolve();
    });
    const deadlines = { connectMs: 1000, firstByteMs: 3 * MINUTE };
    const calling = make({ apiKey: 'k', baseUrl: `http://${there.host}`, deadlines }).call(ASK);
    const failure = calling.catch((error: unknown) => error);
    await arrived.promise;
    await clock.advance(3 * MINUTE);
    expect(await failure).toMatchObject({ kind: 'timeout', deadline: 'first_byte' });
  });

  test('a server whose backlog is full has missed connectMs', async () => {
    const baseUrl = `http://127.0.0.1:${await portThatNeverAccepts()}`;
    const model = make({ apiKey: 'k', baseUrl, deadlines: { connectMs: 100 } });
    const failure = await model.call(ASK).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'timeout', deadline: 'connect', isRetryable: true });
  });
});

const openai = (baseUrl: string): OpenAIChatModel =>
  new OpenAIChatModel({
    vendor: 'openai',
    modelName: 'gpt-4.1',
    apiKey: 'k',
    baseUrl,
    deadlines: { connectMs: 500 },
  });

test('a server that accepts the connection and no TLS has missed connectMs', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {}))).listen(
    0,
    '127.0.0.1',
  );
  cleanups.push(
    () => once(server.close(), 'close'),
    () => sockets.forEach((socket) => socket.destroy()),
  );
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const failure = await openai(`https://127.0.0.1:${port}`)
    .call(ASK)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ kind: 'timeout', deadline: 'connect' });
  expect(sockets.size).toBe(1);
});

test('a connection that is used again counts as connected at once', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const plain = LOOPBACK_WIRES[0]!.answers.get('plain');
  let respond = (): void => {};
  let arrived = Promise.withResolvers<void>();
  await using there = await serve((_request, response) => {
    respond = () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(plain);
    arrived.resolve();
  });
  const model = openai(`http://${there.host}`);
  for (let i = 0; i < 3; i++) {
    arrived = Promise.withResolvers();
    const calling = model.call(ASK);
    calling.catch(() => {});
    await arrived.promise;
    await clock.advance(MINUTE);
    respond();
    expect((await calling).finishReason).toBe('stop');
  }
});

test('requests of a fetch to another server do not count as the connection', async () => {
  await using other = await serve((_request, response) => response.end('a token'));
  const baseUrl = `http://127.0.0.1:${await portThatNeverAccepts()}`;
  const model = new OpenAIChatModel({
    modelName: 'gpt-4.1',
    baseUrl,
    deadlines: { connectMs: 500 },
    async fetch(url, init) {
      const token = await (await fetch(`http://${other.host}/token`)).text();
      return fetch(url, { ...init, headers: { ...(init?.headers as object), authorization: token } });
    },
  });
  const failure = await model.call(ASK).catch((error: unknown) => error);
  expect(failure).toMatchObject({ kind: 'timeout', deadline: 'connect' });
});

test('two model calls at once are told apart', async () => {
  await using there = await serve((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(LOOPBACK_WIRES[0]!.answers.get('plain'));
  });
  const silent = openai(`http://127.0.0.1:${await portThatNeverAccepts()}`);
  const outcomes = await Promise.all(
    [openai(`http://${there.host}`), silent, openai(`http://${there.host}`)].map((model) =>
      model.call(ASK).then(
        (msg) => msg.finishReason,
        (error: unknown) => (ModelError.isInstance(error) ? error.deadline : error),
      ),
    ),
  );
  expect(outcomes).toEqual(['stop', 'connect', 'stop']);
});

/** A port that listens in a thread that accepts nothing, and whose backlog is full. */
async function portThatNeverAccepts(): Promise<number> {
  const source = `
    const { parentPort } = require('node:worker_threads');
    const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const worker = new Worker(source, { eval: true });
  cleanups.push(() => worker.terminate());
  const [port] = (await once(worker, 'message')) as [number];
  // The kernel completes as many connections as the backlog holds, and leaves the others waiting.
  const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  cleanups.push(() => sockets.forEach((socket) => socket.destroy()));
  await once(sockets[0]!, 'connect');
  return port;
}
