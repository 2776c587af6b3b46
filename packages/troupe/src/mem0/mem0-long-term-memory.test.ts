import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';

import { Msg } from '../message/msg.ts';
import { Mem0LongTermMemory } from './mem0-long-term-memory.ts';

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

interface Sent {
  readonly path: string | undefined;
  readonly key: string | undefined;
  readonly body: Record<string, unknown>;
}

/** Real HTTP server with the shapes of Mem0's answers. */
async function serve(answer: (sent: Sent, count: number) => unknown): Promise<{ url: string; sent: Sent[] }> {
  const sent: Sent[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const key = request.headers.authorization ?? request.headers['x-api-key'];
      const one = { path: request.url, key: String(key), body: JSON.parse(text) as Record<string, unknown> };
      sent.push(one);
      const body = answer(one, sent.length);
      response.writeHead(body === undefined ? 500 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? { detail: 'secret-key-123' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closes.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

test('the platform: addresses, key and owner; memories of several queries once', async () => {
  const { url, sent } = await serve(({ path }) =>
    path === '/v1/memories/'
      ? [{ id: '1', event: 'ADD' }]
      : [{ id: '1', memory: 'Ann drinks tea.', score: 0.9 }],
  );
  const memory = new Mem0LongTermMemory({
    userId: 'ann',
    agentId: 'friday',
    baseUrl: url,
    apiKey: 'm0-key',
    hosting: 'platform',
  });
  await memory.record([Msg.system('x'), Msg.user('I drink tea.'), Msg.assistant('Nice.')]);
  expect(await memory.retrieveFromMemory(['tea', 'Ann'], { limit: 3 })).toBe('Ann drinks tea.');
  const owner = { user_id: 'ann', agent_id: 'friday' };
  const search = (query: string): object => ({
    path: '/v2/memories/search/',
    key: 'Token m0-key',
    body: { query, filters: { AND: [{ user_id: 'ann' }, { agent_id: 'friday' }] }, top_k: 3 },
  });
  expect(sent.slice(0, 1)).toEqual([
    {
      path: '/v1/memories/',
      key: 'Token m0-key',
      body: {
        messages: [
          { role: 'user', content: 'I drink tea.' },
          { role: 'assistant', content: 'Nice.' },
        ],
        ...owner,
        infer: true,
      },
    },
  ]);
  expect(sent.slice(1).toSorted((a) => (a.body['query'] === 'tea' ? -1 : 1))).toEqual([
    search('tea'),
    search('Ann'),
  ]);
});

test('a server of your own: other addresses, relations; the tool stores with rising force', async () => {
  const { url, sent } = await serve(({ path }, count) => {
    if (path === '/search')
      return {
        results: [{ memory: 'Ann drinks tea.' }],
        relations: [{ source: 'ann', relationship: 'drinks', destination: 'tea' }],
      };
    return { results: count < 3 ? [] : [{ id: '1' }] };
  });
  const memory = new Mem0LongTermMemory({ userId: 'ann', baseUrl: url, apiKey: 'own' });
  expect(await memory.recordToMemory('useful', ['Ann drinks tea.'])).toBe('Successfully recorded to memory.');
  expect(sent.map(({ path, key, body: { messages, infer } }) => [path, key, messages, infer])).toEqual([
    ['/memories', 'own', [{ role: 'user', content: 'useful\nAnn drinks tea.' }], true],
    ['/memories', 'own', [{ role: 'assistant', content: 'useful\nAnn drinks tea.' }], true],
    ['/memories', 'own', [{ role: 'assistant', content: 'useful\nAnn drinks tea.' }], false],
  ]);
  expect(await memory.retrieve([Msg.user('tea?')])).toBe('Ann drinks tea.\nann -- drinks -- tea');
});

test('failures are errors without the key, and owner and key are needed', async () => {
  const { url } = await serve(() => undefined);
  const memory = new Mem0LongTermMemory({ userId: 'ann', baseUrl: url, apiKey: 'secret-key-123' });
  const error = await memory.retrieve([Msg.user('x')]).catch((thrown: unknown) => String(thrown));
  expect(error).toContain('Mem0 failed (/search): status 500');
  expect(error).not.toContain('secret-key');
  expect(() => new Mem0LongTermMemory({ baseUrl: url })).toThrow('userId');
  expect(() => new Mem0LongTermMemory({ userId: 'ann', hosting: 'platform', baseUrl: url })).toThrow(
    'MEM0_API_KEY',
  );
});
