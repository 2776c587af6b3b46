// Tool calls of a sub-agent that need approval are pending at the root, and resume in the sub-agent, also in
// another process.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import type { AgentEvent } from '../event/agent-event.ts';
import { findHistoryFaults } from '../message/history.ts';
import type { CallOptions } from '../agent/agent-base.ts';
import type { Msg, MsgInput } from '../message/msg.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import { interruptAtEvery } from '../testing/drivers.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { tool, type Tool } from '../toolkit/tool/tool.ts';
import { parseJson, type JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';
import type { SubAgentInit } from './sub-agent.ts';
import { TaskSubAgent } from './task-sub-agent.ts';
import { registerSubAgent } from './register-sub-agent.ts';
import { strideOf } from '../../test/fair-sample.ts';

const EVERY = { stride: strideOf('ticks of a sub-agent with an approval at which it is stopped', 5) };

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

const policy: PermissionPolicy = {
  decide: ({ call }) =>
    call.name === 'remove' ? { behavior: 'ask', reason: 'it deletes' } : { behavior: 'allow' },
};
const ask = (name: string, id: string) => ({ name, id, input: { task: id } });
const remove = (id: string, path = '/a') => ({ name: 'remove', id, input: { path } });
const look = (id: string) => ({ name: 'look', id, input: { path: id } });

type Script = readonly (string | ScriptedTurn)[];

/** Tool calls of all processes, and the sub-agents made. */
class World {
  readonly ran: string[] = [];
  readonly made: TaskSubAgent[] = [];

  /** Root with a chain of three sub-agents, the last with tools. Each model has its own script. */
  async chain(scripts: readonly Script[], parallelToolCalls = false): Promise<ReActAgent> {
    const [root = [], a = [], b = [], c = []] = scripts;
    const host = this.#host(root, parallelToolCalls);
    const cls = this.#workers(parallelToolCalls);
    const options = { host, safetyLimits: { maxDepth: 3 } };
    const last = await makeSubagentTool(cls, { ...specOf('c', c), tools: this.#tools() }, options);
    const middle = await makeSubagentTool(cls, { ...specOf('b', b), tools: [last] }, options);
    await registerSubAgent(host, cls, { ...specOf('a', a), tools: [middle] }, options);
    this.made.splice(0);
    return host;
  }

  /** Root with one sub-agent, which makes a tool call that needs approval. */
  async pair(more: Partial<SubAgentSpec> = {}): Promise<ReActAgent> {
    const host = this.#host([{ toolCalls: [ask('agent_a', 'r1')] }, 'root done', 'next'], false);
    const script = [{ toolCalls: [look('c1'), remove('c2'), look('c3')] }, 'a done'];
    await registerSubAgent(host, this.#workers(false), {
      ...specOf('a', script),
      tools: this.#tools(),
      ...more,
    });
    this.made.splice(0);
    return host;
  }

  #host(script: Script, parallelToolCalls: boolean): ReActAgent {
    const model = new ScriptedModel(script);
    const host = new ReActAgent({
      name: 'root',
      model,
      permissionPolicy: policy,
      parallelToolCalls,
      onPending: 'close',
    });
    host.setConsoleOutputEnabled(false);
    return host;
  }

  #workers(parallelToolCalls: boolean): typeof TaskSubAgent {
    const { made } = this;
    return class extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init, { parallelToolCalls, onPending: 'close' });
        init.memory.clear = async () => {}; // keeps the history for the checks
        made.push(this);
      }
    };
  }

  #tools(): readonly Tool[] {
    return ['look', 'remove'].map((name) =>
      tool({
        name,
        schema: z.object({ path: z.string() }),
        sideEffect: name === 'remove',
        execute: ({ path }) => {
          this.ran.push(`${name} ${path}`);
          return `${name} ${path}: done`;
        },
      }),
    );
  }
}

function specOf(name: string, script: Script): SubAgentSpec {
  return { name, description: name, modelOverride: new ScriptedModel(script) };
}

const BEFORE: readonly (readonly ScriptedTurn[])[] = [
  [{ toolCalls: [ask('agent_a', 'r1')] }],
  [{ toolCalls: [ask('agent_b', 'a1')] }],
  [{ toolCalls: [ask('agent_c', 'b1')] }],
  [{ toolCalls: [look('c1'), remove('c2'), look('c3')] }],
];
const AFTER = [['root done'], ['a done'], ['b done'], ['c done']];

function restarted(saved: ReActAgent, agent: ReActAgent): ReActAgent {
  agent.loadStateDict(parseJson(JSON.stringify(saved.stateDict())) as JsonObject);
  return agent;
}

function onlyPending(agent: ReActAgent): PendingCall {
  const [pending, ...others] = agent.pendingCalls;
  expect(others).toEqual([]);
  if (pending === undefined) throw new Error('nothing is pending');
  return pending;
}

const resultsIn = async (agent: ReActAgent): Promise<unknown> =>
  (await agent.memory.getMemory()).flatMap((msg: Msg) =>
    msg.getContentBlocks('tool_result').map(({ id, output, status }) => [id, status, output]),
  );

describe('three deep', () => {
  test('a tool call needs approval at the root, is decided after a restart, and runs once', async () => {
    const world = new World();
    const root = await world.chain(BEFORE);
    const events: AgentEvent[] = [];
    for await (const event of root.stream('go')) events.push(event);
    const pending = onlyPending(root);
    expect(pending).toEqual({
      id: pending.id,
      agentPath: ['root', 'a', 'b', 'c'],
      kind: 'approval',
      call: { type: 'tool_use', ...remove('c2') },
      reason: 'it deletes',
    });
    expect(events.filter(({ type }) => type === 'approval_needed')).toMatchObject([
      { pending, agentPath: ['root'] },
    ]);
    expect(world.ran).toEqual(['look c1']);
    expect(await resultsIn(root)).toEqual([]);

    const again = restarted(root, await world.chain(AFTER));
    expect(again.pendingCalls).toEqual([pending]);
    const decisions: PendingDecision[] = [{ id: pending.id, verdict: 'allow', input: { path: '/edited' } }];
    expect((await again.call(undefined, { decisions })).text).toBe('root done');
    expect(world.ran).toEqual(['look c1', 'remove /edited', 'look c3']);
    expect(await resultsIn(again)).toEqual([['r1', 'ok', 'a done']]);
    // one instance of each, and nothing restarted
    expect(world.made.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    await expect(again.call(undefined, { decisions })).rejects.toMatchObject({ code: 'decision_refused' });
  });

  test('a refusal is told to the one who asked, and all go on', async () => {
    const world = new World();
    const root = await world.chain(BEFORE);
    await root.call('go');
    const again = restarted(
      root,
      await world.chain([['root done'], ['a done'], ['b done'], ['I could not.']]),
    );
    const decisions: PendingDecision[] = [{ id: onlyPending(again).id, verdict: 'deny', reason: 'no' }];
    expect((await again.call(undefined, { decisions })).text).toBe('root done');
    expect(world.ran).toEqual(['look c1', 'look c3']);
  });

  test('the result says what was asked in the first place', async () => {
    const world = new World();
    const root = await world.chain(BEFORE);
    await root.call('go');
    const again = restarted(root, await world.chain(AFTER));
    await again.call(undefined, { decisions: [{ id: onlyPending(again).id, verdict: 'allow' }] });
    const [result] = (await again.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(result?.metadata).toMatchObject({
      subagent: 'a',
      supervisor: 'root',
      delegation_context: { task_summary: 'r1' },
    });
  });

  test('a second question, after the first was answered, is asked in the same way', async () => {
    const world = new World();
    const root = await world.chain(BEFORE);
    await root.call('go');
    const then = [[], [], [], [{ toolCalls: [remove('c4', '/b')] }]];
    const second = restarted(root, await world.chain(then));
    await second.call(undefined, { decisions: [{ id: onlyPending(second).id, verdict: 'allow' }] });
    expect(onlyPending(second)).toMatchObject({ agentPath: ['root', 'a', 'b', 'c'], call: { id: 'c4' } });
    const third = restarted(second, await world.chain(AFTER));
    await third.call(undefined, { decisions: [{ id: onlyPending(third).id, verdict: 'allow' }] });
    expect(world.ran).toEqual(['look c1', 'remove /a', 'look c3', 'remove /b']);
    expect(await resultsIn(third)).toEqual([['r1', 'ok', 'a done']]);
  });

  test('several that wait side by side are decided each by itself', async () => {
    const world = new World();
    const two: ScriptedTurn = { toolCalls: [ask('agent_a', 'r1'), ask('agent_a', 'r2')] };
    const each = (turn: ScriptedTurn): ScriptedTurn[] => [turn, turn];
    const root = await world.chain(
      [
        [two],
        each({ toolCalls: [ask('agent_b', 'a1')] }),
        each({ toolCalls: [ask('agent_c', 'b1')] }),
        [{ toolCalls: [remove('c1', '/1')] }, { toolCalls: [remove('c2', '/2')] }],
      ],
      true,
    );
    await root.call('go');
    const [first, second] = root.pendingCalls;
    expect([first, second].map((one) => one?.call.input)).toEqual([{ path: '/1' }, { path: '/2' }]);
    const again = restarted(
      root,
      await world.chain(
        [['root done'], ['a done', 'a done'], ['b done', 'b done'], ['c done', 'c done']],
        true,
      ),
    );
    await again.call(undefined, { decisions: [{ id: String(second?.id), verdict: 'allow' }] });
    expect(world.ran).toEqual(['remove /2']);
    expect(again.pendingCalls).toEqual([first]);
    expect(
      (await again.call(undefined, { decisions: [{ id: String(first?.id), verdict: 'allow' }] })).text,
    ).toBe('root done');
    expect(world.ran).toEqual(['remove /2', 'remove /1']);
  });

  test('spending before the suspension counts after it', async () => {
    const world = new World();
    const limited = { safetyLimits: { maxModelCalls: 1 } };
    const root = await world.pair(limited);
    await root.call('go');
    const again = restarted(root, await world.pair(limited));
    await again.call(undefined, { decisions: [{ id: onlyPending(again).id, verdict: 'allow' }] });
    const [result] = (await again.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
    // then the root's script starts again
    expect(world.ran.slice(0, 3)).toEqual(['look c1', 'remove /a', 'look c3']);
    expect(result?.output).toBe('[subagent_limit] a was stopped: The limit of 1 model calls is used up.');
  });

  test('a state that was tampered with is a failure, not a crash', async () => {
    const world = new World();
    const root = await world.chain(BEFORE);
    await root.call('go');
    const text = JSON.stringify(root.stateDict()).replace(
      '"openExchange":{"thought"',
      '"openExchange":{"thoughts"',
    );
    for (const state of [text.replaceAll(/"agent":\{"toolkit"/g, '"agent":7,"x":{"toolkit"')]) {
      const again = await world.chain([['root done']]);
      again.loadStateDict(parseJson(state.replace('"thoughts"', '"thought"')) as JsonObject);
      await again.call(undefined, { decisions: [{ id: onlyPending(again).id, verdict: 'allow' }] });
      const [result] = (await again.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
      expect(result?.metadata).toMatchObject({ unavailable: true, error: 'exception' });
      expect(world.ran).toEqual(['look c1']);
    }
  });
});

describe('interrupted at every point', () => {
  for (const resumes of [false, true]) {
    test(`${resumes ? 'while it goes on' : 'until it waits'}`, async () => {
      let runs = 0;
      const { points } = await interruptAtEvery(async () => {
        const world = new World();
        const root = await world.pair();
        if (resumes) {
          await root.call('go');
          const call = root.call.bind(root);
          const decisions = [{ id: onlyPending(root).id, verdict: 'allow' } as const];
          Object.assign(root, {
            call: (input: MsgInput, options?: CallOptions) =>
              call(input, input === undefined ? { ...options, decisions } : options),
          });
        }
        return {
          agent: root,
          input: resumes ? undefined : 'go',
          check: async () => {
            runs++;
            expect([root, ...world.made].some(({ isRunning }) => isRunning)).toBe(false);
            for (const agent of [root, ...world.made]) {
              expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
            }
            expect(new Set(world.ran).size).toBe(world.ran.length); // nothing ran twice
            expect(world.ran.length).toBeLessThanOrEqual(3);
          },
        };
      }, EVERY);
      expect(points).toBeGreaterThan(50);
      expect(runs).toBe(points / EVERY.stride + 1);
    });
  }
});
