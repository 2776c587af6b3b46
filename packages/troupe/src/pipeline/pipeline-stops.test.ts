// Interrupts and aborts at every await point of an agent that runs pipelines of agents in a hub.
import { expect, test } from 'vitest';

import { AgentBase } from '../agent/agent-base.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { InMemorySession } from '../session/in-memory-session.ts';
import { SessionManager } from '../session/session-manager.ts';
import { abortAtEvery, interruptAtEvery, type Scenario } from '../testing/drivers.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { strideOf } from '../../test/fair-sample.ts';
import { FanoutPipeline } from './fanout-pipeline.ts';
import { MsgHub } from './msg-hub.ts';
import { SequentialPipeline } from './sequential-pipeline.ts';

const EVERY = { stride: strideOf('ticks of a pipeline in a hub at which it is stopped', 31) };

type Pipeline = SequentialPipeline | FanoutPipeline;

/** Runs a pipeline in a hub, allows what its agents ask for, and runs it to its end. */
class Leader extends AgentBase {
  readonly #pipeline: Pipeline;

  constructor(pipeline: Pipeline) {
    super({ name: 'leader', console: false });
    this.#pipeline = pipeline;
  }

  async reply(msgs: readonly Msg[], { signal }: Turn): Promise<Msg> {
    const pipeline = this.#pipeline;
    await using _hub = await MsgHub.open({ participants: pipeline.agents, announcement: 'Work together.' });
    await pipeline.call(msgs, { signal });
    while (pipeline.pendingCalls.length > 0) {
      const decisions = pipeline.pendingCalls
        .slice(0, 1)
        .map(({ id }) => ({ id, verdict: 'allow' as const }));
      await pipeline.call(undefined, { signal, decisions });
    }
    return Msg.assistant('All done.', { name: this.name });
  }
}

function worker(name: string, runs: string[]): ReActAgent {
  const pay = tool({ name: 'pay', execute: () => void runs.push(name) });
  return new ReActAgent({
    name,
    model: new ScriptedModel([
      { toolCalls: [{ name: 'pay', id: `${name}-1`, input: {} }] },
      ...Array.from({ length: 9 }, () => `${name} is done.`),
    ]),
    tools: [pay],
    permissionPolicy: { decide: () => ({ behavior: name === 'eve' ? 'allow' : 'ask' }) },
    console: false,
  });
}

/** Ids of tool calls with the number of their results. */
function resultsByCall(history: readonly Msg[]): [string, number][] {
  const results = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
  return history
    .flatMap((msg) => msg.getContentBlocks('tool_use'))
    .map(({ id }) => [id, results.filter((result) => result.id === id).length]);
}

const kinds = {
  sequence: (agents: readonly AgentBase[]) => new SequentialPipeline(agents),
  fanout: (agents: readonly AgentBase[]) => new FanoutPipeline(agents),
};

test.each([
  { kind: 'sequence', driver: interruptAtEvery },
  { kind: 'sequence', driver: abortAtEvery },
  { kind: 'fanout', driver: interruptAtEvery },
  { kind: 'fanout', driver: abortAtEvery },
] as const)(
  '$kind, $driver.name: every tool call has one result, and the pipeline goes on',
  async ({ kind, driver }) => {
    let resumed = 0;
    const scenario = (): Scenario => {
      const runs: string[] = [];
      const agents = ['ann', 'bob', 'eve'].map((name) => worker(name, runs));
      const pipeline = kinds[kind](agents);
      const manager = SessionManager.forSessionId('chat')
        .withSession(new InMemorySession())
        .addComponent(pipeline);
      manager.autoSave();
      return {
        agent: new Leader(pipeline),
        input: 'Go.',
        async check({ point }) {
          expect(pipeline.isRunning, `point ${point}`).toBe(false);
          for (const agent of agents) {
            const history = await agent.memory.getMemory();
            expect(findHistoryFaults(history), `point ${point}, ${agent.name}`).toEqual([]);
          }
          if (pipeline.pendingCalls.length > 0) resumed++;
          await finish(pipeline);
          for (const agent of agents) {
            const history = await agent.memory.getMemory();
            expect(findHistoryFaults(history), `point ${point}, ${agent.name} after it went on`).toEqual([]);
            for (const [id, count] of resultsByCall(history))
              expect([id, count, point]).toEqual([id, 1, point]);
          }
          expect(runs.toSorted(), `point ${point}`).toEqual([...new Set(runs)].toSorted()); // no tool ran twice
          expect(pipeline.stateDict()['progress'], `point ${point}`).toBeNull();
          await manager[Symbol.asyncDispose]();
        },
      };
    };
    const { points } = await driver(scenario, EVERY);
    expect(points).toBeGreaterThan(30);
    expect(resumed).toBeGreaterThan(0);
  },
);

/** Calls a pipeline without input until it has finished. */
async function finish(pipeline: Pipeline): Promise<void> {
  for (
    let round = 0;
    pipeline.stateDict()['progress'] !== null || pipeline.pendingCalls.length > 0;
    round++
  ) {
    expect(round).toBeLessThan(10);
    const decisions = pipeline.pendingCalls.slice(0, 1).map(({ id }) => ({ id, verdict: 'allow' as const }));
    await pipeline.call(undefined, { decisions });
  }
}
