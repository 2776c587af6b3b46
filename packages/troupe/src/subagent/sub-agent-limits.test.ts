// Limits hold for all delegations of a host together, at any depth.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { TroupeError } from '../errors.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../testing/scripted-model.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { sleep } from '../util/clock.ts';
import { validateWith } from '../util/schema.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { Budget } from './limits/budget.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import { copyLimits, stricter, type SafetyLimits } from './limits/safety-limits.ts';
import { SubAgentBase } from './sub-agent-base.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';
import { TaskSubAgent } from './task-sub-agent.ts';
import { registerSubAgent } from './register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

const usage = { inputTokens: 30, outputTokens: 10, cost: 2 };
const ask = (name: string, id: string, task = id): ScriptedToolCall => ({ name, id, input: { task } });
const look = tool({ name: 'look', execute: () => 'seen' });

interface Family {
  readonly boss: ReActAgent;
  readonly mid: ScriptedModel;
  readonly leaf: ScriptedModel;
}

/** Host with a sub-agent, which may have a nested sub-agent; each has its own script. */
async function familyOf(
  scripts: {
    boss: readonly (string | ScriptedTurn)[];
    mid?: readonly (string | ScriptedTurn)[];
    leaf?: readonly (string | ScriptedTurn)[];
  },
  safetyLimits: SafetyLimits,
  specs: { mid?: Partial<SubAgentSpec>; leaf?: Partial<SubAgentSpec> } = {},
  parallelToolCalls = false,
): Promise<Family> {
  const model = new ScriptedModel(scripts.boss);
  const mid = new ScriptedModel(scripts.mid ?? []);
  const leaf = new ScriptedModel(scripts.leaf ?? []);
  const boss = new ReActAgent({
    name: 'boss',
    model,
    toolkit: new Toolkit({ tools: [look] }),
    parallelToolCalls,
  });
  boss.setConsoleOutputEnabled(false);
  const helper = { name: 'leaf', description: 'helps', modelOverride: leaf, tools: [look], ...specs.leaf };
  const tools: Tool[] = [look];
  if (scripts.leaf !== undefined) {
    tools.push(await makeSubagentTool(TaskSubAgent, helper, { host: boss, safetyLimits }));
  }
  const worker = { name: 'mid', description: 'works', modelOverride: mid, tools, ...specs.mid };
  await registerSubAgent(boss, TaskSubAgent, worker, { safetyLimits });
  return { boss, mid, leaf };
}

async function outcomes(boss: ReActAgent): Promise<readonly (readonly [unknown, unknown])[]> {
  await boss.call('go');
  const memory = await boss.memory.getMemory();
  expect(findHistoryFaults(memory)).toEqual([]);
  const results = memory.flatMap((msg): readonly ToolResultBlock[] => msg.getContentBlocks('tool_result'));
  return results.map(({ output, metadata = {} }) => [metadata['error'] ?? 'ok', output] as const);
}

const limit = (name: string, what: string) =>
  ['limit', `[subagent_limit] ${name} was stopped: The limit of ${what} is used up.`] as const;

describe('tokens and money', () => {
  test('are counted for all sub-agents and the host together: the third has nothing left', async () => {
    const turns = [1, 2, 3].map((n): ScriptedTurn => ({ toolCalls: [ask('agent_mid', `c${n}`)], usage }));
    const { boss, mid } = await familyOf(
      {
        boss: [...turns, 'done'],
        mid: [
          { text: 'one', usage },
          { text: 'two', usage },
        ],
      },
      { maxTokens: 200 }, // 40 for each model call
    );
    expect(await outcomes(boss)).toEqual([['ok', 'one'], ['ok', 'two'], limit('mid', '200 tokens')]);
    expect(mid.requests.length).toBe(2);
  });

  test('stop a sub-agent between its steps, with a valid history', async () => {
    const looks = Array.from({ length: 9 }, (_, n): ScriptedTurn => ({
      toolCalls: [{ name: 'look', id: `l${n}`, input: {} }],
      usage,
    }));
    const { boss, mid } = await familyOf(
      { boss: [{ toolCalls: [ask('agent_mid', 'c')] }, 'done'], mid: looks },
      { maxCost: 6 },
    );
    expect(await outcomes(boss)).toEqual([limit('mid', 'a cost of 6')]);
    expect(mid.requests.length).toBe(3);
  });

  test('of ten at once are spent once: no more is begun when they are used up', async () => {
    const calls = Array.from({ length: 10 }, (_, n) => ask('agent_mid', `c${n}`));
    const turn: ScriptedTurn = { when: () => true, toolCalls: [{ name: 'look', input: {} }], usage };
    const { boss, mid } = await familyOf(
      { boss: [{ toolCalls: calls }, 'done'], mid: [turn] },
      { maxTokens: 800 },
      {},
      true,
    );
    expect(new Set((await outcomes(boss)).map(([code]) => code))).toEqual(new Set(['limit']));
    // 20 are within the limit, and one of each may be running
    expect(mid.requests.length).toBeLessThanOrEqual(30);
    expect(mid.requests.length).toBeGreaterThanOrEqual(20);
  });

  test('that are used up stop before a sub-agent is created', async () => {
    let made = 0;
    class Counted extends TaskSubAgent {
      constructor(...args: ConstructorParameters<typeof TaskSubAgent>) {
        super(...args);
        made++;
      }
    }
    const model = new ScriptedModel([{ toolCalls: [ask('agent_mid', 'c')], usage }, 'done']);
    const boss = new ReActAgent({ name: 'boss', model });
    boss.setConsoleOutputEnabled(false);
    await registerSubAgent(
      boss,
      Counted,
      { name: 'mid', description: 'm' },
      { safetyLimits: { maxTokens: 40 } },
    );
    expect(await outcomes(boss)).toEqual([limit('mid', '40 tokens')]);
    expect(made).toBe(1); // for the health check
  });

  test('of a helper of a worker count for the boss', async () => {
    const helps: ScriptedTurn = { toolCalls: [ask('agent_leaf', 'h')], usage };
    const { boss, leaf } = await familyOf(
      {
        boss: [{ toolCalls: [ask('agent_mid', 'c1')] }, { toolCalls: [ask('agent_mid', 'c2')] }, 'done'],
        mid: [helps, { text: 'helped', usage }, 'never'],
        leaf: [{ text: 'help', usage }],
      },
      { maxTokens: 120, maxDepth: 2 },
    );
    expect(await outcomes(boss)).toEqual([['ok', 'helped'], limit('mid', '120 tokens')]);
    expect(leaf.requests.length).toBe(1);
  });

  test('of a spec are for each of its tasks, and hold below it', async () => {
    const helps: ScriptedTurn = { toolCalls: [ask('agent_leaf', 'h')], usage };
    const { boss, mid, leaf } = await familyOf(
      {
        boss: [{ toolCalls: [ask('agent_mid', 'c1')] }, { toolCalls: [ask('agent_mid', 'c2')] }, 'done'],
        mid: [helps, helps, 'never'],
        leaf: [
          { text: 'help', usage },
          { text: 'help', usage },
        ],
      },
      { maxDepth: 2 },
      { mid: { safetyLimits: { maxTokens: 80 } } },
    );
    expect(await outcomes(boss)).toEqual([limit('mid', '80 tokens'), limit('mid', '80 tokens')]);
    expect([mid.requests.length, leaf.requests.length]).toEqual([2, 2]);
  });

  test('are there again for the next call of the host', async () => {
    const { boss } = await familyOf(
      {
        boss: [
          { toolCalls: [ask('agent_mid', 'c1')], usage },
          'done',
          { toolCalls: [ask('agent_mid', 'c2')], usage },
          'done',
        ],
        mid: [
          { text: 'one', usage },
          { text: 'two', usage },
        ],
      },
      { maxTokens: 80 },
    );
    await boss.call('first');
    expect(await outcomes(boss)).toEqual([
      ['ok', 'one'],
      ['ok', 'two'],
    ]);
  });
});

describe('model calls and delegations', () => {
  test('model calls of all levels are counted', async () => {
    const { boss, leaf } = await familyOf(
      {
        boss: [{ toolCalls: [ask('agent_mid', 'c')] }, 'done'],
        mid: [{ toolCalls: [ask('agent_leaf', 'h1')] }, { toolCalls: [ask('agent_leaf', 'h2')] }, 'never'],
        leaf: ['help', 'never'],
      },
      { maxModelCalls: 3, maxDepth: 2 },
    );
    expect(await outcomes(boss)).toEqual([limit('mid', '3 model calls')]);
    expect(leaf.requests.length).toBe(1);
  });

  test('delegations of all levels are counted', async () => {
    const { boss } = await familyOf(
      {
        boss: [{ toolCalls: [ask('agent_mid', 'c1')] }, { toolCalls: [ask('agent_mid', 'c2')] }, 'done'],
        mid: [{ toolCalls: [ask('agent_leaf', 'h')] }, 'helped'],
        leaf: ['help'],
      },
      { maxDelegations: 2, maxDepth: 2 },
    );
    expect(await outcomes(boss)).toEqual([['ok', 'helped'], limit('mid', '2 delegations')]);
  });

  test('limits of a spec apply to nested sub-agents', async () => {
    const { boss, leaf } = await familyOf(
      {
        boss: [{ toolCalls: [ask('agent_mid', 'c1')] }, 'done'],
        mid: [
          { toolCalls: [ask('agent_leaf', 'h1')] },
          { toolCalls: [ask('agent_leaf', 'h2')] },
          'helped once',
        ],
        leaf: ['help', 'never'],
      },
      { maxDepth: 2 },
      { mid: { safetyLimits: { maxDelegations: 1 } } },
    );
    expect(await outcomes(boss)).toEqual([['ok', 'helped once']]);
    expect(leaf.requests.length).toBe(1);
  });
});

describe('time', () => {
  class Slow extends SubAgentBase {
    override async reply(_msgs: readonly Msg[], turn: Parameters<SubAgentBase['reply']>[1]): Promise<Msg> {
      await turn.step({ kind: 'other', name: 'wait' }, () => sleep(700, turn.signal));
      return Msg.assistant('at last');
    }
  }

  test('of all that is delegated is limited, from the first delegation on', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const turns = [1, 2, 3].map((n): ScriptedTurn => ({
      toolCalls: [{ name: 'agent_slow', id: `c${n}`, input: { query: 'x' } }],
    }));
    const boss = new ReActAgent({ name: 'boss', model: new ScriptedModel([...turns, 'done']) });
    boss.setConsoleOutputEnabled(false);
    await registerSubAgent(
      boss,
      Slow,
      { name: 'slow', description: 'slow' },
      { safetyLimits: { maxWallMs: 1000 } },
    );
    const results = outcomes(boss);
    for (let n = 0; n < 20; n++) await clock.advance(100);
    expect(await results).toEqual([['ok', 'at last'], limit('slow', 'time'), limit('slow', '1 s')]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('depth', () => {
  test('is one by default: sub-agents of sub-agents are a mistake, which is told at once', async () => {
    await expect(familyOf({ boss: [], leaf: [] }, {})).rejects.toMatchObject({
      code: 'invalid_config',
      message:
        "The sub-agent 'mid' has sub-agents of its own. Allow that by safetyLimits.maxDepth of the host.",
    });
    await expect(familyOf({ boss: [], leaf: [] }, { maxDepth: 2 })).resolves.toBeDefined();
  });

  test('holds also for tools that are made at the last moment, and a spec may lower it', async () => {
    const boss = new ReActAgent({
      name: 'boss',
      model: new ScriptedModel([{ toolCalls: [ask('agent_mid', 'c')] }, 'done']),
    });
    boss.setConsoleOutputEnabled(false);
    const safetyLimits = { maxDepth: 5 };
    const leaf = await makeSubagentTool(
      TaskSubAgent,
      { name: 'leaf', description: 'helps' },
      { host: boss, safetyLimits },
    );
    const mid = new ScriptedModel([{ toolCalls: [ask('agent_leaf', 'h')] }, 'no help']);
    const spec = {
      name: 'mid',
      description: 'works',
      modelOverride: mid,
      tools: () => [leaf],
      safetyLimits: { maxDepth: 0 },
    };
    await registerSubAgent(boss, TaskSubAgent, spec, { safetyLimits });
    expect(await outcomes(boss)).toEqual([['ok', 'no help']]);
    const results = mid.requests[1]?.messages.flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results?.map(({ output }) => output)).toEqual([limit('leaf', 'levels of sub-agents')[1]]);
  });
});

describe('forbidden tools', () => {
  const shell = tool({ name: 'shell', schema: z.object({}), execute: () => 'ran' });

  class Sneaky extends TaskSubAgent {
    constructor(...args: ConstructorParameters<typeof TaskSubAgent>) {
      super(...args);
      if (!this.toolkit.has('shell')) this.toolkit.registerToolFunction(shell);
    }
  }

  test('are not given to anybody below, and can not be called, wherever they come from', async () => {
    const toolkit = new Toolkit({ tools: [shell, look] });
    const boss = new ReActAgent({
      name: 'boss',
      model: new ScriptedModel([{ toolCalls: [ask('agent_mid', 'c')] }, 'done']),
      toolkit,
    });
    boss.setConsoleOutputEnabled(false);
    const safetyLimits = { forbiddenTools: ['shell'], maxDepth: 2 };
    const leafModel = new ScriptedModel([
      { toolCalls: [{ name: 'shell', id: 's', input: {} }] },
      'not allowed',
    ]);
    const leafSpec = {
      name: 'leaf',
      description: 'helps',
      modelOverride: leafModel,
      toolsAllowlist: ['shell'],
    };
    const leaf = await makeSubagentTool(Sneaky, leafSpec, { host: boss, safetyLimits: { maxDepth: 2 } });
    const mid = new ScriptedModel([{ toolCalls: [ask('agent_leaf', 'h')] }, 'helped']);
    const midSpec = {
      name: 'mid',
      description: 'works',
      modelOverride: mid,
      tools: [leaf],
      toolsAllowlist: ['shell', 'look'],
    };
    await registerSubAgent(boss, TaskSubAgent, midSpec, { safetyLimits });
    expect(await outcomes(boss)).toEqual([['ok', 'helped']]);
    expect(mid.requests[0]?.tools?.map(({ name }) => name)).toEqual(['look', 'agent_leaf']);
    const results = leafModel.requests[1]?.messages.flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results).toMatchObject([
      { status: 'denied', output: 'PermissionDenied: No sub-agent may use this tool.' },
    ]);
  });
});

describe('limits themselves', () => {
  test('are copied', async () => {
    const forbiddenTools = ['shell'];
    const given = { maxTokens: 5, forbiddenTools };
    const copy = copyLimits(given);
    forbiddenTools.push('other');
    given.maxTokens = 500;
    expect(copy).toEqual({ maxTokens: 5, forbiddenTools: ['shell'] });
    expect(Object.isFrozen(copy) && Object.isFrozen(copy.forbiddenTools)).toBe(true);
  });

  test('of two the stricter holds', () => {
    expect(
      stricter(
        { maxTokens: 5, maxDepth: 2, forbiddenTools: ['a'] },
        { maxTokens: 9, maxCost: 1, forbiddenTools: ['b', 'a'] },
      ),
    ).toEqual({
      maxTokens: 5,
      maxCost: 1,
      maxDepth: 2,
      forbiddenTools: ['a', 'b'],
    });
  });

  test('that are invalid are refused', () => {
    for (const limits of [{ maxTokens: -1 }, { maxCost: NaN }, { forbiddenTools: 'shell' }]) {
      expect(() => copyLimits(limits as SafetyLimits)).toThrow(TroupeError);
    }
  });

  test('a budget goes on with what was spent, and what was tampered with gives nothing back', () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const outer = Budget.ofHost({}, undefined);
    const saved = outer
      .inner({}, { calls: 1, iterations: 2, ms: 500, usage: { inputTokens: 3, outputTokens: 4, cost: 5 } })
      .toJSON();
    expect(saved).toEqual({
      calls: 1,
      iterations: 2,
      ms: 500,
      usage: { inputTokens: 3, outputTokens: 4, cost: 5 },
    });
    expect(() => outer.inner({ maxTokens: 7 }, saved).check()).toThrow('The limit of 7 tokens is used up.');
    expect(() => outer.inner({ maxModelCalls: 2 }, saved).beginStep(true)).toThrow('2 model calls');
    expect(() => outer.inner({ maxWallMs: 500 }, saved).check()).toThrow('0.5 s');
    const forged = { calls: -5, iterations: 'x', ms: -1e9, usage: { inputTokens: -7 } };
    expect(outer.inner({}, forged).toJSON()).toEqual({
      calls: 0,
      iterations: 0,
      ms: 0,
      usage: { inputTokens: 0, outputTokens: 0, cost: 0 },
    });
  });
});
