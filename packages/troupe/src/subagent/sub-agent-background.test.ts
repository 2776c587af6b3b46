// Sub-agents in the background: the host continues at once, and is notified of the end.
import { beforeAll, describe, expect, test } from 'vitest';

import type { AgentEvent } from '../event/agent-event.ts';
import { findHistoryFaults } from '../message/history.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import type { BackgroundTask } from '../toolkit/background-task.ts';
import { BackgroundTools } from '../toolkit/background-tools.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { validateWith } from '../util/schema.ts';
import { agentTool } from './agent-tool.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import type { SafetyLimits } from './limits/safety-limits.ts';
import type { SubAgentInit } from './sub-agent.ts';
import { TaskSubAgent } from './task-sub-agent.ts';
import { registerSubAgent } from './register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

const usage = { inputTokens: 30, outputTokens: 10 };
const START: ScriptedTurn = { toolCalls: [{ name: 'agent_kid', id: 'c1', input: { task: 'look' } }], usage };
const STALL: ScriptedTurn = { text: 'Let me', stall: true };
const LOOK: ScriptedTurn = { toolCalls: [{ name: 'look', id: 'l1', input: {} }], usage };

interface Scene {
  readonly host: ReActAgent;
  readonly model: ScriptedModel;
  readonly background: BackgroundTools;
  readonly workers: TaskSubAgent[];
  readonly events: AgentEvent[];
  /** Paths of the agents whose tool calls the policy decided about. */
  readonly asked: string[];
  /** Resolves when the tool of the sub-agent runs; the tool returns after `open`. */
  readonly isLooking: Promise<void>;
  readonly open: () => void;
  readonly over: Promise<BackgroundTask>;
}

async function sceneOf(
  script: readonly (string | ScriptedTurn)[],
  work: readonly (string | ScriptedTurn)[],
  { safetyLimits = {}, continuable = false }: { safetyLimits?: SafetyLimits; continuable?: boolean } = {},
): Promise<Scene> {
  const [workers, events, asked]: [TaskSubAgent[], AgentEvent[], string[]] = [[], [], []];
  class Kid extends TaskSubAgent {
    constructor(init: SubAgentInit) {
      super(init);
      init.memory.clear = async () => {}; // keeps the history for the checks
      workers.push(this);
    }
  }
  const permissionPolicy: PermissionPolicy = {
    decide: ({ call, agentPath }) => {
      asked.push(`${agentPath.join('/')} ${call.name}`);
      return { behavior: 'allow' };
    },
  };
  const background = new BackgroundTools();
  const model = new ScriptedModel(script);
  const host = new ReActAgent({ name: 'boss', model, background, permissionPolicy });
  host.setConsoleOutputEnabled(false);
  const [looking, door] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const look = tool({
    name: 'look',
    execute: () => {
      looking.resolve();
      return door.promise;
    },
  });
  const spec = {
    name: 'kid',
    description: 'k',
    tools: [look],
    modelOverride: new ScriptedModel(work),
    continuable,
  };
  const onEvent = (event: AgentEvent): void => void events.push(event);
  const made = await makeSubagentTool(Kid, spec, { host, safetyLimits, onEvent });
  host.toolkit.registerToolFunction(background.inBackground(made));
  const over = new Promise<BackgroundTask>((resolve) => background.onDone(resolve));
  workers.splice(0);
  const open = (): void => door.resolve('seen');
  return { host, model, background, workers, events, asked, isLooking: looking.promise, open, over };
}

async function faultsOf({ host, workers }: Scene): Promise<readonly unknown[]> {
  const histories = await Promise.all([host, ...workers].map(({ memory }) => memory.getMemory()));
  expect(workers).toHaveLength(1);
  return histories.flatMap((history) => findHistoryFaults(history));
}

function resultsIn(background: BackgroundTools): readonly unknown[] {
  const { records } = background.stateDict() as { records: readonly { result: { output: unknown } }[] };
  return records.map(({ result }) => result.output);
}

describe('goes on', () => {
  test('when the answer of the host is there, and the next one is told of it', async () => {
    const scene = await sceneOf([START, 'It is on its way.', 'I have heard.'], [LOOK, 'found it']);
    const { host, model, background, isLooking, open, over, asked } = scene;
    expect((await host.call('go')).text).toBe('It is on its way.');
    await isLooking;
    open();
    expect(await over).toMatchObject({ tool: 'agent_kid', state: 'done' });
    await host.call('and?');
    expect(
      model.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join('\n'),
    ).toContain("of the tool 'agent_kid' is done");
    expect(resultsIn(background)).toEqual(['found it']);
    expect(asked).toEqual(['boss agent_kid', 'boss/kid look']);
    expect(await faultsOf(scene)).toEqual([]);
  });

  test.each([false, true])('when the host is interrupted; continuable: %s', async (continuable) => {
    const scene = await sceneOf([START, STALL], [LOOK, 'found it'], { continuable });
    const { host, background, events, isLooking, open, over } = scene;
    const call = host.call('go');
    await isLooking;
    await host.interrupt('stop');
    expect((await call).metadata['_is_interrupted']).toBe(true);
    open();
    expect(await over).toMatchObject({ state: 'done' });
    expect(resultsIn(background)).toEqual([
      expect.stringMatching(continuable ? /^continue_id: \w+\n\nfound it$/ : /^found it$/),
    ]);
    expect(new Set(events.map(({ agentPath }) => agentPath.join('/')))).toEqual(new Set(['boss/kid']));
    expect(await faultsOf(scene)).toEqual([]);
  });
});

test('is stopped by cancel alone, with a valid history', async () => {
  const scene = await sceneOf([START, 'It is on its way.'], [LOOK, 'never']);
  const { host, background, workers, isLooking, over } = scene;
  await host.call('go');
  await isLooking;
  const settled = new Promise<void>((resolve) => workers[0]?.onSettled(resolve));
  expect(await background.cancel(background.tasks[0]?.id ?? '')).toBe(true);
  expect(await over).toMatchObject({ state: 'cancelled' });
  await settled;
  expect(await faultsOf(scene)).toEqual([]);
});

test('spends from the budget of the agent call in which it began, also after its end', async () => {
  const safetyLimits = { maxTokens: 121 }; // two model calls of the host, and two of the sub-agent
  const scene = await sceneOf([START, { text: 'started', usage }], [LOOK, LOOK, 'never'], { safetyLimits });
  const { host, background, isLooking, open, over } = scene;
  await host.call('go');
  await isLooking;
  open();
  expect(await over).toMatchObject({ state: 'failed' });
  const text = '[subagent_limit] kid was stopped: The limit of 121 tokens is used up.';
  expect(resultsIn(background)).toEqual([text]);
  expect(await faultsOf(scene)).toEqual([]);
});

test.each(['a sub-agent', 'an agent'])(
  '%s that a sub-agent starts goes no further than its task',
  async (who) => {
    const background = new BackgroundTools();
    const host = new ReActAgent({ name: 'boss', model: new ScriptedModel([START, 'end']) });
    host.setConsoleOutputEnabled(false);
    const [door, over] = [Promise.withResolvers<string>(), Promise.withResolvers<BackgroundTask>()];
    background.onDone(over.resolve);
    const look = tool({ name: 'look', execute: () => door.promise });
    const model = new ScriptedModel([LOOK, 'never']);
    const options = { safetyLimits: { maxDepth: 2 } };
    const spec = { name: 'helper', description: 'h', tools: [look], modelOverride: model };
    const helper = new ReActAgent({ name: 'helper', model, toolkit: new Toolkit({ tools: [look] }) });
    helper.setConsoleOutputEnabled(false);
    const made =
      who === 'an agent'
        ? background.inBackground(agentTool(helper, { description: 'h', name: 'agent_helper' }))
        : background.inBackground(await makeSubagentTool(TaskSubAgent, spec, { host, ...options }));
    const start = { toolCalls: [{ name: 'agent_helper', id: 'h', input: { task: 'x', query: 'x' } }] };
    const kid = {
      name: 'kid',
      description: 'k',
      tools: [made],
      modelOverride: new ScriptedModel([start, 'done']),
    };
    await registerSubAgent(host, TaskSubAgent, kid, options);
    await host.call('go');
    door.resolve('seen');
    expect(await over.promise).toMatchObject({ state: 'failed' });
    expect([model.requests.length, resultsIn(background)]).toEqual([
      1,
      [expect.stringContaining('The task is over.')],
    ]);
  },
);
