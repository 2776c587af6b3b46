import fc from 'fast-check';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService, type Service } from '../src/index.ts';
import { ServiceClient } from './service-client.ts';

const SECRET = 'the secret of anna';

/** Answers with the secret, and leaves a tool call pending. */
function agent(): ReActAgent {
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([
      {
        when: ({ messages }) => JSON.stringify(messages).includes('Ask'),
        toolCalls: [{ id: 'c', name: 'pay', input: {} }],
      },
      { when: () => true, text: `I know ${SECRET}.` },
    ]),
    tools: [tool({ name: 'pay', sideEffect: true, execute: () => SECRET })],
    permissionPolicy: { decide: () => ({ behavior: 'ask', reason: SECRET }) },
  });
}

interface Owned {
  readonly sessions: readonly string[];
  readonly runs: readonly string[];
  readonly pending: readonly string[];
  readonly cursors: readonly string[];
}

async function prepare(client: ServiceClient): Promise<Owned> {
  const sessions = [await client.session('assistant', 'shared'), await client.session()];
  const runs: string[] = [];
  for (const [index, session] of sessions.entries()) {
    const input = index === 0 ? SECRET : `Ask about ${SECRET}`;
    const response = await client.send(
      'POST',
      `/api/sessions/${session}/runs`,
      { input },
      { 'idempotency-key': 'k1' },
    );
    const { id } = (await response.json()) as { id: string };
    await client.ended(id);
    runs.push(id);
  }
  const { data } = await client.json('GET', `/api/sessions/${sessions[1]}/pending`);
  const page = await client.json('GET', '/api/sessions?limit=1');
  return { sessions, runs, pending: data.map(({ id }: { id: string }) => id), cursors: [page.next] };
}

/** Everything that a user can see of the own things. */
async function seenBy(client: ServiceClient, { sessions, runs }: Owned): Promise<string> {
  const paths = [
    '/api/sessions',
    ...sessions.flatMap((id) =>
      ['', '/messages', '/pending', '/runs'].map((part) => `/api/sessions/${id}${part}`),
    ),
    ...runs.flatMap((id) => [`/api/runs/${id}`, `/api/runs/${id}/events`]),
  ];
  const texts = [];
  for (const path of paths) texts.push(await (await client.send('GET', path)).text());
  return texts.join('\n');
}

function clientOf(service: Service, user: string): ServiceClient {
  return new ServiceClient(service.fetch, { 'x-user': user });
}

test('no request of another user sees or changes anything, with ids, cursors, keys and event numbers of the owner', async () => {
  await using service = await createService({
    agents: { assistant: agent },
    auth: (request) => ({ user: request.headers.get('x-user') ?? 'nobody' }),
    limits: { requestsPerMinute: Infinity, openRuns: Infinity },
  });
  const anna = clientOf(service, 'anna');
  const owned = await prepare(anna);
  expect(owned.pending).toHaveLength(1);
  const before = await seenBy(anna, owned);
  expect(before).toContain(SECRET);

  let users = 0;
  const some = (values: readonly string[]): fc.Arbitrary<string> =>
    fc.constantFrom(...values, '1', 'x', '%2e%2e', "' OR 1=1 --");
  const session = some(owned.sessions);
  const run = some(owned.runs);
  const body = fc.record(
    {
      input: fc.constantFrom('Hi.', 'Tell me.'),
      decisions: fc.constant(owned.pending.map((id) => ({ id, verdict: 'allow' }))),
      onBusy: fc.constantFrom('reject', 'queue', 'interrupt', 'steer'),
      closePending: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const request = fc.oneof(
    fc.record({ method: fc.constantFrom('GET', 'DELETE'), path: session.map((id) => `/api/sessions/${id}`) }),
    fc.record({
      method: fc.constant('GET'),
      path: fc
        .tuple(session, fc.constantFrom('messages', 'pending', 'runs'), some(owned.cursors))
        .map(([id, part, cursor]) => `/api/sessions/${id}/${part}?cursor=${encodeURIComponent(cursor)}`),
    }),
    fc.record({
      method: fc.constant('GET'),
      path: some(owned.cursors).map((cursor) => `/api/sessions?cursor=${encodeURIComponent(cursor)}`),
    }),
    fc.record({ method: fc.constant('GET'), path: run.map((id) => `/api/runs/${id}`) }),
    fc.record({ method: fc.constant('GET'), path: run.map((id) => `/api/runs/${id}/events`) }),
    fc.record({ method: fc.constant('POST'), path: session.map((id) => `/api/sessions/${id}/runs`), body }),
    fc.record({
      method: fc.constant('POST'),
      path: session.map((id) => `/api/sessions/${id}/branch`),
      body: fc.constant({}),
    }),
    fc.record({
      method: fc.constant('POST'),
      path: fc
        .tuple(run, fc.constantFrom('interrupt', 'steer', 'follow-up'))
        .map(([id, verb]) => `/api/runs/${id}/${verb}`),
      body: fc.constant({ input: 'Stop.' }),
    }),
  );
  const requests = fc.array(fc.tuple(request, fc.constantFrom('0', '1', '5', '999999')), {
    minLength: 1,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(requests, async (list) => {
      const eve = clientOf(service, `eve${users++}`);
      for (const [one, lastEventId] of list) {
        const sent = 'body' in one ? one.body : undefined;
        const response = await eve.send(one.method, one.path, sent, {
          'last-event-id': lastEventId,
          'idempotency-key': 'k1',
        });
        const text = await response.text();
        expect(text).not.toContain(SECRET);
        if (one.path !== '/api/sessions' && !one.path.startsWith('/api/sessions?'))
          expect([400, 404]).toContain(response.status);
      }
    }),
    { numRuns: 60 },
  );
  expect(users).toBeGreaterThanOrEqual(60);
  expect(await seenBy(anna, owned)).toBe(before);
});

test('two users with sessions of one id never meet', async () => {
  await using service = await createService({
    agents: { assistant: agent },
    auth: (request) => ({ user: request.headers.get('x-user') ?? 'nobody' }),
  });
  const [anna, eve] = [clientOf(service, 'anna'), clientOf(service, 'eve')];
  await prepare(anna);
  await eve.session('assistant', 'shared');
  expect((await eve.json('GET', '/api/sessions/shared/messages')).data).toEqual([]);
  await eve.json('DELETE', '/api/sessions/shared', undefined, 204);
  expect((await anna.json('GET', '/api/sessions/shared/messages')).data).toHaveLength(2);
});
