// Our programs against a Studio of AgentScope: `init({ studioUrl })` and `StudioUserInput`.

import { afterEach, expect, test } from 'vitest';

import { init, ReActAgent, tool, UserAgent, withRunConfig } from 'troupe';
import { disconnectStudio, StudioUserInput } from 'troupe/studio';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

import { AgentScopeStudio } from './agentscope-studio.ts';

const open: AgentScopeStudio[] = [];
afterEach(async () => {
  await disconnectStudio();
  for (const studio of open.splice(0)) await studio.close();
});

function newStudio(): AgentScopeStudio {
  const studio = new AgentScopeStudio();
  open.push(studio);
  return studio;
}

test('init registers the run, and each message is pushed under one id as it grows', async () => {
  const studio = newStudio();
  const studioUrl = await studio.listen();
  const shout = tool({
    name: 'shout',
    description: 'Shouts.',
    schema: z.object({ text: z.string() }),
    execute: ({ text }) => text.toUpperCase(),
  });
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel([
      { thinking: 'Hm.', toolCalls: [{ id: 'c1', name: 'shout', input: { text: 'hi' } }] },
      'Done.',
    ]),
    tools: [shout],
    console: false,
  });
  init({ project: 'zoo', name: 'first', runId: 'run-as', studioUrl, logging: 'silent' });
  await agent.call('Shout!');
  await studio.until(() => studio.messages.find(({ msg }) => JSON.stringify(msg.content).includes('Done.')));
  expect(studio.calls[0]).toMatchObject({
    procedure: 'registerRun',
    input: {
      id: 'run-as',
      project: 'zoo',
      name: 'first',
      status: 'running',
      pid: process.pid,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:/),
    },
  });
  const last = new Map(studio.messages.map((message) => [message.msg.id, message]));
  expect(
    [...last.values()].map(({ replyName, replyRole, msg }) => [replyName, replyRole, msg.content]),
  ).toEqual([
    [
      'Friday',
      'assistant',
      [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'tool_use', id: 'c1', name: 'shout', input: { text: 'hi' } },
      ],
    ],
    ['Friday', 'assistant', [{ type: 'tool_result', id: 'c1', name: 'shout', output: 'HI' }]],
    ['Friday', 'assistant', [{ type: 'text', text: 'Done.' }]],
  ]);
  expect(new Set([...last.values()].map(({ replyId }) => replyId)).size).toBe(1);
});

test('StudioUserInput asks by HTTP and hears the answer by socket.io, of its own question only', async () => {
  const studio = newStudio();
  const studioUrl = await studio.listen();
  const user = new UserAgent({ name: 'ann', console: false, input: new StudioUserInput({ studioUrl }) });
  const structuredModel = z.object({ age: z.number().int() });
  const asked = withRunConfig({ runId: 'r9', logging: 'silent' }, () =>
    user.call(undefined, { structuredModel }),
  );
  const { input } = await studio.until(() =>
    studio.calls.findLast(
      ({ procedure, input: one }) =>
        procedure === 'requestUserInput' && studio.questions.has(one.requestId as string),
    ),
  );
  expect(input).toMatchObject({
    runId: 'r9',
    agentName: 'ann',
    structuredInput: { properties: { age: { type: 'integer' } } },
  });
  studio.broadcast('another question', [{ type: 'text', text: 'No.' }], {});
  studio.forward(input.requestId as string, [{ type: 'text', text: 'Here.' }], { age: 36 });
  const answer = await asked;
  expect([answer.text, answer.metadata]).toEqual(['Here.', { age: 36 }]);
});

test('questions of one run share a socket, so that an answer does not end the other questions', async () => {
  const studio = newStudio();
  const studioUrl = await studio.listen();
  const input = new StudioUserInput({ studioUrl });
  const ask = (name: string) => new UserAgent({ name, console: false, input }).call();
  const [ann, bob] = withRunConfig(
    { runId: 'r9', logging: 'silent' },
    () => [ask('ann'), ask('bob')] as const,
  );
  const idOf = (name: string) =>
    studio.until(() =>
      studio.calls.findLast(
        ({ procedure, input: one }) =>
          procedure === 'requestUserInput' &&
          one.agentName === name &&
          studio.questions.has(one.requestId as string),
      ),
    );
  const [first, second] = [await idOf('ann'), await idOf('bob')];
  studio.forward(first.input.requestId as string, [{ type: 'text', text: 'One.' }], null);
  expect((await ann).text).toBe('One.');
  expect([studio.ended, [...studio.questions.keys()]]).toEqual([[], [second.input.requestId]]);
  studio.forward(second.input.requestId as string, [{ type: 'text', text: 'Two.' }], null);
  expect((await bob).text).toBe('Two.');
  await studio.until(() => (studio.ended.length > 0 ? true : undefined)); // nothing is asked: the socket closes
  expect(studio.ended).toEqual(['r9']);
});

test('a run is running in the Studio until its program disconnects, also between questions', async () => {
  const studio = newStudio();
  const studioUrl = await studio.listen();
  init({ runId: 'run-as', studioUrl, logging: 'silent' });
  const user = new UserAgent({ name: 'ann', console: false });
  for (const answer of ['One.', 'Two.']) {
    const asked = user.call();
    const { input } = await studio.until(() =>
      studio.calls.findLast(
        ({ procedure, input: one }) =>
          procedure === 'requestUserInput' && studio.questions.has(one.requestId as string),
      ),
    );
    studio.forward(input.requestId as string, [{ type: 'text', text: answer }], null);
    expect((await asked).text).toBe(answer);
  }
  expect([...studio.runs, ...studio.ended]).toEqual(['run-as']);
  await disconnectStudio();
  await studio.until(() => studio.ended[0]);
  expect(studio.ended).toEqual(['run-as']);
});

test('StudioUserInput survives a restart of the Studio, which gets the question again', async () => {
  const first = newStudio();
  const studioUrl = await first.listen();
  const user = new UserAgent({ name: 'ann', console: false, input: new StudioUserInput({ studioUrl }) });
  const asked = withRunConfig({ runId: 'r9', logging: 'silent' }, () => user.call());
  const isAsked = (studio: AgentScopeStudio) =>
    studio.until(() =>
      studio.calls.findLast(
        ({ procedure, input }) =>
          procedure === 'requestUserInput' && studio.questions.has(input.requestId as string),
      ),
    );
  const { input } = await isAsked(first);
  await first.close();
  const second = newStudio();
  await second.listen(Number(new URL(studioUrl).port));
  expect((await isAsked(second)).input.requestId).toBe(input.requestId);
  second.forward(input.requestId as string, [{ type: 'text', text: 'Still here.' }], null);
  expect((await asked).text).toBe('Still here.');
});

test('StudioUserInput is withdrawn by an interrupt, at once, also while the Studio is away', async () => {
  const user = new UserAgent({
    name: 'ann',
    console: false,
    input: new StudioUserInput({ studioUrl: 'http://127.0.0.1:9' }),
  });
  const asked = withRunConfig({ logging: 'silent' }, () => user.call());
  await user.interrupt();
  expect((await asked).metadata).toMatchObject({ _is_interrupted: true });
});
