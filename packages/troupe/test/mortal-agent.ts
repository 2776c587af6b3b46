/**
 * A program with an agent that saves itself, and is killed. What its tools do is written to a file, so that it outlives the program.
 *
 * `mortal-agent.ts <folder> pay`: three tools side by side; the one with a side effect kills the program while all of them run.
 * `mortal-agent.ts <folder> ask`: an agent in an agent wants to remove something, having looked; the program is killed when it has asked.
 * `mortal-agent.ts <folder> ask-pay`: the tool with a side effect is not run without approval; the program is killed when it has asked.
 * `mortal-agent.ts <folder> resume [decisions as JSON]`: the same agents in a new program go on.
 */
import { appendFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { agentTool } from '../src/subagent/agent-tool.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import type { PendingDecision } from '../src/message/pending-call.ts';
import { SessionManager } from '../src/session/session-manager.ts';
import { JsonSession } from '../src/stores/json/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson } from '../src/util/json.ts';

const [folder = '', mode = '', decisionsText = '[]'] = process.argv.slice(2);
const did = (what: string): void => appendFileSync(join(folder, 'done.txt'), `${what}\n`);
const forever = (): Promise<never> => new Promise(() => setInterval(() => {}, 1000));
const schema = { type: 'object', properties: { path: { type: 'string' } } };

const look = tool({
  name: 'look',
  schema,
  execute: ({ path }) => {
    did(`look ${String(path)}`);
    return `seen ${String(path)}`;
  },
});
const slow = tool({ name: 'slow', schema, execute: () => (mode === 'pay' ? forever() : 'slow and steady') });
const pay = tool({
  name: 'pay',
  schema,
  sideEffect: true,
  execute: () => {
    did('pay');
    process.kill(process.pid, 'SIGKILL');
  },
});
const remove = tool({
  name: 'remove',
  schema,
  sideEffect: true,
  execute: ({ path }) => {
    did(`remove ${String(path)}`);
    return 'removed';
  },
});

const call = (name: string, id: string, path: string) => ({ name, id, input: { path } });
const SCRIPTS: Readonly<Record<string, readonly (string | ScriptedTurn)[]>> = {
  pay: [{ toolCalls: [call('look', 'c1', '/a'), call('slow', 'c2', '/b'), call('pay', 'c3', '/c')] }],
  ask: [{ toolCalls: [call('look', 'o1', '/outer'), { name: 'inner', id: 'o2', input: { query: 'go' } }] }],
  'ask-pay': [{ toolCalls: [call('pay', 'c1', '/c')] }],
  resume: ['The outer agent is done.'],
};

function agentWith(name: string, script: readonly (string | ScriptedTurn)[], tools: Toolkit): ReActAgent {
  const agent = new ReActAgent({
    name,
    model: new ScriptedModel(script),
    toolkit: tools,
    parallelToolCalls: true,
    permissionPolicy: {
      decide: ({ call: { name: asked } }) => ({
        behavior: asked === 'remove' || (asked === 'pay' && mode === 'ask-pay') ? 'ask' : 'allow',
      }),
    },
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

const innerScript: readonly (string | ScriptedTurn)[] =
  mode === 'ask'
    ? [{ toolCalls: [call('look', 'i1', '/inner'), call('remove', 'i2', '/a')] }]
    : ['The inner agent is done.'];
const inner = agentWith('inner', innerScript, new Toolkit({ tools: [look, remove] }));
const outer = agentWith(
  'outer',
  SCRIPTS[mode] ?? [],
  new Toolkit({ tools: [look, slow, pay, agentTool(inner, { description: 'Knows what to remove.' })] }),
);

const manager = SessionManager.forSessionId('mortal')
  .withSession(new JsonSession(folder))
  .addComponent('agent', outer);
await manager.loadIfExists();
const saving = manager.autoSave();
const decisions = parseJson(decisionsText) as readonly PendingDecision[];
const answer = await outer.call(mode === 'resume' ? undefined : 'go', { decisions });
await saving.flush();
writeSync(
  1,
  JSON.stringify({
    text: answer.text,
    pending: outer.pendingCalls,
    outer: (await outer.memory.getMemory()).map((msg) => msg.toJSON()),
    inner: (await inner.memory.getMemory()).map((msg) => msg.toJSON()),
  }),
);
if (mode.startsWith('ask')) process.kill(process.pid, 'SIGKILL');
