// A tool that ends the reply by its response.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { gotoReasoning } from '../agent/turn/loop-control.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { interruptAtEvery, failAtEvery } from '../testing/drivers.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { StepJournal } from '../testing/step-journal.ts';
import { ToolResponse, type ToolResponseOptions } from '../toolkit/tool/tool-response.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { parseJson, type JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import { ReActAgent } from './react-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {}))); // the validator is loaded when it is first needed

const book = (responseMsg: ToolResponseOptions['responseMsg'], settings: Partial<Tool> = {}): Tool => ({
  ...tool({ name: 'book', execute: async () => new ToolResponse('Room 7 is booked.', { responseMsg }) }),
  ...settings,
});
const look = tool({ name: 'look', execute: async () => 'Room 7 is free.' });
const sign = tool({ name: 'sign', execute: async () => 'Signed.' });
const use = (...names: readonly string[]): ScriptedTurn => ({
  toolCalls: names.map((name, i) => ({ name, id: `c${i + 1}`, input: {} })),
});

function setUp(
  script: readonly (string | ScriptedTurn)[],
  tools: readonly Tool[],
  options: Partial<ReActAgentOptions> = {},
): { agent: ReActAgent; model: ScriptedModel } {
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({
    name: 'Friday',
    model,
    tools: [...tools, look, sign],
    permissionPolicy: { decide: ({ call }) => ({ behavior: call.name === 'sign' ? 'ask' : 'allow' }) },
    console: false,
    ...options,
  });
  return { agent, model };
}

const resultsOf = async (agent: ReActAgent): Promise<unknown[]> =>
  (await agent.memory.getMemory()).flatMap((msg) =>
    msg.getContentBlocks('tool_result').map(({ id, status }) => [id, status]),
  );

describe('a response that ends the reply', () => {
  test.each([
    ['its own content', true, 'Room 7 is booked.', {}],
    ['a text', 'See you!', 'See you!', {}],
    ['a message', Msg.assistant('Bye.', { name: 'desk', metadata: { room: 7 } }), 'Bye.', { room: 7 }],
  ] as const)('answers with %s', async (_, responseMsg, text, metadata) => {
    const { agent, model } = setUp([use('book'), 'Next.'], [book(responseMsg)]);
    const answer = await agent.call('Book a room.');
    expect([answer.text, answer.name, answer.role, answer.endReason, answer.metadata]).toEqual([
      text,
      'Friday',
      'assistant',
      'finished',
      metadata,
    ]);
    const history = await agent.memory.getMemory();
    expect(findHistoryFaults(history)).toEqual([]);
    expect(history.at(-1)).toBe(answer);
    expect(history.at(-2)?.getContentBlocks('tool_result')[0]?.output).toBe('Room 7 is booked.');
    expect(model.requests).toHaveLength(1);
    expect((await agent.call('And now?')).text).toBe('Next.');
  });

  test.each([
    ['in turn', false],
    ['side by side', true],
  ])('does so beside other tool calls, which run too: %s', async (_, parallelToolCalls) => {
    const { agent, model } = setUp([use('book', 'look', 'nothing')], [book('See you!')], {
      parallelToolCalls,
    });
    expect((await agent.call('go')).text).toBe('See you!');
    expect(await resultsOf(agent)).toEqual([
      ['c1', 'ok'],
      ['c2', 'ok'],
      ['c3', 'unavailable'],
    ]);
    expect(model.requests).toHaveLength(1);
  });

  test('may come only in some cases: the tool decides', async () => {
    let isFree = false;
    const maybe = tool({
      name: 'book',
      execute: () => new ToolResponse(isFree ? 'Booked.' : 'Occupied.', { responseMsg: isFree }),
    });
    const { agent, model } = setUp([use('book'), 'All rooms are taken.', use('book')], [maybe]);
    expect((await agent.call('go')).text).toBe('All rooms are taken.');
    isFree = true;
    expect((await agent.call('go')).text).toBe('Booked.');
    expect(model.requests).toHaveLength(3);
  });

  test('has no tool calls and tool results in its message, which nobody would answer', async () => {
    const responseMsg = Msg.assistant([
      { type: 'text', text: 'Bye.' },
      { type: 'tool_use', id: 'other', name: 'look', input: {} },
      { type: 'tool_result', id: 'another', name: 'look', output: 'free', status: 'ok' },
    ]);
    const { agent } = setUp([use('book')], [book(responseMsg)]);
    expect((await agent.call('Book a room.')).content).toEqual([{ type: 'text', text: 'Bye.' }]);
    expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
  });

  test('of several, the last tool call counts', async () => {
    const other = tool({
      name: 'other',
      execute: () => new ToolResponse('x', { responseMsg: 'Other.', status: 'error' }),
    });
    const { agent } = setUp([use('book', 'other', 'look')], [book('See you!'), other]);
    expect((await agent.call('go')).text).toBe('Other.');
  });

  test('waits for pending tool calls beside it, also in another process', async () => {
    const { agent } = setUp([use('book', 'sign')], [book('See you!')]);
    const question = await agent.call('go');
    expect(question.endReason).toBe('tool_suspended');
    const other = setUp([], [book('See you!')]).agent;
    other.loadStateDict(parseJson(JSON.stringify(agent.stateDict())) as JsonObject);
    const decisions = other.pendingCalls.map(({ id }): PendingDecision => ({ id, verdict: 'deny' }));
    expect((await other.call(undefined, { decisions })).text).toBe('See you!');
    expect(await resultsOf(other)).toEqual([
      ['c1', 'ok'],
      ['c2', 'denied'],
    ]);
  });

  test('has no note about arguments that a person changed', async () => {
    const { agent } = setUp([use('sign')], [], {
      tools: [tool({ name: 'sign', execute: () => new ToolResponse('Signed.', { responseMsg: true }) })],
    });
    await agent.call('go');
    const decisions = agent.pendingCalls.map(({ id }): PendingDecision => ({
      id,
      verdict: 'allow',
      input: { fast: true },
    }));
    expect((await agent.call(undefined, { decisions })).text).toBe('Signed.');
  });

  test('does not take the place of structured output that the caller wants', async () => {
    const output = { toolCalls: [{ name: 'generate_response', input: { room: 7 } }] };
    const { agent } = setUp([use('book'), output], [book('See you!')]);
    const answer = await agent.call('go', { structuredModel: z.object({ room: z.number() }) });
    expect(answer.metadata).toEqual({ room: 7 });
  });

  test('is the same when it is replayed', async () => {
    const journal = new StepJournal();
    const input = Msg.user('go');
    for (const script of [[use('book', 'look')], []]) {
      const { agent } = setUp(script, [book('See you!')]);
      expect((await agent.call(input, { runStep: journal.attempt() })).text).toBe('See you!');
    }
  });

  test('can be taken back by a hook and by postProcess', async () => {
    const hooked = setUp([use('book'), 'Anything else?'], [book('See you!')]).agent;
    hooked.registerInstanceHook('postActing', 'again', () => gotoReasoning());
    expect((await hooked.call('go')).text).toBe('Anything else?');
    const changed = setUp([use('book'), 'Anything else?'], [book('See you!')]).agent;
    changed.registerInstanceHook('postActing', 'plain', (_, __, { responseMsg: _r, ...result }) => result);
    expect((await changed.call('go')).text).toBe('Anything else?');
    const processed = book('See you!', { postProcess: () => 'Booked.' });
    expect((await setUp([use('book'), 'Anything else?'], [processed]).agent.call('go')).text).toBe(
      'Anything else?',
    );
    const kept = book('See you!', { postProcess: (_call, result) => ({ ...result, output: 'Booked.' }) });
    expect((await setUp([use('book')], [kept]).agent.call('go')).text).toBe('See you!');
  });
});

test('only a ToolResponse ends a reply: not JSON, and not a result from outside', async () => {
  const json = { type: 'tool_result', output: 'x', status: 'ok', responseMsg: true, content: 'x' };
  const { agent } = setUp([use('book'), 'Go on.'], [tool({ name: 'book', execute: () => json })]);
  expect((await agent.call('go')).text).toBe('Go on.');
  const outside = setUp([use('sign'), 'Go on.'], []).agent;
  await outside.call('go');
  const result = { type: 'tool_result', id: 'c1', name: 'sign', output: 'x', status: 'ok' } as const;
  expect((await outside.call(Msg.system([{ ...result, responseMsg: true }]))).text).toBe('Go on.');
});

test.each([7, {}, ['x']])(
  'a response with %j in place of a message is an error of the tool',
  async (wrong) => {
    const { agent } = setUp([use('book'), 'Go on.'], [book(wrong as never)]);
    expect((await agent.call('go')).text).toBe('Go on.');
    expect(await resultsOf(agent)).toEqual([['c1', 'error']]);
  },
);

describe('disturbed at every point, the history stays whole', () => {
  const scenario = () => {
    const { agent } = setUp([use('book', 'look'), 'Next.', 'Next.'], [book('See you!')], {
      parallelToolCalls: true,
    });
    return {
      agent,
      input: 'go',
      check: async () => {
        expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
        await agent.call('and now?').catch(() => {});
        expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
      },
    };
  };
  test('by an interrupt', async () => {
    expect((await interruptAtEvery(scenario)).points).toBeGreaterThan(20);
  });
  test('by a fault in every step', async () => {
    expect((await failAtEvery(scenario)).points).toBeGreaterThan(6);
  });
});
