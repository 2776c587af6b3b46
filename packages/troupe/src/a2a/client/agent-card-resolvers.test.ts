import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { FileAgentCardResolver } from './file-agent-card-resolver.ts';
import { WellKnownAgentCardResolver } from './well-known-agent-card-resolver.ts';

const NEVER = new AbortController().signal;

async function listen(listener: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

test('a card is read from a file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'card-'));
  try {
    await writeFile(join(dir, 'card.json'), '{"name":"n"}');
    expect(await new FileAgentCardResolver(join(dir, 'card.json')).resolve(NEVER)).toEqual({
      card: { name: 'n' },
    });
    await writeFile(join(dir, 'list.json'), '[]');
    await writeFile(join(dir, 'large.json'), JSON.stringify({ name: 'x'.repeat(1024 * 1024) }));
    for (const name of ['list.json', 'large.json', 'missing.json', '.']) {
      await expect(new FileAgentCardResolver(join(dir, name)).resolve(NEVER)).rejects.toMatchObject({
        failure: 'bad_card',
      });
    }
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('a card is asked for at the place that the protocol names, with the headers given', async () => {
  const asked: unknown[] = [];
  await using server = await listen(({ url, headers }, response) => {
    asked.push([url, headers['x-key'], headers['a2a-version']]);
    response.setHeader('content-type', 'application/json').end('{"name":"n"}');
  });
  const headers = async (): Promise<Record<string, string>> => ({ 'x-key': 'k' });
  const found = await new WellKnownAgentCardResolver(`${server.url}/some/path`, { headers }).resolve(NEVER);
  expect(found).toEqual({ card: { name: 'n' }, origin: server.url });
  await new WellKnownAgentCardResolver(`${server.url}/a/`, { path: 'card.json' }).resolve(NEVER);
  expect(asked).toEqual([
    ['/.well-known/agent-card.json', 'k', '1.0'],
    ['/a/card.json', undefined, '1.0'],
  ]);
});

test.each<[string, RequestListener, string]>([
  ['no JSON', (_, response) => void response.end('<html>'), 'bad_card'],
  ['a list', (_, response) => void response.end('[]'), 'bad_card'],
  ['too much', (_, response) => void response.end('x'.repeat(2 * 1024 * 1024)), 'too_large'],
  ['an error', (_, response) => void response.writeHead(404).end(), 'refused'],
  [
    'an error in JSON',
    (_, response) => void response.writeHead(500, { 'content-type': 'application/json' }).end('{}'),
    'refused',
  ],
  [
    'a redirect',
    (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    'refused',
  ],
  ['a broken line', (request) => void request.socket.destroy(), 'unreachable'],
])('%s is no card', async (_, listener, failure) => {
  await using server = await listen(listener);
  await expect(new WellKnownAgentCardResolver(server.url).resolve(NEVER)).rejects.toMatchObject({ failure });
});

test('a server that is silent is given up, at once if the caller does', async () => {
  const asked = Promise.withResolvers<void>();
  await using server = await listen(() => asked.resolve());
  const clock = new FakeClock();
  using _ = clock.install();
  const resolver = new WellKnownAgentCardResolver(server.url, { timeoutMs: 1000 });
  const card = resolver.resolve(NEVER);
  card.catch(() => {});
  await asked.promise;
  await clock.advance(1000);
  await expect(card).rejects.toMatchObject({ failure: 'timed_out' });
  const stop = new AbortController();
  const again = resolver.resolve(stop.signal);
  stop.abort(new Error('enough'));
  await expect(again).rejects.toThrow('enough');
  expect(clock.pendingTimers).toBe(0);
});

test.each(['', 'agent.example', 'file:///card.json', 'javascript:1'])('%j is no address', (url) => {
  expect(() => new WellKnownAgentCardResolver(url)).toThrow(/http or https address/);
});
