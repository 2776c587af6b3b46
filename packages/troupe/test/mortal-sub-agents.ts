/**
 * A program with a chain of sub-agents, three deep, that saves itself, and is killed. What its tools do is written to a file, so that it outlives the program.
 *
 * `mortal-sub-agents.ts <folder> ask`: the last of them wants to remove something, having looked; the program is killed when that is asked.
 * `mortal-sub-agents.ts <folder> resume [decisions as JSON]`: the same agents in a new program go on.
 * `mortal-sub-agents.ts <folder> die [decisions as JSON]`: they go on as well, and the program is killed in the middle of the removal.
 */
import { appendFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { ReActAgent } from '../src/react/react-agent.ts';
import { makeSubagentTool } from '../src/subagent/make-subagent-tool.ts';
import type { SubAgentSpec } from '../src/subagent/sub-agent-spec.ts';
import { TaskSubAgent } from '../src/subagent/task-sub-agent.ts';
import type { PendingDecision } from '../src/message/pending-call.ts';
import { SessionManager } from '../src/session/session-manager.ts';
import { JsonSession } from '../src/stores/json/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { parseJson } from '../src/util/json.ts';
import { registerSubAgent } from '../src/subagent/register-sub-agent.ts';

const [folder = '', mode = '', decisionsText = '[]'] = process.argv.slice(2);
const schema = { type: 'object', properties: { path: { type: 'string' } } };
const tools = ['look', 'remove'].map((name) =>
  tool({
    name,
    schema,
    sideEffect: name === 'remove',
    execute: ({ path }) => {
      appendFileSync(join(folder, 'done.txt'), `${name} ${String(path)}\n`);
      if (name === 'remove' && mode === 'die') process.kill(process.pid, 'SIGKILL');
      return `${name}: done`;
    },
  }),
);

function model(before: readonly ScriptedTurn[], after: string): ScriptedModel {
  return new ScriptedModel(mode === 'ask' ? before : [after]);
}

function spec(name: string, before: readonly ScriptedTurn[]): SubAgentSpec {
  return { name, description: name, modelOverride: model(before, `${name} is done.`) };
}

const delegate = (name: string, id: string): ScriptedTurn => ({
  toolCalls: [{ name: `agent_${name}`, id, input: { task: 'go' } }],
});
const call = (name: string, id: string, path: string) => ({ name, id, input: { path } });

const root = new ReActAgent({
  name: 'root',
  model: model([delegate('a', 'r1')], 'The root is done.'),
  permissionPolicy: { decide: ({ call: { name } }) => ({ behavior: name === 'remove' ? 'ask' : 'allow' }) },
});
root.setConsoleOutputEnabled(false);
const options = { host: root, safetyLimits: { maxDepth: 3 } };
const asking = {
  toolCalls: [call('look', 'c1', '/first'), call('remove', 'c2', '/a'), call('look', 'c3', '/last')],
};
const last = await makeSubagentTool(TaskSubAgent, { ...spec('c', [asking]), tools }, options);
const middle = await makeSubagentTool(
  TaskSubAgent,
  { ...spec('b', [delegate('c', 'b1')]), tools: [last] },
  options,
);
await registerSubAgent(root, TaskSubAgent, { ...spec('a', [delegate('b', 'a1')]), tools: [middle] }, options);

const manager = SessionManager.forSessionId('mortal')
  .withSession(new JsonSession(folder))
  .addComponent('agent', root);
await manager.loadIfExists();
const saving = manager.autoSave();
const decisions = parseJson(decisionsText) as readonly PendingDecision[];
const answer = await root.call(mode === 'ask' ? 'go' : undefined, { decisions });
await saving.flush();
const outer = (await root.memory.getMemory()).map((msg) => msg.toJSON());
writeSync(1, JSON.stringify({ text: answer.text, pending: root.pendingCalls, outer }));
if (mode === 'ask') process.kill(process.pid, 'SIGKILL');
