import { connect } from 'node:net';

import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import { ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { BearerTokens, createService, jwtAuth, sqliteStorage, type Service } from '../src/index.ts';
import { CALLS_WAIT, Gate, gatedAgent, ServiceClient } from './service-client.ts';

const agents = {
  assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.']) }),
};

async function agentsStatus(service: Service, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await new ServiceClient(service.fetch, headers).send('GET', '/api/agents')).status;
}

test('bearer tokens are stored as hashes, name their user, and can be revoked', async () => {
  const store = sqliteStorage(':memory:');
  const tokens = new BearerTokens(store.database);
  const { id, token } = await tokens.make('anna', 'laptop');
  await using service = await createService({ agents, store, auth: tokens.authenticate });
  expect(await agentsStatus(service)).toBe(401);
  expect(await agentsStatus(service, `${token}x`)).toBe(401);
  expect(await agentsStatus(service, token)).toBe(200);
  const rows = await store.database.query('SELECT * FROM service_tokens');
  expect(JSON.stringify(rows)).not.toContain(token);
  expect(await tokens.list()).toMatchObject([{ id, user: 'anna', name: 'laptop', revokedAt: undefined }]);
  expect(await tokens.revoke(id)).toBe(true);
  expect(await tokens.revoke(id)).toBe(false);
  expect(await agentsStatus(service, token)).toBe(401);
});

test('tokens work again after the database was away at their first use', async () => {
  const store = sqliteStorage(':memory:');
  let isAway = true;
  const database = new Proxy(store.database, {
    get: (target, name) => {
      if (name === 'exclusive' && isAway) return () => Promise.reject(new Error('The database is away.'));
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const tokens = new BearerTokens(database);
  await expect(tokens.make('anna')).rejects.toThrow('away');
  isAway = false;
  const { id } = await tokens.make('anna');
  expect(await tokens.list()).toMatchObject([{ id }]);
  await store.database.close();
});

test('a JWT needs a signature of a known key, the issuer, the audience and a time that is not over', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const other = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' };
  const auth = jwtAuth({ jwks: { keys: [jwk] }, issuer: 'https://id.example', audience: 'troupe' });
  await using service = await createService({ agents, auth });
  const sign = (
    key: CryptoKey,
    changes: { issuer?: string; audience?: string; exp?: string } = {},
  ): Promise<string> =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setSubject('anna')
      .setIssuer(changes.issuer ?? 'https://id.example')
      .setAudience(changes.audience ?? 'troupe')
      .setExpirationTime(changes.exp ?? '1h')
      .sign(key);
  const good = await sign(privateKey);
  expect(await agentsStatus(service, good)).toBe(200);
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${good.split('.')[1]}.`;
  const bad = [
    await sign(other.privateKey),
    await sign(privateKey, { issuer: 'https://other.example' }),
    await sign(privateKey, { audience: 'others' }),
    await sign(privateKey, { exp: '-1h' }),
    none,
    'x.y.z',
  ];
  for (const token of bad) expect(await agentsStatus(service, token)).toBe(401);
});

test('without authentication only loopback names are answered, and other addresses are not listened on', async () => {
  await using service = await createService({ agents });
  const ask = async (host: string): Promise<number> =>
    (await service.fetch(new Request('http://127.0.0.1/api/agents', { headers: { host } }))).status;
  expect(await ask('127.0.0.1:80')).toBe(200);
  expect(await ask('localhost')).toBe(200);
  expect(await ask('evil.example')).toBe(403);
  await expect(service.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow('auth');
});

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly security?: readonly object[] }>>>
  >;
}

test('every operation refuses a caller without a valid token, before it reads the body', async () => {
  await using service = await createService({
    agents,
    auth: (request) =>
      request.headers.get('authorization') === 'Bearer right' ? { user: 'anna' } : undefined,
  });
  const client = new ServiceClient(service.fetch);
  const { paths } = (await client.json('GET', '/openapi.json')) as OpenApi;
  let refusals = 0;
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { security }] of Object.entries(methods)) {
      if (security?.length === 0) continue; // public
      const url = path.replace(/\{\w+\}/g, 'x');
      for (const [query, authorization] of [
        ['', ''],
        ['', 'Bearer wrong'],
        ['', 'Basic right'],
        ['?token=right&access_token=right', ''],
      ] as const) {
        let isRead = false;
        const body = new ReadableStream({ pull: () => void (isRead = true) }, { highWaterMark: 0 });
        const request = new Request(`http://127.0.0.1${url}${query}`, {
          method: method.toUpperCase(),
          headers: { authorization, 'x-user': 'anna', 'content-type': 'application/json' },
          ...(method !== 'get' && { body, duplex: 'half' }),
        });
        const { status, headers } = await service.fetch(request);
        expect([status, headers.get('www-authenticate'), isRead], `${method} ${path}`).toEqual([
          401,
          'Bearer',
          false,
        ]);
        refusals++;
      }
    }
  expect(refusals).toBeGreaterThan(100);
});

/** The status line of an answer to a request with these header lines. */
async function statusOf(url: string, lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end(`GET /api/agents HTTP/1.1\r\n${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n`);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  return text.split(' ')[1] ?? '';
}

test('without authentication a name that leads here does not open the service, whatever the host header says', async () => {
  await using service = await createService({ agents });
  const url = await service.listen({ port: 0 });
  const names = [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.nip.io',
    '127.0.0.1@evil.example',
    '[::2]',
    '',
  ];
  for (const name of names) expect(['400', '403'], name).toContain(await statusOf(url, [`host: ${name}`]));
  expect(await statusOf(url, [])).toBe('400');
  expect(['400', '403']).toContain(await statusOf(url, ['host: evil.example', 'host: localhost']));
  expect(await statusOf(url, ['host: localhost'])).toBe('200');
});

test('a page of another origin changes nothing, also by requests that a browser sends without asking', async () => {
  await using service = await createService({ agents, corsOrigins: ['https://app.example'] });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const send = (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Response> =>
    service.fetch(
      new Request(`http://127.0.0.1${path}`, { method, headers, ...(body !== undefined && { body }) }),
    );
  for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1234', 'http://localhost'])
    for (const type of [
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data; boundary=x',
    ]) {
      const headers = { origin, 'content-type': type };
      const refused = [
        await send('POST', '/api/sessions/s/branch', headers),
        await send('POST', '/api/sessions', headers, '{"agent":"assistant"}'),
        await send('POST', '/v1/chat/completions', headers, '{"model":"assistant","messages":[{}]}'),
        await send('GET', '/api/sessions', headers),
      ];
      for (const { status, headers: got } of refused)
        expect([status, got.get('access-control-allow-origin')]).toEqual([403, null]);
    }
  expect((await client.json('GET', '/api/sessions')).data).toHaveLength(1);
  const text = await send('POST', '/api/sessions', { 'content-type': 'text/plain' }, '{"agent":"assistant"}');
  expect(text.status).toBe(415);
  const own = { origin: 'http://127.0.0.1', host: '127.0.0.1', 'content-type': 'application/json' };
  expect((await send('POST', '/api/sessions', own, '{"agent":"assistant"}')).status).toBe(201);
  const named = { origin: 'https://app.example', 'content-type': 'application/json' };
  const answer = await send('POST', '/api/sessions', named, '{"agent":"assistant"}');
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
    201,
    'https://app.example',
  ]);
});

test('ten thousand wrong tokens get 401 each, and none is kept', async () => {
  const store = sqliteStorage(':memory:');
  const tokens = new BearerTokens(store.database);
  await using service = await createService({ agents, store, auth: tokens.authenticate });
  const statuses = new Set<number>();
  for (let n = 0; n < 10_000; n += 500) {
    const batch = Array.from({ length: 500 }, (_, i) => agentsStatus(service, `troupe_${n + i}`));
    for (const status of await Promise.all(batch)) statuses.add(status);
  }
  expect([...statuses]).toEqual([401]);
  const metrics = await (await service.fetch(new Request('http://127.0.0.1/metrics'))).text();
  expect(metrics).toContain('status="401"} 10000');
  expect(metrics.split('\n').length).toBeLessThan(20);
});

test('limits bound requests, open runs and tokens of each user, and say when to come back', async () => {
  let now = Date.UTC(2026, 0, 1);
  const usage = { inputTokens: 60, outputTokens: 50 };
  await using service = await createService({
    agents: {
      assistant: () =>
        new ReActAgent({ name: 'assistant', model: new ScriptedModel([{ text: 'Hello.', usage }]) }),
    },
    limits: { requestsPerMinute: 50, tokensPerDay: 100 },
    now: () => now,
  });
  const client = new ServiceClient(service.fetch);
  const session = await client.session();
  const path = `/api/sessions/${session}/runs`;
  const run = await client.json('POST', path, { input: 'Hi.' });
  expect((await client.ended(run.id)).usage).toMatchObject(usage);
  const refused = await client.send('POST', path, { input: 'Hi.' });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '86400']);
  now += 86_400_000;
  expect((await client.send('POST', path, { input: 'Hi.' })).status).toBe(202);
  const statuses: number[] = [];
  for (let n = 0; n < 60; n++) statuses.push((await client.send('GET', '/api/agents')).status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(11);
  now += 60_000;
  expect((await client.send('GET', '/api/agents')).status).toBe(200);
});

test('a repeated request with a key gets its run, and no new one is started, when the limit is reached', async () => {
  const gate = new Gate();
  await using service = await createService({
    agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) },
    limits: { openRuns: 1 },
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  const session = await client.session();
  const start = (key: string): Promise<Response> =>
    client.send('POST', `/api/sessions/${session}/runs`, { input: 'Go.' }, { 'idempotency-key': key });
  const idOf = async (response: Response): Promise<string> => ((await response.json()) as { id: string }).id;
  const first = await idOf(await start('k'));
  await gate.reached;
  expect(await idOf(await start('k'))).toBe(first);
  expect((await start('other')).status).toBe(429);
  const messages = [{ role: 'user', content: 'Hi.' }];
  const refused = await client.send('POST', '/v1/chat/completions', { model: 'assistant', messages });
  expect(refused.status).toBe(429);
  expect((await client.json('GET', '/api/sessions')).data).toHaveLength(1);
});

test('a running run takes no more messages when the tokens of the day are used', async () => {
  const gate = new Gate();
  const usage = { inputTokens: 60, outputTokens: 50 };
  await using service = await createService({
    agents: {
      assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate),
      other: () => new ReActAgent({ name: 'other', model: new ScriptedModel([{ text: 'Hello.', usage }]) }),
    },
    limits: { tokensPerDay: 100 },
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch);
  const start = async (agent: string): Promise<string> =>
    (await client.json('POST', `/api/sessions/${await client.session(agent)}/runs`, { input: 'Go.' })).id;
  const running = await start('assistant');
  await gate.reached;
  const followUp = (): Promise<Response> =>
    client.send('POST', `/api/runs/${running}/follow-up`, { input: 'And?' });
  expect((await followUp()).status).toBe(202);
  await client.ended(await start('other'));
  const refused = await followUp();
  expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true]);
});

test('pages of other origins may call only if they are named', async () => {
  await using service = await createService({ agents, corsOrigins: ['https://app.example'] });
  const preflight = async (origin: string): Promise<Response> =>
    service.fetch(new Request('http://127.0.0.1/api/sessions', { method: 'OPTIONS', headers: { origin } }));
  const named = await preflight('https://app.example');
  expect([named.status, named.headers.get('access-control-allow-origin')]).toEqual([
    204,
    'https://app.example',
  ]);
  const other = await preflight('https://evil.example');
  expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([403, null]);
});

test('a flood of runs of one user gets the allowed ones, and the others learn when to come back; another user is not slowed', async () => {
  const gate = new Gate();
  await using service = await createService({
    agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) },
    auth: (request) => ({ user: request.headers.get('x-user') ?? 'nobody' }),
    limits: { openRuns: 5, requestsPerMinute: Infinity },
    shutdownMs: 0,
  });
  const eve = new ServiceClient(service.fetch, { 'x-user': 'eve' });
  const sessions = await Promise.all(
    Array.from({ length: 100 }, (_, n) => eve.session('assistant', `s${n}`)),
  );
  const flood = sessions.map((id) => eve.send('POST', `/api/sessions/${id}/runs`, { input: 'Go.' }));
  const anna = new ServiceClient(service.fetch, { 'x-user': 'anna' });
  const own = await anna.session();
  expect((await anna.send('POST', `/api/sessions/${own}/runs`, { input: 'Go.' })).status).toBe(202);
  const answers = await Promise.all(flood);
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(5);
  for (const { status, headers } of answers)
    if (status !== 202) expect([status, headers.get('retry-after')]).toEqual([429, '1']);
});
