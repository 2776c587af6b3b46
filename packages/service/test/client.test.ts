import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';

import { ReActAgent } from 'troupe';
import { ServiceClient, ServiceError, type NumberedEvent } from 'troupe/client';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService } from '../src/index.ts';
import { CALLS_WAIT, Gate, gatedAgent } from './service-client.ts';

/** A proxy that cuts each connection after a number of bytes from the service. */
async function cuttingProxy(target: string, bytes: () => number): Promise<{ url: string; server: Server }> {
  const { port } = new URL(target);
  const server = createServer();
  server.on('connection', (client) => {
    const service = connect(Number(port), '127.0.0.1');
    let left = bytes();
    client.pipe(service);
    service.on('data', (chunk) => {
      client.write(chunk.subarray(0, Math.max(0, left)));
      left -= chunk.length;
      if (left <= 0) client.destroy();
    });
    service.on('end', () => client.end());
    for (const socket of [client, service]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        service.destroy();
      });
    }
  });
  server.removeAllListeners('request');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return { url: `http://127.0.0.1:${address.port}`, server };
}

test('a client reads each event once and in order, however often its connection is cut', async () => {
  const text = 'A long answer that comes in many pieces, one after the other.';
  await using service = await createService({
    agents: {
      assistant: () =>
        new ReActAgent({ name: 'assistant', model: new ScriptedModel([{ text, chunkSize: 1 }]) }),
    },
  });
  const url = await service.listen({ port: 0 });
  let connections = 0;
  const { url: proxied, server } = await cuttingProxy(url, () => 3000 + ++connections * 37);
  const direct = new ServiceClient({ url });
  const client = new ServiceClient({ url: proxied, maxAttempts: 1000 });
  const session = await client.createSession('assistant');
  const run = await client.start(session.id, 'Hi!');
  const read: NumberedEvent[] = [];
  for await (const event of client.events(run.id)) read.push(event);
  const whole: NumberedEvent[] = [];
  for await (const event of direct.events(run.id)) whole.push(event);
  expect(read).toEqual(whole);
  expect(read.map(({ n }) => n)).toEqual(read.map((_, index) => index + 1));
  expect(connections).toBeGreaterThan(5);
  server.close();
  server.closeAllConnections();
});

test('starting a run again after a lost answer starts nothing twice', async () => {
  let made = 0;
  await using service = await createService({
    agents: {
      assistant: () => {
        made++;
        return new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.']) });
      },
    },
  });
  let sent = 0;
  const client = new ServiceClient({
    url: 'http://127.0.0.1',
    fetch: async (url, init) => {
      const response = await service.fetch(new Request(url, init));
      if (init.method === 'POST' && url.endsWith('/runs') && ++sent < 3)
        throw new TypeError('the connection was lost');
      return response;
    },
  });
  const session = await client.createSession('assistant');
  const run = await client.start(session.id, 'Hi!');
  const events: NumberedEvent[] = [];
  for await (const event of client.events(run.id)) events.push(event);
  expect([sent, made]).toEqual([3, 1]);
  expect((await client.run(run.id)).status).toBe('finished');
  expect((await client.messages(session.id)).msgs.map(({ text }) => text)).toEqual(['Hi!', 'Hello.']);
});

test('a message for a running run is delivered once, also when its answer is lost', async () => {
  const gate = new Gate();
  await using service = await createService({
    agents: {
      assistant: { onBusy: 'steer', make: () => gatedAgent([CALLS_WAIT, 'Done.', 'And more.'], gate) },
    },
  });
  let sent = 0;
  const client = new ServiceClient({
    url: 'http://127.0.0.1',
    fetch: async (url, init) => {
      const response = await service.fetch(new Request(url, init));
      if (/steer|follow-up|runs$/.test(url) && sent++ % 2 === 0)
        throw new TypeError('the connection was lost');
      return response;
    },
  });
  const session = await client.createSession('assistant');
  const run = await client.start(session.id, 'Go.');
  await gate.reached;
  await client.steer(run.id, 'Be brief.');
  await client.followUp(run.id, { content: 'And then?' });
  await client.start(session.id, ['Hurry.']);
  gate.open();
  const statuses: string[] = [];
  for await (const { event } of client.events(run.id))
    if (event.type === 'run_end') statuses.push(event.status);
  expect([sent, statuses]).toEqual([8, ['finished']]);
  const { msgs } = await client.messages(session.id);
  const asked = msgs.filter(({ role }) => role === 'user').map(({ text }) => text);
  expect(asked).toEqual(['Go.', 'Be brief.', 'Hurry.', 'And then?']);
});

test('a client interrupts, and a refusal has the reason of the service', async () => {
  const gate = new Gate();
  await using service = await createService({ agents: { assistant: () => gatedAgent([CALLS_WAIT], gate) } });
  const client = new ServiceClient({
    url: 'http://127.0.0.1',
    fetch: (url, init) => service.fetch(new Request(url, init)),
  });
  const session = await client.createSession('assistant', { title: 'One' });
  const run = await client.start(session.id, 'Go.');
  await gate.reached;
  const refused = await client.start(session.id, 'Again.').catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ServiceError);
  expect(refused).toMatchObject({ status: 409, reason: 'session_busy' });
  expect(await client.interrupt(run.id)).toBe(true);
  const last: NumberedEvent[] = [];
  for await (const event of client.events(run.id)) last.push(event);
  expect(last.at(-1)?.event).toMatchObject({ type: 'run_end', status: 'interrupted' });
  await client.deleteSession(session.id);
  expect((await client.sessions()).data).toEqual([]);
});

test('a client lists the steps of a run and forks it, and writes, lists, reads and deletes files', async () => {
  await using service = await createService({
    agents: { assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.']) }) },
    shutdownMs: 0,
  });
  const client = new ServiceClient({ url: await service.listen({ port: 0 }) });
  const read = async (run: string): Promise<string | undefined> => {
    let last: string | undefined;
    for await (const { event } of client.events(run)) last = event.type;
    return last;
  };
  await client.createSession('assistant', { id: 's' });
  const { id } = await client.start('s', 'Hi.');
  await read(id);
  const steps = await client.steps(id);
  expect(steps.filter(({ kind }) => kind === 'model')).toHaveLength(1);
  const fork = await client.fork(id, { keepSteps: steps.length, session: 'again' });
  expect(fork).toMatchObject({ session: 'again', forkedFrom: id });
  expect(await read(fork.id)).toBe('run_end');
  expect((await client.messages('again')).msgs.map(({ text }) => text)).toEqual(['Hi.', 'Hello.']);

  const bytes = Uint8Array.from({ length: 1000 }, (_, n) => n % 256);
  expect(await client.writeFile('s', '/userinput/a b.bin', bytes)).toMatchObject({ size: 1000 });
  await client.writeFile('s', '/workspace/ü.txt', 'Grüße');
  expect((await client.files('s')).data.map(({ path }) => path)).toEqual([
    '/userinput/a b.bin',
    '/workspace/ü.txt',
  ]);
  expect(await client.readFile('s', '/userinput/a b.bin')).toEqual(bytes);
  expect(new TextDecoder().decode(await client.readFile('s', '/workspace/ü.txt'))).toBe('Grüße');
  await client.deleteFile('s', '/workspace/ü.txt');
  await expect(client.readFile('s', '/workspace/ü.txt')).rejects.toMatchObject({ status: 404 });
});

test('a client names the service that it can not reach, and the address that is none', async () => {
  const client = new ServiceClient({ url: 'http://127.0.0.1:1', maxAttempts: 1 });
  const problem = 'The service at http://127.0.0.1:1 could not be reached: ';
  await expect(client.agents()).rejects.toThrow(problem);
  await expect(client.events('run').next()).rejects.toThrow(problem);
  for (const url of ['nope', undefined as never])
    expect(() => new ServiceClient({ url })).toThrow('is not the address of a service');
});
