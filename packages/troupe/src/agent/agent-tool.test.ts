import { expect, test } from 'vitest';

import { ScriptedModel } from '../testing/scripted-model.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { agentTool } from './agent-tool.ts';
import { ReActAgent } from './react-agent.ts';

function agentWith(name: string, script: readonly string[], toolkit = new Toolkit()): ReActAgent {
  const agent = new ReActAgent({ name, model: new ScriptedModel(script), toolkit });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

test('an agent that is a tool is saved with the agent that has it', async () => {
  const inner = agentWith('inner', ['I know.']);
  const outer = agentWith('outer', []);
  outer.toolkit.registerToolFunction(agentTool(inner, { description: 'Knows.' }));
  await inner.call('Do you know?');
  const saved = outer.stateDict();

  const freshInner = agentWith('inner', []);
  const fresh = agentWith('outer', []);
  fresh.toolkit.registerToolFunction(agentTool(freshInner, { description: 'Knows.' }));
  fresh.loadStateDict(saved);
  expect((await freshInner.memory.getMemory()).map(({ text }) => text)).toEqual(['Do you know?', 'I know.']);

  fresh.toolkit.removeToolFunction('inner');
  expect(fresh.stateDict()).toMatchObject({ toolkit: { modules: {} } });
});

test('a state without it, or with one that is gone, can be loaded', async () => {
  const outer = agentWith('outer', []);
  const before = outer.stateDict();
  outer.toolkit.registerToolFunction(agentTool(agentWith('inner', []), { description: 'Knows.' }));
  const after = outer.stateDict();
  outer.loadStateDict(before);
  expect(outer.stateDict()).toEqual(after);
  const alone = agentWith('outer', []);
  alone.loadStateDict(after);
  expect(alone.stateDict()).toEqual(before);
});

test('agents that are tools of each other can be saved', () => {
  const [a, b] = [agentWith('a', []), agentWith('b', [])];
  a.toolkit.registerToolFunction(agentTool(b, { description: 'b' }));
  b.toolkit.registerToolFunction(agentTool(a, { description: 'a' }));
  expect(a.stateDict()).toMatchObject({ toolkit: { modules: { b: { toolkit: { modules: {} } } } } });
  a.loadStateDict(a.stateDict());
});
