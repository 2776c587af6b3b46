import { connect } from 'node:net';

import { ReActAgent } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService, postgresStorage, type Service, type ServiceStorage } from '../src/index.ts';
import { strideOf } from '../../troupe/test/fair-sample.ts';
import { hasPostgres, useDatabase } from './postgres-database.ts';
import { ServiceClient } from './service-client.ts';

const database = useDatabase('malformed');

function serve(store?: ServiceStorage): Promise<Service> {
  return createService({
    agents: { assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.']) }) },
    limits: { requestsPerMinute: Infinity, openRuns: Infinity },
    shutdownMs: 0,
    ...(store !== undefined && { store }),
  });
}

const WEIRD: readonly unknown[] = [
  null,
  0,
  -1,
  1e308,
  true,
  '',
  '\0',
  '\ud800',
  'x'.repeat(2000),
  [],
  [null],
  [[[]]],
  {},
  { type: 5 },
  { $ref: '#' },
  [{ type: 'text', text: null }],
  [{ type: 'tool_result', id: 'x', name: 'y', output: 'z', status: 'ok' }],
];

/** Requests that are right, of each route with a body. Each field of each is replaced by each weird value. */
const BODIES: Readonly<Record<string, object>> = {
  '/api/sessions': { agent: 'assistant', id: 'made', title: 'A title' },
  '/api/sessions/s/runs': {
    input: { id: 'm', name: 'Anna', content: 'Hi.' },
    onBusy: 'queue',
    closePending: true,
  },
  '/api/sessions/s/branch': { id: 'copy', title: 'A copy' },
  '/api/runs/r/interrupt': { input: 'Stop.' },
  '/api/runs/r/steer': { input: 'Left.' },
  '/api/schedules': {
    agent: 'assistant',
    cron: '0 0 1 1 *',
    input: 'Go.',
    session: 's',
    timezone: 'UTC',
    missed: 'skip',
  },
  '/ag-ui/assistant': {
    threadId: 't',
    runId: 'r',
    messages: [{ id: 'u', role: 'user', content: 'Hi.' }],
    resume: [{ interruptId: 'i', status: 'resolved', payload: { approved: true } }],
  },
  '/ai-sdk/assistant': {
    id: 'c',
    trigger: 'submit-message',
    messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }],
  },
  '/v1/responses': {
    model: 'assistant',
    input: [
      { role: 'user', content: 'Hi.' },
      { type: 'mcp_approval_response', approval_request_id: 'i', approve: true },
    ],
    previous_response_id: 'resp_r',
    conversation: { id: 's' },
    stream: false,
    background: true,
  },
  '/a2a/assistant': {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi.' }], contextId: 'c' } },
  },
  '/mcp/assistant': {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  },
  '/api/runs/r/fork': { keepSteps: 1, session: 'f', title: 'A fork' },
  '/api/runs/r/follow-up': { input: { content: [{ type: 'text', text: 'Left.' }] } },
  '/v1/chat/completions': {
    model: 'assistant',
    messages: [{ role: 'user', content: 'Hi.' }],
    stream_options: { include_usage: true },
    metadata: { session_id: 's' },
  },
};

/** Copies of a value in which one field is replaced. */
function* replaced(value: unknown, by: unknown): Generator<unknown, void, void> {
  yield by;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value))
    for (const copy of replaced(inner, by))
      yield Array.isArray(value) ? value.with(Number(key), copy) : { ...value, [key]: copy };
}

async function sendsNoServerError(service: Service, weirds: readonly unknown[]): Promise<number> {
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const faults: string[] = [];
  let requests = 0;
  const look = async (what: string, response: Response): Promise<void> => {
    requests++;
    await response.body?.cancel();
    if (response.status >= 500) faults.push(`${response.status} ${what}`);
  };
  const cases = Object.entries(BODIES).flatMap(([path, body]) =>
    weirds.flatMap((weird) => [...replaced(body, weird)].map((copy) => ({ path, copy }))),
  );
  const stride = strideOf('malformed fields', 5);
  for (let n = 0; n < cases.length; n += stride) {
    const { path, copy } = cases[n] ?? { path: '', copy: undefined };
    await look(`${path} ${JSON.stringify(copy)}`, await client.send('POST', path, copy));
  }
  const ids = ['%00', '%zz', '%ff', '..%2f..', 'x'.repeat(3000), '%f0%9f%98%80', "'--"];
  for (const id of ids)
    for (const path of [
      '/api/sessions/ID',
      '/api/sessions/ID/messages',
      '/api/runs/ID',
      '/api/runs/ID/events',
      '/ai-sdk/assistant/ID/stream',
    ])
      await look(path + id, await client.send('GET', path.replace('ID', id)));
  const cursors = [
    [1e308, 'x'],
    [1.5, 'x'],
    [1, '\0'],
    [1, 'x'],
    ['1', 'x'],
    null,
    [Number.MAX_SAFE_INTEGER, 'x'],
  ];
  for (const cursor of [
    ...cursors.map((one) => Buffer.from(JSON.stringify(one)).toString('base64url')),
    '%00',
    '{',
  ])
    for (const path of ['/api/sessions', '/api/sessions/s/runs', '/api/sessions/s/messages'])
      await look(`${path} ${cursor}`, await client.send('GET', `${path}?cursor=${cursor}`));
  const raw = ['[', '{"a":', '[['.repeat(200_000), '{"__proto__":{"x":1}}', '\ufeff{}', '"', 'NaN'];
  for (const text of raw)
    for (const path of Object.keys(BODIES)) {
      const init = { method: 'POST', body: text, headers: { 'content-type': 'application/json' } };
      await look(
        `${path} ${text.slice(0, 20)}`,
        await service.fetch(new Request(`http://127.0.0.1${path}`, init)),
      );
    }
  expect(faults).toEqual([]);
  return requests;
}

test('no malformed body, id or cursor is answered with a server error', async () => {
  await using service = await serve();
  expect(await sendsNoServerError(service, WEIRD)).toBeGreaterThan(200);
});

test.runIf(hasPostgres)(
  'no malformed body, id or cursor is answered with a server error, on PostgreSQL',
  async () => {
    await using service = await serve(
      postgresStorage(database.url, { approvalKey: 'a key of sixteen bytes or more' }),
    );
    expect(await sendsNoServerError(service, ['\0', '\ud800', 1e308])).toBeGreaterThan(120);
  },
);

/** Sends bytes to a service, and returns its answer up to the end of the connection. */
async function answerTo(url: string, bytes: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => (text += String(chunk)));
  socket.on('error', () => {}); // the service may close first
  for (const part of bytes) socket.write(part);
  await new Promise((resolve) => socket.once('close', resolve));
  return text.split('\r\n')[0] ?? '';
}

test('a body that never ends, huge headers and no HTTP at all end with a status', async () => {
  await using service = await serve();
  const url = await service.listen({ port: 0 });
  const head =
    'POST /api/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nconnection: close\r\n';
  const piece = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
  expect(
    await answerTo(url, [`${head}transfer-encoding: chunked\r\n\r\n`, ...Array<string>(40).fill(piece)]),
  ).toContain('413');
  expect(await answerTo(url, [`${head}content-length: 99999999999\r\n\r\n`, 'a'])).toContain('413');
  expect(await answerTo(url, [`${head}x: ${'a'.repeat(100_000)}\r\n\r\n`])).toContain('431');
  expect(await answerTo(url, ['no http\r\n\r\n'])).toContain('400');
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('connections that send their request too slowly are ended, and others are answered meanwhile', async () => {
  await using service = await serve();
  const url = await service.listen({ port: 0, requestTimeoutMs: 400 });
  const head = 'POST /api/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n';
  const slow = Array.from({ length: 50 }, (_, n) =>
    answerTo(url, [n % 2 === 0 ? head : `${head}content-length: 100\r\n\r\n{`]),
  );
  expect((await fetch(`${url}/api/agents`)).status).toBe(200);
  for (const answer of await Promise.all(slow)) expect(answer).toContain('408');
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});
