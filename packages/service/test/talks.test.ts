import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { PermissionRules, ReActAgent, tool, withRunConfig } from 'troupe';
import { RealtimeAgent } from 'troupe/realtime';
import { SqliteDatabase, SqliteSession } from 'troupe/stores/sqlite';
import { ScriptedModel, ScriptedRealtimeModel } from 'troupe/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';

import { createService, sqliteStorage, type Service, type ServiceOptions } from '../src/index.ts';
import { ServiceClient } from './service-client.ts';

const models: ScriptedRealtimeModel[] = [];
const agents: ServiceOptions['agents'] = {
  friday: () => {
    const realtimeModel = new ScriptedRealtimeModel([{ text: 'Hello.', isSilent: true }]);
    models.push(realtimeModel);
    return new RealtimeAgent({ name: 'Friday', realtimeModel });
  },
  writer: () => new ReActAgent({ name: 'writer', model: new ScriptedModel(['Hello.']) }),
};

interface Client {
  readonly socket: WebSocket;
  readonly events: Record<string, unknown>[];
  readonly closed: Promise<unknown>;
  until(type: string): Promise<void>;
}

async function connect(
  url: string,
  session: string,
  protocols = ['troupe.talk'],
  headers = {},
): Promise<Client> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/sessions/${session}/talk`, protocols, {
    headers,
  });
  const events: Record<string, unknown>[] = [];
  const closed = once(socket, 'close').then(([code]) => code);
  socket.on('message', (data) => events.push(JSON.parse(String(data))));
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'client_session_create' }));
  const until = async (type: string): Promise<void> => {
    while (!events.some((event) => event['type'] === type)) await once(socket, 'message');
  };
  await until('agent_ready');
  return { socket, events, closed, until };
}

/** A connection that has asked for an upgrade, and keeps its half open whatever the service does. */
async function rawUpgrade(url: string, session: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connectTcp({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(
    `GET /api/sessions/${session}/talk HTTP/1.1\r\nhost: ${hostname}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  return socket;
}

/** A server of a program's own. `closed` resolves when the service's end of an upgraded connection is closed. */
async function serverOf(service: Service): Promise<{ readonly url: string; readonly closed: Promise<void> }> {
  const server = createServer();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.on('upgrade', (request, socket, head) => {
    socket.once('close', () => resolve());
    service.upgrade(request, socket, head);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, closed };
}

/** The status with which the service refuses a connection. */
async function refusal(
  url: string,
  session: string,
  protocols: string[] = [],
  headers = {},
): Promise<number | undefined> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/sessions/${session}/talk`, protocols, {
    headers,
  });
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  response.resume();
  socket.terminate();
  return response.statusCode;
}

async function messages(client: ServiceClient, session: string): Promise<string[]> {
  const { data } = await client.json('GET', `/api/sessions/${session}/messages`);
  return data.map(
    ({ name, content }: any) => `${name}: ${typeof content === 'string' ? content : content[0].text}`,
  );
}

async function listen(service: Service): Promise<string> {
  return service.listen({ port: 0 });
}

test('a conversation has the state of its session, and is saved', async () => {
  await using service = await createService({ agents });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('friday');
  const first = await connect(url, session);
  first.socket.send(JSON.stringify({ type: 'client_text_append', text: 'Hi.' }));
  await first.until('agent_response_done');
  first.socket.send(JSON.stringify({ type: 'client_session_end' }));
  expect(await first.closed).toBe(1000);
  const second = await connect(url, session); // after the save of the first one
  expect(models.at(-1)?.connection.setup.history.map(({ text }) => text)).toEqual(['Hi.', 'Hello.']);
  expect(await messages(client, session)).toEqual(['user: Hi.', 'Friday: Hello.']);
  second.socket.terminate();
});

test('a second connection to a session ends the first one', async () => {
  await using service = await createService({ agents });
  const url = await listen(service);
  const session = await new ServiceClient(service.fetch).session('friday');
  const first = await connect(url, session);
  const second = await connect(url, session);
  expect(await first.closed).toBe(1001);
  expect(second.socket.readyState).toBe(WebSocket.OPEN);
});

test('a session in which somebody talks takes no runs, and one with a run is not talked in', async () => {
  const opened = Promise.withResolvers<void>();
  const model = new (class extends ScriptedModel {
    override async *stream(
      ...args: Parameters<ScriptedModel['stream']>
    ): ReturnType<ScriptedModel['stream']> {
      await opened.promise;
      yield* super.stream(...args);
    }
  })(['Hello.']);
  const slow = (): ReActAgent => new ReActAgent({ name: 'slow', model });
  await using service = await createService({ agents: { ...agents, slow } });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('friday');
  const open = await connect(url, session);
  const busy = await client.send('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' });
  expect([busy.status, await busy.json()]).toMatchObject([409, { code: 'session_busy' }]);
  open.socket.send(JSON.stringify({ type: 'client_session_end' }));
  await open.closed;
  const other = await client.session('slow');
  await client.json('POST', `/api/sessions/${other}/runs`, { input: 'Hi.' }, 202);
  expect(await refusal(url, other)).toBe(409);
  opened.resolve();
});

test('the end of the service ends conversations', async () => {
  const service = await createService({ agents });
  const url = await listen(service);
  const session = await new ServiceClient(service.fetch).session('friday');
  const open = await connect(url, session);
  await service.close();
  expect(await open.closed).toBe(1001);
  expect(models.at(-1)?.connection.isClosed).toBe(true);
});

test('only the user of a session talks, by a header or by the sub-protocol of a page', async () => {
  const auth = (request: Request): { user: string } | undefined => {
    const user = /^Bearer (anna|bob)$/.exec(request.headers.get('authorization') ?? '')?.[1];
    return user === undefined ? undefined : { user };
  };
  await using service = await createService({ agents, auth, corsOrigins: ['https://page.example'] });
  const url = await listen(service);
  const session = await new ServiceClient(service.fetch, { authorization: 'Bearer anna' }).session('friday');
  expect(await refusal(url, session)).toBe(401);
  expect(await refusal(url, session, ['troupe.talk', 'bearer.eve'])).toBe(401);
  expect(await refusal(url, session, ['troupe.talk', 'bearer.bob'])).toBe(404);
  const anna = { authorization: 'Bearer anna' };
  expect(await refusal(url, session, [], { ...anna, origin: 'https://evil.example' })).toBe(403);
  const byPage = await connect(url, session, ['troupe.talk', 'bearer.anna'], {
    origin: 'https://page.example',
  });
  expect(byPage.socket.protocol).toBe('troupe.talk'); // never the token
  const byHeader = await connect(url, session, ['troupe.talk'], anna);
  expect(await byPage.closed).toBe(1001);
  byHeader.socket.terminate();
});

test('without authentication, pages elsewhere and names that lead here are refused', async () => {
  await using service = await createService({ agents });
  const url = await listen(service);
  const session = await new ServiceClient(service.fetch).session('friday');
  expect(await refusal(url, session, [], { origin: 'https://evil.example' })).toBe(403);
  expect(await refusal(url, session, [], { host: 'evil.example' })).toBe(403);
});

test('agents that can not talk, unknown sessions and users beyond their limits are refused', async () => {
  await using service = await createService({ agents, limits: { requestsPerMinute: 4 } });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('writer');
  expect(await refusal(url, session)).toBe(501);
  expect(await refusal(url, 'nobody')).toBe(404);
  expect(await refusal(url, '%zz')).toBe(404);
  expect(await refusal(url, session)).toBe(429);
});

test('a client that leaves before its conversation begins keeps nothing occupied', async () => {
  const [making, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hesitant = async (): Promise<RealtimeAgent> => {
    making.resolve();
    await left.promise;
    return new RealtimeAgent({ name: 'Friday', realtimeModel: new ScriptedRealtimeModel([]) });
  };
  await using service = await createService({ agents: { hesitant } });
  const { url, closed } = await serverOf(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('hesitant');
  const socket = await rawUpgrade(url, session);
  await making.promise;
  socket.resetAndDestroy();
  await closed;
  left.resolve();
  const start = (): Promise<Response> =>
    client.send('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' });
  await expect.poll(async () => (await start()).status).toBe(202);
});

test('a refused connection is closed, even if its client keeps its half open', async () => {
  await using service = await createService({ agents });
  const { url, closed } = await serverOf(service);
  const socket = await rawUpgrade(url, 'nobody');
  onTestFinished(() => void socket.destroy());
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
  await closed;
});

test('the end of the service does not wait for a conversation that does not begin', async () => {
  const making = Promise.withResolvers<void>();
  const never = (): Promise<ReActAgent> => {
    making.resolve();
    return new Promise(() => {});
  };
  const service = await createService({ agents: { never }, shutdownMs: 0 });
  const url = await listen(service);
  const session = await new ServiceClient(service.fetch).session('never');
  const socket = await rawUpgrade(url, session);
  onTestFinished(() => void socket.destroy());
  await making.promise;
  await service.close();
});

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const CAN_CHOOSE = major > 24 || (major === 24 && minor >= 9);

test('a client that no longer answers is left', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  await using service = await createService({ agents });
  const { url, closed } = await serverOf(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('friday');
  const answering = await connect(url, await client.session('friday'));
  const silent = await rawUpgrade(url, session);
  onTestFinished(() => void silent.destroy());
  expect(String((await once(silent, 'data'))[0])).toMatch(/^HTTP\/1\.1 101 /);
  for (let i = 0; i < 2; i++) {
    const pinged = once(answering.socket, 'ping');
    vi.advanceTimersByTime(20_000);
    await pinged;
    answering.socket.ping();
    await once(answering.socket, 'pong'); // behind the answer to the ping
  }
  await closed;
  expect(answering.socket.readyState).toBe(WebSocket.OPEN);
  answering.socket.terminate();
});

test('failures of talks are logged without keys, and not told', async () => {
  const lines: string[] = [];
  const logging = { log: (...line: readonly unknown[]) => void lines.push(JSON.stringify(line)) };
  const key = `sk-proj-${'a1B2'.repeat(10)}`;
  const broken = (): ReActAgent => {
    throw new Error(`No access with ${key}`);
  };
  await withRunConfig({ logging }, async () => {
    await using service = await createService({ agents: { broken } });
    const url = await listen(service);
    const session = await new ServiceClient(service.fetch).session('broken');
    expect(await refusal(url, session)).toBe(500);
  });
  expect(lines.join()).toContain('No access with');
  expect(lines.join()).not.toContain(key);
});

test.runIf(CAN_CHOOSE)(
  'requests that offer another protocol than WebSockets are answered as usual, since Node 24.9',
  async () => {
    await using service = await createService({ agents });
    const { hostname, port } = new URL(await listen(service));
    const request = get({
      hostname,
      port,
      path: '/api/agents',
      headers: {
        connection: 'Upgrade, HTTP2-Settings',
        upgrade: 'h2c',
        'http2-settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
      },
    });
    const [response] = await once(request, 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
  },
);

function storePath(): string {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-talks-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'service.sqlite');
}

test('a talk and a run never have a session at once, over all processes that share the store', async () => {
  const store = storePath();
  await using one = await createService({ agents, store });
  await using other = await createService({ agents, store, maxRuns: 0 });
  const [url, otherUrl] = [await listen(one), await listen(other)];
  const client = new ServiceClient(other.fetch);
  const session = await client.session('friday');
  const open = await connect(url, session);
  const start = (): Promise<Response> =>
    client.send('POST', `/api/sessions/${session}/runs`, { input: 'Hi.', onBusy: 'queue' });
  expect((await start()).status).toBe(409);
  expect(await refusal(otherUrl, session)).toBe(409);
  expect((await client.send('DELETE', `/api/sessions/${session}`)).status).toBe(409);
  expect((await client.send('POST', `/api/sessions/${session}/branch`, {})).status).toBe(409);
  expect(await client.json('GET', `/api/sessions/${session}`)).not.toHaveProperty('activeRun');
  open.socket.terminate();
  await expect.poll(async () => (await start()).status).toBe(202);
});

test('a queued run of a session refuses a talk', async () => {
  await using service = await createService({ agents, maxRuns: 0 });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('friday');
  await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' }, 202);
  expect(await refusal(url, session)).toBe(409);
});

test('the talk of a process that died frees its session', async () => {
  const store = storePath();
  await using service = await createService({ agents, store });
  const client = new ServiceClient(service.fetch);
  const session = await client.session('friday');
  const storage = sqliteStorage(store);
  await storage.database.query("UPDATE service_sessions SET active_run = 'talk:1', talk_owner = 'dead'", []);
  await storage.sessions.close();
  await storage.database.close();
  const start = (): Promise<Response> =>
    client.send('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' });
  expect((await start()).status).toBe(409);
  await using next = await createService({ agents, store });
  expect((await start()).status).toBe(202);
  await next.close();
});

test('pending tool calls of a talk are listed while it goes on', async () => {
  const remove = tool({ name: 'remove', schema: z.object({}), execute: () => 'Removed.' });
  const careful = (): RealtimeAgent =>
    new RealtimeAgent({
      name: 'Friday',
      tools: [remove],
      permissionPolicy: new PermissionRules({ rules: [{ tool: 'remove', behavior: 'ask' }] }),
      realtimeModel: new ScriptedRealtimeModel([{ calls: [{ id: 'c1', name: 'remove' }] }]),
    });
  await using service = await createService({ agents: { careful } });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('careful');
  const open = await connect(url, session);
  open.socket.send(JSON.stringify({ type: 'client_text_append', text: 'Remove it.' }));
  await open.until('agent_approval_needed');
  await expect
    .poll(() => client.json('GET', `/api/sessions/${session}/pending`))
    .toMatchObject({ data: [{ call: { id: 'c1' } }] });
  open.socket.terminate();
});

test('a talk ends when the budget of the day is used, and is counted as it goes on', async () => {
  await using service = await createService({ agents, limits: { tokensPerDay: 30 } });
  const url = await listen(service);
  const session = await new ServiceClient(service.fetch).session('friday');
  const open = await connect(url, session);
  open.socket.send(JSON.stringify({ type: 'client_text_append', text: 'Hi.' }));
  expect(await open.closed).toBe(1001);
  expect(await refusal(url, session)).toBe(429);
});

test('texts in a talk are counted like requests, and are as long as a body', async () => {
  await using service = await createService({
    agents,
    limits: { requestsPerMinute: 3 },
    maxBodyBytes: 100,
  });
  const url = await listen(service);
  const session = await new ServiceClient(service.fetch).session('friday');
  const open = await connect(url, session); // the second request
  for (const text of ['x'.repeat(101), 'Hi.'])
    open.socket.send(JSON.stringify({ type: 'client_text_append', text }));
  const told = (): unknown[] =>
    open.events.filter(({ type }) => type === 'agent_error').map(({ message }) => message);
  await expect
    .poll(told)
    .toEqual(['The event is larger than 100 bytes.', 'More than 3 requests in a minute.']);
  open.socket.terminate();
});

test('a talk that ends while the database is away frees its session afterwards', async () => {
  const away = { isAway: false, failures: 0 };
  const database = new (class extends SqliteDatabase {
    override async transaction<T>(...args: Parameters<SqliteDatabase['transaction']>): Promise<T> {
      if (!away.isAway) return (await super.transaction(...args)) as T;
      away.failures++;
      throw new Error('the connection was lost');
    }
  })(':memory:');
  await using service = await createService({
    agents,
    store: { database, sessions: new SqliteSession(':memory:') },
  });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('friday');
  const open = await connect(url, session);
  away.isAway = true;
  open.socket.terminate();
  await expect.poll(() => away.failures).toBeGreaterThan(1); // of the save, and of the end
  away.isAway = false;
  await service.tick();
  const start = (): Promise<Response> =>
    client.send('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' });
  await expect.poll(async () => (await start()).status, { timeout: 3000 }).toBe(202);
});

test('a talk that was taken for dead saves nothing more, and ends', async () => {
  const store = storePath();
  await using service = await createService({ agents, store });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const session = await client.session('friday');
  const open = await connect(url, session);
  const storage = sqliteStorage(store);
  await storage.database.query('UPDATE service_sessions SET active_run = NULL, talk_owner = NULL', []);
  await storage.sessions.close();
  await storage.database.close();
  open.socket.send(JSON.stringify({ type: 'client_text_append', text: 'Hi.' }));
  expect(await open.closed).toBe(1001);
  expect(await messages(client, session)).toEqual([]);
});

test('a user has as many talks as runs at the same time', async () => {
  await using service = await createService({ agents, limits: { openRuns: 1 } });
  const url = await listen(service);
  const client = new ServiceClient(service.fetch);
  const [session, second] = [await client.session('friday'), await client.session('friday')];
  await connect(url, session);
  expect(await refusal(url, second)).toBe(429);
  const again = await connect(url, session); // in place of the first one
  const busy = await client.send('POST', `/api/sessions/${second}/runs`, { input: 'Hi.' });
  expect(busy.status).toBe(429);
  again.socket.terminate();
});
