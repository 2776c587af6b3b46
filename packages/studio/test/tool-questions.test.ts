// Questions of tools: asked by a model or a nested agent, answered or declined by a person in the Studio.

import { afterEach, expect, test } from 'vitest';

import { agentTool, ReActAgent, type JsonObject } from 'troupe';
import { askUserTool } from 'troupe/ask-user';
import { ScriptedModel } from 'troupe/testing';

import type { ApprovalWaiting, Decision } from '../src/protocol.ts';
import { Studios, type LiveClient, type StudioClient } from './studio-client.ts';

const studios = new Studios();
afterEach(() => studios.closeAll());

/** A lead whose sub-agent asks the person with the tool `ask_user`. */
function askingLead(input: JsonObject): { create: () => ReActAgent; results: () => string } {
  const inner = new ScriptedModel([{ toolCalls: [{ id: 'q1', name: 'ask_user', input }] }, 'Noted.']);
  const create = (): ReActAgent => {
    const helper = new ReActAgent({ name: 'Helper', model: inner, tools: [askUserTool()], console: false });
    return new ReActAgent({
      name: 'Lead',
      model: new ScriptedModel([
        { toolCalls: [{ id: 'o1', name: 'helper', input: { query: 'Ask.' } }] },
        'All done.',
      ]),
      tools: [agentTool(helper, { name: 'helper', description: 'Helps.' })],
      console: false,
    });
  };
  return { create, results: () => JSON.stringify(inner.requests.at(-1)?.messages.at(-1)?.content) };
}

async function waitingIn(live: LiveClient): Promise<ApprovalWaiting> {
  return (await live.until(({ messages }) =>
    messages.flatMap((one) => (one.type === 'waiting' ? one.waiting : [])).at(-1),
  )) as ApprovalWaiting;
}

/** Starts a conversation with the lead, up to the question. */
async function ask(input: JsonObject) {
  const { create, results } = askingLead(input);
  const page: StudioClient = await studios.start({ agents: { lead: { name: 'Lead', create } } });
  const { body: run } = await page.post('api/conversations', { agent: 'lead' });
  const live = await page.live();
  live.send({ type: 'watch_run', runId: run.id, after: 0 });
  await page.act(run.id, { type: 'send', content: 'Go!' });
  const waiting = await waitingIn(live);
  const { id, argsHash } = waiting;
  const send = () => page.act(run.id, { type: 'send', content: 'Never mind.' });
  const decide = (decision: Decision) => page.act(run.id, { type: 'decide', id, argsHash, decision });
  const ended = async (): Promise<string | undefined> => {
    await live.entry(
      run.id,
      (entry) =>
        entry.kind === 'event' &&
        entry.event.type === 'run_end' &&
        JSON.stringify(entry).includes('All done.'),
    );
    const last = live.entries(run.id).findLast((entry) => entry.kind === 'waiting');
    return last?.kind === 'waiting' ? last.waiting.outcome : undefined;
  };
  return { waiting, send, decide, ended, results };
}

test('a choice of a nested agent is answered, and an answer that is no choice is refused', async () => {
  const { waiting, decide, ended, results } = await ask({
    question: 'Which colour?',
    choices: ['red', 'blue'],
  });
  expect(waiting).toMatchObject({
    kind: 'approval',
    agentPath: ['Lead', 'Helper'],
    pending: { kind: 'question', question: { message: 'Which colour?', choices: ['red', 'blue'] } },
  });
  expect(await decide({ verdict: 'answer', answer: 'pink' })).toMatchObject({
    body: { message: expect.stringContaining('one of the choices') },
  });
  expect(await decide({ verdict: 'allow' })).toMatchObject({ status: 400, body: { code: 'invalid' } });
  expect(await decide({ verdict: 'answer', answer: 'blue' })).toMatchObject({ status: 200 });
  expect(await ended()).toBe('answered');
  expect(results()).toContain('The user answered: blue');
});

test('a form has its problems by field, and its answer reaches the model', async () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' }, nights: { type: 'integer', minimum: 1 } },
    required: ['city', 'nights'],
  };
  const { decide, ended, results } = await ask({ question: 'Where to?', schema });
  expect(await decide({ verdict: 'answer', answer: { nights: 0 } })).toMatchObject({
    status: 400,
    body: {
      code: 'invalid',
      problems: [{ path: ['city'], message: 'A value is missing.' }, { path: ['nights'] }],
    },
  });
  expect(await decide({ verdict: 'answer', answer: { city: 'Rome', nights: 2 } })).toMatchObject({
    status: 200,
  });
  expect(await ended()).toBe('answered');
  expect(results()).toContain('- city: Rome');
});

test('a question is declined with a reason, which the model reads', async () => {
  const { send, decide, ended, results } = await ask({ question: 'How old are you?' });
  expect(await send()).toMatchObject({
    body: { code: 'busy', message: 'Lead waits for a decision: decide first.' },
  });
  expect(await decide({ verdict: 'deny', reason: 'I would rather not say.' })).toMatchObject({ status: 200 });
  expect(await ended()).toBe('declined');
  expect(results()).toContain('I would rather not say.');
});
