import { ReActAgent } from 'troupe';
import { FileSystemHandle } from 'troupe/filesystem';
import { fileSystemContract, ScriptedModel } from 'troupe/testing';
import { fileTools } from 'troupe/tools';
import { describe, expect, test } from 'vitest';

import { SessionFiles } from '../src/files/session-files.ts';
import { createService, postgresStorage, sqliteStorage, type Service } from '../src/index.ts';
import { ServiceStore } from '../src/store/service-store.ts';
import { APPROVAL_KEY, hasPostgres, useDatabase } from './postgres-database.ts';
import { ServiceClient } from './service-client.ts';

const database = useDatabase('files');
let sessions = 0;

/** Files of a new session. */
async function filesOn(store: ServiceStore): Promise<SessionFiles> {
  const id = `s${sessions++}`;
  await store.sessions.add({ user: 'anna', id, agent: 'assistant', title: '', createdAt: 0 });
  return new SessionFiles(store.database, { user: 'anna', session: id });
}

describe('files of a session on SQLite', () => {
  const opening = ServiceStore.open(sqliteStorage(':memory:'));
  test.each(fileSystemContract(async () => filesOn(await opening)))('$name', ({ run }) => run());
});

describe.runIf(hasPostgres)('files of a session on PostgreSQL', () => {
  let opening: Promise<ServiceStore> | undefined;
  const open = (): Promise<ServiceStore> =>
    (opening ??= ServiceStore.open(postgresStorage(database.url, { approvalKey: APPROVAL_KEY })));
  test.each(fileSystemContract(async () => filesOn(await open())))('$name', ({ run }) => run());
  test('the store is closed', async () => {
    await (await open()).close();
  });
});

/** Reads the file of the user, and writes one. */
function serve(limits = {}): Promise<Service> {
  return createService({
    agents: {
      assistant: ({ files }) =>
        new ReActAgent({
          name: 'assistant',
          model: new ScriptedModel([
            { toolCalls: [{ id: 'c1', name: 'read_text_file', input: { path: '/userinput/question.txt' } }] },
            {
              toolCalls: [
                { id: 'c2', name: 'write_file', input: { path: '/workspace/out/answer.txt', content: '42' } },
              ],
            },
            'It is in the file.',
          ]),
          tools: fileTools(new FileSystemHandle(files)),
        }),
    },
    auth: (request) => ({ user: request.headers.get('x-user') ?? 'nobody' }),
    limits,
    shutdownMs: 0,
  });
}

async function put(
  service: Service,
  user: string,
  path: string,
  body: string | Uint8Array,
): Promise<Response> {
  const url = `http://127.0.0.1/api/sessions/s/file?path=${encodeURIComponent(path)}`;
  return service.fetch(
    new Request(url, { method: 'PUT', headers: { 'x-user': user }, body: new Uint8Array(Buffer.from(body)) }),
  );
}

test('a user gives a file to an agent, and reads the file that the agent has made; nobody else does', async () => {
  await using service = await serve();
  const client = new ServiceClient(service.fetch, { 'x-user': 'anna' });
  await client.session('assistant', 's');
  expect((await put(service, 'anna', '/userinput/question.txt', 'How much?')).status).toBe(200);
  const { id } = await client.json('POST', '/api/sessions/s/runs', { input: 'Go.' });
  const { events } = await client.events(id);
  expect(JSON.stringify(events)).toContain('How much?');
  const { data } = await client.json('GET', '/api/sessions/s/files');
  expect(data).toMatchObject([
    { path: '/userinput/question.txt', size: 9 },
    { path: '/workspace/out/answer.txt', size: 2 },
  ]);
  const made = await client.send('GET', '/api/sessions/s/file?path=/workspace/out/answer.txt');
  expect([await made.text(), made.headers.get('content-disposition')]).toEqual(['42', 'attachment']);

  const eve = new ServiceClient(service.fetch, { 'x-user': 'eve' });
  expect((await eve.send('GET', '/api/sessions/s/file?path=/workspace/out/answer.txt')).status).toBe(404);
  await eve.session('assistant', 's');
  expect((await eve.json('GET', '/api/sessions/s/files')).data).toEqual([]);
  expect((await eve.send('DELETE', '/api/sessions/s/file?path=/workspace/out/answer.txt')).status).toBe(404);

  await client.json('POST', '/api/sessions/s/branch', { id: 'copy' });
  await client.json('DELETE', '/api/sessions/s/file?path=/userinput/question.txt', undefined, 204);
  expect((await client.json('GET', '/api/sessions/s/files')).data).toHaveLength(1);
  expect((await client.json('GET', '/api/sessions/copy/files')).data).toEqual(data);
  await client.json('DELETE', '/api/sessions/copy', undefined, 204);
  expect((await client.send('GET', '/api/sessions/copy/files')).status).toBe(404);
});

test('files are listed in pages, bounded in size, and only in the folders of users and agents', async () => {
  await using service = await serve({ fileBytes: 100, sessionFileBytes: 250 });
  const client = new ServiceClient(service.fetch, { 'x-user': 'anna' });
  await client.session('assistant', 's');
  for (const name of ['a', 'b'])
    expect((await put(service, 'anna', `/userinput/${name}`, 'x'.repeat(100))).status).toBe(200);
  expect((await put(service, 'anna', '/userinput/c', 'x'.repeat(101))).status).toBe(413);
  expect((await put(service, 'anna', '/userinput/c', 'x'.repeat(51))).status).toBe(413);
  expect((await put(service, 'anna', '/userinput/b', 'x'.repeat(50))).status).toBe(200);
  const first = await client.json('GET', '/api/sessions/s/files?limit=1');
  const second = await client.json('GET', `/api/sessions/s/files?limit=1&cursor=${first.next}`);
  expect((await client.send('GET', '/api/sessions/s/files?cursor=%00')).status).toBe(400);
  expect([first.data, second.data].flat().map(({ path }) => path)).toEqual(['/userinput/a', '/userinput/b']);
  for (const path of [
    '/internal/x',
    '/userinput',
    '/userinput/../x',
    'x',
    '/etc/passwd',
    '/userinput/\0',
    '/',
  ])
    expect((await put(service, 'anna', path, 'x')).status, path).toBe(400);
  expect((await client.send('GET', '/api/sessions/s/file?path=/internal/x')).status).toBe(400);
  expect((await client.send('GET', '/api/sessions/s/file')).status).toBe(400);
  expect((await client.send('GET', '/api/sessions/s/file?path=/workspace/none')).status).toBe(404);
});
