import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { createService, type Service } from '../src/index.ts';
import { durableAgent, type Effect } from './durable-agents.ts';
import { ServiceClient } from './service-client.ts';

interface Listed {
  readonly n: number;
  readonly key: string;
  readonly kind: string;
}

function serve(effects: Effect[]): Promise<Service> {
  return createService({
    agents: { assistant: () => durableAgent({ take: async (effect) => void effects.push(effect) }) },
    shutdownMs: 0,
  });
}

test('a fork at each step of a run executes the steps behind it only, under keys of its own', async () => {
  const effects: Effect[] = [];
  await using service = await serve(effects);
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const { id } = await client.json('POST', '/api/sessions/s/runs', { input: 'Go.' });
  const source = await client.ended(id);
  const { data: steps } = (await client.json('GET', `/api/runs/${id}/steps`)) as { data: Listed[] };
  expect(steps.map(({ n }) => n)).toEqual(steps.map((_, index) => index + 1));
  expect(steps.filter(({ kind }) => kind === 'model')).toHaveLength(6);
  expect(steps.filter(({ kind }) => kind === 'tool')).toHaveLength(4);
  const done = effects.splice(0);
  const texts = (await client.json('GET', '/api/sessions/s/messages')).data.map(contentOf);

  for (let keepSteps = 0; keepSteps <= steps.length; keepSteps++) {
    const fork = await client.json('POST', `/api/runs/${id}/fork`, { keepSteps, session: `f${keepSteps}` });
    expect(fork).toMatchObject({ forkedFrom: id, session: `f${keepSteps}` });
    expect(await client.ended(fork.id)).toMatchObject({ status: 'finished' });
    const kept = steps.slice(0, keepSteps);
    const isKept = ({ key }: Effect): boolean => kept.some((step) => key === `${id}:${step.key}`);
    expect(effects.map(({ tool: name }) => name)).toEqual(
      done.filter((effect) => !isKept(effect)).map(({ tool: name }) => name),
    );
    for (const { key } of effects.splice(0)) expect(key).toMatch(new RegExp(`^${fork.id}:`));
    const { data } = await client.json('GET', `/api/sessions/f${keepSteps}/messages`);
    expect(data.map(contentOf)).toEqual(texts);
  }
  expect(await client.json('GET', `/api/runs/${id}`)).toEqual(source);
});

function contentOf({ content }: { readonly content: unknown }): unknown {
  return content;
}

/** Greets, and says which of its messages it sees. */
function greeter(): ReActAgent {
  return new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([
      { when: ({ messages }) => JSON.stringify(messages).includes('Two.'), text: 'The second answer.' },
      { when: () => true, text: 'The first answer.' },
    ]),
    tools: [tool({ name: 'unused', execute: () => '' })],
  });
}

test('a fork begins with the session before the run; without it, the fork is refused and leaves no session', async () => {
  await using service = await createService({ agents: { assistant: greeter }, shutdownMs: 0 });
  const client = new ServiceClient(service.fetch);
  await client.session('assistant', 's');
  const runs: string[] = [];
  for (const input of ['One.', 'Two.', 'Three.']) {
    const { id } = await client.json('POST', '/api/sessions/s/runs', { input });
    await client.ended(id);
    runs.push(id);
  }
  const fork = await client.json('POST', `/api/runs/${runs[2]}/fork`, { keepSteps: 0, session: 'copy' });
  await client.ended(fork.id);
  const texts = async (session: string): Promise<unknown> =>
    (await client.json('GET', `/api/sessions/${session}/messages`)).data.map(contentOf);
  expect(await texts('copy')).toEqual(await texts('s'));
  const refused = await client.send('POST', `/api/runs/${runs[1]}/fork`, { session: 'other' });
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([409, 'state_gone']);
  expect((await client.send('GET', '/api/sessions/other')).status).toBe(404);
});

test('a key makes a fork safe to repeat, and a fork of another user does not exist', async () => {
  const effects: Effect[] = [];
  await using service = await createService({
    agents: { assistant: () => durableAgent({ take: async (effect) => void effects.push(effect) }) },
    auth: (request) => ({ user: request.headers.get('x-user') ?? 'nobody' }),
    shutdownMs: 0,
  });
  const client = new ServiceClient(service.fetch, { 'x-user': 'anna' });
  await client.session('assistant', 's');
  const { id } = await client.json('POST', '/api/sessions/s/runs', { input: 'Go.' });
  await client.ended(id);
  const fork = async (body: object): Promise<Response> =>
    client.send('POST', `/api/runs/${id}/fork`, body, { 'idempotency-key': 'k' });
  const [first, second] = [await (await fork({})).json(), await (await fork({})).json()];
  expect((second as { id: string }).id).toBe((first as { id: string }).id);
  expect((await fork({ keepSteps: 1 })).status).toBe(422);
  const eve = new ServiceClient(service.fetch, { 'x-user': 'eve' });
  expect((await eve.send('POST', `/api/runs/${id}/fork`, {})).status).toBe(404);
  expect((await eve.send('GET', `/api/runs/${id}/steps`)).status).toBe(404);
});
