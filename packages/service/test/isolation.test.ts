import fc from 'fast-check';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { RUNS_IN_FULL, sampleOf } from '../../troupe/test/fair-sample.ts';
import { createService, type Service } from '../src/index.ts';
import { ServiceClient } from './service-client.ts';

const SECRET = 'the secret of anna';

/** An agent that repeats the secret of its user, and leaves a tool call pending after the word 'Ask'. */
function agent(): ReActAgent {
  const sees =
    (text: string) =>
    ({ messages }: { readonly messages: unknown }): boolean =>
      JSON.stringify(messages).includes(text);
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([
      { when: sees('Ask'), toolCalls: [{ id: 'c', name: 'pay', input: {} }] },
      { when: sees(SECRET), text: `I know ${SECRET}.` },
      { when: () => true, text: 'I know nothing.' },
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
  readonly schedules: readonly string[];
}

async function prepare(client: ServiceClient): Promise<Owned> {
  const sessions = [await client.session('assistant', 'shared'), await client.session()];
  const runs: string[] = [];
  for (const [index, session] of sessions.entries()) {
    const input = index === 0 ? SECRET : `Ask about ${SECRET}`;
    const path = `/api/sessions/${session}/runs`;
    const response = await client.send('POST', path, { input }, { 'idempotency-key': 'k1' });
    const { id } = (await response.json()) as { id: string };
    await client.ended(id);
    runs.push(id);
  }
  await client.send('PUT', '/api/sessions/shared/file?path=/workspace/secret.txt', { secret: SECRET });
  const { data } = await client.json('GET', `/api/sessions/${sessions[1]}/pending`);
  const page = await client.json('GET', '/api/sessions?limit=1');
  const schedule = await client.json('POST', '/api/schedules', {
    agent: 'assistant',
    cron: '0 0 1 1 *',
    input: SECRET,
    session: 'shared',
  });
  return {
    sessions,
    runs,
    pending: data.map(({ id }: { id: string }) => id),
    cursors: [page.next],
    schedules: [schedule.id],
  };
}

/** Everything that a user can see of the own things. */
async function seenBy(client: ServiceClient, { sessions, runs }: Owned): Promise<string> {
  const paths = [
    '/api/sessions',
    '/api/schedules',
    ...sessions.flatMap((id) =>
      ['', '/messages', '/pending', '/runs', '/files'].map((part) => `/api/sessions/${id}${part}`),
    ),
    '/api/sessions/shared/file?path=/workspace/secret.txt',
    ...runs.flatMap((id) => ['', '/events', '/steps'].map((part) => `/api/runs/${id}${part}`)),
    ...runs.map((id) => `/v1/responses/resp_${id}`),
  ];
  const texts = [];
  for (const path of paths) texts.push(await (await client.send('GET', path)).text());
  return texts.join('\n');
}

function clientOf(service: Service, user: string): ServiceClient {
  return new ServiceClient(service.fetch, { 'x-user': user });
}

interface Sent {
  readonly query?: string;
  readonly body?: unknown;
}

/** Requests of another user for each operation, with what belongs to the owner in every place. */
function requestsFor(owned: Owned): Readonly<Record<string, fc.Arbitrary<Sent>>> {
  const some = (values: readonly string[]): fc.Arbitrary<string> =>
    fc.constantFrom(...values, '1', 'x', "' OR 1=1 --");
  const session = some(owned.sessions);
  const run = some(owned.runs);
  const pending = some(owned.pending);
  const cursor = some(owned.cursors).map((one) => ({ query: `?cursor=${encodeURIComponent(one)}&limit=1` }));
  const path = fc.constant({ query: '?path=/workspace/secret.txt' });
  const nothing = fc.constant({});
  const empty = fc.constant({ body: {} });
  const stop = fc.constant({ body: { input: 'Stop.' } });
  const userMessage = { id: 'u', role: 'user' };
  const runBody = fc.record(
    {
      input: fc.constantFrom('Hi.', 'Tell me.'),
      decisions: pending.map((id) => [{ id, verdict: 'allow' }]),
      onBusy: fc.constantFrom('reject', 'queue', 'interrupt', 'steer'),
      closePending: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const inBody = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<{ body: T }> => of.map((body) => ({ body }));
  return {
    'get /api/agents': nothing,
    'post /api/sessions': inBody(session.map((id) => ({ agent: 'assistant', id }))),
    'get /api/sessions': cursor,
    'get /api/sessions/{session}': nothing,
    'delete /api/sessions/{session}': nothing,
    'get /api/sessions/{session}/messages': cursor,
    'get /api/sessions/{session}/pending': nothing,
    'post /api/sessions/{session}/branch': inBody(session.map((id) => ({ id }))),
    'post /api/sessions/{session}/runs': inBody(runBody),
    'get /api/sessions/{session}/runs': cursor,
    'get /api/sessions/{session}/files': cursor,
    'get /api/sessions/{session}/file': path,
    'put /api/sessions/{session}/file': path.map((one) => ({ ...one, body: 'Mine now.' })),
    'delete /api/sessions/{session}/file': path,
    'get /api/runs/{run}': nothing,
    'get /api/runs/{run}/events': fc.constantFrom('0', '1', '999').map((n) => ({ query: `?after=${n}` })),
    'get /api/runs/{run}/steps': nothing,
    'post /api/runs/{run}/fork': inBody(session.map((id) => ({ keepSteps: 1, session: id }))),
    'post /api/runs/{run}/interrupt': stop,
    'post /api/runs/{run}/steer': stop,
    'post /api/runs/{run}/follow-up': stop,
    'post /api/schedules': inBody(
      session.map((id) => ({ agent: 'assistant', cron: '0 0 1 1 *', input: 'Hi.', session: id })),
    ),
    'get /api/schedules': nothing,
    'delete /api/schedules/{schedule}': nothing,
    'post /api/schedules/{schedule}/pause': empty,
    'post /api/schedules/{schedule}/resume': empty,
    'post /ai-sdk/{agent}': inBody(
      fc.tuple(session, pending, fc.boolean()).map(([id, approval, isUser]) => ({
        id,
        trigger: 'submit-message',
        messages: [
          isUser
            ? { ...userMessage, parts: [{ type: 'text', text: 'Tell me.' }] }
            : {
                id: 'a',
                role: 'assistant',
                parts: [
                  {
                    type: 'dynamic-tool',
                    state: 'approval-responded',
                    approval: { id: approval, approved: true },
                  },
                ],
              },
        ],
      })),
    ),
    'get /ai-sdk/{agent}/{chat}/stream': nothing,
    'post /ag-ui/{agent}': inBody(
      fc.tuple(session, run, pending, fc.boolean()).map(([threadId, runId, interruptId, resumes]) => ({
        threadId,
        runId,
        messages: [{ ...userMessage, content: 'Tell me.' }],
        ...(resumes && { resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] }),
      })),
    ),
    'get /v1/models': nothing,
    'post /v1/chat/completions': inBody(
      session.map((id) => ({
        model: 'assistant',
        messages: [{ role: 'user', content: 'Tell me.' }],
        metadata: { session_id: id },
      })),
    ),
    'post /v1/responses': inBody(
      fc.tuple(session, run, pending, fc.boolean()).map(([conversation, id, approval, follows]) => ({
        model: 'assistant',
        input: [
          { role: 'user', content: 'Tell me.' },
          { type: 'mcp_approval_response', approval_request_id: approval, approve: true },
        ],
        ...(follows ? { previous_response_id: `resp_${id}` } : { conversation }),
      })),
    ),
    'get /v1/responses/{response}': fc
      .constantFrom('', '?stream=true&starting_after=0')
      .map((query) => ({ query })),
    'post /v1/responses/{response}/cancel': nothing,
    'get /a2a/{agent}/.well-known/agent-card.json': nothing,
    'post /a2a/{agent}': inBody(
      fc
        .tuple(session, run, fc.constantFrom('SendMessage', 'GetTask', 'ListTasks', 'CancelTask'))
        .map(([contextId, id, method]) => ({
          jsonrpc: '2.0',
          id: 1,
          method,
          params: {
            id,
            contextId,
            message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Tell me.' }], contextId },
          },
        })),
    ),
    'get /mcp/{agent}': nothing,
    'post /mcp/{agent}': inBody(
      fc
        .constantFrom('initialize', 'tools/list', 'resources/list')
        .map((method) => ({ jsonrpc: '2.0', id: 1, method })),
    ),
    'delete /mcp/{agent}': nothing,
  };
}

test(
  'no request of another user to any operation sees or changes anything, with ids, cursors, keys and event numbers of the owner',
  async () => {
    await using service = await createService({
      agents: { assistant: agent },
      auth: (request) => ({ user: request.headers.get('x-user') ?? 'nobody' }),
      limits: { requestsPerMinute: Infinity, openRuns: Infinity },
      shutdownMs: 0,
    });
    const anna = clientOf(service, 'anna');
    const owned = await prepare(anna);
    expect(owned.pending).toHaveLength(1);
    const before = await seenBy(anna, owned);
    expect(before.split(SECRET).length).toBeGreaterThan(10);

    const { paths } = (await anna.json('GET', '/openapi.json')) as { paths: Record<string, object> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const bodies = requestsFor(owned);
    expect(Object.keys(bodies).toSorted()).toEqual(operations.toSorted());

    const ids: Readonly<Record<string, readonly string[]>> = {
      session: owned.sessions,
      chat: owned.sessions,
      run: owned.runs,
      response: owned.runs.map((id) => `resp_${id}`),
      schedule: owned.schedules,
      agent: ['assistant'],
    };
    const request = fc.constantFrom(...operations).chain((operation) => {
      const [method = '', path = ''] = operation.split(' ');
      const guesses = fc.constantFrom('0', '1', '1', '1', '%2e%2e', '..%2f..');
      return fc
        .tuple(
          bodies[operation] ?? fc.constant<Sent>({}),
          fc.nat(1),
          guesses,
          fc.constantFrom('0', '1', '5', '999999'),
        )
        .map(([sent, which, guess, lastEventId]) => ({
          operation,
          method: method.toUpperCase(),
          url: path.replace(/\{(\w+)\}/g, (_, name: string) => {
            const own = ids[name] ?? [];
            return guess === '1' ? encodeURIComponent(own[which % own.length] ?? '') : guess;
          }),
          sent,
          lastEventId,
        }));
    });
    let users = 0;
    const asked = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 4, maxLength: 12 }), async (list) => {
        const eve = clientOf(service, `eve${users++}`);
        for (const { operation, method, url, sent, lastEventId } of list) {
          asked.add(operation);
          const response = await eve.send(method, url + (sent.query ?? ''), sent.body, {
            'last-event-id': lastEventId,
            'idempotency-key': 'k1',
            'mcp-session-id': owned.sessions[0] ?? '',
            'a2a-version': '1.0',
            accept: 'application/json, text/event-stream',
          });
          if (operation === 'get /mcp/{agent}') await response.body?.cancel(); // stays open
          else expect(await response.text(), operation).not.toContain(SECRET);
          expect(response.status, operation).toBeLessThan(500);
        }
      }),
      { numRuns: sampleOf('sequences of requests of another user', 1000, 100) },
    );
    expect(operations.filter((operation) => !asked.has(operation))).toEqual([]);
    expect(await seenBy(anna, owned)).toBe(before);
  },
  RUNS_IN_FULL ? 300_000 : 60_000,
);

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
