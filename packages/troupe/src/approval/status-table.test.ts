import { expect, test } from 'vitest';

import type { ToolUseBlock } from '../message/blocks.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { AuthorizeRequest } from '../toolkit/call/tool-call.ts';
import { tool } from '../toolkit/tool/tool.ts';
import type { JsonObject } from '../util/json.ts';
import type { Verdict } from './decisions.ts';
import { StatusTable } from './status-table.ts';

const call = (id: string, name = 'pay', input: JsonObject = { eur: 1 }): ToolUseBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
});
const pendingCall = (id: string, more: Partial<PendingCall> = {}): PendingCall => ({
  id: `ask_${id}`,
  agentPath: ['ann'],
  kind: 'approval',
  call: call(id),
  ...more,
});
const request = (wanted: ToolUseBlock, sent = wanted): AuthorizeRequest => ({
  call: wanted,
  sent,
  tool: tool({ name: wanted.name, description: '', schema: {}, execute: () => '' }),
});
const allow = (input?: JsonObject): Verdict => ({ type: 'grant', input });

/** Applies verdicts by the ids of pending tool calls. */
function decided(
  table: StatusTable,
  verdicts: Record<string, Verdict>,
  grantedTools: readonly string[] = [],
) {
  const decisions = Object.keys(verdicts).map((id) => ({ id, verdict: 'allow' }) as const);
  return table.apply(decisions, new Map(Object.entries(verdicts)), new Set(grantedTools));
}

test('lists pending tool calls, those of agents in tools included, each once', () => {
  const table = new StatusTable();
  expect([table.hasPending, table.pending]).toEqual([false, []]);
  const inner = pendingCall('inner');
  table.setPending(pendingCall('a'), 5);
  table.setNestedPending('b', { state: { step: 1 }, pending: [inner] }, 0);
  table.setNestedPending('c', { state: { step: 2 }, pending: [inner] }, 0); // waits for the same agent
  expect(table.pending).toEqual([pendingCall('a'), inner]);
  expect(table.ownPending).toEqual([pendingCall('a')]);
  expect(['a', 'b', 'x'].map((id) => table.isPending(id))).toEqual([true, true, false]);
  expect([table.msOf('a'), table.msOf('b'), table.msOf('x')]).toEqual([5, 0, 0]);
});

test('an allowed tool call may run with exactly the arguments that were asked about', () => {
  const table = new StatusTable();
  table.setPending(pendingCall('a'), 7);
  expect(table.isGranted(request(call('a')))).toBe(false);
  expect(decided(table, { ask_a: allow() })).toEqual([]);
  expect([table.hasPending, table.has('a'), table.msOf('a')]).toEqual([false, true, 7]);
  expect(table.isGranted(request(call('a')))).toBe(true);
  expect(table.isGranted(request(call('a', 'pay', { eur: 2 })))).toBe(false);
  expect(table.isGranted(request(call('a', 'refund')))).toBe(false);
  expect(table.isGranted(request(call('b')))).toBe(false);
  expect(table.editedInput('a')).toBe(undefined);
});

test('edited arguments are compared as sent, and stay when approval is needed again', () => {
  const table = new StatusTable();
  table.setPending(pendingCall('a'), 0);
  decided(table, { ask_a: allow({ eur: 3 }) });
  expect(table.editedInput('a')).toEqual({ eur: 3 });
  const sent = call('a', 'pay', { eur: 3 });
  expect(table.isGranted(request(call('a', 'pay', { eur: 3, currency: 'EUR' }), sent))).toBe(true);
  expect(table.isGranted(request(call('a', 'pay', { eur: 3 }), call('a')))).toBe(false);

  const again = pendingCall('a', { id: 'again', call: call('a', 'pay', { eur: 4 }) });
  table.setPending(again, 0);
  expect(table.toJSON()).toEqual({ a: { kind: 'waiting', pending: again, sent: { eur: 3 } } });
  decided(table, { again: allow() });
  expect(table.editedInput('a')).toEqual({ eur: 3 });
  expect(table.isGranted(request(call('a', 'pay', { eur: 4 }), sent))).toBe(true);
});

test('a tool allowed for the run releases its other pending tool calls, unless asked each time', () => {
  const table = new StatusTable();
  table.setPending(pendingCall('a'), 0);
  table.setPending(pendingCall('b'), 0);
  table.setPending(pendingCall('c', { isAskedEachTime: true }), 0);
  table.setPending(pendingCall('d', { kind: 'external' }), 0);
  table.setPending(pendingCall('e', { call: call('e', 'refund') }), 0);
  decided(table, { ask_a: allow() }, ['pay']);
  expect(table.pending.map(({ id }) => id)).toEqual(['ask_c', 'ask_d', 'ask_e']);
  expect(table.toJSON()['b']).toEqual({ kind: 'released' });
  expect(table.isGranted(request(call('b')))).toBe(false); // the policy judges it anew
});

test('denials and supplied results are returned, and their statuses stay until the results are recorded', () => {
  const table = new StatusTable();
  table.setPending(pendingCall('a'), 0);
  const denied = { type: 'tool_result', id: 'a', name: 'pay', output: 'no', status: 'denied' } as const;
  expect(decided(table, { ask_a: denied })).toEqual([denied]);
  expect(table.isPending('a')).toBe(true);
  table.delete('a');
  expect(table.has('a')).toBe(false);
});

test('decisions about tool calls of an agent in a tool go to that tool', () => {
  const table = new StatusTable();
  const [one, two] = [pendingCall('one'), pendingCall('two')];
  table.setNestedPending('a', { state: { step: 1 }, pending: [one, two] }, 9);
  table.setNestedPending('b', { state: { step: 2 }, pending: [pendingCall('three')] }, 0);
  const decision = { id: 'ask_two', verdict: 'deny' } as const;
  expect(table.apply([decision], new Map(), new Set())).toEqual([]);
  expect(table.resumeOf('a')).toMatchObject({ state: { step: 1 }, decisions: [decision] });
  expect([table.resumeOf('b'), table.isPending('b')]).toEqual([undefined, true]);
  expect(table.isGranted(request(call('a')))).toBe(true); // allowed before the suspension
  expect(table.msOf('a')).toBe(9);
});

test('statuses survive JSON', () => {
  const table = new StatusTable();
  table.setPending(pendingCall('a'), 3);
  table.setNestedPending('b', { state: null, pending: [pendingCall('inner')] }, 0);
  table.setPending(pendingCall('c'), 0);
  decided(table, { ask_c: allow({ eur: 2 }) });
  const json = JSON.parse(JSON.stringify(table)) as JsonObject;
  const loaded = new StatusTable();
  loaded.load(json, () => true, true);
  expect(loaded.toJSON()).toEqual(table.toJSON());
  expect(Object.keys(json)).toEqual(['a', 'b', 'c']);
});

test.each([
  ['no object', []],
  ['an unknown kind', { a: { kind: 'allowed' } }],
  ['a pending tool call of another id', { a: { kind: 'waiting', pending: { ...pendingCall('b') } } }],
  ['no pending tool call inside', { a: { kind: 'nested', state: null, pending: [] } }],
  ['arguments that are no object', { a: { kind: 'granted', name: 'pay', input: 'all', isEdited: false } }],
  ['a negative time', { a: { kind: 'released', ms: -1 } }],
  ['a tool call that is not unfinished', { z: { kind: 'released' } }],
])('refuses saved statuses with %s', (_, json) => {
  expect(() => new StatusTable().load(JSON.parse(JSON.stringify(json)), (id) => id === 'a', true)).toThrow(
    TypeError,
  );
});
