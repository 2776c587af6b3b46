import { expect, test } from 'vitest';

import { TurnControl, type TurnControlOptions } from '../agent/turn/turn-control.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { OrderedMemory } from '../memory/ordered-memory.ts';
import type { ToolUseBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import type { JsonValue } from '../util/json.ts';
import { OpenExchange } from './open-exchange.ts';
import { suspensionMsg } from './suspension-msg.ts';
import { UnfinishedToolCalls } from './unfinished-tool-calls.ts';

const call: ToolUseBlock = { type: 'tool_use', id: 'a', name: 'pay', input: { eur: 1 } };
const modelMsg = Msg.assistant([call], { name: 'ann' });
const pending = { id: 'ask', agentPath: ['ann'], kind: 'approval', call } as const;
const deny = { id: 'ask', verdict: 'deny' } as const;

function agent() {
  const memory = new InMemoryMemory();
  const abandoned: [toolName: string, state: JsonValue][] = [];
  const calls = new UnfinishedToolCalls(new OrderedMemory(memory), {
    fit: (result) => result,
    onAbandoned: (name, state) => abandoned.push([name, state]),
  });
  const begin = (msgs: readonly Msg[], options: Partial<TurnControlOptions> = {}) =>
    calls.begin('ann', msgs, new TurnControl({ agentId: 'a', agentName: 'ann', ...options }));
  return { memory, calls, begin, abandoned };
}

function pendingExchange(): OpenExchange {
  const open = new OpenExchange(modelMsg);
  open.setPending(pending);
  return open;
}

test('unfinished tool calls of another program are taken out of memory and resumed', async () => {
  const { memory, calls, begin } = agent();
  await memory.add([Msg.user('go'), modelMsg]);
  const { resumed } = await begin([]);
  expect([resumed?.exchange.modelMsg.id, calls.current]).toEqual([modelMsg.id, resumed]);
  expect((await memory.getMemory()).map(({ text }) => text)).toEqual(['go']);
});

test('a refused agent call leaves everything as it was', async () => {
  const { memory, calls, begin } = agent();
  calls.current = pendingExchange();
  const before = calls.current;
  await expect(begin([Msg.user('hello')])).rejects.toThrow(/Tool calls are pending/);
  expect([calls.current, calls.pending, await memory.size()]).toEqual([before, [pending], 0]);
});

test('an exchange that is in memory is forgotten, and its answer repeated to a decision', async () => {
  const { memory, calls, begin } = agent();
  const answer = Msg.assistant('Not paid.', { name: 'ann', endReason: 'finished' });
  const open = pendingExchange();
  await memory.add([...new OpenExchange(modelMsg).exchange.toMsgs(), answer]);
  calls.current = open;
  const start = await begin([], { decisions: [deny] });
  expect([start.answer?.id, start.resumed, calls.current]).toEqual([answer.id, undefined, undefined]);
});

test('closing adds the exchange to memory, then messages that came meanwhile', async () => {
  const { memory, calls } = agent();
  calls.current = pendingExchange();
  calls.current.postponed.push(Msg.user('and then?'));
  const ended = await calls.close();
  expect(ended.map(({ result }) => [result.id, result.status])).toEqual([['a', 'interrupted']]);
  expect((await memory.getMemory()).map(({ role }) => role)).toEqual(['assistant', 'system', 'user']);
  expect([calls.current, await calls.close()]).toEqual([undefined, []]);
});

test('only the current exchange is forgotten', () => {
  const { calls } = agent();
  const open = pendingExchange();
  calls.current = open;
  calls.forget(pendingExchange());
  expect(calls.current).toBe(open);
  calls.forget(open);
  expect(calls.current).toBe(undefined);
});

test('the question names each pending tool call, its reason, and the arguments', () => {
  const long = { ...pending, kind: 'external', call: { ...call, input: { text: 'x'.repeat(300) } } } as const;
  const question = suspensionMsg('ann', [{ ...pending, reason: 'money' }, long]);
  const [first, second] = question.text.split('\n');
  expect(first).toBe('May I call pay with {"eur":1}? (money)');
  expect(second).toBe(`I need the result of pay with {"text":"${'x'.repeat(300)}"}?`);
  expect([question.name, question.endReason, question.pending?.length]).toEqual(['ann', 'tool_suspended', 2]);
});

test('a suspended tool call that is closed without being resumed is reported as abandoned, with its state', async () => {
  const { calls, begin, abandoned } = agent();
  const open = new OpenExchange(modelMsg);
  open.setNestedPending('a', { state: { at: 2 }, pending: [pending] });
  calls.current = open;
  const { closed } = await begin([Msg.user('forget it')], { onPending: 'close' });
  if (closed === undefined) throw new Error('nothing was closed');
  expect(abandoned).toEqual([]);
  calls.forget(closed);
  expect(abandoned).toEqual([['pay', { at: 2 }]]);
});
