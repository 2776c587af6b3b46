import { expect, test } from 'vitest';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { TroupeError } from '../errors.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { PlanNotebook } from '../plan/plan-notebook.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { readAgentScopeSession } from './agentscope-session.ts';

const time = '2025-11-20 10:00:00.123';

/** As AgentScope 1.x writes it. */
const FILE = {
  agent: {
    memory: {
      _compressed_summary: 'They met.',
      content: [
        [{ id: 'm1', name: 'user', role: 'user', content: 'Hi ☕', metadata: {}, timestamp: time }, ['hint']],
        [
          {
            id: 'm2',
            name: 'Friday',
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
              { type: 'text', text: 'Look:', thought_signature: 'ts' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
              { type: 'tool_use', id: 'c1', name: 'find', input: { q: 'x' }, raw_input: '{"q":"x"}' },
            ],
            metadata: null,
            timestamp: time,
          },
          [],
        ],
        [
          {
            id: 'm3',
            name: 'system',
            role: 'system',
            content: [
              {
                type: 'tool_result',
                id: 'c1',
                name: 'find',
                output: [
                  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
                ],
              },
            ],
            metadata: {},
            timestamp: time,
          },
          [],
        ],
        [{ id: 'm4', name: 'x', role: 'robot', content: 'nobody', timestamp: time }, []],
        'nonsense',
      ],
    },
    toolkit: { active_groups: ['maps'] },
    plan_notebook: {
      storage: { plans: {} },
      current_plan: {
        id: 'p1',
        name: 'Trip',
        description: 'Go.',
        expected_outcome: 'Been there.',
        state: 'in_progress',
        created_at: time,
        finished_at: null,
        outcome: null,
        subtasks: [
          {
            name: 'pack',
            description: 'd',
            expected_outcome: 'e',
            state: 'done',
            outcome: 'packed',
            created_at: time,
            finished_at: time,
          },
          {
            name: 'go',
            description: 'd',
            expected_outcome: 'e',
            state: 'in_progress', // finish_subtask starts the next one
            outcome: null,
            created_at: time,
            finished_at: null,
          },
        ],
      },
    },
    long_term_memory: {},
    name: 'Friday',
    _sys_prompt: 'You are Friday.',
    custom: 7,
  },
  memory: {
    content: [{ id: 'o1', name: 'user', role: 'user', content: 'old', metadata: {}, timestamp: time }],
  },
  broken: 5,
};

test('a session of AgentScope for Python is loaded into an agent and a memory', async () => {
  const { components, notTaken } = readAgentScopeSession(JSON.stringify(FILE));
  expect(notTaken).toStrictEqual([
    "agent.memory.content[3] can't be read: role must be one of user, assistant, system.",
    "agent.memory.content[4] can't be read: it is a string",
    'agent.custom is unknown',
    'broken is a number, not the state of a module',
  ]);
  const toolkit = new Toolkit();
  toolkit.createToolGroup('maps', { description: 'Maps.' });
  const planNotebook = new PlanNotebook();
  const agent = new ReActAgent({
    name: 'x',
    model: new ScriptedModel([]),
    toolkit,
    planNotebook,
    sysPrompt: 'y',
  });
  agent.loadStateDict(components['agent'] ?? {}, { strict: false });
  expect([agent.name, agent.sysPrompt, toolkit.activeGroups]).toStrictEqual([
    'Friday',
    'You are Friday.',
    ['maps'],
  ]);
  expect(await agent.memory.getCompressedSummary()).toBe('They met.');
  expect(
    (await agent.memory.getMemory({ mark: 'hint', prependSummary: false })).map((msg) => msg.text),
  ).toStrictEqual(['Hi ☕']);
  const msgs = await agent.memory.getMemory({ prependSummary: false });
  expect(msgs.map((msg) => msg.toJSON())).toStrictEqual([
    { id: 'm1', name: 'user', role: 'user', content: 'Hi ☕', metadata: {}, timestamp: time },
    {
      id: 'm2',
      name: 'Friday',
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', providerMeta: { anthropic: { signature: 'sig' } } },
        { type: 'text', text: 'Look:', providerMeta: { gemini: { thoughtSignature: 'ts' } } },
        { type: 'image', source: { type: 'base64', data: 'AA==', mediaType: 'image/png' } },
        { type: 'tool_use', id: 'c1', name: 'find', input: { q: 'x' }, rawInput: '{"q":"x"}' },
      ],
      metadata: {},
      timestamp: time,
    },
    {
      id: 'm3',
      name: 'system',
      role: 'system',
      content: [
        {
          type: 'tool_result',
          id: 'c1',
          name: 'find',
          output: [{ type: 'image', source: { type: 'base64', data: 'AA==', mediaType: 'image/png' } }],
          status: 'ok',
        },
      ],
      metadata: {},
      timestamp: time,
    },
  ]);
  expect(planNotebook.currentPlan?.toJSON()).toMatchObject({
    id: 'p1',
    state: 'in_progress',
    expectedOutcome: 'Been there.',
    subtasks: [
      { name: 'pack', state: 'done', outcome: 'packed' },
      { name: 'go', state: 'in_progress' },
    ],
  });
  const memory = new InMemoryMemory();
  memory.loadStateDict(components['memory'] ?? {});
  expect((await memory.getMemory()).map((msg) => msg.text)).toStrictEqual(['old']);
});

test('the order of the keys does not matter', () => {
  const state = { content: [], _compressed_summary: 'later' };
  expect(readAgentScopeSession(JSON.stringify({ memory: state })).components).toStrictEqual({
    memory: { content: [], compressedSummary: 'later' },
  });
});

test('a file that is not a session is refused', () => {
  for (const text of ['', 'nonsense', '[]', '5', 'null']) {
    expect(() => readAgentScopeSession(text)).toThrow(TroupeError);
  }
  expect(readAgentScopeSession('{"__proto__":{"name":"x"}}').notTaken).toStrictEqual([]);
  expect(Reflect.get({}, 'name')).toBeUndefined();
});

test('a list that is none is told', () => {
  expect(readAgentScopeSession('{"memory":{"content":5}}')).toStrictEqual({
    components: { memory: { compressedSummary: '', content: [] } },
    notTaken: ['memory.content is a number, not a list'],
  });
});
