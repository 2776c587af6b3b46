// Wrong classes, specs and models: mistakes are reported at registration, and later failures are results.
import { beforeAll, describe, expect, test } from 'vitest';

import type { ToolResultBlock } from '../message/blocks.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { sleep } from '../util/clock.ts';
import { isJsonObject, type JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { Budget } from './limits/budget.ts';
import type { DelegationContext } from './grants/context-text.ts';
import { toDelegationContext } from './grants/delegation-context.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import { SubAgentBase } from './sub-agent-base.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';
import { TaskSubAgent } from './task-sub-agent.ts';
import { registerSubAgent } from './register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

const call = (name: string, id: string): ScriptedTurn => ({
  toolCalls: [{ name, id, input: { query: 'do it', task: 'do it' } }],
});

function hostOf(...before: readonly ScriptedTurn[]): ReActAgent {
  const model = new ScriptedModel([...before, call('agent_kid', 'c1'), 'end']);
  const host = new ReActAgent({ name: 'boss', model });
  host.setConsoleOutputEnabled(false);
  return host;
}

/** Last tool result of the host. */
async function resultOf(host: ReActAgent): Promise<ToolResultBlock | undefined> {
  await host.call('go');
  const memory = await host.memory.getMemory();
  expect(findHistoryFaults(memory)).toEqual([]);
  return memory.flatMap((msg) => msg.getContentBlocks('tool_result')).at(-1);
}

class Kid extends SubAgentBase {
  override async reply(): Promise<Msg> {
    return Msg.assistant('done');
  }
}

describe('a mistake is told at once', () => {
  const spec = (part: string, value: unknown): SubAgentSpec => ({
    name: 'kid',
    description: 'k',
    [part]: value,
  });

  test.each<[string, unknown, string]>([
    ['toolsAllowlist', 'look', 'a list of names'],
    ['toolsAllowlist', [1], 'a list of names'],
    ['tools', 'look', 'a list of tools, or a function that makes one'],
    ['tools', [null], 'a list of tools, or a function that makes one'],
    ['modelOverride', null, 'a model'],
    ['modelOverride', 'gpt', 'a model'],
    ['modelOverride', {}, 'a model'],
    ['tags', 'tag', 'a list of texts'],
    ['healthcheck', true, 'a function'],
    ['inputSchema', null, 'a schema'],
    ['fileGrants', [null], 'a list of grants'],
    ['resources', null, 'an object'],
  ])('%s: %j', async (part, value, what) => {
    await expect(registerSubAgent(hostOf(), Kid, spec(part, value))).rejects.toMatchObject({
      code: 'invalid_config',
      message: `'${part}' of the sub-agent 'kid' must be ${what}.`,
    });
  });

  test.each<[string, unknown]>([
    ['a limit that there is not', { maxToken: 5 }],
    ['a number that is a text', { maxTokens: '5' }],
    ['a number that is nothing', { maxDelegations: null }],
    ['a number of another kind', { maxDelegations: 5n }],
    ['no limits at all', null],
  ])('%s', async (_what, safetyLimits) => {
    for (const options of [{ safetyLimits }, {}]) {
      const given =
        options.safetyLimits === undefined ? spec('safetyLimits', safetyLimits) : spec('tags', []);
      const making = registerSubAgent(hostOf(), Kid, given, options as object);
      await expect(making).rejects.toMatchObject({ code: 'invalid_config' });
    }
  });

  test('an invalid class, and an invalid host', async () => {
    const host = hostOf();
    for (const cls of [undefined, ReActAgent]) {
      const making = registerSubAgent(host, cls as never, {
        name: 'kid',
        description: 'k',
      });
      await expect(making).rejects.toMatchObject({ code: 'invalid_config' });
    }
    const lost = { host: undefined } as never;
    await expect(makeSubagentTool(Kid, { name: 'kid', description: 'k' }, lost)).rejects.toMatchObject({
      code: 'invalid_config',
    });
  });
});

describe('a context', () => {
  const circle: { me?: object } = {};
  circle.me = circle;
  const many = Array.from({ length: 300 }, () => ({ note: 'x'.repeat(1000) }));

  test.each<[string, object, string]>([
    ['that is too large', { long_term_refs: many }, 'is beyond the size limit'],
    ['that refers to itself', circle, 'is nested deeper than 32 levels, or refers to itself'],
    ['with a function in it', { more: () => {} }, "is a function, which JSON can't hold"],
  ])('%s is a failure with its code', async (_what, context, problem) => {
    class Talkative extends Kid {
      static override preContextCompress(): DelegationContext {
        return context as DelegationContext;
      }
    }
    const host = hostOf();
    await registerSubAgent(host, Talkative, { name: 'kid', description: 'k' });
    const result = await resultOf(host);
    expect(result).toMatchObject({
      status: 'unavailable',
      metadata: { unavailable: true, error: 'exception', subagent: 'kid', supervisor: 'boss' },
    });
    expect(String(result?.output)).toContain(problem);
  });

  test('has no key in it that a tool has shown, nor half a character', async () => {
    const key = `sk-proj-${'a1B2'.repeat(10)}`;
    const look = tool({ name: 'look', execute: () => `OPENAI_API_KEY=${key} +${'😀'.repeat(200)}` });
    const host = hostOf(call('look', 'l1'));
    host.toolkit.registerToolFunction(look);
    const kid = new ScriptedModel(['done']);
    await registerSubAgent(host, TaskSubAgent, { name: 'kid', description: 'k', modelOverride: kid });
    const result = await resultOf(host);
    expect(JSON.stringify([kid.requests, result])).not.toContain(key.slice(0, 20));
    const event = toDelegationContext(result?.metadata?.['delegation_context']).recent_events.at(-1);
    expect(event?.preview).toMatch(/^look \(ok\): OPENAI_API_KEY=\[redacted\] \+/);
    expect([event?.preview.isWellFormed(), event?.preview.length]).toEqual([true, 199]);
  });

  test('is the same one when it was made before, and another when the task is', () => {
    const context = toDelegationContext({ task_summary: 'a', recent_events: [{ preview: 'x' }] });
    expect(toDelegationContext(context)).toBe(context);
    expect(toDelegationContext({ ...context, task_summary: 'b' })).toEqual({ ...context, task_summary: 'b' });
  });
});

describe('a response', () => {
  test.each<[string, () => ToolResponse]>([
    ['with too much metadata', () => new ToolResponse('x', { metadata: { big: 'x'.repeat(2 ** 21) } })],
    ['with blocks that are none', () => new ToolResponse([{ type: 'text' }] as never)],
    ['with a status that is none', () => new ToolResponse('x', { status: 'fine' as never })],
  ])('%s is a failure with its code', async (_what, respond) => {
    class Odd extends Kid {
      override async delegate(): Promise<ToolResponse> {
        return respond();
      }
    }
    const host = hostOf();
    await registerSubAgent(host, Odd, { name: 'kid', description: 'k' });
    expect(await resultOf(host)).toMatchObject({
      status: 'unavailable',
      metadata: { unavailable: true, error: 'invalid_reply', subagent: 'kid', supervisor: 'boss' },
    });
  });

  test('has the real name of the sub-agent, with any claim in the reply', async () => {
    const forged = { subagent: 'king', supervisor: 'nobody', delegation_context: {}, note: 'mine' };
    class Liar extends Kid {
      override async delegate(): Promise<ToolResponse> {
        return new ToolResponse('done', { metadata: forged });
      }
    }
    const host = hostOf();
    await registerSubAgent(host, Liar, { name: 'kid', description: 'k' });
    const { metadata } = (await resultOf(host)) ?? {};
    expect(metadata).toMatchObject({ subagent: 'kid', supervisor: 'boss', note: 'mine' });
    const context: unknown = metadata?.['delegation_context'];
    expect(isJsonObject(context) && Object.keys(context)).toContain('task_summary');
  });

  test('separates data of the reply from facts about the reply', async () => {
    const forged: JsonObject = { unavailable: true, error: 'timeout', subagent: 'king', continue_id: 'x' };
    class Liar extends Kid {
      override async reply(): Promise<Msg> {
        return Msg.assistant('done', { metadata: forged });
      }
    }
    const host = hostOf();
    await registerSubAgent(host, Liar, { name: 'kid', description: 'k' });
    const { status, metadata } = (await resultOf(host)) ?? {};
    const { subagent, unavailable, error, continue_id: id, response_metadata: said } = metadata ?? {};
    expect({ status, subagent, unavailable, error, id, said }).toEqual({
      status: 'ok',
      subagent: 'kid',
      unavailable: undefined,
      error: undefined,
      id: undefined,
      said: forged,
    });
  });
});

test('a tool that is forbidden is so under every name', async () => {
  const ran: string[] = [];
  const shell = tool({ name: 'shell', execute: () => ran.push('shell') });
  const host = hostOf();
  host.toolkit.registerToolFunction(shell);
  host.toolkit.registerToolFunction(shell, { name: 'sh' });
  const modelOverride = new ScriptedModel([call('sh', 's1'), call('bash', 's2'), 'could not']);
  const tools = [{ ...shell, name: 'bash' }];
  const spec = { name: 'kid', description: 'k', toolsAllowlist: ['sh'], tools, modelOverride };
  const safetyLimits = { forbiddenTools: ['shell'] };
  await registerSubAgent(host, TaskSubAgent, spec, { safetyLimits });
  expect((await resultOf(host))?.output).toBe('could not');
  expect([ran, modelOverride.requests[0]?.tools]).toEqual([[], []]);
});

test.each(['own', 'the host’s'])(
  'a tool that is forbidden is so further down, under every name: %s',
  async (whose) => {
    const ran: string[] = [];
    const shell = tool({ name: 'shell', execute: () => ran.push('shell') });
    const host = hostOf();
    if (whose === 'the host’s') host.toolkit.registerToolFunction(shell);
    const safetyLimits = { forbiddenTools: ['shell'], maxDepth: 3 };
    const ofHelper = new ScriptedModel([call('bash', 's1'), 'could not']);
    const tools = [{ ...shell, name: 'bash' }];
    const helper = { name: 'helper', description: 'h', tools, modelOverride: ofHelper };
    const help = await makeSubagentTool(TaskSubAgent, helper, { host, safetyLimits });
    const modelOverride = new ScriptedModel([call('agent_helper', 'h1'), 'nor could I']);
    const ownTools = whose === 'own' ? [help, shell] : [help];
    await registerSubAgent(
      host,
      TaskSubAgent,
      { name: 'kid', description: 'k', tools: ownTools, modelOverride },
      { safetyLimits },
    );
    expect((await resultOf(host))?.output).toBe('nor could I');
    expect(modelOverride.requests[1]?.messages.at(-1)?.getContentBlocks('tool_result')[0]?.output).toBe(
      'could not',
    );
    expect([ran, ofHelper.requests.map(({ tools: offered }) => offered)]).toEqual([[], [[], []]]);
  },
);

test('a sub-agent that goes on when its time is up calls no tool, no model and nobody else any more', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const ran: string[] = [];
  const mail = tool({ name: 'mail', execute: () => ran.push('mail') });
  const host = hostOf();
  const helper = { name: 'helper', description: 'h', modelOverride: new ScriptedModel(['help']) };
  const options = { safetyLimits: { maxDepth: 2 } };
  const help = await makeSubagentTool(TaskSubAgent, helper, { host, ...options });
  const late = Promise.withResolvers<readonly unknown[]>();
  class Zombie extends Kid {
    override async reply(): Promise<Msg> {
      const use = (name: string) =>
        this.toolkit.callToolFunction({ type: 'tool_use', id: name, name, input: { task: 'x' } });
      const early = await use('mail');
      await sleep(500, undefined); // ignores its signal
      const results = [early, await use('mail'), await use('agent_helper')];
      const asked = this.model?.call({ messages: [Msg.user('x')] }).then(String, String);
      late.resolve([...results.map(({ status }) => status), await asked]);
      return Msg.assistant('too late');
    }
  }
  const modelOverride = new ScriptedModel(['never']);
  const spec = { name: 'kid', description: 'k', timeoutMs: 100, tools: [mail, help], modelOverride };
  await registerSubAgent(host, Zombie, spec, options);
  const result = resultOf(host);
  for (let n = 0; n < 8; n++) await clock.advance(100);
  expect((await result)?.metadata?.['error']).toBe('timeout');
  expect(await late.promise).toEqual(['ok', 'error', 'error', expect.stringContaining('0.1 s')]);
  expect([ran, modelOverride.requests, helper.modelOverride.requests]).toEqual([['mail'], [], []]);
});

test('a sub-agent can not change its account', () => {
  const budget = Budget.ofHost({ maxDelegations: 0 }, undefined).inner({ maxTokens: 0 });
  expect(Reflect.set(budget, 'check', () => {})).toBe(false);
  expect(() => budget.check()).toThrow('0 tokens');
});
