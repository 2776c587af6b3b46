import { expect, test } from 'vitest';

import { stopAgent } from '../agent/turn/loop-control.ts';
import { TroupeError } from '../errors.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { OpenExchange } from './open-exchange.ts';
import { OPEN_EXCHANGE_STATE } from './saved-exchange.ts';

const call = (id: string, name = 'pay'): ToolUseBlock => ({ type: 'tool_use', id, name, input: { eur: 1 } });
const result = (id: string, output = 'done'): ToolResultBlock => ({
  type: 'tool_result',
  id,
  name: 'pay',
  output,
  status: 'ok',
});
const pendingCall = (id: string, more: Partial<PendingCall> = {}): PendingCall => ({
  id: `ask_${id}`,
  agentPath: ['ann'],
  kind: 'approval',
  call: call(id),
  ...more,
});
const exchangeOf = (...ids: string[]): OpenExchange =>
  new OpenExchange(
    Msg.assistant(
      ids.map((id) => call(id)),
      { name: 'ann' },
    ),
  );
const fit = (given: ToolResultBlock): ToolResultBlock => given;

test('tool calls to run have no result and are not pending', () => {
  const open = exchangeOf('a', 'b', 'c');
  open.addResult(result('a'));
  open.setPending(pendingCall('b'));
  expect(open.toRun).toEqual([call('c')]);
  expect(['a', 'b', 'c', 'x'].map((id) => open.isUnfinished(id))).toEqual([false, true, true, false]);
  open.addResult(result('b'));
  expect(open.statuses.pending).toEqual([]);
});

test('the end of a tool call is told once, with the time spent on it', async () => {
  using clock = new FakeClock().install();
  const open = exchangeOf('a', 'b');
  expect(open.begin('a')).toBe(true);
  await clock.advance(30);
  open.setPending(pendingCall('a'));
  await clock.advance(1000); // pending: does not count
  open.applyDecisions([{ id: 'ask_a', verdict: 'allow' }], fit);
  expect(open.begin('a')).toBe(false); // resumed
  await clock.advance(12);
  open.addResult(result('a'));
  await clock.advance(500);
  expect(open.takeEnd(result('a'))).toEqual({
    type: 'tool_result',
    call: call('a'),
    result: result('a'),
    durationMs: 42,
  });
  expect(open.takeEnd(result('a'))).toBe(undefined);
  expect(open.takeEnd(result('b'))?.durationMs).toBe(0);
  expect(open.takeEnd(result('x'))).toBe(undefined);
});

test('the time in which a denied tool call was pending does not count', async () => {
  using clock = new FakeClock().install();
  const open = exchangeOf('a');
  open.begin('a');
  await clock.advance(30);
  open.setPending(pendingCall('a'));
  await clock.advance(1000);
  const [denied = result('a')] = open.applyDecisions([{ id: 'ask_a', verdict: 'deny' }], fit);
  expect(open.takeEnd(denied)?.durationMs).toBe(30);
});

test('results that an earlier agent call told are not told again', () => {
  const open = exchangeOf('a', 'b');
  open.addResult(result('a'));
  open.setTold();
  open.addResult(result('b'));
  expect([open.takeEnd(result('a')), open.takeEnd(result('b'))?.call.id]).toEqual([undefined, 'b']);
});

test('decisions apply all or none', () => {
  const open = exchangeOf('a', 'b', 'c');
  open.setPending(pendingCall('a'));
  open.setPending(pendingCall('b'));
  open.setPending(pendingCall('c', { kind: 'external' }));
  const before = JSON.stringify(open.statuses);
  const deny = { id: 'ask_a', verdict: 'deny' } as const;
  for (const wrong of [
    [deny, { id: 'ask_x', verdict: 'allow' }],
    [deny, deny],
    [deny, { id: 'ask_c', verdict: 'allow' }],
  ] as const)
    expect(() => open.applyDecisions(wrong, fit)).toThrow(TroupeError);
  expect(() => open.applyDecisions([{ id: 'a', verdict: 'allow' }], fit)).toThrow(/decide by the `id`/);
  expect([JSON.stringify(open.statuses), open.exchange.resultOf('a')]).toEqual([before, undefined]);

  const supplied = { id: 'ask_c', verdict: 'result', output: 'paid' } as const;
  const results = open.applyDecisions([deny, { id: 'ask_b', verdict: 'allow' }, supplied], fit);
  expect(results.map(({ id, status }) => [id, status])).toEqual([
    ['a', 'denied'],
    ['c', 'ok'],
  ]);
  expect(open.toRun).toEqual([call('b')]);
});

test('a decision for the run allows the tool until the reply ends', () => {
  const open = exchangeOf('a', 'b');
  open.setPending(pendingCall('a'));
  open.setPending(pendingCall('b'));
  open.applyDecisions([{ id: 'ask_a', verdict: 'allow', scope: 'run' }], fit);
  expect([...open.grantedTools]).toEqual(['pay']);
  expect(open.toRun.map(({ id }) => id)).toEqual(['a', 'b']);
});

test('knows in advance whether results and decisions complete the exchange', () => {
  const open = exchangeOf('a', 'b');
  open.setPending(pendingCall('a'));
  const deny = { id: 'ask_a', verdict: 'deny' } as const;
  expect(open.isCompleteAfter([], [deny])).toBe(false);
  expect(open.isCompleteAfter([result('b')], [deny])).toBe(true);
  expect(open.isCompleteAfter([result('b')], [{ id: 'ask_a', verdict: 'allow' }])).toBe(false);
  expect([open.isDecidedBy([]), open.isDecidedBy([deny])]).toEqual([false, true]);
});

test('edited arguments are those of the tool call as it runs, and the model is told of them', () => {
  const open = exchangeOf('a');
  open.setPending(pendingCall('a'));
  expect(open.runnable(call('a'))).toEqual(call('a'));
  open.applyDecisions([{ id: 'ask_a', verdict: 'allow', input: { eur: 5 } }], fit);
  expect(open.runnable(call('a'))).toEqual({ ...call('a'), input: { eur: 5 } });
  const note = '<system-info>The user changed the arguments to {"eur":5}.</system-info>';
  expect(open.withNote(result('a')).output).toBe(`${note}\ndone`);
  const blocks = { ...result('a'), output: [{ type: 'text', text: 'done' }] } as const;
  expect(open.withNote(blocks).output).toEqual([
    { type: 'text', text: note },
    { type: 'text', text: 'done' },
  ]);
});

test('the first stop of a hook, in the order of the tool calls, ends the reply', () => {
  const open = exchangeOf('a', 'b');
  expect([open.control, open.stoppedAt]).toEqual([undefined, undefined]);
  open.addResult(result('a', 'first'));
  open.addResult(result('b', 'second'));
  open.controls.set('b', stopAgent('by b'));
  open.controls.set('a', stopAgent('by a'));
  expect(open.control?.answer).toEqual([{ type: 'text', text: 'by a' }]);
  expect(open.stoppedAt?.output).toBe('first');
});

test('survives JSON; a started tool call without a result has an unknown outcome then', () => {
  const open = new OpenExchange(Msg.assistant([call('a'), call('b'), call('c')], { name: 'ann' }), {
    grantedTools: new Set(['read']),
    requestIds: new Set(['m1']),
    addedIds: new Set(['m1', 'm2']),
    owner: ['outer'],
    wantsStructuredOutput: true,
  });
  open.addResult(result('a'));
  open.setPending(pendingCall('b'));
  open.started.add('c');
  open.postponed.push(Msg.user('later'));
  open.controls.set('a', stopAgent('enough'));
  open.isDecidedByOwner = true;
  open.iteration = 2;
  const json = JSON.parse(JSON.stringify(OPEN_EXCHANGE_STATE.toJson(open)));
  const loaded = OPEN_EXCHANGE_STATE.fromJson(json, { acceptsGrants: true });
  if (loaded === undefined) throw new Error('nothing was loaded');
  expect(loaded.exchange.resultOf('a')).toEqual(result('a'));
  expect(loaded.exchange.resultOf('c')).toMatchObject({ status: 'interrupted' });
  expect(loaded.exchange.resultOf('c')?.output).toMatch(/its outcome is unknown/);
  expect([loaded.takeEnd(result('a')), loaded.takeEnd(result('c'))?.call.id]).toEqual([undefined, 'c']);
  const again = JSON.parse(JSON.stringify(OPEN_EXCHANGE_STATE.toJson(loaded)));
  expect(again).toEqual({ ...json, answers: [...json.answers, loaded.exchange.resultOf('c')] });
  expect([
    OPEN_EXCHANGE_STATE.toJson(undefined),
    OPEN_EXCHANGE_STATE.fromJson(null, { acceptsGrants: true }),
  ]).toEqual([null, undefined]);
});

test.each([
  ['no object', [], 'it is no object'],
  ['a negative iteration', { iteration: -1 }, 'iteration must be a whole number'],
  ['a message of a user', { thought: Msg.user('hi').toJSON() }, 'has not the role assistant'],
  ['owners that are no texts', { owner: [1] }, 'owner must be a list of strings'],
  ['answers that are no list', { answers: {} }, 'answers must be a list'],
  ['no statuses', { standings: null }, 'statuses of its tool calls are missing'],
  ['controls that are no object', { controls: [] }, 'controls must be an object'],
])('refuses a saved exchange with %s', (_, changes, problem) => {
  const json = OPEN_EXCHANGE_STATE.toJson(exchangeOf('a')) as object;
  const changed = Array.isArray(changes) ? changes : { ...json, ...changes };
  expect(() =>
    OPEN_EXCHANGE_STATE.fromJson(JSON.parse(JSON.stringify(changed)), { acceptsGrants: true }),
  ).toThrow(problem);
});

test('approvals in a saved exchange count only if the source accepts grants', () => {
  const open = exchangeOf('a');
  open.grantedTools.add('pay');
  const json = JSON.parse(JSON.stringify(OPEN_EXCHANGE_STATE.toJson(open)));
  const [accepted, refused] = [true, false].map((acceptsGrants) =>
    OPEN_EXCHANGE_STATE.fromJson(json, { acceptsGrants }),
  );
  expect([open, accepted, refused].map((one) => OPEN_EXCHANGE_STATE.grants(one))).toEqual([
    true,
    true,
    false,
  ]);
  expect([accepted?.grantedTools, refused?.grantedTools]).toEqual([new Set(['pay']), new Set()]);
});
