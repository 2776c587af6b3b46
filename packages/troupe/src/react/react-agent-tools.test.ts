import { describe, expect, test } from 'vitest';
import { TroupeError } from '../errors.ts';
import { agentTool } from '../subagent/agent-tool.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { ReActAgent } from './react-agent.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';

const CALLS: ScriptedTurn = {
  toolCalls: [
    { id: 'c1', name: 'weather', input: {} },
    { id: 'c2', name: 'time', input: {} },
  ],
};
const weather = tool({ name: 'weather', execute: () => 'sunny' });
const time = tool({ name: 'time', execute: () => 'noon' });

function agentWith(
  options: Partial<ReActAgentOptions>,
  script: readonly (string | ScriptedTurn)[] = [CALLS, 'Done.'],
) {
  const model = new ScriptedModel(script);
  return { model, agent: new ReActAgent({ name: 'Friday', model, console: false, ...options }) };
}

const resultsOf = async (agent: ReActAgent): Promise<readonly unknown[]> => {
  await agent.call('Go.');
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  return results.map(({ name, output, status }) => [name, output, status]);
};

const BOTH = [
  ['weather', 'sunny', 'ok'],
  ['time', 'noon', 'ok'],
];

describe('the option tools', () => {
  test('needs no toolkit', async () => {
    const { agent, model } = agentWith({ tools: [weather, time] });
    expect(await resultsOf(agent)).toEqual(BOTH);
    expect(agent.toolkit.names).toEqual(['weather', 'time']);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['weather', 'time']);
  });

  test('adds to a copy of a toolkit, which stays as it was and can be shared', async () => {
    const toolkit = new Toolkit({ tools: [weather] });
    const { agent } = agentWith({ toolkit, tools: [time] });
    const { agent: other } = agentWith({ toolkit });
    expect(await resultsOf(agent)).toEqual(BOTH);
    expect([agent.toolkit.names, toolkit.names, other.toolkit.names]).toEqual([
      ['weather', 'time'],
      ['weather'],
      ['weather'],
    ]);
    expect(other.toolkit).toBe(toolkit);
    expect((await resultsOf(other))[1]).toMatchObject(['time', expect.anything(), 'unavailable']);
  });

  test('saves the states of agents among the tools, of both kinds', () => {
    const make = (name: string): ReActAgent => agentWith({ name: name, sysPrompt: name }).agent;
    const helper = (name: string) => agentTool(make(name), { description: 'Helps.' });
    const toolkit = new Toolkit({ tools: [helper('one')] });
    const { agent } = agentWith({ toolkit, tools: [helper('two')] });
    const saved = agent.stateDict()['toolkit'] as { modules: Record<string, { sysPrompt: string }> };
    expect(Object.values(saved.modules).map(({ sysPrompt }) => sysPrompt)).toEqual(['one', 'two']);
  });

  test.each<[string, unknown, string]>([
    [
      'a toolkit',
      new Toolkit(),
      'tools must be a list of tools: [tool({ … })]. A Toolkit is given as the option toolkit.',
    ],
    ['one tool', weather, 'tools must be a list of tools: [tool({ … })].'],
    ['a toolkit in a list', [new Toolkit()], 'tools[0] is a Toolkit: give it as the option toolkit.'],
    [
      'an agent',
      [weather, agentWith({}).agent],
      'tools[1] is an agent: make a tool of it with agentTool(agent, { description }).',
    ],
    [
      'a function',
      [() => 'x'],
      'tools[0] is a function: make a tool of it with tool({ name, schema, execute }).',
    ],
    [
      'nothing',
      [undefined],
      'tools[0] is undefined: the module that exports it has not run yet, which a circular import can cause, or exports no such name.',
    ],
    ['a name', ['weather'], 'tools[0] is not a tool: make one with tool({ name, schema, execute }).'],
    [
      'the same name twice',
      [weather, weather],
      "There is a tool 'weather' already. Give it another name, or set namesakeStrategy to 'skip', 'override' or 'rename'.",
    ],
  ])('refuses %s, and says what to do', (_, tools, problem) => {
    expect(() => agentWith({ tools: tools as never })).toThrow(new TroupeError('invalid_config', problem));
  });

  test('refuses a name that the toolkit has', () => {
    const toolkit = new Toolkit({ tools: [weather] });
    expect(() => agentWith({ toolkit, tools: [weather] })).toThrow("There is a tool 'weather' already.");
  });
});
