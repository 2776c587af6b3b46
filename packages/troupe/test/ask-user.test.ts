// Questions of models and tools to a person: pending, answered by decisions, checked, at any depth and after a restart.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { askUserTool } from '../src/entries/ask-user.ts';
import {
  agentTool,
  findHistoryFaults,
  PermissionRules,
  ReActAgent,
  SequentialPipeline,
  tool,
  ToolSuspension,
  type AgentEvent,
  type JsonObject,
  type PendingCall,
  type ToolResultBlock,
} from '../src/index.ts';
import {
  abortAtEvery,
  interruptAtEvery,
  leaveAtEvery,
  ScriptedModel,
  type Scenario,
  type ScriptedTurn,
} from '../src/testing/index.ts';
import { askingChain, delegates, sessionIn } from './asking-sub-agents.ts';

type Script = readonly (string | ScriptedTurn)[];
type Options = Partial<ConstructorParameters<typeof ReActAgent>[0]>;

const call = (input: JsonObject, id = 'q1') => ({ name: 'ask_user', id, input });
const asking = (input: JsonObject, id = 'q1'): ScriptedTurn => ({ toolCalls: [call(input, id)] });

function friday(script: Script, options: Options = {}): ReActAgent {
  const model = new ScriptedModel(script);
  return new ReActAgent({ name: 'Friday', model, tools: [askUserTool()], console: false, ...options });
}

function only({ pendingCalls }: { readonly pendingCalls: readonly PendingCall[] }): PendingCall {
  expect(pendingCalls).toHaveLength(1);
  return pendingCalls[0]!;
}

const answer = (agent: ReActAgent, given: string | readonly string[] | JsonObject) =>
  agent.call(undefined, { decisions: [{ id: only(agent).id, verdict: 'answer', answer: given }] });

/** Tool results in the memory of an agent, whose history has no faults. */
async function resultsOf(agent: ReActAgent): Promise<readonly ToolResultBlock[]> {
  const history = await agent.memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  return history.flatMap((msg) => msg.getContentBlocks('tool_result'));
}

const outputs = async (agent: ReActAgent) => (await resultsOf(agent)).map(({ output }) => output);

const TRIP = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 2, description: 'Where to' },
    nights: { type: 'integer', minimum: 1, maximum: 30, default: 2 },
    seat: { type: 'string', enum: ['aisle', 'window'] },
    extras: { type: 'array', items: { type: 'string', enum: ['meal', 'wifi'] }, default: [] },
    insured: { type: 'boolean', default: false },
  },
  required: ['city', 'nights'],
};

describe('a question of a model', () => {
  test('is pending with its text, and its answer is the tool result', async () => {
    const agent = friday([asking({ question: 'Which city?' }), 'Booked.']);
    const question = await agent.call('Book a trip.');
    expect([question.text, question.endReason]).toEqual(['Which city?', 'tool_suspended']);
    const pending = only(agent);
    expect(pending).toEqual({
      id: pending.id,
      agentPath: ['Friday'],
      kind: 'question',
      call: { type: 'tool_use', id: 'q1', name: 'ask_user', input: { question: 'Which city?' } },
      question: { message: 'Which city?' },
    });
    expect((await answer(agent, 'Berlin')).text).toBe('Booked.');
    expect(await resultsOf(agent)).toEqual([
      {
        type: 'tool_result',
        id: 'q1',
        name: 'ask_user',
        output: 'The user answered: Berlin',
        status: 'ok',
        metadata: { answer: 'Berlin' },
      },
    ]);
  });

  test('with choices takes one of them, and a wrong answer leaves the question open', async () => {
    const agent = friday([asking({ question: 'Which?', choices: ['red', 'blue'] }), 'Painted.']);
    expect((await agent.call('Paint.')).text).toBe('Which?\n1. red\n2. blue');
    for (const wrong of ['green', ['red'], { colour: 'red' }, '']) {
      const problem = /has an answer that does not fit: it must be one of the choices: \["red","blue"\]\./;
      await expect(answer(agent, wrong)).rejects.toThrow(problem);
    }
    expect((await answer(agent, 'blue')).text).toBe('Painted.');
    expect(await outputs(agent)).toEqual(['The user answered: blue\n{"answer":"blue"}']);
  });

  test('with choices takes several if it says so, in their order and once each', async () => {
    const choices = ['red', 'blue', 'green', '1', 'undefined'];
    const agent = friday([asking({ question: 'Which?', choices, multiple: true }), 'Painted.']);
    await agent.call('Paint.');
    const wrong: any[] = [['red', 'pink'], [1], [['red']], 1, undefined];
    for (const given of wrong) await expect(answer(agent, given)).rejects.toThrow('out of the choices');
    await answer(agent, ['green', 'red', 'green']);
    expect(await outputs(agent)).toEqual(['The user answered: red, green\n{"answer":["red","green"]}']);
  });

  test('with a form takes its fields, checks them, and fills in defaults', async () => {
    const agent = friday([asking({ question: 'Where?', schema: TRIP }), 'Booked.']);
    expect((await agent.call('Book.')).text).toBe('Where?\n(fields: city, nights, seat, extras, insured)');
    expect(only(agent).question).toEqual({ message: 'Where?', schema: TRIP });
    const refused = async (given: JsonObject, problem: string) =>
      expect(answer(agent, given)).rejects.toThrow(problem);
    await refused({}, 'does not have required property "city"');
    await refused({ city: 'Rome', nights: 99 }, 'nights: 99 is greater than');
    await refused({ city: 'Rome', seat: 'roof' }, 'seat');
    await refused({ city: 'Rome', extras: ['spa'] }, 'extras');
    await refused({ city: 'Rome', colour: 'red' }, 'there is no field colour');
    await expect(answer(agent, 'Rome')).rejects.toThrow('it must be an object, not a string');
    await answer(agent, { city: 'Rome', seat: 'aisle', extras: ['meal'] });
    const filled = { city: 'Rome', nights: 2, seat: 'aisle', extras: ['meal'], insured: false };
    expect(await resultsOf(agent)).toMatchObject([
      {
        output: `The user answered:\n- city: Rome\n- nights: 2\n- seat: aisle\n- extras: meal\n- insured: false\n${JSON.stringify(filled)}`,
        metadata: { answer: filled },
      },
    ]);
  });

  test('may be declined, and the model is told', async () => {
    const agent = friday([asking({ question: 'How old are you?' }), 'Never mind.']);
    await agent.call('Hi.');
    const { id } = only(agent);
    await agent.call(undefined, { decisions: [{ id, verdict: 'deny', reason: 'private' }] });
    expect(await resultsOf(agent)).toMatchObject([
      { output: 'The user declined to answer: private', status: 'denied' },
    ]);
  });

  test('is not allowed like a tool call, and an approval is not answered like a question', async () => {
    const agent = friday([asking({ question: 'Which?' }), 'Done.']);
    await agent.call('Hi.');
    const { id } = only(agent);
    await expect(agent.call(undefined, { decisions: [{ id, verdict: 'allow' }] })).rejects.toThrow(
      "is a question: give the verdict 'answer' or 'deny'.",
    );
    const other = friday([asking({ question: 'Which?' }), 'Done.'], {
      permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
    });
    await other.call('Hi.');
    expect(only(other).kind).toBe('approval');
    await expect(answer(other, 'red')).rejects.toThrow('is no question');
  });

  test('comes with the event approval_needed, once, and again for an agent call without input', async () => {
    const agent = friday([asking({ question: 'Which?', choices: ['a', 'b'] }), 'Done.']);
    const asked = async (input?: string): Promise<readonly unknown[]> => {
      const events: AgentEvent[] = [];
      for await (const event of agent.stream(input)) events.push(event);
      return events.flatMap((event) => (event.type === 'approval_needed' ? [event.pending.question] : []));
    };
    expect(await asked('Hi.')).toEqual([{ message: 'Which?', choices: ['a', 'b'] }]);
    expect(await asked()).toEqual([{ message: 'Which?', choices: ['a', 'b'] }]);
  });

  test('takes a message beside the answer, which the model reads after it', async () => {
    const agent = friday([asking({ question: 'Which?' }), 'Done.']);
    await agent.call('Hi.');
    await expect(agent.call('And be quick.')).rejects.toThrow('Tool calls are pending');
    const decisions = [{ id: only(agent).id, verdict: 'answer' as const, answer: 'red' }];
    await agent.call('And be quick.', { decisions });
    const history = await agent.memory.getMemory();
    expect(history.map(({ text }) => text).slice(-2)).toEqual(['And be quick.', 'Done.']);
  });

  test('is asked by explorers too, because asking changes nothing', async () => {
    const permissionPolicy = new PermissionRules({ mode: 'explore' });
    const agent = friday([asking({ question: 'Which?' }), 'Done.'], { permissionPolicy });
    await agent.call('Hi.');
    expect(only(agent).kind).toBe('question');
    expect((await answer(agent, 'red')).text).toBe('Done.');
  });
});

describe('several questions', () => {
  const two: ScriptedTurn = { toolCalls: [call({ question: 'One?' }), call({ question: 'Two?' }, 'q2')] };

  test('of one model message come one after the other', async () => {
    const agent = friday([two, 'Done.']);
    expect((await agent.call('Hi.')).text).toBe('One?');
    expect((await answer(agent, '1')).text).toBe('Two?');
    expect((await answer(agent, '2')).text).toBe('Done.');
    expect(await outputs(agent)).toEqual(['The user answered: 1', 'The user answered: 2']);
  });

  test('come together with parallel tool calls, and a wrong answer makes none of them count', async () => {
    const agent = friday([two, 'Done.'], { parallelToolCalls: true });
    expect((await agent.call('Hi.')).text).toBe('One?\nTwo?');
    const [one, other] = agent.pendingCalls;
    const decide = (first: string, second: string) =>
      agent.call(undefined, {
        decisions: [
          { id: one!.id, verdict: 'answer', answer: first },
          { id: other!.id, verdict: 'answer', answer: second },
        ],
      });
    await expect(decide('1', ' ')).rejects.toThrow('it must be a text');
    expect(agent.pendingCalls).toHaveLength(2);
    expect((await decide('1', '2')).text).toBe('Done.');
  });

  test('stand beside an approval of the same model message', async () => {
    const ran: string[] = [];
    const remove = tool({ name: 'remove', sideEffect: true, execute: () => void ran.push('remove') });
    const agent = friday(
      [{ toolCalls: [{ name: 'remove', id: 'c1', input: {} }, call({ question: 'Why?' })] }, 'Done.'],
      {
        tools: [askUserTool(), remove],
        permissionPolicy: new PermissionRules(),
        parallelToolCalls: true,
      },
    );
    await agent.call('Hi.');
    expect(agent.pendingCalls.map(({ kind }) => kind)).toEqual(['approval', 'question']);
    const [approval, question] = agent.pendingCalls;
    await agent.call(undefined, { decisions: [{ id: question!.id, verdict: 'answer', answer: 'so' }] });
    expect([ran, only(agent).kind]).toEqual([[], 'approval']);
    await agent.call(undefined, { decisions: [{ id: approval!.id, verdict: 'allow', scope: 'run' }] });
    expect([ran, (await resultsOf(agent)).map(({ status }) => status)]).toEqual([['remove'], ['ok', 'ok']]);
  });

  test('are limited for each reply, also after a restart, and not for the next reply', async () => {
    const questions = (count: number) =>
      Array.from({ length: count }, (_, i) => asking({ question: `${i}?` }, `q${i}`));
    const tools = [askUserTool({ maxQuestions: 2 })];
    const before = friday(questions(2), { tools });
    await before.call('Hi.');
    await answer(before, 'a');
    const saved = before.stateDict();
    const after = friday([...questions(3).slice(2), 'Enough.', ...questions(1)], { tools });
    after.loadStateDict(saved);
    expect((await answer(after, 'b')).text).toBe('Enough.');
    expect((await outputs(after)).at(-1)).toMatch(/^Error: too many questions\. The user answers at most 2 /);
    expect((await after.call('Next.')).text).toBe('0?');
  });
});

describe('a question that is no question', () => {
  const long = 'x'.repeat(600);
  test.each<[string, JsonObject, RegExp]>([
    ['empty', { question: ' ' }, /message must be a text/],
    ['too long', { question: 'x'.repeat(4_001) }, /4001 characters, and may have 4000/],
    ['without choices', { question: 'Which?', choices: [] }, /choices must be a list of texts/],
    [
      'with many choices',
      { question: 'Which?', choices: Array.from({ length: 21 }, String) },
      /21 entries, and may have 20/,
    ],
    ['with a long choice', { question: 'Which?', choices: [long] }, /choices\[0\] has 600 characters/],
    ['with a choice twice', { question: 'Which?', choices: ['a', 'a'] }, /choices\[1\] is there twice/],
    ['with choices and a form', { question: 'Which?', choices: ['a'], schema: TRIP }, /exclude each other/],
    ['with a form without fields', { question: 'Which?', schema: { type: 'object' } }, /and properties/],
    [
      'with a nested form',
      { question: 'Which?', schema: { properties: { a: { type: 'object' } } } },
      /forms are flat/,
    ],
    [
      'with a list of anything',
      { question: '?', schema: { properties: { a: { type: 'array' } } } },
      /items must list/,
    ],
    [
      'with a wrong default',
      { question: '?', schema: { properties: { a: { type: 'number', default: 'x' } } } },
      /default must be a number/,
    ],
    [
      'with a required field that is not there',
      { question: '?', schema: { properties: { a: { type: 'string' } }, required: ['b'] } },
      /required must list names/,
    ],
    [
      'with many fields',
      {
        question: '?',
        schema: {
          properties: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`f${i}`, { type: 'string' }])),
        },
      },
      /21 fields, and may have 20/,
    ],
  ])('%s is an error that the model reads', async (_, input, problem) => {
    const agent = friday([asking(input), 'Sorry.']);
    expect((await agent.call('Hi.')).text).toBe('Sorry.');
    const [result] = await resultsOf(agent);
    expect([result?.status, agent.pendingCalls]).toEqual(['error', []]);
    expect(result?.output).toMatch(problem);
  });

  test('is one of a background task, which nobody can be asked from', async () => {
    const execute = askUserTool().execute as (input: JsonObject, context: object) => unknown;
    expect(() => execute({ question: 'Which?' }, { isBackground: true })).toThrow(
      "can't be asked from a background task",
    );
  });

  test('has its patterns left out, so that none is matched', async () => {
    const schema = { properties: { a: { type: 'string', pattern: '^(a+)+$', format: 'regex' } } };
    const agent = friday([asking({ question: 'Which?', schema }), 'Done.']);
    await agent.call('Hi.');
    expect(only(agent).question?.schema).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
    await answer(agent, { a: `${'a'.repeat(50_000)}!` });
    expect(await resultsOf(agent)).toMatchObject([{ status: 'ok' }]);
  });

  test('in a saved state is refused with the state', async () => {
    const agent = friday([asking({ question: 'Which?' })]);
    await agent.call('Hi.');
    const text = JSON.stringify(agent.stateDict());
    const forged = text.replaceAll('"question":{"message":"Which?"}', '"question":{"message":["Which?"]}');
    expect(forged).not.toBe(text);
    const state = JSON.parse(forged) as JsonObject;
    expect(() => friday([]).loadStateDict(state)).toThrow('not readable');
  });
});

describe('a tool that asks', () => {
  /** Asks for a colour, then for a confirmation, and paints. */
  const paint = tool({
    name: 'paint',
    execute(_, { resume }) {
      const colour = resume?.state;
      const [decision] = resume?.decisions ?? [];
      if (decision !== undefined && decision.verdict !== 'answer') return 'Painted nothing.';
      if (decision === undefined) {
        const schema = z.object({ colour: z.enum(['red', 'blue']), coats: z.number().int().default(2) });
        throw ToolSuspension.ask({ message: 'How?', schema }, { state: null });
      }
      if (colour === null) {
        throw ToolSuspension.ask(
          { message: 'Sure?', choices: ['yes', 'no'] },
          { state: decision.answer as JsonObject },
        );
      }
      return `Painted ${JSON.stringify(colour)}: ${String(decision.answer)}`;
    },
  });

  test('runs again with the answer, and may ask again; a restart in between changes nothing', async () => {
    const tools = [paint];
    const before = friday([{ toolCalls: [{ name: 'paint', id: 'p1', input: {} }] }], { tools });
    await before.call('Paint.');
    expect(only(before).question?.schema).toMatchObject({ required: ['colour'] });
    const agent = friday(['Done.'], { tools });
    agent.loadStateDict(before.stateDict());
    await expect(answer(agent, { colour: 'pink' })).rejects.toThrow('does not fit');
    expect((await answer(agent, { colour: 'red' })).text).toBe('Sure?\n1. yes\n2. no');
    await answer(agent, 'yes');
    expect(await outputs(agent)).toEqual(['Painted {"colour":"red","coats":2}: yes']);
  });

  test('is told when the person declines', async () => {
    const agent = friday([{ toolCalls: [{ name: 'paint', id: 'p1', input: {} }] }, 'Done.'], {
      tools: [paint],
    });
    await agent.call('Paint.');
    await agent.call(undefined, { decisions: [{ id: only(agent).id, verdict: 'deny' }] });
    expect(await outputs(agent)).toEqual(['Painted nothing.']);
  });

  test('may send the person to a page, which gets the answer', async () => {
    const login = tool({
      name: 'login',
      execute() {
        throw ToolSuspension.ask({ message: 'Sign in.', url: 'https://login.example/a' });
      },
    });
    const agent = friday([{ toolCalls: [{ name: 'login', id: 'l1', input: {} }] }, 'Done.'], {
      tools: [login],
    });
    expect((await agent.call('Go.')).text).toBe('Sign in.\nhttps://login.example/a');
    await expect(answer(agent, 'secret')).rejects.toThrow('it is given on the page, not here');
    await agent.call(undefined, { decisions: [{ id: only(agent).id, verdict: 'answer' }] });
    expect(await outputs(agent)).toEqual(['The user has been to the page, and says that it is done.']);
    expect(() => ToolSuspension.ask({ message: 'Go.', url: 'javascript:alert(1)' })).toThrow('http or https');
  });
});

describe('a question inside', () => {
  test('structured output is answered before it', async () => {
    const structuredModel = z.object({ city: z.string() });
    const generate = { name: 'generate_response', id: 'g1', input: { city: 'Rome' } };
    const agent = friday([asking({ question: 'Where?' }), { toolCalls: [generate] }]);
    expect((await agent.call('Book.', { structuredModel })).structured).toBeUndefined();
    const decisions = [{ id: only(agent).id, verdict: 'answer' as const, answer: 'Rome' }];
    await expect(agent.call(undefined, { decisions })).rejects.toThrow('structuredModel');
    const { structured } = await agent.call(undefined, { decisions, structuredModel });
    expect(structured).toEqual({ city: 'Rome' });
  });

  test('a pipeline stops it there, and the answer goes to the agent that asked', async () => {
    const first = friday([asking({ question: 'Where?' }), 'To Rome.'], { name: 'first' });
    const second = friday(['Booked.'], { name: 'second' });
    const pipeline = new SequentialPipeline([first, second]);
    await pipeline.call('Book.');
    expect(only(first).question).toEqual({ message: 'Where?' });
    const booked = await pipeline.call(undefined, {
      decisions: [{ id: only(first).id, verdict: 'answer', answer: 'Rome' }],
    });
    expect(booked).toMatchObject({ text: 'Booked.' });
  });

  test('three sub-agents is answered at the root, in another process', async () => {
    const question = asking({ question: 'Where?', schema: TRIP });
    const before = await askingChain([[delegates('a')], [delegates('b')], [delegates('c')], [question]]);
    expect((await before.call('Go.')).text).toMatch(/^Where\?/);
    expect(only(before).agentPath).toEqual(['root', 'a', 'b', 'c']);
    const after = await askingChain([['root done'], ['a done'], ['b done'], ['c done']]);
    after.loadStateDict(JSON.parse(JSON.stringify(before.stateDict())) as JsonObject);
    expect(only(after).question).toEqual({ message: 'Where?', schema: TRIP });
    await expect(answer(after, { nights: 3 })).rejects.toThrow('city');
    expect((await answer(after, { city: 'Rome' })).text).toBe('root done');
  });

  test('three sub-agents survives kill -9, and is answered once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-asking-'));
    try {
      const program = fork(join(import.meta.dirname, 'asking-sub-agents.ts'), [folder], {
        execArgv: ['--no-warnings', '--experimental-transform-types', '--conditions=troupe:source'],
      });
      expect(await once(program, 'exit')).toEqual([null, 'SIGKILL']);
      const agent = await askingChain([['root done'], ['a done'], ['b done'], ['c done']]);
      await sessionIn(folder, agent).loadIfExists();
      expect(only(agent)).toMatchObject({
        agentPath: ['root', 'a', 'b', 'c'],
        question: { message: 'Where?', choices: ['Rome', 'Oslo'] },
      });
      await expect(answer(agent, 'Paris')).rejects.toThrow('one of the choices');
      expect((await answer(agent, 'Oslo')).text).toBe('root done');
      expect(agent.pendingCalls).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('an agent in a tool is answered by its caller only', async () => {
    const inner = friday([asking({ question: 'Where?' }), 'To Rome.'], { name: 'inner' });
    const outer = friday(
      [{ toolCalls: [{ name: 'inner', id: 'i1', input: { query: 'Where?' } }] }, 'Booked.'],
      {
        name: 'outer',
        tools: [agentTool(inner, { description: 'Knows.' })],
      },
    );
    await outer.call('Book.');
    await expect(answer(inner, 'Rome')).rejects.toThrow('decide there');
    expect((await answer(outer, 'Rome')).text).toBe('Booked.');
    expect(await outputs(inner)).toEqual(['The user answered: Rome']);
  });
});

describe('a stop at any point', () => {
  /** One question, its answer, and then whatever the stop left is ended. */
  function scenario(): Scenario {
    const again: ScriptedTurn = { when: ({ messages }) => messages.at(-1)?.text === 'again', text: 'Fine.' };
    const agent = friday([
      again,
      asking({ question: 'Which?', choices: ['a', 'b'] }),
      { text: 'Done.', chunkSize: 2 },
    ]);
    return {
      agent,
      input: 'go',
      async check() {
        expect(agent.isRunning).toBe(false);
        const open = agent.pendingCalls.length;
        expect((await agent.call('again', { onPending: 'close' })).text).toBe('Fine.');
        const results = await resultsOf(agent);
        if (open > 0) expect(results.map(({ status }) => status)).toEqual(['interrupted']);
      },
    };
  }

  test.each([
    ['an interrupt', interruptAtEvery, 10],
    ['an abort', abortAtEvery, 10],
    ['leaving the stream', leaveAtEvery, 5],
  ] as const)('%s leaves the question open or closed, and a valid history', async (_, driver, least) => {
    expect((await driver(scenario)).points).toBeGreaterThanOrEqual(least);
  });

  test('closePending ends the question, and a late answer is refused', async () => {
    const agent = friday([asking({ question: 'Which?' }), 'Next.']);
    await agent.call('Hi.');
    const { id } = only(agent);
    await agent.closePending();
    await expect(
      agent.call(undefined, { decisions: [{ id, verdict: 'answer', answer: 'red' }] }),
    ).rejects.toThrow('no pending tool call');
    expect((await resultsOf(agent)).map(({ status }) => status)).toEqual(['interrupted']);
  });
});
