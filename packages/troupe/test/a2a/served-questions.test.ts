// Questions of a served agent: the task waits for input with the question as text and data, and a message answers it.

import { expect, test } from 'vitest';

import { serveA2A, type A2AServer } from '../../src/a2a/index.ts';
import { askUserTool } from '../../src/entries/ask-user.ts';
import {
  findHistoryFaults,
  InMemorySession,
  ReActAgent,
  tool,
  ToolSuspension,
  type JsonObject,
} from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { remoteAgent } from './a2a-agents.ts';
import { FakeRemote, IDS, task as remoteTask } from './fake-remote.ts';
import { rpc, says } from './rpc.ts';

const TRIP = {
  type: 'object',
  properties: { city: { type: 'string' }, nights: { type: 'integer', default: 2 } },
  required: ['city'],
};
const call = (input: JsonObject, id = 'q1') => ({ name: 'ask_user', id, input });

/** Sends the person to a page. */
const SIGN = tool({
  name: 'sign',
  execute: () => {
    throw ToolSuspension.ask({ message: 'Sign here.', url: 'https://sign.example/' });
  },
});

/** A served agent that makes these tool calls and then says "Done.", and the agent. */
function asking(...toolCalls: { name: string; id: string; input: JsonObject }[]): {
  server: A2AServer;
  agent: ReActAgent;
} {
  const agent = new ReActAgent({
    name: 'clerk',
    model: new ScriptedModel([{ toolCalls }, 'Done.']),
    tools: [askUserTool(), tool({ name: 'pay', sideEffect: true, execute: () => 'paid' }), SIGN],
    permissionPolicy: { decide: ({ call: one }) => ({ behavior: one.name === 'pay' ? 'ask' : 'allow' }) },
    parallelToolCalls: true,
    console: false,
  });
  return { server: serveA2A(agent, { card: { description: 'Books.' } }), agent };
}

const send = async (server: A2AServer, params: object) =>
  (await rpc(server, 'SendMessage', params)).body.result.task;
const INPUT_REQUIRED = 'TASK_STATE_INPUT_REQUIRED';

async function resultsOf(agent: ReActAgent): Promise<unknown[]> {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  return history.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ output }) => output);
}

test('a form is text and a data part with the schema, and a data part answers it', async () => {
  const { server, agent } = asking(call({ question: 'Where?', schema: TRIP }));
  await using _ = server;
  const task = await send(server, says('Book.'));
  expect(task.status.state).toBe(INPUT_REQUIRED);
  const [text, data] = task.status.message.parts;
  expect(text).toEqual({ text: 'Where?\n(fields: city, nights)' });
  expect(data.data.pending).toMatchObject([
    { kind: 'question', question: { message: 'Where?', schema: TRIP } },
  ]);

  const wrong = await send(server, says('', { taskId: task.id, parts: [{ data: { nights: 3 } }] }));
  expect(wrong.status.state).toBe(INPUT_REQUIRED);
  expect(wrong.status.message.parts[0].text).toMatch(/does not fit: .*"city".*\nWhere\?/s);
  const done = await send(
    server,
    says('', { taskId: task.id, parts: [{ text: 'Here:' }, { data: { city: 'Rome' } }] }),
  );
  expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  expect(await resultsOf(agent)).toEqual([
    'The user answered:\n- city: Rome\n- nights: 2\n{"city":"Rome","nights":2}',
  ]);
});

test.each<[string, JsonObject, string, string]>([
  ['words', { question: 'Where?' }, 'To Rome.', 'The user answered: To Rome.'],
  [
    'the number of a choice',
    { question: 'Which?', choices: ['red', 'blue'] },
    '2',
    'The user answered: blue\n{"answer":"blue"}',
  ],
  [
    'a choice in other letters',
    { question: 'Which?', choices: ['red', 'blue'] },
    ' BLUE ',
    'The user answered: blue\n{"answer":"blue"}',
  ],
  [
    'several choices',
    { question: 'Which?', choices: ['red', 'blue'], multiple: true },
    '2, red',
    'The user answered: red, blue\n{"answer":["red","blue"]}',
  ],
  [
    'JSON for a form',
    { question: 'Where?', schema: TRIP },
    '{"city":"Rome","nights":1}',
    'The user answered:\n- city: Rome\n- nights: 1\n{"city":"Rome","nights":1}',
  ],
  [
    'the value of the only field',
    { question: 'How many?', schema: { properties: { nights: { type: 'integer' } } } },
    '3',
    'The user answered:\n- nights: 3\n{"nights":3}',
  ],
])('%s in a text part answers a question', async (_, input, text, output) => {
  const { server, agent } = asking(call(input));
  await using _server = server;
  const { id: taskId } = await send(server, says('Go.'));
  expect((await send(server, says(text, { taskId }))).status.state).toBe('TASK_STATE_COMPLETED');
  expect(await resultsOf(agent)).toEqual([output]);
});

test('words that fit no choice leave the question open, and a decision declines it', async () => {
  const { server, agent } = asking(call({ question: 'Which?', choices: ['red', 'blue'] }));
  await using _ = server;
  const { id: taskId } = await send(server, says('Go.'));
  const wrong = await send(server, says('green', { taskId }));
  expect([wrong.status.state, wrong.status.message.parts[0].text]).toEqual([
    INPUT_REQUIRED,
    expect.stringMatching(
      /must be one of the choices: \["red","blue"\]\.\nWhich\?\n1\. red\n2\. blue$/,
    ) as string,
  ]);
  const { id } = wrong.status.message.parts[1].data.pending[0];
  const decisions = [{ id, verdict: 'deny', reason: 'no idea' }];
  await send(server, says('', { taskId, parts: [{ data: { decisions } }] }));
  expect(await resultsOf(agent)).toEqual(['The user declined to answer: no idea']);
});

test('words answer the question beside an approval, and approve nothing', async () => {
  const { server, agent } = asking({ name: 'pay', id: 'p1', input: {} }, call({ question: 'Why?' }));
  await using _ = server;
  const { id: taskId } = await send(server, says('Go.'));
  const waiting = await send(server, says('yes', { taskId }));
  expect(waiting.status.state).toBe(INPUT_REQUIRED);
  const { pending } = waiting.status.message.parts.at(-1).data;
  expect(pending).toMatchObject([{ kind: 'approval', call: { name: 'pay' } }]);
  const decisions = [{ id: pending[0].id, verdict: 'allow' }];
  await send(server, says('', { taskId, parts: [{ data: { decisions } }] }));
  expect(await resultsOf(agent)).toEqual(['paid', 'The user answered: yes']);
});

test('words do not say that a person has been to a page, a decision does', async () => {
  const { server, agent } = asking({ name: 'sign', id: 's1', input: {} });
  await using _ = server;
  const { id: taskId } = await send(server, says('Go.'));
  for (const words of ['No, never!', ' ']) {
    const waiting = await send(server, says(words, { taskId }));
    expect([waiting.status.state, waiting.status.message.parts[0].text]).toEqual([
      INPUT_REQUIRED,
      expect.stringMatching(
        /^Calls wait for a decision\. Send a data part: .*\nSign here\.\nhttps:\/\/sign\.example\/$/,
      ) as string,
    ]);
  }
  const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'answer' }));
  await send(server, says('', { taskId, parts: [{ data: { decisions } }] }));
  expect(await resultsOf(agent)).toEqual(['The user has been to the page, and says that it is done.']);
});

test('of two questions words answer none, decisions both', async () => {
  const { server, agent } = asking(call({ question: 'One?' }), call({ question: 'Two?' }, 'q2'));
  await using _ = server;
  const { id: taskId } = await send(server, says('Go.'));
  const waiting = await send(server, says('yes', { taskId }));
  expect(waiting.status.state).toBe(INPUT_REQUIRED);
  const { pending } = waiting.status.message.parts.at(-1).data;
  const decisions = pending.map(({ id, question }: any) => ({
    id,
    verdict: 'answer',
    answer: `to ${question.message}`,
  }));
  await send(server, says('', { taskId, parts: [{ data: { decisions } }] }));
  expect(await resultsOf(agent)).toEqual(['The user answered: to One?', 'The user answered: to Two?']);
});

test('a remote agent has the question with its schema, and checks the answer before it is sent', async () => {
  const { server, agent } = asking(call({ question: 'Where?', schema: TRIP }));
  await using _ = server;
  const remote = remoteAgent(await server.listen());
  const question = await remote.call('Book.');
  expect(question.pending).toMatchObject([
    { agentPath: ['remote', 'clerk'], kind: 'question', question: { message: 'Where?', schema: TRIP } },
  ]);
  const answer = (given: JsonObject) =>
    remote.call(undefined, {
      decisions: remote.pendingCalls.map(({ id }) => ({ id, verdict: 'answer', answer: given }) as const),
    });
  await expect(answer({ city: 5 })).rejects.toMatchObject({ code: 'decision_refused' });
  expect((await answer({ city: 'Rome' })).text).toBe('Done.');
  expect(await resultsOf(agent)).toHaveLength(1);
});

test('a question of a stranger that is too large or no question is a question in words', async () => {
  const huge = { message: 'x'.repeat(5_000), choices: Array.from({ length: 5_000 }, String) };
  for (const question of [
    huge,
    { message: 'Hm?', schema: { properties: { a: { type: 'object' } } } },
    'Hm?',
  ]) {
    const pending = [
      { id: 'p', agentPath: [], kind: 'question', call: { ...call({}), type: 'tool_use' }, question },
    ];
    const parts = [{ text: 'In words?' }, { data: { pending } }];
    const message = { messageId: 'm', role: 'ROLE_AGENT', ...IDS, parts };
    await using stranger = await FakeRemote.listen((one) => {
      one.send(remoteTask('WORKING'));
      one.send({ statusUpdate: { ...IDS, status: { state: INPUT_REQUIRED, message } } });
      one.end();
    });
    const { pending: asked } = await remoteAgent(stranger.url).call('Hi');
    expect(asked).toMatchObject([{ kind: 'question', call: { name: 'input_required' } }]);
    expect(asked?.[0]?.question?.message).toMatch(/^In words\?/);
    expect(asked?.[0]?.question?.message.length).toBeLessThanOrEqual(4_000);
  }
});

test('the wanted structured output is remembered over a question and a restart; a subscription ends with the server', async () => {
  const session = new InMemorySession();
  const serve = (script: ConstructorParameters<typeof ScriptedModel>[0]) =>
    serveA2A(
      () =>
        new ReActAgent({
          name: 'c',
          model: new ScriptedModel(script),
          tools: [askUserTool()],
          console: false,
        }),
      { card: { name: 'clerk', description: 'Books.' }, session },
    );
  const before = serve([{ toolCalls: [call({ question: 'Where?' })] }]);
  const parts = [
    { text: 'Book.' },
    { data: { responseSchema: { ...TRIP, properties: { city: { type: 'string', pattern: '(a+)+$' } } } } },
  ];
  const { id: taskId } = await send(before, says('', { parts }));
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: taskId } });
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };
  const subscription = await before.fetch(
    new Request('http://localhost/', { method: 'POST', headers, body }),
  );
  await before.close();
  expect((await subscription.text()).match(/^data: /gm)).toHaveLength(1);

  const wrong = { name: 'generate_response', id: 'g1', input: { city: 5 } };
  const right = { name: 'generate_response', id: 'g2', input: { city: `${'a'.repeat(1_000)}!` } };
  await using after = serve([{ toolCalls: [wrong] }, { toolCalls: [right] }]);
  const done = await send(after, says('To a.', { taskId }));
  expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  expect(done.artifacts[0].parts).toEqual([{ data: right.input, mediaType: 'application/json' }]);
});
