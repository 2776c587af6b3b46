// A host has one budget for all delegations, across approvals and restarts.
import { beforeAll, describe, expect, test } from 'vitest';

import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { BackgroundTools } from '../toolkit/background-tools.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { sleep } from '../util/clock.ts';
import { parseJson, type JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { agentTool } from './agent-tool.ts';
import { ReActAgent } from '../react/react-agent.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import type { SafetyLimits } from './limits/safety-limits.ts';
import { SubAgentBase } from './sub-agent-base.ts';
import { TaskSubAgent } from './task-sub-agent.ts';
import { registerSubAgent } from './register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

type Script = readonly (string | ScriptedTurn)[];

const asking: PermissionPolicy = {
  decide: ({ call: { name } }) => ({ behavior: name === 'sign' ? 'ask' : 'allow' }),
};
const sign = tool({ name: 'sign', execute: () => 'signed' });
const look = tool({ name: 'look', execute: () => 'seen' });
const usage = { inputTokens: 30, outputTokens: 10, cost: 2 };
let ids = 0;
const call = (name: string): ScriptedTurn => ({
  toolCalls: [{ name, id: `c${ids++}`, input: { task: 'do it', query: 'do it' } }],
  usage,
});

/** Host with one sub-agent, which can sign documents after an approval. */
async function hostOf(script: Script, worker: Script, safetyLimits: SafetyLimits): Promise<ReActAgent> {
  const host = new ReActAgent({ name: 'boss', model: new ScriptedModel(script), permissionPolicy: asking });
  host.setConsoleOutputEnabled(false);
  host.toolkit.registerToolFunction(sign);
  const spec = { name: 'kid', description: 'works', modelOverride: new ScriptedModel(worker) };
  const wait = tool({ name: 'wait', execute: () => sleep(700, undefined).then(() => 'waited') });
  await registerSubAgent(host, TaskSubAgent, { ...spec, tools: [wait] }, { safetyLimits });
  return host;
}

async function outputsOf({ memory }: ReActAgent): Promise<readonly unknown[]> {
  const msgs = await memory.getMemory();
  expect(findHistoryFaults(msgs)).toEqual([]);
  return msgs.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ output }) => output);
}

const limited = (what: string): string =>
  `[subagent_limit] kid was stopped: The limit of ${what} is used up.`;

describe.each(['the same program', 'another program'])('a host that goes on in %s', (where) => {
  /** Runs the first script until an approval is pending, and resumes with the second script. */
  async function across(
    [before, after]: readonly [Script, Script],
    [worked, works]: readonly [Script, Script],
    limits: SafetyLimits,
    waitMs = 0,
  ): Promise<readonly unknown[]> {
    const isSame = where === 'the same program';
    const first = await hostOf(
      isSame ? [...before, ...after] : before,
      isSame ? [...worked, ...works] : worked,
      limits,
    );
    await first.call('go');
    expect(first.pendingCalls.map(({ call: { name } }) => name)).toEqual(['sign']);
    if (waitMs > 0) await sleep(waitMs, undefined);
    const second = isSame ? first : await hostOf(after, works, limits);
    if (!isSame) second.loadStateDict(parseJson(JSON.stringify(first.stateDict())) as JsonObject);
    const decisions = second.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
    await second.call(undefined, { decisions });
    return outputsOf(second);
  }

  const done = { text: 'done', usage };

  test.each([
    [{ maxDelegations: 1 }, '1 delegations'],
    [{ maxModelCalls: 1 }, '1 model calls'],
    [{ maxTokens: 120 }, '120 tokens'], // 40 for each model call
    [{ maxCost: 6 }, 'a cost of 6'],
  ])('may delegate as much as before: %j', async (limits, what) => {
    const scripts = [
      [call('agent_kid'), call('sign')],
      [call('agent_kid'), 'end'],
    ] as const;
    expect(await across(scripts, [[done], [done]], limits)).toEqual(['done', 'signed', limited(what)]);
  });

  test('counts its spending from before the first delegation', async () => {
    const scripts = [[call('sign')], [call('agent_kid'), 'end']] as const;
    expect(await across(scripts, [[], [done]], { maxTokens: 80 })).toEqual(['signed', limited('80 tokens')]);
    expect(await across(scripts, [[], [done]], { maxTokens: 81 })).toEqual(['signed', 'done']);
  });

  test('has the remaining time, and loses none while tool calls are pending', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const scripts = [
      [call('agent_kid'), call('sign')],
      [call('agent_kid'), 'end'],
    ] as const;
    const worker = [call('wait'), done];
    const run = (maxWallMs: number) => across(scripts, [worker, worker], { maxWallMs }, 5000);
    const runs = Promise.all([run(1000), run(1500)]);
    for (let n = 0; n < 80; n++) await clock.advance(100);
    expect(await runs).toEqual([
      ['done', 'signed', limited('time')],
      ['done', 'signed', 'done'],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('is asked a second time, and still remembers', async () => {
    const limits = { maxDelegations: 1 };
    const first = await hostOf([call('agent_kid'), call('sign'), call('sign')], [done], limits);
    await first.call('go');
    const allow = (host: ReActAgent) =>
      host.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
    await first.call(undefined, { decisions: allow(first) });
    const second = await hostOf([call('agent_kid'), 'end'], [done], limits);
    second.loadStateDict(parseJson(JSON.stringify(first.stateDict())) as JsonObject);
    await second.call(undefined, { decisions: allow(second) });
    expect(await outputsOf(second)).toEqual(['done', 'signed', 'signed', limited('1 delegations')]);
  });
});

test.each(['the same program', 'another program'])(
  'the spending of a sub-agent before its question counts when it continues in %s',
  async (where) => {
    const kid = new ScriptedModel([call('look'), call('sign'), call('look'), call('look'), 'never']);
    const hostWith = async (model: ScriptedModel): Promise<ReActAgent> => {
      const host = new ReActAgent({ name: 'boss', model, permissionPolicy: asking });
      host.setConsoleOutputEnabled(false);
      const spec = {
        name: 'kid',
        description: 'works',
        modelOverride: kid,
        safetyLimits: { maxTokens: 100 },
      };
      await registerSubAgent(host, TaskSubAgent, { ...spec, tools: [sign, look] });
      return host;
    };
    const first = await hostWith(new ScriptedModel([call('agent_kid'), 'end']));
    await first.call('go');
    const second = where === 'the same program' ? first : await hostWith(new ScriptedModel(['end']));
    if (second !== first) second.loadStateDict(parseJson(JSON.stringify(first.stateDict())) as JsonObject);
    const decisions = second.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
    await second.call(undefined, { decisions });
    expect(await outputsOf(second)).toEqual([limited('100 tokens')]);
    expect(kid.requests).toHaveLength(3); // 40 each
  },
);

test.each([
  [{ maxModelCalls: 3 }, '3 model calls', 2],
  [{ maxTokens: 161 }, '161 tokens', 1],
])(
  'a host that goes on and a sub-agent that never stopped share one account: %j',
  async (limits, what, n) => {
    const background = new BackgroundTools();
    const model = new ScriptedModel([call('agent_bird'), call('sign'), call('agent_kid'), 'end']);
    const host = new ReActAgent({ name: 'boss', model, permissionPolicy: asking, background });
    host.setConsoleOutputEnabled(false);
    host.toolkit.registerToolFunction(sign);
    const [door, over] = [Promise.withResolvers<string>(), Promise.withResolvers<unknown>()];
    const wait = tool({ name: 'wait', execute: () => door.promise });
    const [bird, kid] = [
      new ScriptedModel([call('wait'), 'never']),
      new ScriptedModel(Array(9).fill(call('look'))),
    ];
    const options = { host, safetyLimits: limits };
    const birdSpec = { name: 'bird', description: 'flies', tools: [wait], modelOverride: bird };
    host.toolkit.registerToolFunction(
      background.inBackground(await makeSubagentTool(TaskSubAgent, birdSpec, options)),
    );
    const kidSpec = { name: 'kid', description: 'works', tools: [look], modelOverride: kid };
    await registerSubAgent(host, TaskSubAgent, kidSpec, options);
    background.onDone(over.resolve);
    await host.call('go');
    expect(bird.requests).toHaveLength(1);
    const decisions = host.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
    await host.call(undefined, { decisions });
    expect((await outputsOf(host)).at(-1)).toBe(limited(what));
    expect(kid.requests).toHaveLength(n);
    door.resolve('open');
    await over.promise;
    expect(bird.requests).toHaveLength(1);
  },
);

describe('two levels down', () => {
  class Bare extends SubAgentBase {
    override async reply(): Promise<Msg> {
      for (let n = 0; n < 20; n++) await this.model?.call({ messages: [Msg.user('x')] });
      return Msg.assistant('never', { name: this.name });
    }
  }

  test.each([
    [{ maxModelCalls: 3 }, '3 model calls', 2],
    [{ maxTokens: 160 }, '160 tokens', 2],
  ])('models that are called without a step are counted, too: %j', async (limits, what, n) => {
    const script = [call('agent_kid'), 'end'];
    const host = await hostOf(script, [], {});
    host.toolkit.removeToolFunction('agent_kid');
    const safetyLimits = { ...limits, maxDepth: 2 };
    const modelOverride = new ScriptedModel(Array(20).fill({ text: 'x', usage }));
    const bare = { name: 'bare', description: 'b', modelOverride };
    const tools = [await makeSubagentTool(Bare, bare, { host, safetyLimits })];
    const kid = {
      name: 'kid',
      description: 'k',
      tools,
      modelOverride: new ScriptedModel([call('agent_bare'), 'x']),
    };
    await registerSubAgent(host, TaskSubAgent, kid, { safetyLimits });
    await host.call('go');
    expect(await outputsOf(host)).toEqual([limited(what)]);
    expect(modelOverride.requests).toHaveLength(n);
  });

  test.each([
    [{ maxModelCalls: 4 }, 'a sub-agent', 2],
    [{ maxModelCalls: 4 }, 'an agent', 2],
    [{ maxTokens: 200 }, 'a sub-agent', 2],
    [{ maxTokens: 200 }, 'an agent', 2],
  ])('work in the background counts for all agents around it: %j, %s', async (limits, who, n) => {
    const background = new BackgroundTools();
    const host = await hostOf([call('agent_kid'), 'end'], [], {});
    host.toolkit.removeToolFunction('agent_kid');
    const safetyLimits = { ...limits, maxDepth: 2 };
    const modelOverride = new ScriptedModel(Array(20).fill(call('look')));
    const helper = new ReActAgent({ name: 'helper', model: modelOverride });
    helper.setConsoleOutputEnabled(false);
    helper.toolkit.registerToolFunction(look);
    const spec = { name: 'helper', description: 'h', tools: [look], modelOverride };
    const made =
      who === 'an agent'
        ? background.inBackground(agentTool(helper, { description: 'h', name: 'agent_helper' }))
        : background.inBackground(await makeSubagentTool(TaskSubAgent, spec, { host, safetyLimits }));
    const [door, over] = [Promise.withResolvers<string>(), Promise.withResolvers<unknown>()];
    background.onDone(over.resolve);
    const tools = [made, tool({ name: 'wait', execute: () => door.promise })];
    const modelOfKid = new ScriptedModel([call('agent_helper'), call('wait'), 'x']);
    await registerSubAgent(
      host,
      TaskSubAgent,
      { name: 'kid', description: 'k', tools, modelOverride: modelOfKid },
      { safetyLimits },
    );
    const answer = host.call('go');
    expect(await over.promise).toMatchObject({ state: 'failed' });
    expect(modelOverride.requests).toHaveLength(n);
    door.resolve('open');
    await answer;
    expect(await outputsOf(host)).toEqual([expect.stringContaining('[subagent_limit] kid was stopped')]);
    expect(modelOfKid.requests).toHaveLength(2);
  });
});

test('the answer to an interrupt is spending of the stopped agent call, and counted once', async () => {
  class Host extends ReActAgent {
    override async handleInterrupt(): Promise<Msg> {
      const input = { task: 'again' };
      const result = await this.toolkit.callToolFunction({
        type: 'tool_use',
        id: 'h',
        name: 'agent_kid',
        input,
      });
      return Msg.assistant(String(result.output), { name: this.name });
    }
  }
  const answerWith = async (safetyLimits: SafetyLimits): Promise<string> => {
    const model = new ScriptedModel([call('agent_kid'), call('hang')]);
    const host = new Host({ name: 'boss', model });
    host.setConsoleOutputEnabled(false);
    const hanging = Promise.withResolvers<void>();
    host.toolkit.registerToolFunction(
      tool({ name: 'hang', execute: () => new Promise(() => hanging.resolve()) }),
    );
    const modelOverride = new ScriptedModel([{ text: 'one', usage }, call('look'), 'two']);
    const spec = { name: 'kid', description: 'k', tools: [look], modelOverride };
    await registerSubAgent(host, TaskSubAgent, spec, { safetyLimits });
    const answer = host.call('go');
    await hanging.promise;
    await host.interrupt();
    return (await answer).text;
  };
  expect(await answerWith({ maxDelegations: 1 })).toBe(limited('1 delegations'));
  expect(await answerWith({ maxTokens: 160 })).toBe(limited('160 tokens')); // 120 before, 40 then
  expect(await answerWith({ maxTokens: 161 })).toBe('two');
});

test.each(['model', 'tool', 'write', 'other'] as const)(
  'a model that is called in a step of the kind %j is counted once',
  async (kind) => {
    const modelOverride = new ScriptedModel(Array(9).fill({ text: 'x', usage }));
    class Stepper extends SubAgentBase {
      override async reply(_: readonly Msg[], turn: Turn): Promise<Msg> {
        for (let n = 0; n < 9; n++)
          await turn.step({ kind, name: 'any' }, async () => this.model?.call({ messages: [Msg.user('x')] }));
        return Msg.assistant('never', { name: this.name });
      }
    }
    const host = await hostOf([call('agent_stepper'), 'end'], [], {});
    const safetyLimits = { maxModelCalls: 3 };
    await registerSubAgent(host, Stepper, { name: 'stepper', description: 's', modelOverride, safetyLimits });
    await host.call('go');
    expect(await outputsOf(host)).toEqual([limited('3 model calls').replace('kid', 'stepper')]);
    expect(modelOverride.requests).toHaveLength(3);
  },
);

test('a host that was asked something new has a new account', async () => {
  const host = await hostOf(
    [call('agent_kid'), call('sign'), call('agent_kid'), 'end'],
    ['first', 'second'],
    { maxDelegations: 1 },
  );
  await host.call('go');
  await host.call('something else', { onPending: 'close' });
  expect((await outputsOf(host)).filter((output) => output === 'first' || output === 'second')).toEqual([
    'first',
    'second',
  ]);
});

test('a step that is refused costs nobody anything', async () => {
  const host = await hostOf([call('agent_idle'), call('agent_kid'), 'end'], ['done'], { maxModelCalls: 1 });
  const spec = { name: 'idle', description: 'idles', safetyLimits: { maxModelCalls: 0 } };
  await registerSubAgent(host, TaskSubAgent, spec);
  await host.call('go');
  expect(await outputsOf(host)).toEqual([
    '[subagent_limit] idle was stopped: The limit of 0 model calls is used up.',
    'done',
  ]);
});
