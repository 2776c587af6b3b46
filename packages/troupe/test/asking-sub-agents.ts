// For the tests, and as a program: a root with three sub-agents, each in the one before; the last asks the user. As a program it
// saves itself in the given folder, and kills itself as soon as it has told the question.

import { askUserTool } from '../src/entries/ask-user.ts';
import {
  makeSubagentTool,
  ReActAgent,
  registerSubAgent,
  SessionManager,
  TaskSubAgent,
} from '../src/index.ts';
import { JsonSession } from '../src/stores/json/index.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';

type Script = readonly (string | ScriptedTurn)[];

/** @param scripts of the root and the sub-agents, from the outermost on */
export async function askingChain(scripts: readonly Script[]): Promise<ReActAgent> {
  const [root = [], ...inner] = scripts;
  const host = new ReActAgent({ name: 'root', model: new ScriptedModel(root), console: false });
  const options = { host, safetyLimits: { maxDepth: 3 } };
  const spec = (name: string, at: number) => ({
    name,
    description: name,
    modelOverride: new ScriptedModel(inner[at] ?? []),
  });
  const c = await makeSubagentTool(TaskSubAgent, { ...spec('c', 2), tools: [askUserTool()] }, options);
  const b = await makeSubagentTool(TaskSubAgent, { ...spec('b', 1), tools: [c] }, options);
  await registerSubAgent(host, TaskSubAgent, { ...spec('a', 0), tools: [b] }, options);
  return host;
}

export const delegates = (name: string): ScriptedTurn => ({
  toolCalls: [{ name: `agent_${name}`, id: `to_${name}`, input: { task: 'Find out.' } }],
});

export function sessionIn(folder: string, agent: ReActAgent): SessionManager {
  return SessionManager.forSessionId('asking').withSession(new JsonSession(folder)).addComponent(agent);
}

const [, program, folder] = process.argv;
if (program === import.meta.filename && folder !== undefined) {
  const question = { question: 'Where?', choices: ['Rome', 'Oslo'] };
  const agent = await askingChain([
    [delegates('a')],
    [delegates('b')],
    [delegates('c')],
    [{ toolCalls: [{ name: 'ask_user', id: 'q1', input: question }] }],
  ]);
  sessionIn(folder, agent).autoSave();
  for await (const event of agent.stream('Go.'))
    if (event.type === 'approval_needed') process.kill(process.pid, 'SIGKILL');
}
