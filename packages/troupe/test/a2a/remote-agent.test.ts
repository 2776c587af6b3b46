import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { A2AAgent, A2AError, dataBlock, dataIn, serveA2A } from '../../src/a2a/index.ts';
import { askUserTool } from '../../src/entries/ask-user.ts';
import {
  agentTool,
  findHistoryFaults,
  InMemorySession,
  Msg,
  MsgHub,
  ReActAgent,
  SequentialPipeline,
  Toolkit,
} from '../../src/index.ts';
import { FakeClock, ScriptedModel } from '../../src/testing/index.ts';
import { eventsOf, remoteAgent, Speaker, textDeltas } from './a2a-agents.ts';
import { artifact, FakeRemote, IDS, status, task, type Behaviour } from './fake-remote.ts';

/** Streams these results, and then ends. */
const streams =
  (...results: object[]): Behaviour =>
  (call) => {
    if (call.method !== 'SendStreamingMessage') return call.fail(-32001, 'no such task');
    for (const result of results) call.send(result);
    call.end();
  };

test('a streamed answer is printed piece by piece, each once, and returned whole', async () => {
  await using remote = await FakeRemote.listen((call) => {
    call.send(task('SUBMITTED'));
    call.send(status('WORKING', 'Let me see.'));
    call.send(artifact('Hello'));
    call.send(artifact(', ', true));
    call.send(artifact('world', true));
    call.send(status('COMPLETED'));
    call.end();
  });
  const { events, msg } = await eventsOf(remoteAgent(remote.url).stream('Hi'));
  expect(textDeltas(events)).toEqual(['Let me see.', 'Hello', ', ', 'world']);
  expect(msg).toMatchObject({
    name: 'remote',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hello, world' }],
    metadata: { a2a: { state: 'completed', ...IDS } },
    endReason: 'finished',
  });
  expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
  const [sent] = remote.calls;
  expect(sent?.params.message).toMatchObject({ role: 'ROLE_USER', parts: [{ text: 'Hi' }] });
  expect(sent?.headers).toMatchObject({ 'a2a-version': '1.0' });
});

test('a message without a task is an answer', async () => {
  const message = { messageId: 'm', contextId: 'c', role: 'ROLE_AGENT', parts: [{ text: 'Hi.' }] };
  await using remote = await FakeRemote.listen(streams({ message }));
  const answer = await remoteAgent(remote.url).call('Hello');
  expect(answer.text).toBe('Hi.');
  expect(answer.metadata).toEqual({ a2a: { state: 'completed', contextId: 'c' } });
  expect(answer.endReason).toBe('finished');
});

test('an agent that does not stream is asked until the task is settled', async () => {
  const states = ['WORKING', 'SUBMITTED', 'COMPLETED'];
  await using remote = await FakeRemote.listen(
    (call) => {
      if (call.method === 'SendMessage') return call.reply(task('SUBMITTED'));
      const [state = ''] = states.splice(0, 1);
      const { task: one } = task(state, {
        artifacts: [{ artifactId: 'a', parts: [{ text: `I am ${state}` }] }],
      }) as {
        task: object;
      };
      call.reply(one);
    },
    { streaming: false },
  );
  const { events, msg } = await eventsOf(remoteAgent(remote.url).stream('Hi'));
  expect(msg.text).toBe('I am COMPLETED');
  expect(textDeltas(events)).toEqual(['I am COMPLETED']);
  expect(remote.calls.map(({ method }) => method)).toEqual(['SendMessage', 'GetTask', 'GetTask', 'GetTask']);
  expect(remote.calls[0]?.params.configuration).toEqual({ returnImmediately: true, historyLength: 0 });
});

test('observed messages go along with the next agent call, once, with their speakers', async () => {
  await using remote = await FakeRemote.listen(streams(task('COMPLETED')));
  const agent = remoteAgent(remote.url);
  await agent.observe(Msg.assistant('It rains.', { name: 'Ann' }));
  await agent.observe([Msg.assistant('It pours.', { name: 'Bob' })]);
  expect((await agent.call('What now?')).text).toBe('Done.');
  await agent.call('And now?');
  expect(remote.calls.map(({ params }) => params.message.parts)).toEqual([
    [
      { text: 'Ann:' },
      { text: 'It rains.' },
      { text: 'Bob:' },
      { text: 'It pours.' },
      { text: 'user:' },
      { text: 'What now?' },
    ],
    [{ text: 'And now?' }],
  ]);
  expect(remote.calls[1]?.params.message).toMatchObject({ contextId: IDS.contextId });
  expect(remote.calls[1]?.params.message.taskId).toBeUndefined();
});

test('observed messages are kept while the agent can not be reached', async () => {
  const remote = await FakeRemote.listen(streams(task('COMPLETED')));
  const card = remote.card as never;
  await remote[Symbol.asyncDispose]();
  const agent = remoteAgent('http://unused.example', { card });
  await agent.observe('news');
  const error = await agent.call('Hi').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'A2AError', code: 'a2a_failed', failure: 'unreachable' });
  expect(String(error)).toMatch(/ECONNREFUSED/);
  expect(agent.stateDict()).toMatchObject({
    observed: [{ content: 'news' }],
    contextId: null,
    openTask: null,
  });
});

test('files and data go both ways', async () => {
  const parts = [
    { raw: 'aGk=', mediaType: 'image/png' },
    { url: 'https://files.example/a.pdf', filename: 'a.pdf' },
    { data: { degrees: 24 } },
    { url: 'file:///etc/passwd' },
    { url: 'javascript:alert(1)' },
  ];
  await using remote = await FakeRemote.listen(
    streams(task('WORKING'), artifact(parts), status('COMPLETED')),
  );
  const block = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'aGk=' } } as const;
  const local = { type: 'file', source: { type: 'url', url: '/etc/passwd' } } as const;
  const answer = await remoteAgent(remote.url).call(
    Msg.user([
      { type: 'text', text: 'See' },
      block,
      dataBlock({ city: 'Oslo' }),
      local,
      { type: 'thinking', thinking: 'hm' },
    ]),
  );
  expect(remote.calls[0]?.params.message.parts).toEqual([
    { text: 'See' },
    { raw: 'aGk=', mediaType: 'image/png' },
    { data: { city: 'Oslo' }, mediaType: 'application/json' },
    { text: '(Here was a file that only the sender can read.)' },
  ]);
  const note = {
    type: 'text',
    text: '(Here was an address that is neither http nor https; it was left out.)',
  };
  expect(answer.content).toEqual([
    block,
    {
      type: 'file',
      source: { type: 'url', url: 'https://files.example/a.pdf', mediaType: 'application/pdf' },
      filename: 'a.pdf',
    },
    { type: 'text', text: '{"degrees":24}', providerMeta: { a2a: { data: { degrees: 24 } } } },
    { ...note, providerMeta: { a2a: { artifact: 'a' } } },
    note,
  ]);
  expect(dataIn(answer)).toEqual([{ degrees: 24 }]);
});

test('a question ends the reply like a call that waits, and the next call goes on with the task', async () => {
  await using remote = await FakeRemote.listen((call) => {
    const isFirst = remote.calls.length === 1;
    call.send(isFirst ? task('SUBMITTED') : task('WORKING'));
    call.send(isFirst ? status('INPUT_REQUIRED', 'Which city?') : status('COMPLETED', 'Booked.'));
    call.end();
  });
  const agent = remoteAgent(remote.url);
  const { events, msg: question } = await eventsOf(agent.stream('Book a room'));
  const [pending] = question.pending ?? [];
  expect(question.text).toBe('Which city?');
  expect(question).toMatchObject({
    endReason: 'tool_suspended',
    metadata: { a2a: { state: 'input_required' } },
  });
  expect(pending).toMatchObject({
    agentPath: ['remote'],
    kind: 'question',
    call: { name: 'input_required', input: { question: 'Which city?' } },
    question: { message: 'Which city?' },
  });
  expect(events.filter(({ type }) => type === 'approval_needed')).toMatchObject([{ pending }]);

  const later = remoteAgent(remote.url); // for example in another program
  later.loadStateDict(agent.stateDict());
  await expect(later.call(undefined, { decisions: [{ id: 'x', verdict: 'deny' }] })).rejects.toMatchObject({
    code: 'decision_refused',
  });
  const allow = later.call(undefined, { decisions: [{ id: pending?.id ?? '', verdict: 'allow' }] });
  await expect(allow).rejects.toMatchObject({ code: 'decision_refused' });
  const refused = later.stream(undefined, { decisions: [{ id: 'x', verdict: 'deny' }] });
  await expect(refused.next()).rejects.toMatchObject({ code: 'decision_refused', isRefusal: true });
  const answer = await later.call(undefined, {
    decisions: [{ id: pending?.id ?? '', verdict: 'answer', answer: 'Oslo' }],
  });
  expect(answer.text).toBe('Booked.');
  expect(remote.calls[1]?.params.message).toMatchObject({ ...IDS, parts: [{ text: 'Oslo' }] });
  expect((await agent.call('Oslo')).text).toBe('Booked.'); // plain text works as well
  expect(remote.calls[2]?.params.message).toMatchObject({ ...IDS, parts: [{ text: 'Oslo' }] });
  expect(agent.stateDict()).toMatchObject({ openTask: null });
});

test('a pipeline routes decisions to a remote agent, and goes on with the agents after it', async () => {
  await using remote = await FakeRemote.listen((call) => {
    const isFirst = remote.calls.length === 1;
    call.send(isFirst ? task('SUBMITTED') : task('WORKING'));
    call.send(isFirst ? status('INPUT_REQUIRED', 'Which city?') : status('COMPLETED', 'Booked.'));
    call.end();
  });
  const first = new ReActAgent({ name: 'first', model: new ScriptedModel(['Book a room']), console: false });
  const last = new ReActAgent({ name: 'last', model: new ScriptedModel(['Thank you.']), console: false });
  const agent = remoteAgent(remote.url);
  const pipeline = new SequentialPipeline([first, agent, last]);
  const question = await pipeline.call(Msg.user('A room, please.'));
  expect(pipeline.pendingCalls).toEqual(question.pending);
  expect([agent.refusesInput(), agent.refusesInput('refuse')]).toEqual([false, true]);
  const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'result', output: 'Oslo' }) as const);
  expect(await pipeline.call(undefined, { decisions })).toMatchObject({ name: 'last', text: 'Thank you.' });
  expect(remote.calls[1]?.params.message).toMatchObject({ ...IDS, parts: [{ text: 'Oslo' }] });
  expect([agent.pendingCalls, pipeline.pendingCalls]).toEqual([[], []]);
});

test('a saved task that waits for nothing is refused', () => {
  const agent = remoteAgent('http://unused.example');
  const state = { ...agent.stateDict(), openTask: { taskId: 't1', calls: [] } };
  expect(() => agent.loadStateDict(state)).toThrow('openTask');
});

test('words are no answer to a task that waits if the caller says so', async () => {
  await using remote = await FakeRemote.listen((call) => {
    if (call.method === 'CancelTask') return;
    call.send(task('INPUT_REQUIRED'));
    call.end();
  });
  const agent = remoteAgent(remote.url);
  await agent.call('Hi');
  await expect(agent.call('Another thing', { onPending: 'refuse' })).rejects.toMatchObject({
    code: 'pending_calls',
  });
  expect(remote.calls).toHaveLength(1);
  await agent.call('Another thing', { onPending: 'close' });
  expect((await remote.called('CancelTask')).params).toEqual({ id: IDS.taskId });
  const sent = remote.calls.filter(({ method }) => method === 'SendStreamingMessage');
  expect(sent[1]?.params.message.taskId).toBeUndefined();
  await agent.call('The answer');
  expect(remote.calls.at(-1)?.params.message.taskId).toBe(IDS.taskId);
});

test('calls that the remote agent names are decided under ids of our own', async () => {
  const theirs = {
    id: 'p1',
    agentPath: ['bank'],
    kind: 'approval',
    call: { type: 'tool_use', id: 'c1', name: 'pay', input: { sum: 5 } },
  };
  const ask = status('INPUT_REQUIRED', 'May I?', [{ data: { pending: [theirs, { id: 5 }, 'nonsense'] } }]);
  await using remote = await FakeRemote.listen((call) => {
    call.send(task('WORKING'));
    call.send(remote.calls.length === 1 ? ask : status('COMPLETED', 'Paid.'));
    call.end();
  });
  const agent = remoteAgent(remote.url);
  const question = await agent.call('Pay');
  const [pending, ...rest] = question.pending ?? [];
  expect(rest).toEqual([]);
  expect(question.content).toEqual([{ type: 'text', text: 'May I?' }]);
  expect(pending).toEqual({
    ...theirs,
    id: expect.stringMatching(/^pending_/),
    agentPath: ['remote', 'bank'],
  });
  const decisions = [{ id: pending?.id ?? '', verdict: 'allow', scope: 'once' }] as const;
  expect((await agent.call(undefined, { decisions })).text).toBe('Paid.');
  expect(remote.calls[1]?.params.message.parts).toEqual([
    { data: { decisions: [{ id: 'p1', verdict: 'allow', scope: 'once' }] }, mediaType: 'application/json' },
  ]);
});

test('a question of a remote agent in a tool surfaces at the root, and the answer finds its way back', async () => {
  await using remote = await FakeRemote.listen((call) => {
    call.send(task('WORKING'));
    call.send(remote.calls.length === 1 ? status('AUTH_REQUIRED', 'Log in.') : status('COMPLETED', '42'));
    call.end();
  });
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(agentTool(remoteAgent(remote.url), { description: 'Knows.' }));
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'remote', input: { query: 'What?' } }] },
    'It is 42.',
  ]);
  const host = new ReActAgent({ name: 'host', sysPrompt: '', model, toolkit });
  host.setConsoleOutputEnabled(false);
  const waiting = await host.call('Ask');
  const [pending] = waiting.pending ?? [];
  expect(pending).toMatchObject({
    agentPath: ['host', 'remote'],
    kind: 'question',
    call: { name: 'auth_required' },
  });
  const decisions = [{ id: pending?.id ?? '', verdict: 'result', output: 'Done.' }] as const;
  expect((await host.call(undefined, { decisions })).text).toBe('It is 42.');
  expect(findHistoryFaults(await host.memory.getMemory())).toEqual([]);
});

test('a call with nothing to say asks how the open task stands', async () => {
  await using remote = await FakeRemote.listen((call) => {
    if (call.method === 'GetTask')
      return call.reply(
        (
          task('COMPLETED', { artifacts: [{ artifactId: 'a', parts: [{ text: 'Yes' }] }] }) as {
            task: object;
          }
        ).task,
      );
    call.send(task('AUTH_REQUIRED'));
    call.end();
  });
  const agent = remoteAgent(remote.url);
  await agent.call('Hi');
  expect((await agent.call()).text).toBe('Yes');
});

test('a call with nothing to say and no open task is a message with an empty text, and is answered', async () => {
  await using remote = await FakeRemote.listen(streams(task('WORKING'), status('COMPLETED', 'Hello?')));
  const agent = remoteAgent(remote.url);
  for (const input of [undefined, []]) expect((await agent.call(input)).text).toBe('Hello?');
  expect(remote.calls.map(({ params }) => params.message.parts)).toEqual([[{ text: '' }], [{ text: '' }]]);
  const speaker = new Speaker();
  await using own = serveA2A(speaker, { card: { description: 'Speaks.' } });
  speaker.finish();
  await remoteAgent(await own.listen()).call();
  expect(speaker.heard).toEqual([]); // called without input
});

test.each(['FAILED', 'REJECTED', 'CANCELED'])(
  'a task that ends as %s is an error that says so',
  async (state) => {
    await using remote = await FakeRemote.listen(
      streams(task('WORKING'), artifact('half'), status(state, 'No, Bearer sesame-1234\nis wrong')),
    );
    const agent = remoteAgent(remote.url, { headers: async () => ({ authorization: 'Bearer sesame-1234' }) });
    const error: unknown = await agent.call('Hi').catch((thrown: unknown) => thrown);
    expect(A2AError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ failure: state.toLowerCase(), taskId: IDS.taskId });
    expect((error as A2AError).reply?.getTextContent('|')).toBe('half|No, Bearer sesame-1234\nis wrong');
    expect((error as A2AError).message).toMatch(/: No, Bearer \[hidden\] is wrong$/);
    expect(remote.calls[0]?.headers.authorization).toBe('Bearer sesame-1234');
  },
);

test('a task that was refused leaves an agent that can be asked again', async () => {
  await using remote = await FakeRemote.listen((call) => {
    if (call.params.message.taskId) return call.fail(-32001, 'secret of the server');
    call.send(task('INPUT_REQUIRED'));
    call.end();
  });
  const agent = remoteAgent(remote.url);
  await agent.call('Hi');
  await expect(agent.call('Hello?')).rejects.toMatchObject({
    failure: 'refused',
    message: 'The remote agent refused the request (TASK_NOT_FOUND).',
  });
  expect((await agent.call('Again')).endReason).toBe('tool_suspended');
});

describe('structured output', () => {
  const structuredModel = z.object({ city: z.string(), at: z.iso.date().transform((day) => new Date(day)) });
  const data = (value: unknown) => ({
    artifactUpdate: {
      ...IDS,
      artifact: {
        artifactId: 'a',
        parts: [{ text: 'Here.' }, { data: value, mediaType: 'application/json' }],
      },
    },
  });

  test('is asked for by a data part with the schema, and is the data part of the answer', async () => {
    const trip = { city: 'Oslo', at: '2026-01-31', _is_interrupted: true };
    await using remote = await FakeRemote.listen(streams(task('WORKING'), data(trip), status('COMPLETED')));
    const answer = await remoteAgent(remote.url).call('Where?', { structuredModel });
    expect(answer.structured).toEqual({ city: 'Oslo', at: new Date('2026-01-31') });
    expect(answer).toMatchObject({ endReason: 'structured', metadata: { city: 'Oslo', at: '2026-01-31' } });
    expect(answer.metadata).not.toHaveProperty('_is_interrupted');
    expect(remote.calls[0]?.params.message.parts).toEqual([
      { text: 'Where?' },
      {
        data: {
          instruction: expect.stringContaining('responseSchema') as string,
          responseSchema: expect.objectContaining({ type: 'object', required: ['city', 'at'] }) as object,
        },
        mediaType: 'application/json',
      },
    ]);
  });

  test('may be a text that is JSON, and may be a bare value', async () => {
    await using remote = await FakeRemote.listen(
      streams(task('WORKING'), status('COMPLETED', '{"value":[1,2]}')),
    );
    const answer = await remoteAgent(remote.url).call('Numbers?', { structuredModel: z.array(z.number()) });
    expect([answer.structured, answer.metadata['value']]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  test.each([
    ['that does not fit', data({ city: 5 }), /does not fit the structuredModel\. .*city/],
    ['that is missing', artifact('Oslo.'), /It has no data part/],
  ])('%s is an error with the answer', async (_, update, message) => {
    await using remote = await FakeRemote.listen(streams(task('WORKING'), update, status('COMPLETED')));
    const error: unknown = await remoteAgent(remote.url)
      .call('Where?', { structuredModel })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ failure: 'bad_answer' });
    expect((error as A2AError).message).toMatch(message);
    expect((error as A2AError).reply?.text).toMatch(/Here|Oslo/);
  });

  test('of a served agent is a data part, also after a question and a restart', async () => {
    const generate = { name: 'generate_response', input: { city: 'Oslo', at: '2026-01-31' } };
    const ask = { name: 'ask_user', input: { question: 'When?' } };
    const session = new InMemorySession();
    const serve = (script: ConstructorParameters<typeof ScriptedModel>[0]) =>
      serveA2A(
        () =>
          new ReActAgent({
            name: 'clerk',
            model: new ScriptedModel(script),
            tools: [askUserTool()],
            console: false,
          }),
        { card: { name: 'clerk', description: 'Books.' }, session },
      );
    const before = serve([{ toolCalls: [ask] }]);
    const agent = remoteAgent(await before.listen());
    expect((await agent.call('Where?', { structuredModel })).pending).toMatchObject([
      { question: { message: 'When?' } },
    ]);
    await before.close();
    await using after = serve([
      { toolCalls: [{ ...generate, input: { city: 5 } }] },
      { toolCalls: [generate] },
    ]);
    const later = remoteAgent(await after.listen());
    later.loadStateDict(agent.stateDict());
    const answer = await later.call('In January.', { structuredModel });
    expect(answer.structured).toEqual({ city: 'Oslo', at: new Date('2026-01-31') });
  });
});

test('an interrupt settles at once and cancels the remote task', async () => {
  await using remote = await FakeRemote.listen((call) => {
    if (call.method === 'CancelTask') return; // never answered
    call.send(task('WORKING'));
    call.send(artifact('One moment'));
  });
  const agent = remoteAgent(remote.url);
  const stream = agent.stream('Hi');
  for (
    let step = await stream.next();
    !step.done && step.value.type !== 'text_delta';
    step = await stream.next()
  );
  expect(await agent.interrupt('Stop')).toBe(true);
  const { msg } = await eventsOf(stream);
  expect(msg.metadata).toMatchObject({ _is_interrupted: true });
  expect((await remote.called('CancelTask')).params).toEqual({ id: IDS.taskId });
  expect(agent.abandonedReplies).toBe(0);
  expect(agent.stateDict()).toMatchObject({
    observed: [{ content: 'Stop' }],
    contextId: IDS.contextId, // the same conversation
    openTask: null,
  });
});

test('a task that was made just before an interrupt is canceled as soon as it is known', async () => {
  await using remote = await FakeRemote.listen(
    (call) => call.method === 'CancelTask' && call.fail(-32002, 'too late'),
  );
  const agent = remoteAgent(remote.url);
  await agent.observe('news');
  const call = agent.call('Hi');
  const sent = await remote.called('SendStreamingMessage');
  await agent.interrupt();
  expect((await call).metadata).toMatchObject({ _is_interrupted: true });
  sent.send(task('WORKING'));
  expect((await remote.called('CancelTask')).params).toEqual({ id: IDS.taskId });
  // delivery is uncertain
  expect(agent.stateDict()).toMatchObject({ observed: [{ content: 'news' }, { content: 'Hi' }] });
});

test('an aborted call rejects with the reason, and cancels as well', async () => {
  await using remote = await FakeRemote.listen(
    (call) => call.method !== 'CancelTask' && call.send(task('WORKING')),
  );
  const stop = new AbortController();
  const call = remoteAgent(remote.url).call('Hi', { signal: stop.signal });
  await remote.called('SendStreamingMessage');
  stop.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  await remote.called('CancelTask');
});

test('agents three deep stop with their parent, with whole histories, though the remote one hangs', async () => {
  await using remote = await FakeRemote.listen(
    (call) => call.method !== 'CancelTask' && call.send(task('WORKING')),
  );
  const asks = (name: string) =>
    new ScriptedModel([{ toolCalls: [{ name, input: { query: 'Well?' } }] }, 'never']);
  const inner = new Toolkit();
  inner.registerToolFunction(agentTool(remoteAgent(remote.url), { description: 'Far away.' }));
  const middle = new ReActAgent({ name: 'middle', sysPrompt: '', model: asks('remote'), toolkit: inner });
  const outer = new Toolkit();
  outer.registerToolFunction(agentTool(middle, { description: 'Asks.' }));
  const root = new ReActAgent({ name: 'root', sysPrompt: '', model: asks('middle'), toolkit: outer });
  for (const agent of [middle, root]) agent.setConsoleOutputEnabled(false);
  const call = root.call('Go');
  await remote.called('SendStreamingMessage');
  await root.interrupt();
  expect((await call).endReason).toBe('interrupted');
  await remote.called('CancelTask');
  for (const agent of [middle, root]) {
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
    expect(agent.abandonedReplies).toBe(0);
  }
  expect((await root.memory.getMemory()).at(-2)?.getContentBlocks('tool_result')).toMatchObject([
    { status: 'interrupted' },
  ]);
});

test('in a hub, a remote agent hears what others say', async () => {
  await using remote = await FakeRemote.listen(streams(task('WORKING'), status('COMPLETED', 'Noted.')));
  const local = new ReActAgent({ name: 'local', sysPrompt: '', model: new ScriptedModel(['I am here.']) });
  local.setConsoleOutputEnabled(false);
  const agent = remoteAgent(remote.url);
  await using _ = await MsgHub.open({ participants: [local, agent] });
  await local.call('Where are you?');
  await agent.call();
  expect(remote.calls[0]?.params.message.parts).toEqual([{ text: 'I am here.' }]);
});

test('an agent without a name or a card is refused', () => {
  expect(() => new A2AAgent({ card: { description: 'nobody' } })).toThrow(/needs a name/);
  expect(() => new A2AAgent({} as never)).toThrow(/needs a card/);
  expect(() => new A2AAgent({ card: { name: 'x' }, timeoutMs: 0 })).toThrow(/timeoutMs/);
  expect(new A2AAgent({ card: { name: 'x' } }).name).toBe('x');
});

test('an agent that never answers is given up in time', async () => {
  await using remote = await FakeRemote.listen(
    (call) => call.method !== 'CancelTask' && call.send(task('WORKING')),
  );
  const agent = remoteAgent(remote.url, { card: remote.card as never, timeoutMs: 60_000 });
  const clock = new FakeClock();
  using _ = clock.install();
  const call = agent.call('Hi');
  call.catch(() => {});
  await remote.called('SendStreamingMessage');
  await clock.advance(59_999);
  expect(agent.isRunning).toBe(true);
  await clock.advance(1);
  await expect(call).rejects.toMatchObject({
    failure: 'timed_out',
    message: 'The remote agent remote gave no answer within 60000 ms.',
  });
  expect(clock.pendingTimers).toBeLessThanOrEqual(1); // at most the timer of the cancellation
});
