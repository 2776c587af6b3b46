// The loop with a plan, a task in the background and a call that has to be allowed, disturbed at every point.
import { beforeAll, describe, expect, test } from 'vitest';

import { ReActAgent } from '../src/react/react-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { PlanNotebook } from '../src/plan/plan-notebook.ts';
import {
  abortAtEvery,
  failAtEvery,
  interruptAtEvery,
  leaveAtEvery,
  type Scenario,
} from '../src/testing/drivers.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { BackgroundTools } from '../src/toolkit/background-tools.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';
import { validateWith } from '../src/util/schema.ts';
import { strideOf } from './fair-sample.ts';

const EVERY = { stride: strideOf('ticks of an agent with everything at which it is stopped', 5) };

const subtask = { name: 'pack', description: 'pack', expected_outcome: 'packed' };
const plan = { name: 'Trip', description: 'Go', expected_outcome: 'Gone', subtasks: [subtask] };
const WORK: ScriptedTurn = {
  text: 'Here goes.',
  toolCalls: [
    { name: 'create_plan', id: 'c1', input: plan },
    { name: 'job', id: 'c2', input: {} },
    { name: 'remove', id: 'c3', input: {} },
    { name: 'update_subtask_state', id: 'c4', input: { subtask_idx: 0, state: 'in_progress' } },
  ],
};

function agentWith(
  script: readonly (string | ScriptedTurn)[],
  parallelToolCalls: boolean,
  ran: string[],
): ReActAgent {
  const background = new BackgroundTools();
  const job = background.inBackground(tool({ name: 'job', execute: async () => 'done' }));
  const remove = tool({ name: 'remove', sideEffect: true, execute: () => void ran.push('remove') });
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit: new Toolkit({ tools: [job, remove] }),
    planNotebook: new PlanNotebook(),
    background,
    parallelToolCalls,
    onPending: 'close',
    permissionPolicy: { decide: ({ call: { name } }) => ({ behavior: name === 'remove' ? 'ask' : 'allow' }) },
  });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

const scenarioOf = (parallel: boolean) => (): Scenario => {
  const ran: string[] = [];
  const agent = agentWith([WORK, 'Done.', 'Next.', 'Next.'], parallel, ran);
  return {
    agent,
    input: 'go',
    check: async () => {
      expect(agent.isRunning).toBe(false);
      expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
      await Promise.all((agent.background?.tasks ?? []).map(({ id }) => agent.background?.cancel(id)));
      const saved = parseJson(JSON.stringify(agent.stateDict())) as JsonObject;
      const again = agentWith(['Done.', 'Next.'], parallel, ran);
      again.loadStateDict(saved); // at every moment, another program can continue from the state
      const decisions = again.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }) as const);
      if (decisions.length > 0) await again.call(undefined, { decisions });
      else await again.call('and now?');
      expect(findHistoryFaults(await again.memory.getMemory())).toEqual([]);
      expect(ran.length).toBe(decisions.length); // allowed tool calls ran once
      expect(again.planNotebook?.currentPlan?.name ?? 'Trip').toBe('Trip');
    },
  };
};

beforeAll(async () => {
  await validateWith({ type: 'object' }, {}); // the validator is loaded when it is first needed
});

describe.each([
  ['in turn', false],
  ['side by side', true],
])('calls made %s', (_name, parallel) => {
  test('are interrupted at every point', async () => {
    expect((await interruptAtEvery(scenarioOf(parallel), EVERY)).points).toBeGreaterThan(30);
  });
  test('are aborted at every point', async () => {
    expect((await abortAtEvery(scenarioOf(parallel), EVERY)).points).toBeGreaterThan(30);
  });
  test('are left after every event', async () => {
    expect((await leaveAtEvery(scenarioOf(parallel))).points).toBeGreaterThan(8);
  });
  test('fail in every step', async () => {
    expect((await failAtEvery(scenarioOf(parallel))).points).toBeGreaterThan(5);
  });
});
