// Models that lie, through the whole loop: every outcome is documented, and the history can be sent to any provider.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { ReActAgentOptions } from '../src/react/react-agent-options.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg } from '../src/message/msg.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { rejectionsOf } from './five-wires.ts';

function setUp(
  script: readonly (string | ScriptedTurn)[],
  tools: readonly Tool[],
  options: Partial<ReActAgentOptions> = {},
): { agent: ReActAgent; model: ScriptedModel; history: () => Promise<readonly Msg[]> } {
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name: 'Friday', model, toolkit: new Toolkit({ tools }), ...options });
  agent.setConsoleOutputEnabled(false);
  const history = async (): Promise<readonly Msg[]> => {
    const msgs = await agent.memory.getMemory();
    expect(findHistoryFaults(msgs)).toEqual([]);
    expect(await rejectionsOf([...msgs, Msg.user('And now?')])).toEqual([]);
    return msgs;
  };
  return { agent, model, history };
}

const resultsIn = (msgs: readonly Msg[]): readonly { status: string; output: unknown }[] =>
  msgs
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .map(({ status, output }) => ({ status, output }));

describe.each([false, true])(
  'a thousand tool calls in one message (side by side: %s)',
  (parallelToolCalls) => {
    test('all of one id: each has its own result, and those over the limit are told that they are too many', async () => {
      let executions = 0;
      const schema = z.object({ n: z.number() });
      const echo = tool({
        name: 'echo',
        schema,
        execute({ n }) {
          executions++;
          return n;
        },
      });
      const toolCalls = Array.from({ length: 1000 }, (_, n) => ({ name: 'echo', input: { n }, id: 'same' }));
      const { agent, model, history } = setUp([{ toolCalls }, 'Done.'], [echo], { parallelToolCalls });
      expect((await agent.call('Go.')).text).toBe('Done.');
      const msgs = await history();
      const ids = msgs.flatMap((msg) => msg.getContentBlocks('tool_use')).map(({ id }) => id);
      expect([ids.length, new Set(ids).size]).toEqual([1000, 1000]);
      const expected = Array.from({ length: 1000 }, (_, i) =>
        i < 128
          ? { status: 'ok', output: String(i) }
          : {
              status: 'error',
              output: 'Error: too many calls at once. At most 128 are made; call the rest later.',
            },
      );
      expect(resultsIn(msgs)).toEqual(expected);
      expect([executions, model.requests.length]).toEqual([128, 2]);
    });
  },
);

test('a tool that is removed between two model calls is unknown, and its old tool calls can still be sent', async () => {
  let executions = 0;
  const look = tool({
    name: 'look',
    execute() {
      executions++;
      agent.toolkit.removeToolFunction('look');
      return 'seen';
    },
  });
  const stay = tool({ name: 'stay', execute: () => 'there' });
  const twice: ScriptedTurn = { toolCalls: [{ name: 'look', input: {} }] };
  const { agent, model, history } = setUp([twice, twice, 'Gone.'], [look, stay]);
  expect((await agent.call('Go.')).text).toBe('Gone.');
  expect(resultsIn(await history())).toEqual([
    { status: 'ok', output: 'seen' },
    {
      status: 'unavailable',
      output: "FunctionNotFoundError: There is no tool 'look'. There are: stay.",
    },
  ]);
  expect(executions).toBe(1);
  const { messages, tools } = model.requests[2]!;
  expect(tools?.map(({ name }) => name)).toEqual(['stay']);
  expect(await rejectionsOf(messages, { tools: tools ?? [] })).toEqual([]);
});

describe('a wanted shape', () => {
  const structuredModel = z.object({ city: z.string(), people: z.number().int() });
  const form = (input: ScriptedToolCall['input']): ScriptedToolCall => ({ name: 'generate_response', input });
  const right = { city: 'Lima', people: 10 };
  const wrong = { city: 'Lima', people: 'many' };
  const noop = tool({ name: 'noop', execute: () => 'nothing' });

  test('three wrong answers, then talk, then a right one: the right one, whole', async () => {
    const script = [...Array.from({ length: 3 }, () => ({ toolCalls: [form(wrong)] })), 'It is Lima!'];
    const { agent, model, history } = setUp([...script, { toolCalls: [form(right)] }], [noop]);
    const answer = await agent.call('Where?', { structuredModel });
    expect(answer.structured).toEqual(right);
    expect(model.requests).toHaveLength(5);
    const [first, ...others] = resultsIn(await history());
    expect(first).toMatchObject({ status: 'error' });
    expect(first?.output).toMatch(/^Arguments Validation Error: [^]*- people: /);
    expect(others.map(({ status }) => status)).toEqual(['error', 'error', 'ok']);
  });

  test.each<[string, readonly ScriptedToolCall[], object]>([
    [
      'twice: the last that fits counts',
      [form(right), form({ ...right, people: 11 })],
      { ...right, people: 11 },
    ],
    ['twice, the second time wrong: the first counts', [form(right), form(wrong)], right],
    ['twice, the first time wrong: the second counts', [form(wrong), form(right)], right],
    ['with others: they run, and it counts', [{ name: 'noop', input: {} }, form(right)], right],
    ['before one that does not exist: it counts', [form(right), { name: 'fly', input: {} }], right],
  ])('filled in %s', async (_, toolCalls, expected) => {
    for (const parallelToolCalls of [false, true]) {
      const { agent, model, history } = setUp([{ toolCalls }], [noop], { parallelToolCalls });
      const answer = await agent.call('Where?', { structuredModel });
      expect(answer.structured).toEqual(expected);
      expect([answer.metadata, answer.endReason]).toEqual([expected, 'structured']);
      expect((await history()).at(-1)).toEqual(answer);
      expect(model.requests).toHaveLength(1);
    }
  });

  test('always wrong: no half of it, a clear error, and no more model calls than allowed', async () => {
    const { agent, model, history } = setUp(
      [{ when: ({ tools = [] }) => tools.length > 0, toolCalls: [form(wrong)] }, 'I give up.'],
      [noop],
      { maxIters: 4 },
    );
    const answer = await agent.call('Where?', { structuredModel });
    expect([answer.metadata, answer.endReason, answer.structured]).toEqual([{}, 'max_iters', undefined]);
    expect(model.requests.length).toBeLessThanOrEqual(5);
    await history();
  });
});

test('a hook that is added or removed while tool calls run side by side counts from the next tool call on', async () => {
  const seen: string[] = [];
  const noop = tool({ name: 'noop', execute: () => 'nothing' });
  const three = { toolCalls: Array.from({ length: 3 }, () => ({ name: 'noop', input: {} })) };
  const { agent, history } = setUp([three, three, 'Done.'], [noop], { parallelToolCalls: true });
  const remove = agent.registerInstanceHook('preActing', 'first', () => {
    seen.push('first');
    agent.registerInstanceHook('preActing', 'second', () => void seen.push('second'));
    if (seen.filter((name) => name === 'first').length === 4) remove();
  });
  agent.registerInstanceHook('postActing', 'last', () => void seen.push('last'));
  await agent.call('Go.');
  await history();
  const count = (name: string): number => seen.filter((one) => one === name).length;
  expect([count('first'), count('last')]).toEqual([4, 6]);
  expect(count('second')).toBeGreaterThanOrEqual(3); // tool calls that began earlier run without the second hook
});
