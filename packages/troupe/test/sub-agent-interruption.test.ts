// Trees of sub-agents, three levels deep and up to fifty wide, interrupted at random points: all stop, all
// histories are valid, nothing is left running.
import { beforeAll, describe, expect, test } from 'vitest';

import { ReActAgent } from '../src/react/react-agent.ts';
import { makeSubagentTool } from '../src/subagent/make-subagent-tool.ts';
import type { SubAgentInit } from '../src/subagent/sub-agent.ts';
import { TaskSubAgent } from '../src/subagent/task-sub-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { ModelRequest } from '../src/model/chat-model-base.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import type { JsonObject } from '../src/util/json.ts';
import { validateWith } from '../src/util/schema.ts';
import { registerSubAgent } from '../src/subagent/register-sub-agent.ts';
import { sampleOf } from './fair-sample.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

/** Reproducible pseudo-random numbers. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Model that answers a question with tool calls, and tool results with text. */
function modelThat(
  ...calls: readonly { readonly name: string; readonly input: JsonObject }[]
): ScriptedModel {
  const hasResults = ({ messages }: ModelRequest): boolean =>
    messages.at(-1)?.hasContentBlocks('tool_result') ?? false;
  const turns: ScriptedTurn[] = [
    { when: hasResults, text: 'All of it is done.', chunkSize: 8 },
    { when: () => true, text: 'Let me see.', toolCalls: calls, chunkSize: 8 },
  ];
  return new ScriptedModel(turns);
}

interface Tree {
  readonly root: ReActAgent;
  /** All sub-agents made for a task. */
  readonly workers: TaskSubAgent[];
}

/** Root with parallel tool calls, each of which leads through three levels to a tool. */
async function treeOf(width: number, stubbornTools: boolean): Promise<Tree> {
  const workers: TaskSubAgent[] = [];
  class Worker extends TaskSubAgent {
    constructor(init: SubAgentInit) {
      super(init, { parallelToolCalls: true });
      init.memory.clear = async () => {}; // keeps the history for the checks
      workers.push(this);
    }
  }
  let uses = 0;
  const look = tool({
    name: 'look',
    async execute() {
      for (let n = uses++ % 7; n > 0; n--) await undefined;
      if (stubbornTools && uses % 3 === 0) await new Promise(() => {}); // ignores its signal
      return 'seen';
    },
  });
  const calls = Array.from({ length: width }, (_, n) => ({ name: 'agent_a', input: { task: `task ${n}` } }));
  const root = new ReActAgent({ name: 'root', model: modelThat(...calls), parallelToolCalls: true });
  root.setConsoleOutputEnabled(false);
  const spec = (name: string, called: string) => ({
    name,
    description: name,
    modelOverride: modelThat({ name: called, input: { task: called } }),
  });
  const safetyLimits = { maxDepth: 3 };
  const options = { host: root, safetyLimits };
  const c = await makeSubagentTool(Worker, { ...spec('c', 'look'), tools: [look] }, options);
  const b = await makeSubagentTool(Worker, { ...spec('b', 'agent_c'), tools: [c] }, options);
  await registerSubAgent(root, Worker, { ...spec('a', 'agent_b'), tools: [b] }, { safetyLimits });
  workers.splice(0);
  return { root, workers };
}

/**
 * Runs a tree, and acts when the tree is about to take its n-th step, some ticks later. Returns the number of
 * steps.
 */
async function watch(root: ReActAgent, point: number, ticks: number, act: () => void): Promise<number> {
  let steps = 0;
  const actSoon = async (): Promise<void> => {
    for (let tick = 0; tick < ticks; tick++) await undefined;
    act();
  };
  await root.call('go', {
    runStep: (_step, body) => {
      if (steps++ === point) void actSoon();
      return body();
    },
  });
  return steps;
}

async function whenFree(worker: TaskSubAgent): Promise<void> {
  if (!worker.isRunning) return;
  await new Promise<void>((resolve) => worker.onSettled(resolve));
}

/** Interrupts a tree once. Returns the number of running agents, or 0 if the tree had ended. */
async function interruptOnce(
  width: number,
  point: number,
  ticks: number,
  stubbornTools: boolean,
): Promise<number> {
  const { root, workers } = await treeOf(width, stubbornTools);
  let stopping: Promise<boolean> | undefined;
  let atWork = 0;
  await watch(root, point, ticks, () => {
    atWork = [root, ...workers].filter(({ isRunning }) => isRunning).length;
    stopping = root.interrupt('stop');
  });
  await Promise.all(workers.map(whenFree));
  expect(root.isRunning).toBe(false);
  const histories = await Promise.all([root, ...workers].map(({ memory }) => memory.getMemory()));
  expect(histories.flatMap((history) => findHistoryFaults(history))).toEqual([]);
  expect([root, ...workers].filter(({ abandonedReplies }) => abandonedReplies > 0)).toEqual([]);
  return (await stopping) === true ? atWork : 0;
}

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

describe('trees of sub-agents that are interrupted', () => {
  test.each([
    // most points are at the start, where most of the work is left
    { width: 50, times: sampleOf('interrupts of trees 50 wide', 1000, 25), stubborn: false, early: 3 },
    { width: 1, times: sampleOf('interrupts of trees 1 wide', 400, 60), stubborn: false, early: 1 },
    { width: 4, times: 50, stubborn: true, early: 1 },
  ])(
    '$width side by side, three deep, $times times',
    async ({ width, times, stubborn, early }) => {
      const { root, workers } = await treeOf(width, false);
      const steps = await watch(root, -1, 0, () => {});
      expect(workers.length).toBe(3 * width);
      const before = timers();
      const random = numbersFrom(width);
      const stopped: number[] = [];
      for (let n = 0; n < times; n++) {
        // with stubborn tools less of the work is done
        const point = Math.floor(random() ** early * steps * (stubborn ? 0.4 : 1));
        stopped.push(await interruptOnce(width, point, Math.floor(random() * 40), stubborn));
      }
      expect(stopped.filter((atWork) => atWork > 0).length).toBeGreaterThanOrEqual(times * 0.95);
      const deep = stopped.filter((atWork) => atWork > 2 * width); // including agents of the third level
      expect(deep.length).toBeGreaterThanOrEqual(times * 0.15);
      expect(timers()).toBeLessThanOrEqual(before);
    },
    300_000,
  );
});
