// Agent calls with the same messages again, after a call that failed or was cut off: `isRetry`.
import { expect, test } from 'vitest';
import { z } from 'zod';

import { FanoutPipeline, Msg, ReActAgent, SequentialPipeline, tool } from '../src/index.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { JsonObject } from '../src/util/json.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/index.ts';

const PAY: ScriptedTurn = { toolCalls: [{ id: 'c1', name: 'pay', input: {} }] };
const input = Msg.user('Pay.');

function payer(
  script: readonly (string | ScriptedTurn)[],
  { paid = [], asks = false, pay }: { paid?: string[]; asks?: boolean; pay?: () => Promise<string> } = {},
): ReActAgent {
  const execute = async (): Promise<string> => {
    paid.push('paid');
    return pay === undefined ? 'paid' : pay();
  };
  return new ReActAgent({
    name: 'bob',
    model: new ScriptedModel(script),
    tools: [tool({ name: 'pay', sideEffect: true, execute })],
    permissionPolicy: { decide: () => ({ behavior: asks ? 'ask' : 'allow' }) },
    console: false,
  });
}

const textsOf = async ({ memory }: ReActAgent): Promise<string[]> => {
  const history = await memory.getMemory();
  expect(findHistoryFaults(history)).toEqual([]);
  return history.map((msg) => msg.getContentBlocks('tool_result')[0]?.status ?? msg.text);
};

test('an answer in memory is given again, with its hooks, and no model is asked', async () => {
  const agent = payer(['Done.']);
  const first = await agent.call(input);
  await agent.observe(Msg.assistant('I heard that.', { name: 'eve' })); // another agent of a hub
  agent.registerInstanceHook('postReply', 'redact', (_agent, _args, msg) => msg.with({ content: '***' }));
  const again = await agent.call(input, { isRetry: true });
  expect([again.id, again.text]).toEqual([first.id, '***']);
  expect(await textsOf(agent)).toEqual(['Pay.', 'Done.', 'I heard that.']);
});

test('without isRetry the same message is answered again', async () => {
  const agent = payer(['Done.', 'Done again.']);
  await agent.call(input);
  expect((await agent.call(input)).text).toBe('Done again.');
});

test('messages that are not in memory, or have no answer, are answered', async () => {
  const agent = payer([{ error: new Error('no line') }, 'Done.', 'And that.']);
  await expect(agent.call(input)).rejects.toThrow('no line');
  expect((await agent.call(input, { isRetry: true })).text).toBe('Done.');
  expect((await agent.call(Msg.user('And that?'), { isRetry: true })).text).toBe('And that.');
  expect(await textsOf(agent)).toEqual(['Pay.', 'Done.', 'And that?', 'And that.']);
});

test('an answer without structured output is no answer to a call that wants it', async () => {
  const agent = payer(['Done.', { toolCalls: [{ name: 'generate_response', input: { sum: 3 } }] }]);
  await agent.call(input);
  const structuredModel = z.object({ sum: z.number() });
  const first = await agent.call(input, { isRetry: true, structuredModel });
  expect(first.metadata).toEqual({ sum: 3 });
});

test('structured output that is given again is whole, also in another process', async () => {
  const Day = z.object({ day: z.string().transform((text) => new Date(text)) });
  const Length = z.object({ length: z.string().transform((text) => text.length) }); // its output is no input of it
  for (const [structuredModel, given, structured] of [
    [Day, { day: '2026-01-31' }, { day: new Date('2026-01-31') }],
    [Length, { length: 'four' }, { length: 4 }],
    [z.number(), { value: 7 }, 7],
  ] as const) {
    const agent = payer([{ toolCalls: [{ name: 'generate_response', input: given }] }]);
    const first = await agent.call(input, { structuredModel });
    const other = payer([]); // no model is asked
    other.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())) as JsonObject);
    for (const one of [agent, other]) {
      const again = await one.call(input, { structuredModel, isRetry: true });
      expect([again.id, again.metadata, again.structured]).toEqual([first.id, first.metadata, structured]);
    }
  }
});

test('structured output that is given again is its own, also where its tool call is no longer in memory', async () => {
  const Length = z.object({ length: z.string().transform((text) => text.length) });
  const answers = ['four', 'eleven'].map((length) => ({
    toolCalls: [{ name: 'generate_response', input: { length } }],
  }));
  const agent = payer(answers);
  const options = { structuredModel: Length };
  await agent.call('How long is four?', options);
  await agent.call(input, options);
  const history = await agent.memory.getMemory();
  const toolMsgs = history.filter((msg) => msg.hasContentBlocks(['tool_use', 'tool_result']));
  await agent.memory.delete(toolMsgs.slice(2).map(({ id }) => id));
  const other = payer([]);
  other.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())) as JsonObject);
  expect((await other.call(input, { ...options, isRetry: true })).structured).toEqual({ length: 6 });
});

test('structured output whose tool call is no longer in memory is not transformed again', async () => {
  for (const [structuredModel, given, structured] of [
    [z.object({ name: z.string().transform((text) => `Dr. ${text}`) }), { name: 'Who' }, { name: 'Dr. Who' }],
    [z.string().transform((text) => `Dr. ${text}`), { value: 'Who' }, 'Dr. Who'],
    [
      z.object({ day: z.string().transform((text) => new Date(text)) }),
      { day: '2026-01-31' },
      { day: new Date('2026-01-31') },
    ], // not JSON: from its arguments
  ] as const) {
    const agent = payer([{ toolCalls: [{ name: 'generate_response', input: given }] }]);
    const first = await agent.call(input, { structuredModel });
    const history = await agent.memory.getMemory();
    const toolMsgs = history.filter((msg) => msg.hasContentBlocks(['tool_use', 'tool_result']));
    expect(await agent.memory.delete(toolMsgs.map(({ id }) => id))).toBe(2);
    const other = payer([]);
    other.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())) as JsonObject);
    const again = await other.call(input, { structuredModel, isRetry: true });
    expect([first.structured, again.structured]).toEqual([structured, structured]);
  }
});

test('unfinished tool calls go on: one with a side effect that had begun is not run again', async () => {
  const paid: string[] = [];
  const begun = Promise.withResolvers<void>();
  const dying = payer([PAY], {
    paid,
    pay: () => {
      begun.resolve();
      return new Promise(() => {});
    },
  });
  void dying.call(input);
  await begun.promise;
  const state = dying.stateDict();
  const next = payer(['Done.'], { paid });
  next.loadStateDict(state);
  expect((await next.call(input, { isRetry: true })).text).toBe('Done.');
  expect([paid, await textsOf(next)]).toEqual([['paid'], ['Pay.', '', 'interrupted', 'Done.']]);
  await dying.interrupt();
});

test('a question that was asked is asked again', async () => {
  const agent = payer([PAY], { asks: true });
  const first = await agent.call(input);
  const again = await agent.call(input, { isRetry: true });
  expect(again.pending).toEqual(first.pending);
});

const PIPELINES = {
  sequence: (agent: ReActAgent) => new SequentialPipeline([agent]),
  fanout: (agent: ReActAgent) => new FanoutPipeline([agent]),
};

test.each(['sequence', 'fanout'] as const)(
  '%s: an answer that is saved and not yet recorded is taken, after a decision too',
  async (kind) => {
    for (const asks of [false, true]) {
      const paid: string[] = [];
      const first = payer([PAY, 'Done.'], { paid, asks });
      const before = PIPELINES[kind](first);
      let state: JsonObject = {};
      first.onOutcome(async () => void (state = before.stateDict())); // the process ends with this save
      await before.call(input);
      const decisions = first.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
      if (asks) await before.call(undefined, { decisions });
      const second = payer([PAY, 'Done twice.'], { paid, asks });
      const after = PIPELINES[kind](second);
      after.loadStateDict(state);
      expect([await after.call()].flat()).toMatchObject([{ text: 'Done.' }]);
      expect(paid).toEqual(['paid']);
      expect(after.stateDict()['progress']).toBeNull();
    }
  },
);

test.each([
  ['sequence', (agents: readonly ReActAgent[]) => new SequentialPipeline(agents)],
  ['fanout', (agents: readonly ReActAgent[]) => new FanoutPipeline(agents)],
] as const)('%s: isRetry of a call reaches every agent', async (_kind, make) => {
  const agents = [payer(['One.']), payer(['Two.'])];
  const pipeline = make(agents);
  const first = [await pipeline.call(input)].flat();
  const again = [await pipeline.call(input, { isRetry: true })].flat();
  expect(again.map((msg) => Msg.list(msg))).toEqual(first.map((msg) => Msg.list(msg)));
});
