import { ConsoleView, findHistoryFaults, Msg, type ChatModelBase, type ToolStatus } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import {
  abortAtEvery,
  failAtEvery,
  FakeClock,
  interruptAtEvery,
  leaveAtEvery,
  ScriptedModel,
  type Scenario,
} from 'troupe/testing';
import { afterEach, expect, test } from 'vitest';

import { ToolAgent } from './tool-agent.ts';
import { calculate, currentTime, fileTools, type Tool } from './tools.ts';

const agents: ToolAgent[] = [];

/** A silent agent; its memory is checked after every test. */
function agentWith(model: ChatModelBase, tools: readonly Tool[] = [calculate], maxIters?: number): ToolAgent {
  const systemPrompt = 'You are a test.';
  const agent = new ToolAgent({
    name: 'assistant',
    model,
    tools,
    systemPrompt,
    ...(maxIters && { maxIters }),
  });
  agent.setConsoleOutputEnabled(false);
  agents.push(agent);
  return agent;
}

afterEach(() => {
  for (const agent of agents.splice(0)) {
    const faults = findHistoryFaults(agent.memory);
    if (agent.memory.length === 0) faults.push('it is empty');
    if (agent.isRunning) faults.push('the agent still runs');
    if (faults.length > 0) throw new Error(`The memory is not in order: ${faults.join('; ')}`);
  }
});

function results(agent: ToolAgent): { status: ToolStatus; output: unknown }[] {
  return agent.memory
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .map(({ status, output }) => ({ status, output }));
}

/** A tool that never returns, and a promise of its being called. */
function hangingTool(): { tool: Tool; called: Promise<void>; release: (output: string) => void } {
  const { promise: called, resolve: enter } = withResolvers<void>();
  const { promise: output, resolve: release } = withResolvers<string>();
  const run = (): Promise<string> => {
    enter();
    return output; // it does not care about the signal
  };
  return {
    tool: { name: 'hang', description: 'Hangs.', parameters: { type: 'object' }, run },
    called,
    release,
  };
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

test('calculates with the offline model', async () => {
  const agent = agentWith(new OfflineModel(), [calculate, currentTime]);
  expect((await agent.call('What is 12 * (3 + 4)?')).text).toContain('calculate says: 84');
  expect(agent.memory.map((msg) => msg.role)).toEqual(['user', 'assistant', 'system', 'assistant']);
  expect((await agent.call('What time is it?')).text).toContain('current_time says: ');
});

test('lists and reads files with the offline model', async () => {
  const agent = agentWith(new OfflineModel(), fileTools(import.meta.dirname));
  expect((await agent.call('List the files')).text).toContain('tool-agent.ts');
  expect((await agent.call('Read main.ts')).text).toContain('npm start');
  expect((await agent.call('Read ../package.json')).text).toContain(
    "There is no '../package.json' in this folder.",
  );
});

test('prints what the model says while it says it', async () => {
  const agent = agentWith(new ScriptedModel([{ text: 'Hello, world', chunkSize: 7 }]));
  const written: string[] = [];
  agent.setConsoleOutputEnabled(true, new ConsoleView((text) => written.push(text)));
  await agent.call('hi');
  expect(written).toEqual(['assistant: Hello, ', 'world', '\n']);
});

test('a stream shows the tool at work and ends with the answer', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'calculate', input: { expression: '6*7' } }] },
    'It is 42.',
  ]);
  const types: string[] = [];
  for await (const event of agentWith(model).stream('6 times 7?')) types.push(event.type);
  const steps = types.filter((type) => /^tool_(start|result)$|text_delta|run_end/.test(type));
  expect(steps).toEqual(['tool_start', 'tool_result', 'text_delta', 'run_end']);
});

test('an interrupt does not wait for a tool that hangs, and the next call works', async () => {
  const { tool, called, release } = hangingTool();
  const model = new ScriptedModel([
    {
      text: 'One moment.',
      toolCalls: [
        { name: 'hang', input: {} },
        { name: 'calculate', input: { expression: '1+1' } },
      ],
    },
    'I am back.',
  ]);
  const agent = agentWith(model, [tool, calculate]);
  const call = agent.call('go');
  await called;
  await new Promise((resolve) => setImmediate(resolve)); // the other tool is done by now
  expect(await agent.interrupt('never mind')).toBe(true);

  const answer = await call;
  expect(answer.metadata).toEqual({ _is_interrupted: true });
  expect(agent.memory.map((msg) => [msg.role, msg.text])).toEqual([
    ['user', 'go'],
    ['assistant', 'One moment.'],
    ['system', ''],
    ['system', ''],
    ['user', 'never mind'],
    ['assistant', answer.text],
  ]);
  expect(results(agent)).toEqual([
    { status: 'interrupted', output: 'The call was interrupted before it returned a result.' },
    { status: 'ok', output: '2' },
  ]);

  const before = agent.memory.length;
  release('too late');
  await new Promise((resolve) => setImmediate(resolve));
  expect(agent.memory).toHaveLength(before);
  expect((await agent.call('again')).text).toBe('I am back.');
  expect(findHistoryFaults(model.requests[1]!.messages)).toEqual([]);
  model.assertUsedUp();
});

test('an interrupt while the model speaks keeps the text and whole calls, and drops a half-made one', async () => {
  const model = new ScriptedModel([
    {
      text: 'Let me',
      toolCalls: [{ name: 'calculate', input: { expression: '1+1' }, id: 'whole' }],
      deltas: [
        { type: 'tool_use_start', index: 1, id: 'half', name: 'calculate' },
        { type: 'tool_input', index: 1, json: '{"expr' },
      ],
      stall: true,
      stubborn: true,
    },
    'Fine.',
  ]);
  const agent = agentWith(model);
  for await (const event of agent.stream('go')) {
    if (event.type === 'tool_input_delta' && event.json === '{"expr') break; // leaving interrupts
  }
  expect(agent.memory.map((msg) => msg.text)).toEqual([
    'go',
    'Let me',
    '',
    expect.stringContaining('interrupted'),
  ]);
  expect(agent.memory.flatMap((msg) => msg.getContentBlocks('tool_use')).map((call) => call.id)).toEqual([
    'whole',
  ]);
  expect(results(agent)).toMatchObject([{ status: 'interrupted' }]);
  expect((await agent.call('again')).text).toBe('Fine.');
});

test('a reply that was left behind changes nothing when it goes on', async () => {
  const clock = new FakeClock();
  const installed = clock.install();
  try {
    const { promise: released, resolve: release } = withResolvers<void>();
    const agent = agentWith(new ScriptedModel(['Never asked for.']));
    agent.registerInstanceHook('preReply', 'slow', () => released);
    const call = agent.call('go');
    void agent.interrupt();
    await clock.advance(1_000);
    expect((await call).metadata).toEqual({ _is_interrupted: true });
    const before = [...agent.memory];
    release();
    await clock.advance(0);
    expect(agent.memory).toEqual(before);
    expect(agent.abandonedReplies).toBe(0);
  } finally {
    installed[Symbol.dispose]();
  }
});

test('an interrupt after the answer comes too late', async () => {
  const agent = agentWith(new ScriptedModel(['Hello.']));
  let wasStopped: boolean | undefined;
  agent.registerInstanceHook('postReply', 'late', async () => {
    wasStopped = await agent.interrupt();
  });
  expect((await agent.call('hi')).text).toBe('Hello.');
  expect(wasStopped).toBe(false);
  expect(agent.memory.map((msg) => msg.text)).toEqual(['hi', 'Hello.']);
});

test('a model that fails in the middle rejects the call, keeps the text, and does not end the agent', async () => {
  const model = new ScriptedModel([
    { text: 'So far', error: new Error('line is dead') },
    { error: new Error('still dead') },
    'Hello.',
  ]);
  const agent = agentWith(model);
  await expect(agent.call('a')).rejects.toThrow('line is dead');
  await expect(agent.call('b')).rejects.toThrow('still dead');
  expect((await agent.call('c')).text).toBe('Hello.');
  expect(agent.memory.map((msg) => msg.text)).toEqual(['a', 'So far', 'b', 'c', 'Hello.']);
});

test('whatever a tool does is a result', async () => {
  const model = new ScriptedModel([
    {
      toolCalls: [
        { name: 'calculate', input: { expression: '2+2' }, id: 'same' },
        { name: 'calculate', input: { expression: '1/0' }, id: 'same' },
        { name: 'calculate', input: '{"expression":' },
        { name: 'unknown', input: {} },
      ],
    },
    'Done.',
  ]);
  const agent = agentWith(model);
  await agent.call('go');
  expect(results(agent)).toEqual([
    { status: 'ok', output: '4' },
    { status: 'error', output: 'Nothing can be divided by zero.' },
    { status: 'error', output: 'The arguments are not valid JSON.' },
    { status: 'unavailable', output: 'There is no tool named unknown.' },
  ]);
});

test('a call id that the model used before gets a new one', async () => {
  const call = { toolCalls: [{ name: 'calculate', input: { expression: '1' }, id: 'call_0' }] };
  const agent = agentWith(new ScriptedModel([call, call, 'Done.']));
  await agent.call('go');
  const ids = agent.memory.flatMap((msg) => msg.getContentBlocks('tool_result')).map((result) => result.id);
  expect(ids).toEqual(['call_0', expect.not.stringMatching(/^call_0$/)]);
});

test('what the user says meanwhile is read before the next thought', async () => {
  const { tool, called, release } = hangingTool();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'hang', input: {} }] }, 'As you wish.']);
  const agent = agentWith(model, [tool]);
  const call = agent.call('go');
  await called;
  expect(agent.steer('but hurry')).toBe(true);
  release('done');
  await call;
  expect(model.requests[1]!.messages.at(-1)!.text).toBe('but hurry');
  expect(agent.memory.at(-1)!.text).toBe('As you wish.');
});

test('stops after so many steps', async () => {
  const model = new ScriptedModel([
    { when: () => true, toolCalls: [{ name: 'calculate', input: { expression: '1' } }] },
  ]);
  const agent = agentWith(model, [calculate], 3);
  expect((await agent.call('go')).text).toBe('I have no answer after 3 steps, so I stopped.');
  expect([model.requests.length, results(agent).length]).toEqual([3, 3]);
});

test('remembers what others say, and takes its memory along', async () => {
  const agent = agentWith(new ScriptedModel(['Hello Ann.']));
  await agent.observe(Msg.assistant('I am Ann.', { name: 'ann' }));
  await agent.call('hi');
  const copy = agentWith(new ScriptedModel([]));
  copy.loadStateDict(agent.stateDict());
  expect(copy.memory).toEqual(agent.memory);
  expect(copy.memory.map((msg) => msg.name)).toEqual(['ann', 'user', 'assistant']);
});

/** Two thoughts with calls of all kinds, then an answer; and after that a call that has to work. */
function stressed(): Scenario {
  const calls = [
    { name: 'calculate', input: { expression: '2+2' }, id: 'same' },
    { name: 'calculate', input: { expression: '1/0' }, id: 'same' },
    { name: 'unknown', input: {} },
  ];
  const model = new ScriptedModel([
    { when: ({ messages }) => messages.at(-1)?.text === 'again', text: 'Fine.' },
    { thinking: 'hm', text: 'One moment', toolCalls: calls, chunkSize: 4 },
    { toolCalls: calls },
    { text: 'Done.', chunkSize: 2 },
  ]);
  const agent = agentWith(model);
  return {
    agent,
    input: 'go',
    async check() {
      expect(findHistoryFaults(agent.memory)).toEqual([]);
      expect(agent.isRunning).toBe(false);
      expect((await agent.call('again')).text).toBe('Fine.');
      expect(agent.memory.slice(-2).map((msg) => msg.text)).toEqual(['again', 'Fine.']);
    },
  };
}

test.each([
  ['an interrupt', interruptAtEvery, 100],
  ['an abort', abortAtEvery, 100],
  ['a consumer that leaves', leaveAtEvery, 30],
  ['a fault in a step', failAtEvery, 18],
] as const)('%s at any point leaves a valid memory and a free agent', async (_, driver, least) => {
  expect((await driver(stressed)).points).toBeGreaterThanOrEqual(least);
});
