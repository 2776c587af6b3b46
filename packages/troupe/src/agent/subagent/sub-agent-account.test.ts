// What a host may spend is one account: for all that it delegates, whoever is asked meanwhile, and wherever it goes on.
import { beforeAll, describe, expect, test } from 'vitest';

import { findHistoryFaults } from '../../message/history.ts';
import type { PermissionPolicy } from '../../permission/permission-policy.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../../testing/scripted-model.ts';
import { tool } from '../../toolkit/tool.ts';
import { sleep } from '../../util/clock.ts';
import { parseJson, type JsonObject } from '../../util/json.ts';
import { validateWith } from '../../util/schema.ts';
import { ReActAgent } from '../react-agent.ts';
import type { SafetyLimits } from './safety-limits.ts';
import { TaskSubAgent } from './task-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

type Script = readonly (string | ScriptedTurn)[];

const asking: PermissionPolicy = {
  decide: ({ call: { name } }) => ({ behavior: name === 'sign' ? 'ask' : 'allow' }),
};
const sign = tool({ name: 'sign', execute: () => 'signed' });
const usage = { inputTokens: 30, outputTokens: 10, cost: 2 };
let ids = 0;
const call = (name: string): ScriptedTurn => ({
  toolCalls: [{ name, id: `c${ids++}`, input: { task: 'do it' } }],
  usage,
});

/** A host with one worker, who can sign things if somebody allows it. */
async function hostOf(script: Script, worker: Script, safetyLimits: SafetyLimits): Promise<ReActAgent> {
  const host = new ReActAgent({ name: 'boss', model: new ScriptedModel(script), permission: asking });
  host.setConsoleOutputEnabled(false);
  host.toolkit.registerToolFunction(sign);
  const spec = { name: 'kid', description: 'works', modelOverride: new ScriptedModel(worker) };
  const wait = tool({ name: 'wait', execute: () => sleep(700, undefined).then(() => 'waited') });
  await host.registerSubagent(TaskSubAgent, { ...spec, tools: [wait] }, { safetyLimits });
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
  /** Lets the first script come to where somebody is asked, and the second go on from there. */
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
    [{ maxCalls: 1 }, '1 delegations'],
    [{ maxIterations: 1 }, '1 model calls'],
    [{ maxTokens: 120 }, '120 tokens'], // 40 for each model call
    [{ maxCost: 6 }, 'a cost of 6'],
  ])('may delegate as much as before: %j', async (limits, what) => {
    const scripts = [
      [call('agent_kid'), call('sign')],
      [call('agent_kid'), 'end'],
    ] as const;
    expect(await across(scripts, [[done], [done]], limits)).toEqual(['done', 'signed', limited(what)]);
  });

  test('has spent what it spent before it delegated anything', async () => {
    const scripts = [[call('sign')], [call('agent_kid'), 'end']] as const;
    expect(await across(scripts, [[], [done]], { maxTokens: 80 })).toEqual(['signed', limited('80 tokens')]);
    expect(await across(scripts, [[], [done]], { maxTokens: 81 })).toEqual(['signed', 'done']);
  });

  test('has the time that is left, and loses none while it waits', async () => {
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
    const limits = { maxCalls: 1 };
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

test('a host that was asked something new has a new account', async () => {
  const host = await hostOf(
    [call('agent_kid'), call('sign'), call('agent_kid'), 'end'],
    ['first', 'second'],
    { maxCalls: 1 },
  );
  await host.call('go');
  await host.call('something else', { onPending: 'close' });
  expect((await outputsOf(host)).filter((output) => output === 'first' || output === 'second')).toEqual([
    'first',
    'second',
  ]);
});

test('a step that is refused costs nobody anything', async () => {
  const host = await hostOf([call('agent_idle'), call('agent_kid'), 'end'], ['done'], { maxIterations: 1 });
  const spec = { name: 'idle', description: 'idles', safetyLimits: { maxIterations: 0 } };
  await host.registerSubagent(TaskSubAgent, spec);
  await host.call('go');
  expect(await outputsOf(host)).toEqual([
    '[subagent_limit] idle was stopped: The limit of 0 model calls is used up.',
    'done',
  ]);
});
