import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import { ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { BearerTokens, createService, jwtAuth, sqliteStorage, type Service } from '../src/index.ts';
import { ServiceClient } from './service-client.ts';

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
