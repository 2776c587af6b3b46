import { describe, expect, test } from 'vitest';

import { TroupeError } from '../errors.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { planCallStart, unfinishedExchange, type CallStartOptions } from './call-start.ts';
import { OpenExchange, type OpenExchangeOptions } from './open-exchange.ts';

const call = (id: string): ToolUseBlock => ({ type: 'tool_use', id, name: 'pay', input: {} });
const result = (id: string, output = 'done'): ToolResultBlock => ({
  type: 'tool_result',
  id,
  name: 'pay',
  output,
  status: 'ok',
});
const resultMsg = (...ids: string[]): Msg => Msg.system(ids.map((id) => result(id)));
const hello = Msg.user('hello');
const deny = (id: string): PendingDecision => ({ id: `ask_${id}`, verdict: 'deny' });
const allow = (id: string): PendingDecision => ({ id: `ask_${id}`, verdict: 'allow' });

/** An exchange of two tool calls, the first of them pending. */
function halfPending(options?: OpenExchangeOptions): OpenExchange {
  const open = new OpenExchange(Msg.assistant([call('a'), call('b')], { name: 'ann' }), options);
  open.setPending({ id: 'ask_a', agentPath: ['boss', 'ann'], kind: 'approval', call: call('a') });
  return open;
}

function plan(
  open: OpenExchange | undefined,
  msgs: readonly Msg[],
  decisions: readonly PendingDecision[] = [],
  options: Partial<CallStartOptions> = {},
) {
  return planCallStart(open, msgs, decisions, {
    onPending: 'refuse',
    hasStructuredModel: false,
    fit: (given) => given,
    outerToolCallId: undefined,
    ...options,
  });
}

describe('without unfinished tool calls', () => {
  test('the input is taken as it is', () => {
    expect(plan(undefined, [hello])).toEqual({ input: [hello], suppliedResults: [] });
  });

  test('decisions and results are refused', () => {
    const refusal = (id: string): TroupeError =>
      new TroupeError(
        'decision_refused',
        `There is no pending tool call '${id}', or it was decided already: read pendingCalls again.`,
      );
    expect(() => plan(undefined, [], [deny('a')])).toThrow(refusal('ask_a'));
    expect(() => plan(undefined, [resultMsg('a')])).toThrow(refusal('a'));
  });
});

describe('with unfinished tool calls', () => {
  test('no input resumes them', () => {
    const open = halfPending();
    expect(plan(open, [])).toEqual({ resumed: open, input: [], suppliedResults: [] });
  });

  test('other input is refused while tool calls are pending, or closes them', () => {
    const open = halfPending();
    expect(() => plan(open, [hello])).toThrow(/^Tool calls are pending: pay \(ask_a\)\./);
    const start = plan(open, [hello], [], { onPending: 'close' });
    expect(start).toEqual({ closed: open, input: [hello], suppliedResults: [] });
  });

  test('other input closes tool calls that the end of a program left unfinished', () => {
    const open = new OpenExchange(Msg.assistant([call('a')], { name: 'ann' }));
    expect(plan(open, [hello])).toEqual({ closed: open, input: [hello], suppliedResults: [] });
  });

  test('decisions and results are applied, and the exchange is resumed', () => {
    const open = halfPending();
    const { resumed, closed, input, suppliedResults } = plan(open, [resultMsg('b')], [deny('a')]);
    expect([resumed, closed, input]).toEqual([open, undefined, []]);
    expect(suppliedResults.map(({ id, status }) => [id, status])).toEqual([
      ['a', 'denied'],
      ['b', 'ok'],
    ]);
    expect(open.toRun).toEqual([]);
  });

  test('a message with decisions about everything is read after the exchange', () => {
    const complete = halfPending();
    complete.addResult(result('b'));
    expect(plan(complete, [hello], [deny('a')])).toMatchObject({ closed: complete, input: [hello] });

    const running = halfPending();
    expect(plan(running, [hello], [allow('a')])).toMatchObject({ resumed: running, input: [] });
    expect(running.postponed).toEqual([hello]);
  });

  test('a message without decisions about everything changes nothing', () => {
    const open = halfPending();
    expect(() => plan(open, [hello, resultMsg('b')])).toThrow(/^Tool calls are pending/);
    expect([open.exchange.resultOf('b'), open.postponed]).toEqual([undefined, []]);
  });

  test('results from outside are fitted, and end no reply as a tool can', () => {
    const open = halfPending();
    const given = Msg.system([{ ...result('b', 'long'), responseMsg: Msg.assistant('the end').toJSON() }]);
    plan(open, [given], [], { fit: (one) => ({ ...one, output: 'cut' }) });
    expect(open.exchange.resultOf('b')).toEqual(result('b', 'cut'));
  });

  test('a result for a pending tool call decides it, and only once', () => {
    const open = halfPending();
    const { suppliedResults } = plan(open, [resultMsg('a')]);
    expect([suppliedResults, open.statuses.hasPending]).toEqual([[result('a')], false]);
    expect(() => plan(open, [resultMsg('a')])).toThrow(/There is no pending tool call 'a'/);
    expect(() => plan(halfPending(), [resultMsg('b'), resultMsg('b')])).toThrow(/no pending tool call 'b'/);
  });

  test('a reply with structured output is resumed with a schema only', () => {
    const open = halfPending({ wantsStructuredOutput: true });
    expect(() => plan(open, [])).toThrow(/Resume it with the same structuredModel/);
    expect(() => plan(open, [], [deny('a')])).toThrow(/Resume it with the same structuredModel/);
    expect(plan(open, [], [deny('a')], { hasStructuredModel: true }).resumed).toBe(open);
  });

  test('only the tool call in which the agent was called takes decisions, if that is suspended for them', () => {
    const open = halfPending({ owner: ['outer'] });
    open.isDecidedByOwner = true;
    expect(() => plan(open, [], [deny('a')])).toThrow(/^The agent was called by boss, .* decide there/);
    expect(plan(open, [], [deny('a')], { outerToolCallId: 'outer' }).resumed).toBe(open);
  });

  test('decisions about an exchange that is in memory come too late and have no effect', () => {
    const settled = halfPending();
    expect(plan(undefined, [resultMsg('b')], [deny('a')], { settled })).toEqual({
      input: [],
      suppliedResults: [],
    });
  });
});

describe('the end of a history of another program', () => {
  const modelMsg = Msg.assistant([call('a'), call('b')], { name: 'ann' });

  test('is an open exchange if tool calls have no result', () => {
    const found = unfinishedExchange([hello, modelMsg, resultMsg('a')], 'ann');
    expect(found?.msgs.map(({ id }) => id)).toEqual([modelMsg.id, found?.msgs[1]?.id]);
    expect(found?.open.toRun).toEqual([call('b')]);
    expect(found?.open.takeEnd(result('a'))).toBe(undefined); // told by the other program
  });

  test.each([
    ['all results are there', [modelMsg, resultMsg('a', 'b')], 'ann'],
    ['a message follows', [modelMsg, hello], 'ann'],
    ['another agent made the tool calls', [modelMsg], 'bob'],
    ['there are no tool calls', [hello], 'ann'],
    ['a result belongs to no tool call', [modelMsg, resultMsg('x')], 'ann'],
  ])('is none if %s', (_, history, agentName) => {
    expect(unfinishedExchange(history, agentName)).toBe(undefined);
  });
});
