import { ReActAgent, Toolkit } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService, type ServiceOptions } from '../src/index.ts';
import { CALLS_WAIT, Gate, gatedAgent, ServiceClient } from './service-client.ts';

async function serve(options: ServiceOptions): Promise<AsyncDisposable & { client: ServiceClient }> {
  const service = await createService({ shutdownMs: 0, ...options });
  return { client: new ServiceClient(service.fetch), [Symbol.asyncDispose]: () => service.close() };
}

const greets = (): ReActAgent =>
  new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Hello.', 'Again.']) });

test('a run answers, and its session remembers the messages', async () => {
  await using serving = await serve({ agents: { assistant: greets } });
  const { client } = serving;
  const session = await client.session();
  const run = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' }, 202);
  const ended = await client.ended(run.id);
  expect(ended).toMatchObject({ status: 'finished', attempt: 1, session, agent: 'assistant' });
  expect(ended.msg.content).toEqual([{ type: 'text', text: 'Hello.' }]);
  const { data } = await client.json('GET', `/api/sessions/${session}/messages`);
  expect(data.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant']);
  expect(await client.json('GET', `/api/sessions/${session}`)).not.toHaveProperty('activeRun');
});

test('events have numbers without a gap, and a reader goes on behind any of them', async () => {
  await using serving = await serve({ agents: { assistant: greets } });
  const { client } = serving;
  const session = await client.session();
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' });
  const whole = await client.events(id);
  expect(whole.ids).toEqual(whole.ids.map((_, index) => index + 1));
  expect(whole.events.at(-1)?.type).toBe('run_end');
  expect(whole.ids.length).toBeGreaterThan(5);
  for (const after of whole.ids) {
    const rest = await client.events(id, after);
    expect(rest.ids).toEqual(whole.ids.slice(after));
    expect(rest.events).toEqual(whole.events.slice(after));
  }
});

test('a reader that leaves does not stop the run, and reads the rest later', async () => {
  const gate = new Gate();
  await using serving = await serve({ agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) } });
  const { client } = serving;
  const session = await client.session();
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
  const first = await client.events(id, 0, 3);
  await gate.reached;
  expect(await client.json('GET', `/api/runs/${id}`)).toMatchObject({ status: 'running' });
  gate.open();
  const rest = await client.events(id, 3);
  expect([...first.ids, ...rest.ids]).toEqual(
    Array.from({ length: 3 + rest.ids.length }, (_, index) => index + 1),
  );
  expect(await client.json('GET', `/api/runs/${id}`)).toMatchObject({ status: 'finished' });
});

test('an idempotency key gives the same run, and refuses another request', async () => {
  let models = 0;
  await using serving = await serve({
    agents: {
      assistant: () => {
        models++;
        return greets();
      },
    },
  });
  const { client } = serving;
  const session = await client.session();
  const path = `/api/sessions/${session}/runs`;
  const start = async (input: string, key: string): Promise<Response> =>
    client.send('POST', path, { input }, { 'idempotency-key': key });
  const answers = await Promise.all(Array.from({ length: 8 }, () => start('Hi.', '"k1"')));
  const ids = new Set(
    await Promise.all(answers.map(async (answer) => ((await answer.json()) as { id: string }).id)),
  );
  expect(ids.size).toBe(1);
  await client.ended([...ids][0] ?? '');
  expect(models).toBe(1);
  expect((await start('Ho.', 'k1')).status).toBe(422);
  expect((await start('Hi.', 'k1')).status).toBe(202);
});

test('an interrupt stops a run, and the session goes on', async () => {
  const gate = new Gate();
  await using serving = await serve({ agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) } });
  const { client } = serving;
  const session = await client.session();
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
  await gate.reached;
  expect(await client.json('POST', `/api/runs/${id}/interrupt`, {})).toEqual({ done: true });
  expect(await client.ended(id)).toMatchObject({ status: 'interrupted' });
  expect(await client.json('POST', `/api/runs/${id}/interrupt`, {})).toEqual({ done: false });
  const { data } = await client.json('GET', `/api/sessions/${session}/messages`);
  expect(data.length).toBeGreaterThanOrEqual(4);
});

test('a run reads steering before its next model call, and answers a follow-up', async () => {
  const gate = new Gate();
  await using serving = await serve({
    agents: { assistant: () => gatedAgent([CALLS_WAIT, 'Done.', 'And more.'], gate) },
  });
  const { client } = serving;
  const session = await client.session();
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
  await gate.reached;
  await client.json('POST', `/api/runs/${id}/steer`, { input: 'Be brief.' });
  await client.json('POST', `/api/runs/${id}/follow-up`, { input: 'And then?' });
  gate.open();
  const ended = await client.ended(id);
  expect(ended.msg.content).toEqual([{ type: 'text', text: 'And more.' }]);
  const { data } = await client.json('GET', `/api/sessions/${session}/messages`);
  const texts = data
    .filter(({ role }: { role: string }) => role === 'user')
    .map(({ content }: any) => content[0]?.text ?? content);
  expect(texts).toEqual(['Go.', 'Be brief.', 'And then?']);
  expect((await client.send('POST', `/api/runs/${id}/steer`, { input: 'Late.' })).status).toBe(409);
});

test('messages that come while a run ends are answered by the next run of the session', async () => {
  const gate = new Gate();
  await using serving = await serve({
    agents: {
      assistant: {
        onBusy: 'steer',
        make: () => {
          const agent = new ReActAgent({ name: 'assistant', model: new ScriptedModel(['Done.']) });
          agent.onOutcome(() => gate.pass()); // the agent takes no more messages
          return agent;
        },
      },
    },
  });
  const { client } = serving;
  const session = await client.session();
  const path = `/api/sessions/${session}/runs`;
  const { id } = await client.json('POST', path, { input: 'Go.' });
  await gate.reached;
  expect(await client.json('POST', `/api/runs/${id}/steer`, { input: 'Be brief.' })).toEqual({ done: true });
  expect(await client.json('POST', `/api/runs/${id}/follow-up`, { input: 'And then?' })).toEqual({
    done: true,
  });
  expect(await client.json('POST', path, { input: 'Hurry.' })).toMatchObject({ id });
  gate.open();
  expect(await client.ended(id)).toMatchObject({ status: 'finished' });
  const [next, first] = (await client.json('GET', path)).data;
  expect(first).toMatchObject({ id });
  expect(await client.ended(next.id)).toMatchObject({ status: 'finished' });
  const { data } = await client.json('GET', `/api/sessions/${session}/messages`);
  const texts = data.map(({ content }: any) => content[0]?.text ?? content);
  expect(texts).toEqual(['Go.', 'Done.', 'Be brief.', 'And then?', 'Hurry.', 'Done.']);
});

test('messages that come while a run is suspended are answered after the decisions', async () => {
  const gate = new Gate();
  let made = 0;
  await using serving = await serve({
    agents: {
      assistant: () => {
        const agent = askingAgent(
          made++ === 0
            ? [{ toolCalls: [{ id: 'call_1', name: 'remove', input: {} }] }]
            : ['Removed.', 'You are welcome.'],
        );
        agent.onOutcome(() => gate.pass());
        return agent;
      },
    },
  });
  const { client } = serving;
  const session = await client.session();
  const path = `/api/sessions/${session}/runs`;
  const { id } = await client.json('POST', path, { input: 'Remove it.' });
  await gate.reached;
  await client.json('POST', `/api/runs/${id}/follow-up`, { input: 'Thanks.' });
  gate.open();
  const { pending } = await client.ended(id);
  const next = await client.json('POST', path, { decisions: [{ id: pending[0].id, verdict: 'allow' }] });
  expect((await client.ended(next.id)).msg.content).toEqual([{ type: 'text', text: 'You are welcome.' }]);
  expect((await client.json('GET', path)).data).toHaveLength(2);
});

test.each([
  ['reject', 409, ['finished']],
  ['queue', 202, ['finished', 'finished']],
  ['interrupt', 202, ['interrupted', 'finished']],
] as const)('a second run of a session with onBusy %s', async (onBusy, status, statuses) => {
  const gate = new Gate();
  let first = true;
  await using serving = await serve({
    agents: {
      assistant: {
        onBusy,
        make: () => {
          const agent = gatedAgent(first ? [CALLS_WAIT, 'Done.'] : ['Second.'], gate);
          first = false;
          return agent;
        },
      },
    },
  });
  const { client } = serving;
  const session = await client.session();
  const path = `/api/sessions/${session}/runs`;
  const one = await client.json('POST', path, { input: 'One.' });
  await gate.reached;
  const second = await client.send('POST', path, { input: 'Two.' });
  expect(second.status).toBe(status);
  if (onBusy !== 'interrupt') gate.open();
  await client.ended(one.id);
  if (status === 202) await client.ended(((await second.json()) as { id: string }).id);
  const { data } = await client.json('GET', path);
  expect(data.map((run: { status: string }) => run.status).reverse()).toEqual(statuses);
});

test('a message for a busy session with onBusy steer goes to the running run', async () => {
  const gate = new Gate();
  await using serving = await serve({
    agents: { assistant: { onBusy: 'steer', make: () => gatedAgent([CALLS_WAIT, 'Done.'], gate) } },
  });
  const { client } = serving;
  const session = await client.session();
  const path = `/api/sessions/${session}/runs`;
  const one = await client.json('POST', path, { input: 'One.' });
  await gate.reached;
  const two = await client.json('POST', path, { input: 'Two.' });
  expect(two.id).toBe(one.id);
  gate.open();
  await client.ended(one.id);
  const { data } = await client.json('GET', `/api/sessions/${session}/messages`);
  expect(JSON.stringify(data)).toContain('Two.');
});

function askingAgent(script: ConstructorParameters<typeof ScriptedModel>[0]): ReActAgent {
  const toolkit = new Toolkit();
  toolkit.registerToolFunction({ name: 'remove', sideEffect: true, execute: () => 'Removed.' });
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel(script),
    toolkit,
    permissionPolicy: { decide: () => ({ behavior: 'ask', reason: 'it deletes' }) },
  });
}

test('a pending tool call is decided by another run', async () => {
  const scripts = [[{ toolCalls: [{ id: 'call_1', name: 'remove', input: {} }] }], ['It is gone.']];
  await using serving = await serve({ agents: { assistant: () => askingAgent(scripts.shift() ?? []) } });
  const { client } = serving;
  const session = await client.session();
  const path = `/api/sessions/${session}/runs`;
  const asked = await client.json('POST', path, { input: 'Remove it.' });
  expect(await client.ended(asked.id)).toMatchObject({
    status: 'suspended',
    pending: [{ kind: 'approval' }],
  });
  const { events } = await client.events(asked.id);
  expect(events.filter(({ type }) => type === 'approval_needed')).toHaveLength(1);
  const { data: pending } = await client.json('GET', `/api/sessions/${session}/pending`);
  expect(pending).toMatchObject([{ kind: 'approval', reason: 'it deletes', call: { name: 'remove' } }]);
  expect((await client.send('POST', path, { input: 'Something else.' })).status).toBe(409);
  const wrong = { decisions: [{ id: 'pending_x', verdict: 'allow' }] };
  expect((await client.send('POST', path, wrong)).status).toBe(409);
  const decided = await client.json('POST', path, { decisions: [{ id: pending[0].id, verdict: 'allow' }] });
  const ended = await client.ended(decided.id);
  expect(ended).toMatchObject({
    status: 'finished',
    msg: { content: [{ type: 'text', text: 'It is gone.' }] },
  });
  expect((await client.json('GET', `/api/sessions/${session}/pending`)).data).toEqual([]);
});

test('sessions are listed in pages, branched and deleted', async () => {
  let time = 1000;
  await using serving = await serve({ agents: { assistant: greets }, now: () => time++ });
  const { client } = serving;
  for (const id of ['a', 'b', 'c']) await client.session('assistant', id);
  const page = await client.json('GET', '/api/sessions?limit=2');
  expect(page.data.map(({ id }: { id: string }) => id)).toEqual(['c', 'b']);
  const next = await client.json('GET', `/api/sessions?limit=2&cursor=${page.next}`);
  expect(next.data.map(({ id }: { id: string }) => id)).toEqual(['a']);
  const { id } = await client.json('POST', '/api/sessions/a/runs', { input: 'Hi.' });
  await client.ended(id);
  await client.json('POST', '/api/sessions/a/branch', { id: 'a2' }, 201);
  const copied = await client.json('GET', '/api/sessions/a2/messages');
  expect(copied).toEqual(await client.json('GET', '/api/sessions/a/messages'));
  await client.json('DELETE', '/api/sessions/a', undefined, 204);
  await client.json('GET', '/api/sessions/a', undefined, 404);
  await client.json('GET', `/api/runs/${id}`, undefined, 404);
  expect((await client.json('GET', '/api/sessions/a2/messages')).data).toHaveLength(2);
});

test('a failing model ends the run as failed, with an event that says so', async () => {
  await using serving = await serve({
    agents: { assistant: () => new ReActAgent({ name: 'assistant', model: new ScriptedModel([]) }) },
  });
  const { client } = serving;
  const session = await client.session();
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' });
  const { events } = await client.events(id);
  expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'failed' });
  expect(await client.json('GET', `/api/runs/${id}`)).toMatchObject({
    status: 'failed',
    error: { code: expect.any(String) },
  });
});

test.each([
  ['no JSON', '{', 'application/json', 400],
  ['another content type', '{}', 'text/plain', 415],
  ['an unknown field', '{"agent":"assistant","x":1}', 'application/json', 400],
  ['an id that is a path', '{"agent":"assistant","id":"../x"}', 'application/json', 400],
  ['an unknown agent', '{"agent":"nobody"}', 'application/json', 404],
  ['a large body', JSON.stringify({ agent: 'a'.repeat(2000) }), 'application/json', 413],
])('a request with %s is refused with a problem', async (_name, body, type, status) => {
  const service = await createService({ agents: { assistant: greets }, maxBodyBytes: 1000 });
  const request = new Request('http://127.0.0.1/api/sessions', {
    method: 'POST',
    body,
    headers: { 'content-type': type },
  });
  const response = await service.fetch(request);
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(await response.json()).toMatchObject({
    status,
    code: expect.any(String),
    detail: expect.any(String),
  });
  await service.close();
});

test('the OpenAPI document names every operation, with the schemas that validate', async () => {
  await using serving = await serve({ agents: { assistant: greets } });
  const document = await serving.client.json('GET', '/openapi.json');
  expect(document.openapi).toBe('3.1.0');
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods as object));
  expect(operations.length).toBeGreaterThan(12);
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  expect(
    document.paths['/api/sessions'].post.requestBody.content['application/json'].schema.required,
  ).toEqual(['agent']);
});

test('health, readiness and metrics are served', async () => {
  await using serving = await serve({ agents: { assistant: greets } });
  const { client } = serving;
  const session = await client.session();
  const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Hi.' });
  await client.ended(id);
  expect(await (await client.send('GET', '/healthz')).text()).toBe('ok');
  expect((await client.send('GET', '/readyz')).status).toBe(200);
  const metrics = await (await client.send('GET', '/metrics')).text();
  expect(metrics).toContain('troupe_runs_total{status="finished"} 1');
  expect(metrics).toContain('troupe_event_readers 0');
});
