import { expect, test } from 'vitest';

import { withRunConfig } from '../config/run-config.ts';
import type { ToolUseBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import type { PermissionPolicy, PermissionRequest } from '../permission/permission-policy.ts';
import type { AuthorizeRequest, ToolVerdict } from '../toolkit/call/tool-call.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { authorize } from './authorize.ts';
import { OpenExchange } from './open-exchange.ts';

const call: ToolUseBlock = { type: 'tool_use', id: 'a', name: 'pay', input: { eur: 1 } };
const request = (sideEffect = false): AuthorizeRequest => ({
  call,
  sent: call,
  tool: tool({ name: 'pay', description: '', schema: {}, sideEffect, execute: () => '' }),
});
const openExchange = (): OpenExchange => new OpenExchange(Msg.assistant([call], { name: 'ann' }));
const policy = (decide: (request: PermissionRequest) => unknown): PermissionPolicy => ({
  decide: (given) => decide(given) as ToolVerdict,
});

/** The agent call, with its saves before tools with side effects. */
function agentCall(save: () => Promise<void> = async () => {}) {
  const saves: (string | undefined)[] = [];
  const checkpoint = async (toolCallId?: string): Promise<void> => {
    saves.push(toolCallId);
    await save();
  };
  return { saves, control: { agentPath: ['ann'], checkpoint } };
}

test('without a policy every tool call may run', async () => {
  const { saves, control } = agentCall();
  expect(await authorize(request(), {}, openExchange(), control)).toEqual({ behavior: 'allow' });
  expect(saves).toEqual([]);
});

test('the policy sees the tool call, the agent and the context', async () => {
  const seen: PermissionRequest[] = [];
  const permissionPolicy = policy((given) => {
    seen.push(given);
    return { behavior: 'allow' };
  });
  const asked = request();
  await authorize(
    asked,
    { permissionPolicy, toolContext: { user: 'Bo' } },
    openExchange(),
    agentCall().control,
  );
  expect(seen).toEqual([{ call, tool: asked.tool, agentPath: ['ann'], context: { user: 'Bo' } }]);
});

test('a denial of the policy counts more than a decision', async () => {
  const open = openExchange();
  open.grantedTools.add('pay');
  const permissionPolicy = policy(() => ({ behavior: 'deny', reason: 'never' }));
  expect(await authorize(request(true), { permissionPolicy }, open, agentCall().control)).toMatchObject({
    behavior: 'deny',
    reason: 'never',
  });
  expect([...open.started]).toEqual([]);
});

test('a tool call that the policy asks about runs only after a decision, and never where nobody can be asked', async () => {
  const permissionPolicy = policy(() => ({ behavior: 'ask', reason: 'money' }));
  const { control } = agentCall();
  const open = openExchange();
  expect(await authorize(request(), { permissionPolicy }, undefined, control)).toEqual({
    behavior: 'deny',
    reason: 'nobody can be asked here',
  });
  expect(await authorize(request(), { permissionPolicy }, open, control)).toMatchObject({
    behavior: 'ask',
    reason: 'money',
  });
  open.setPending({ id: 'ask', agentPath: ['ann'], kind: 'approval', call });
  open.applyDecisions([{ id: 'ask', verdict: 'allow' }], (result) => result);
  expect(await authorize(request(), { permissionPolicy }, open, control)).toEqual({ behavior: 'allow' });
});

test('a tool allowed for the run is asked about again if the policy asks each time', async () => {
  const open = openExchange();
  open.grantedTools.add('pay');
  const behaviors = [];
  for (const isAskedEachTime of [false, true]) {
    const permissionPolicy = policy(() => ({ behavior: 'ask', isAskedEachTime }));
    behaviors.push((await authorize(request(), { permissionPolicy }, open, agentCall().control)).behavior);
  }
  expect(behaviors).toEqual(['allow', 'ask']);
});

test('the start of a tool with a side effect is noted and saved before the tool runs', async () => {
  const open = openExchange();
  let startedAtSave: readonly string[] = [];
  const { saves, control } = agentCall(async () => {
    startedAtSave = [...open.started];
  });
  expect(await authorize(request(true), {}, open, control)).toEqual({ behavior: 'allow' });
  expect([saves, startedAtSave]).toEqual([[undefined], ['a']]);
});

test('a tool with a side effect does not run if its start can not be saved; the log has the cause, the model has not', async () => {
  const { control } = agentCall(() => Promise.reject(new Error("session 'anna' on a full disk")));
  const lines: string[] = [];
  const logging = { log: (level: string, message: string) => void lines.push(`${level}: ${message}`) };
  const run = async (): Promise<ToolVerdict> => authorize(request(true), {}, openExchange(), control);
  expect(await withRunConfig({ logging }, run)).toEqual({
    behavior: 'deny',
    reason: 'its start could not be saved',
  });
  expect(lines).toEqual([
    "warn: The tool 'pay' did not run, as its start was not saved: session 'anna' on a full disk",
  ]);
});

test.each([
  ['an unknown behavior', () => ({ behavior: 'maybe' }), 'the policy gave no verdict'],
  ['a reason that is no text', () => ({ behavior: 'allow', reason: 1 }), 'the policy gave no verdict'],
  ['nothing', () => undefined, 'the policy failed'],
  ['an error', () => Promise.reject(new Error('offline')), 'the policy failed'],
  ['suggestions that are not JSON', () => ({ behavior: 'ask', suggestions: [() => 1] }), 'the policy failed'],
])('a policy that gives %s denies', async (_, decide, reason) => {
  const run = async (): Promise<ToolVerdict> =>
    authorize(request(), { permissionPolicy: policy(decide) }, openExchange(), agentCall().control);
  expect(await withRunConfig({ logging: 'silent' }, run)).toEqual({ behavior: 'deny', reason });
});
