// Permission given by a user belongs to one agent: saved with this agent, once, and loaded with it.
import { expect, test } from 'vitest';

import { agentTool } from '../src/subagent/agent-tool.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { TaskSubAgent } from '../src/subagent/task-sub-agent.ts';
import type { PermissionPolicy } from '../src/permission/permission-policy.ts';
import { PermissionRules } from '../src/permission/permission-rules.ts';
import { JsonSession } from '../src/stores/json/json-session.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import type { JsonObject } from '../src/util/json.ts';
import { newDir } from './json-folder.ts';
import { registerSubAgent } from '../src/subagent/register-sub-agent.ts';

const ALLOW_SEND = { tool: 'send', behavior: 'allow' } as const;

function agentWith(
  permissionPolicy: PermissionPolicy | undefined,
  script: readonly (string | ScriptedTurn)[] = [],
  tools: readonly Tool[] = [],
  name = 'Friday',
): ReActAgent {
  const toolkit = new Toolkit({ tools });
  const agent = new ReActAgent({ name, model: new ScriptedModel(script), toolkit, permissionPolicy });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

function mailbox(): { readonly sent: string[]; readonly send: Tool } {
  const sent: string[] = [];
  const send = tool({ name: 'send', sideEffect: true, execute: () => `sent ${sent.push('mail')}` });
  return { sent, send };
}

const calling = (name: string, input: JsonObject = {}): ScriptedTurn => ({
  toolCalls: [{ name, id: `call-${name}`, input }],
});

test('the mode and the granted rules are saved with the agent, and hold after a restart', async () => {
  const dir = await newDir();
  const session = new JsonSession(dir);
  const before = new PermissionRules({ mode: 'accept_edits' });
  before.addRule(ALLOW_SEND);
  await session.save('s1', { agent: agentWith(before) });
  const after = new PermissionRules();
  const { sent, send } = mailbox();
  const agent = agentWith(after, [calling('send'), 'Done.'], [send]);
  await session.load('s1', { agent });
  expect([after.mode, after.rules]).toEqual(['accept_edits', [ALLOW_SEND]]);
  expect([(await agent.call('go')).text, sent]).toEqual(['Done.', ['mail']]);
});

test('a state without it, such as an older one, leaves the policy as it is', () => {
  const older = agentWith(undefined).stateDict();
  expect(older).not.toHaveProperty('permission');
  const permissionPolicy = new PermissionRules({ mode: 'explore' });
  permissionPolicy.addRule(ALLOW_SEND);
  agentWith(permissionPolicy).loadStateDict(older);
  expect([permissionPolicy.mode, permissionPolicy.rules]).toEqual(['explore', [ALLOW_SEND]]);
  agentWith({ decide: () => ({ behavior: 'deny' }) }).loadStateDict(agentWith(permissionPolicy).stateDict());
});

test.each<[string, JsonObject]>([
  ['a mode', { mode: 'yolo', addedRules: [] }],
  ['a rule', { mode: 'default', addedRules: [{ tool: 'send', behavior: 'perhaps' }] }],
  [
    'a pattern',
    { mode: 'default', addedRules: [{ tool: 'send', behavior: 'allow', when: { a: { regex: '(' } } }] },
  ],
  ['a half', { mode: 'default' }],
])('%s that is wrong changes nothing in the whole agent', async (_, permission) => {
  const rules = new PermissionRules({ mode: 'explore' });
  const agent = agentWith(rules);
  await agent.observe('kept');
  const before = agent.stateDict();
  const other = { ...agentWith(new PermissionRules()).stateDict(), name: 'Mallory', permission };
  expect(() => agent.loadStateDict(other)).toThrow('Invalid state: ReActAgent.permission');
  expect(agent.stateDict()).toEqual(before);
});

test('a policy that several agents of a tree have is saved once, with the outermost', () => {
  const make = (permissionPolicy: PermissionRules): ReActAgent => {
    const inner = agentWith(permissionPolicy, [], [], 'inner');
    return agentWith(permissionPolicy, [], [agentTool(inner, { description: 'Helps.' })], 'outer');
  };
  const before = new PermissionRules({ mode: 'bypass' });
  before.addRule(ALLOW_SEND);
  const saved = make(before).stateDict();
  expect(saved['permission']).toEqual({ mode: 'bypass', addedRules: [ALLOW_SEND] });
  expect(JSON.stringify(saved).match(/addedRules/g)).toHaveLength(1);
  const after = new PermissionRules();
  make(after).loadStateDict(saved, { acceptGrants: true });
  expect([after.mode, after.rules]).toEqual(['bypass', [ALLOW_SEND]]);
  const forged = JSON.stringify(saved).replace(
    '"memory"',
    '"permission":{"mode":"dont_ask","addedRules":[]},"memory"',
  );
  expect(forged.match(/"mode"/g)).toHaveLength(2);
  make(after).loadStateDict(JSON.parse(forged) as JsonObject);
  expect(after.mode).toBe('bypass');
});

test('agents with policies of their own keep them apart', () => {
  const make = (): { outer: ReActAgent; own: PermissionRules; outers: PermissionRules } => {
    const [own, outers] = [new PermissionRules(), new PermissionRules()];
    const inner = agentWith(own, [], [], 'inner');
    const outer = agentWith(outers, [], [agentTool(inner, { description: 'Helps.' })], 'outer');
    return { outer, own, outers };
  };
  const before = make();
  before.own.mode = 'explore';
  before.outers.addRule(ALLOW_SEND);
  const after = make();
  after.outer.loadStateDict(before.outer.stateDict(), { acceptGrants: true });
  expect([after.own.mode, after.own.rules]).toEqual(['explore', []]);
  expect([after.outers.mode, after.outers.rules]).toEqual(['default', [ALLOW_SEND]]);
});

test('a sub-agent that waits does not save the policy of its host, nor set it back', async () => {
  const permissionPolicy = new PermissionRules({ rules: [{ tool: 'agent_mailer', behavior: 'allow' }] });
  const { sent, send } = mailbox();
  const host = agentWith(
    permissionPolicy,
    [calling('agent_mailer', { task: 'Send it.' }), 'Done.'],
    [send],
    'host',
  );
  const modelOverride = new ScriptedModel([calling('send'), 'It is sent.']);
  const spec = { name: 'mailer', description: 'Sends.', toolsAllowlist: ['send'], modelOverride };
  await registerSubAgent(host, TaskSubAgent, spec);
  await host.call('go');
  const [pending] = host.pendingCalls;
  expect(pending).toMatchObject({ call: { name: 'send' }, suggestions: [{ ...ALLOW_SEND, exact: true }] });
  expect(JSON.stringify(host.stateDict()).match(/addedRules/g)).toHaveLength(1);
  permissionPolicy.addRule(ALLOW_SEND);
  permissionPolicy.mode = 'dont_ask';
  const answer = await host.call(undefined, { decisions: [{ id: pending?.id ?? '', verdict: 'allow' }] });
  expect([answer.text, sent, permissionPolicy.addedRules, permissionPolicy.mode]).toEqual([
    'Done.',
    ['mail'],
    [ALLOW_SEND],
    'dont_ask',
  ]);
});
