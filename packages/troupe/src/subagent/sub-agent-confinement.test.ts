// Permissions of a host hold for all work of its sub-agents, for every way of calling a tool and every agent
// in between.
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { withRunConfig } from '../config/run-config.ts';
import { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import { InMemoryFileSystem } from '../filesystem/in-memory-file-system.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { InMemorySession } from '../session/in-memory-session.ts';
import type { Session } from '../session/session.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../testing/scripted-model.ts';
import { BackgroundTools } from '../toolkit/background-tools.ts';
import type { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { tool, type Tool, type ToolContext } from '../toolkit/tool/tool.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { sleep } from '../util/clock.ts';
import { isJsonObject, parseJson, type JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { agentTool } from './agent-tool.ts';
import { ReActAgent } from '../react/react-agent.ts';
import type { DelegationContext } from './grants/context-text.ts';
import { makeSubagentTool } from './make-subagent-tool.ts';
import { SubAgentBase } from './sub-agent-base.ts';
import type { SubAgentInit } from './sub-agent.ts';
import { TaskSubAgent } from './task-sub-agent.ts';
import type { Tracer, TraceSpan } from '../tracing/tracer.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';
import { registerSubAgent } from './register-sub-agent.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

type Script = readonly (string | ScriptedTurn)[];

const policy: PermissionPolicy = {
  decide: ({ call: { name } }) =>
    name === 'remove' ? { behavior: 'ask' } : { behavior: name === 'wipe' ? 'deny' : 'allow' },
};
const usage = { inputTokens: 500, outputTokens: 500 };
const ask = (name: string, id: string, more: JsonObject = {}): ScriptedToolCall => ({
  name,
  id,
  input: { task: id, query: id, ...more },
});
const turn = (...toolCalls: readonly ScriptedToolCall[]): ScriptedTurn => ({ toolCalls });
const scripted = (script: Script): ScriptedModel => new ScriptedModel(script);

function hostOf(script: Script, permissionPolicy?: PermissionPolicy): ReActAgent {
  const host = new ReActAgent({ name: 'root', model: scripted(script), permissionPolicy });
  host.setConsoleOutputEnabled(false);
  return host;
}

async function resultsOf({ memory }: ReActAgent): Promise<readonly ToolResultBlock[]> {
  return (await memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
}

async function outputsOf(host: ReActAgent): Promise<readonly unknown[]> {
  return (await resultsOf(host)).map(({ output }) => output);
}

function noting(name: string, ran: string[]): Tool {
  return tool({
    name,
    schema: z.object({ path: z.string().default('') }),
    execute: ({ path }) => {
      ran.push(`${name} ${path}`.trim());
      return 'done';
    },
  });
}

/** Task sub-agents that record their name and their host. */
function workers(made: string[]): typeof TaskSubAgent {
  return class extends TaskSubAgent {
    constructor(init: SubAgentInit) {
      super(init);
      made.push(`${init.name} of ${init.permissions.supervisorName} in ${init.permissions.home}`);
    }
  };
}

async function allowAll(host: ReActAgent): Promise<number> {
  let times = 0;
  for (; host.pendingCalls.length > 0 && times < 9; times++) {
    const decisions = host.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
    await host.call(undefined, { decisions });
  }
  return times;
}

async function logged(body: () => Promise<unknown>): Promise<readonly string[]> {
  const lines: string[] = [];
  await withRunConfig({ logging: { log: (_level, line) => void lines.push(line) } }, body);
  return lines;
}

test('an agent among the tools of a sub-agent waits with it, also across a restart', async () => {
  const ran: string[] = [];
  const build = async (scripts: { host: Script; kid: Script; expert: Script }): Promise<ReActAgent> => {
    const expert = hostOf(scripts.expert, policy);
    expert.toolkit.registerToolFunction(noting('remove', ran));
    const host = hostOf(scripts.host, policy);
    const tools = [agentTool(expert, { name: 'expert', description: 'knows' })];
    const spec = { name: 'kid', description: 'asks', tools, modelOverride: scripted(scripts.kid) };
    await registerSubAgent(host, TaskSubAgent, spec);
    return host;
  };
  const before = await build({
    host: [turn(ask('agent_kid', 'r1'))],
    kid: [turn(ask('expert', 'q1'))],
    expert: [turn({ name: 'remove', id: 'e1', input: { path: '/x' } })],
  });
  await before.call('go');
  const after = await build({ host: ['root done'], kid: ['kid done'], expert: ['expert done'] });
  after.loadStateDict(parseJson(JSON.stringify(before.stateDict())) as JsonObject);
  await allowAll(after);
  expect([ran, await outputsOf(after)]).toEqual([['remove /x'], ['kid done']]);
});

describe('a sub-agent tool under another name', () => {
  test('counts with its real depth', async () => {
    const made: string[] = [];
    const host = hostOf([turn(ask('agent_a', 'r1')), 'end']);
    const itself: Tool[] = [];
    const spec = {
      name: 'a',
      description: 'a',
      tools: () => itself.map((one) => ({ ...one, name: 'again' })),
      modelOverride: scripted([turn(ask('again', 'n1')), 'a done']),
    };
    const known = await makeSubagentTool(workers(made), spec, { host, safetyLimits: { maxDepth: 1 } });
    itself.push(known);
    host.toolkit.registerToolFunction(known);
    made.splice(0);
    await host.call('go');
    expect([made, await outputsOf(host)]).toEqual([['a of root in /workspace/subagents/a'], ['a done']]);
  });

  test.each(['its own', 'lent'])(
    'works for the sub-agent that has it, with its settings: %s',
    async (kind) => {
      const made: string[] = [];
      const host = hostOf([turn(ask('agent_lead', 'r1')), 'end']);
      const kits: Toolkit[] = [];
      const cls = class extends workers(made) {
        constructor(init: SubAgentInit) {
          super(init);
          if (init.name === 'lead') kits.push(init.toolkit);
        }
      };
      const options = { host, safetyLimits: { maxDepth: 2 } };
      const modelOverride = scripted(['help']);
      const helper = await makeSubagentTool(
        cls,
        { name: 'helper', description: 'h', modelOverride },
        options,
      );
      const settings = { name: 'ask_helper', maxConcurrent: 1, sideEffect: true };
      if (kind === 'lent') host.toolkit.registerToolFunction(helper, settings);
      const has =
        kind === 'lent' ? { toolsAllowlist: ['ask_helper'] } : { tools: [{ ...helper, ...settings }] };
      const script = [turn(ask('ask_helper', 'x1')), 'lead done'];
      await registerSubAgent(
        host,
        cls,
        { name: 'lead', description: 'l', modelOverride: scripted(script), ...has },
        options,
      );
      made.splice(0);
      await host.call('go');
      expect(made).toEqual([
        'lead of root in /workspace/subagents/lead',
        'helper of lead in /workspace/subagents/lead/subagents/helper',
      ]);
      expect(kits.at(-1)?.get('ask_helper')).toMatchObject(settings);
    },
  );

  test.each([
    [{ maxDelegations: 2 }, ['lead', 'helper']],
    [{ maxDelegations: 1 }, ['lead']],
    [{ forbiddenTools: ['agent_helper'] }, ['lead']],
  ])('is bound by %j', async (limits, expected) => {
    const made: string[] = [];
    const host = hostOf([turn(ask('agent_lead', 'r1')), 'end']);
    const options = { host, safetyLimits: { maxDepth: 2, ...limits } };
    const help = { name: 'helper', description: 'h', modelOverride: scripted(['help']) };
    const helper = await makeSubagentTool(workers(made), help, options);
    const script = [turn(ask('ask_helper', 'x1')), 'lead done'];
    const tools = [{ ...helper, name: 'ask_helper' }];
    const spec = { name: 'lead', description: 'l', tools, modelOverride: scripted(script) };
    await registerSubAgent(host, workers(made), spec, options);
    made.splice(0);
    await host.call('go');
    expect(made.map((one) => one.split(' ')[0])).toEqual(expected);
    expect(await outputsOf(host)).toEqual(['lead done']);
  });

  test('wrapped in code counts with the depth of the calling code', async () => {
    const made: string[] = [];
    const host = hostOf([turn(ask('agent_lead', 'r1')), 'end']);
    const helper = await makeSubagentTool(workers(made), { name: 'helper', description: 'h' }, { host });
    const wrapped: Tool = { ...helper, execute: (input, context) => helper.execute(input, context) };
    const script = [turn(ask('agent_helper', 'x1')), 'lead done'];
    const spec = { name: 'lead', description: 'l', tools: [wrapped], modelOverride: scripted(script) };
    await registerSubAgent(host, workers(made), spec);
    made.splice(0);
    await host.call('go');
    expect(made).toEqual(['lead of root in /workspace/subagents/lead']);
  });
});

test('an agent in between changes nothing about depth, delegations and forbidden tools', async () => {
  const [made, ran]: [string[], string[]] = [[], []];
  const run = async (maxDepth: number, maxDelegations: number): Promise<readonly string[]> => {
    const between = hostOf([turn(ask('agent_deep', 'd1')), 'between done']);
    const deep = {
      name: 'deep',
      description: 'd',
      tools: [noting('paint', ran)],
      modelOverride: scripted([turn({ name: 'paint', id: 'p', input: {} }), 'deep done']),
    };
    await registerSubAgent(between, workers(made), deep);
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    const kid = {
      name: 'kid',
      description: 'k',
      tools: [agentTool(between, { name: 'between', description: 'b' })],
      modelOverride: scripted([turn(ask('between', 'q')), 'kid done']),
    };
    const safetyLimits = { maxDepth, maxDelegations, forbiddenTools: ['paint'] };
    await registerSubAgent(host, workers(made), kid, { safetyLimits });
    made.splice(0);
    await host.call('go');
    return made.map((one) => one.split(' ')[0] ?? '');
  };
  expect(await run(1, 9)).toEqual(['kid']);
  expect(await run(2, 1)).toEqual(['kid']);
  expect(await run(2, 2)).toEqual(['kid', 'deep']);
  expect(ran).toEqual([]);
});

test('an agent in between has limits of its own, too', async () => {
  const modelOverride = scripted(['deep done']);
  const between = hostOf([turn(ask('agent_deep', 'd1')), 'between done']);
  const safetyLimits = { maxModelCalls: 0 };
  await registerSubAgent(
    between,
    TaskSubAgent,
    { name: 'deep', description: 'd', modelOverride },
    { safetyLimits },
  );
  const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
  const kid = {
    name: 'kid',
    description: 'k',
    tools: [agentTool(between, { name: 'between', description: 'b' })],
    modelOverride: scripted([turn(ask('between', 'q')), 'kid done']),
  };
  await registerSubAgent(host, TaskSubAgent, kid, { safetyLimits: { maxDepth: 2 } });
  await host.call('go');
  expect([modelOverride.requests.length, await outputsOf(host)]).toEqual([0, ['kid done']]);
});

describe('the budget of a host continues after an approval', () => {
  const removing = (n: number): ScriptedTurn => ({
    ...turn({ name: 'remove', id: `m${n}`, input: { path: String(n) } }),
    usage,
  });

  test.each([
    [{ maxModelCalls: 2 }, 2, '2 model calls'],
    [{ maxTokens: 1500 }, 1, '1500 tokens'],
  ])('%j', async (safetyLimits, times, what) => {
    const ran: string[] = [];
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end'], policy);
    const modelOverride = scripted([...[0, 1, 2, 3].map(removing), 'done']);
    const spec = { name: 'kid', description: 'k', tools: [noting('remove', ran)], modelOverride };
    await registerSubAgent(host, TaskSubAgent, spec, { safetyLimits });
    await host.call('go');
    expect(await allowAll(host)).toBe(times);
    expect(await outputsOf(host)).toEqual([
      `[subagent_limit] kid was stopped: The limit of ${what} is used up.`,
    ]);
  });

  test('delegations', async () => {
    const ran: string[] = [];
    const host = hostOf([turn(ask('agent_kid', 'r0')), turn(ask('agent_kid', 'r1')), 'end'], policy);
    const modelOverride = scripted([removing(0), 'first', removing(1), 'second']);
    const spec = { name: 'kid', description: 'k', tools: [noting('remove', ran)], modelOverride };
    await registerSubAgent(host, TaskSubAgent, spec, { safetyLimits: { maxDelegations: 1 } });
    await host.call('go');
    await allowAll(host);
    expect([ran, await outputsOf(host)]).toEqual([
      ['remove 0'],
      ['first', '[subagent_limit] kid was stopped: The limit of 1 delegations is used up.'],
    ]);
  });

  test('the time of a task, without pending time', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const slow = tool({ name: 'slow', execute: () => sleep(120, undefined).then(() => 'ok') });
    const step = (n: number): ScriptedTurn =>
      turn({ name: 'slow', id: `s${n}`, input: {} }, { name: 'remove', id: `m${n}`, input: {} });
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end'], policy);
    const tools = [noting('remove', []), slow];
    const modelOverride = scripted([step(0), step(1), 'done']);
    await registerSubAgent(host, TaskSubAgent, {
      name: 'kid',
      description: 'k',
      timeoutMs: 200,
      tools,
      modelOverride,
    });
    const run = async (work: Promise<unknown>): Promise<void> => {
      await clock.advance(150);
      await work;
    };
    await run(host.call('go'));
    await clock.advance(60_000);
    expect(host.pendingCalls).toHaveLength(1);
    await run(allowAll(host));
    expect(await outputsOf(host)).toEqual([
      '[subagent_timeout] kid gave no answer within 0.2 s. Try again later, or do without it.',
    ]);
  });
});

describe('a sub-agent with its own loop', () => {
  test('is bound by the policy of its host, and can ask nobody', async () => {
    const ran: string[] = [];
    class Kid extends SubAgentBase {
      override async reply(): Promise<Msg> {
        const call = (name: string) => ({ type: 'tool_use', id: name, name, input: {} }) as const;
        const results = [];
        for (const name of ['wipe', 'remove', 'look'])
          results.push(await this.toolkit.callToolFunction(call(name)));
        return Msg.assistant(results.map(({ status }) => status).join(), { name: 'kid' });
      }
    }
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end'], policy);
    const tools = ['wipe', 'remove', 'look'].map((name) => noting(name, ran));
    await registerSubAgent(host, Kid, { name: 'kid', description: 'k', tools });
    await host.call('go');
    expect([ran, await outputsOf(host)]).toEqual([['look'], ['denied,denied,ok']]);
  });

  test.each([
    [{ maxModelCalls: 2 }, 2, '2 model calls'],
    [{ maxTokens: 100 }, 1, '100 tokens'],
  ])('is bound by %j', async (safetyLimits, calls, what) => {
    class Kid extends SubAgentBase {
      override async reply(): Promise<Msg> {
        for (;;) await this.model?.call({ messages: [Msg.user('x')] });
      }
    }
    const modelOverride = scripted(Array.from({ length: 9 }, () => ({ text: 'a', usage })));
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    await registerSubAgent(host, Kid, { name: 'kid', description: 'k', modelOverride }, { safetyLimits });
    await host.call('go');
    expect(modelOverride.requests).toHaveLength(calls);
    expect(await outputsOf(host)).toEqual([
      `[subagent_limit] kid was stopped: The limit of ${what} is used up.`,
    ]);
  });

  test('runs no tool once a limit is used up', async () => {
    const ran: string[] = [];
    class Kid extends SubAgentBase {
      override async reply(): Promise<Msg> {
        await this.model?.call({ messages: [Msg.user('x')] });
        const call = { type: 'tool_use', id: 'l', name: 'look', input: {} } as const;
        const { output } = await this.toolkit.callToolFunction(call);
        return Msg.assistant(String(output), { name: 'kid' });
      }
    }
    const modelOverride = scripted([{ text: 'a', usage }]);
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    const spec = { name: 'kid', description: 'k', modelOverride, tools: [noting('look', ran)] };
    await registerSubAgent(host, Kid, spec, { safetyLimits: { maxTokens: 100 } });
    await host.call('go');
    expect([ran, await outputsOf(host)]).toEqual([[], ['Error: The limit of 100 tokens is used up.']]);
  });

  test('a loop that counts its own model calls has them counted once', async () => {
    const modelOverride = scripted([{ text: 'done', usage }]);
    const host = hostOf([turn(ask('agent_kid', 'r1')), turn(ask('agent_kid', 'r2')), 'end']);
    const spec = { name: 'kid', description: 'k', modelOverride };
    await registerSubAgent(host, TaskSubAgent, spec, { safetyLimits: { maxTokens: 1001, maxModelCalls: 1 } });
    await host.call('go');
    expect((await outputsOf(host))[0]).toBe('done');
  });
});

describe('a task is over in time', () => {
  test('with any hanging part', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    class Kid extends TaskSubAgent {
      static override preContextCompress(): Promise<DelegationContext> {
        return new Promise(() => {});
      }
    }
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    await registerSubAgent(host, Kid, { name: 'kid', description: 'k', timeoutMs: 100 });
    const run = host.call('go');
    await clock.advance(100);
    await run;
    expect(await outputsOf(host)).toEqual([
      '[subagent_timeout] kid gave no answer within 0.1 s. Try again later, or do without it.',
    ]);
  });
});

test('a sub-agent that goes on when its time is up has no files and no sessions any more', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  let late: Promise<readonly PromiseSettledResult<unknown>[]> | undefined;
  class Kid extends SubAgentBase {
    override async reply(): Promise<Msg> {
      const { filesystem, home, session } = this.permissions;
      const save = (what: string) => [
        filesystem?.write(`${home}/${what}`, 'x'),
        session?.save(what, { memory: new InMemoryMemory() }),
      ];
      await Promise.all(save('early'));
      late = sleep(500, undefined).then(() => Promise.allSettled(save('late')));
      await late;
      return Msg.assistant('x', { name: 'kid' });
    }
  }
  const filesystem = new FileSystemHandle(new InMemoryFileSystem());
  const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
  const session = new InMemorySession();
  await registerSubAgent(
    host,
    Kid,
    { name: 'kid', description: 'k', timeoutMs: 100 },
    { filesystem, session },
  );
  const run = host.call('go');
  await clock.advance(100);
  await run;
  await clock.advance(500);
  expect(await late).toMatchObject([
    { reason: { kind: 'access_denied' } },
    { reason: { code: 'store_failed' } },
  ]);
  expect((await filesystem.glob('**')).matches).toEqual(['/workspace/subagents/kid/early']);
  expect((await session.list()).sessions.map((one) => one.session)).toEqual(['sub@kid@early']);
});

describe('nothing but a result comes of', () => {
  const span: TraceSpan = { setAttribute() {}, setStatus() {}, recordException() {}, end() {} };
  const failing = (): never => {
    throw new Error('collector down');
  };
  const tracers: readonly [string, Tracer][] = [
    ['can not begin a span', { startActiveSpan: failing }],
    ['can not end one', { startActiveSpan: (_name, _options, run) => run({ ...span, end: failing }) }],
    ['fails after the work began', { startActiveSpan: (_name, _options, run) => (run(span), failing()) }],
  ];

  test.each(tracers)('a tracer that %s', async (_what, tracer) => {
    const made: string[] = [];
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    const spec = { name: 'kid', description: 'k', modelOverride: scripted(['a']) };
    const lines = await logged(async () => {
      await registerSubAgent(host, workers(made), spec, { tracer });
      await host.call('go');
    });
    expect([made.length, await outputsOf(host)]).toEqual([2, ['a']]);
    expect(lines).toContain('A tracer failed: collector down');
  });

  test.each([undefined, null, 'text', {}])('a delegate() that gives %j', async (given) => {
    class Kid extends SubAgentBase {
      override async reply(): Promise<Msg> {
        return Msg.assistant('x', { name: 'kid' });
      }

      override async delegate(): Promise<ToolResponse> {
        return given as ToolResponse;
      }
    }
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    await registerSubAgent(host, Kid, { name: 'kid', description: 'k' });
    await host.call('go');
    const [result] = await resultsOf(host);
    expect([result?.metadata?.['error'], result?.output]).toEqual([
      'invalid_reply',
      '[subagent_invalid_reply] kid gave no usable answer: its delegate() gave no ToolResponse.',
    ]);
    expect(isJsonObject(result?.metadata?.['delegation_context'])).toBe(true);
  });

  test('a stack in a message: nobody sees it', async () => {
    const stack = 'no table\n    at query (/srv/app.ts:1:2)\n    at /srv/main.ts:3:4';
    class Kid extends SubAgentBase {
      override async reply(): Promise<Msg> {
        throw new Error(stack);
      }
    }
    const host = hostOf([turn(ask('agent_kid', 'r1'), ask('agent_task', 'r2')), 'end']);
    await registerSubAgent(host, Kid, { name: 'kid', description: 'k' });
    const modelOverride = scripted([{ error: new Error(stack) }]);
    await registerSubAgent(host, TaskSubAgent, { name: 'task', description: 't', modelOverride });
    await host.call('go');
    const outputs = await outputsOf(host);
    expect(outputs[0]).toBe('[subagent_exception] kid failed: no table');
    expect(outputs[1]).toMatch(/no table$/);
  });
});

describe('a task that can be gone on with', () => {
  test('is an answer also if it can not be kept', async () => {
    const ran: string[] = [];
    const session: Session = new InMemorySession();
    session.save = async () => {
      throw new Error('disk full');
    };
    session.scoped = () => session;
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    const modelOverride = scripted([turn({ name: 'pay', id: 'p', input: {} }), 'paid']);
    const spec = {
      name: 'kid',
      description: 'k',
      continuable: true,
      tools: [noting('pay', ran)],
      modelOverride,
    };
    const lines = await logged(async () => {
      await registerSubAgent(host, TaskSubAgent, spec, { session });
      await host.call('go');
    });
    expect([ran, await outputsOf(host)]).toEqual([['pay'], ['paid']]);
    expect(lines).toEqual(["A task of the sub-agent kid can't be continued: disk full"]);
  });

  test('is an answer also if keeping it never ends', async () => {
    const clock = new FakeClock();
    using _ = clock.install();
    const session: Session = new InMemorySession();
    session.save = () => new Promise(() => {});
    session.scoped = () => session;
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    const spec = { name: 'kid', description: 'k', continuable: true, modelOverride: scripted(['paid']) };
    await registerSubAgent(host, TaskSubAgent, spec, { session });
    const run = host.call('go');
    await clock.advance(10_000);
    await run;
    expect(await outputsOf(host)).toEqual(['paid']);
  });

  test.each(['../../x', 'b@c', 'x'.repeat(500), 5, {}])('is not found by the id %j', async (id) => {
    const host = hostOf([turn(ask('agent_kid', 'r1', { continue_id: id })), 'end']);
    const spec = { name: 'kid', description: 'k', continuable: true, modelOverride: scripted(['begun']) };
    await registerSubAgent(host, TaskSubAgent, spec, { session: new InMemorySession() });
    await host.call('go');
    expect((await resultsOf(host))[0]?.metadata?.['error']).toBe('invalid_input');
  });
});

test.each(['lent', 'its own'])(
  'a group that is forbidden is: all its tools, by whatever way: %s',
  async (kind) => {
    const ran: string[] = [];
    const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
    host.toolkit.createToolGroup('danger', { description: 'd' });
    host.toolkit.registerToolFunction(noting('wipe', ran), { group: 'danger' });
    const script = [turn({ name: 'wipe', id: 'w', input: {} }), 'done'];
    const has = kind === 'lent' ? { toolsAllowlist: ['danger'] } : { tools: [noting('wipe', ran)] };
    const spec = { name: 'kid', description: 'k', modelOverride: scripted(script), ...has };
    const safetyLimits = { forbiddenTools: ['danger', 'dnager'] };
    const lines = await logged(() => registerSubAgent(host, TaskSubAgent, spec, { safetyLimits }));
    expect(lines).toContain("'dnager' is forbidden, but root has no such tool.");
    expect(lines.join()).not.toContain("'danger' is forbidden");
    await host.call('go');
    expect(ran).toEqual([]);
  },
);

test('later changes of a spec have no effect', async () => {
  const seen: unknown[] = [];
  class Kid extends SubAgentBase {
    override async reply(): Promise<Msg> {
      seen.push(
        this.toolkit.names.filter((name) => this.toolkit.get(name)?.files === undefined),
        this.permissions.filesystem?.allowedDirectories.map(({ path }) => path),
      );
      return Msg.assistant('x', { name: 'kid' });
    }
  }
  const operations: 'read'[] = [];
  const spec = {
    name: 'kid',
    description: 'k',
    toolsAllowlist: [] as string[],
    tools: [] as Tool[],
    fileGrants: [{ path: '/userinput/', operations }],
    resources: {} as { filesystem?: 'off' },
  };
  const host = hostOf([turn(ask('agent_kid', 'r1')), 'end']);
  host.toolkit.registerToolFunction(noting('wipe', []));
  await registerSubAgent(host, Kid, spec, { filesystem: new FileSystemHandle(new InMemoryFileSystem()) });
  spec.toolsAllowlist.push('wipe');
  spec.tools.push(noting('more', []));
  operations.push('read');
  spec.resources.filesystem = 'off';
  await host.call('go');
  expect(seen).toEqual([[], ['/workspace/subagents/kid/']]);
});

test('a sub-agent grants no more than it has', async () => {
  const wide = new FileSystemHandle(new InMemoryFileSystem());
  const seen: unknown[] = [];
  class Leaf extends SubAgentBase {
    override async reply(): Promise<Msg> {
      seen.push(this.permissions.filesystem);
      return Msg.assistant('x', { name: 'leaf' });
    }
  }
  class Mid extends SubAgentBase {
    override async reply(): Promise<Msg> {
      const spec = { name: 'leaf', description: 'l', fileGrants: ['/userinput/'] };
      const made = await makeSubagentTool(Leaf, spec, { host: this, filesystem: wide });
      this.toolkit.registerToolFunction(made);
      const call = { type: 'tool_use', id: 'x', name: 'agent_leaf', input: { query: 'q' } } as const;
      await this.toolkit.callToolFunction(call);
      return Msg.assistant('x', { name: 'mid' });
    }
  }
  const host = hostOf([turn(ask('agent_mid', 'r1')), 'end']);
  const spec = { name: 'mid', description: 'm', resources: { filesystem: 'off' } } as const;
  await registerSubAgent(host, Mid, spec, { filesystem: wide, safetyLimits: { maxDepth: 2 } });
  await host.call('go');
  expect(seen).toEqual([undefined]);
});

test.each(['in the background', 'in another tool'])(
  'a sub-agent whose tool is wrapped works for the one that calls it: %s',
  async (where) => {
    const seen: unknown[] = [];
    class Leaf extends SubAgentBase {
      override async reply(): Promise<Msg> {
        const { filesystem, home, supervisorName } = this.permissions;
        seen.push([filesystem, home, supervisorName]);
        return Msg.assistant('x', { name: 'leaf' });
      }
    }
    const host = hostOf([turn(ask('agent_mid', 'r1')), 'end']);
    const options = {
      filesystem: new FileSystemHandle(new InMemoryFileSystem()),
      safetyLimits: { maxDepth: 2 },
    };
    const leaf = await makeSubagentTool(Leaf, { name: 'leaf', description: 'l' }, { host, ...options });
    const background = new BackgroundTools();
    const over = new Promise((resolve) => background.onDone(resolve));
    const wrapped = {
      ...leaf,
      execute: (input: never, context: ToolContext) => leaf.execute(input, context),
    };
    const tools = [where === 'in the background' ? background.inBackground(leaf) : wrapped];
    const modelOverride = scripted([turn({ name: 'agent_leaf', id: 'l', input: { query: 'q' } }), 'mid']);
    const mid = {
      name: 'mid',
      description: 'm',
      tools,
      modelOverride,
      resources: { filesystem: 'off' },
    } as const;
    await registerSubAgent(host, TaskSubAgent, mid, options);
    await host.call('go');
    if (where === 'in the background') await over;
    expect(seen).toEqual([[undefined, '/workspace/subagents/mid/subagents/leaf', 'mid']]);
  },
);

test('one in the background that needs a decision says that nobody can be asked', async () => {
  const ran: string[] = [];
  const host = hostOf([turn(ask('agent_kid', 'r1')), 'end'], policy);
  const background = new BackgroundTools();
  const script = [turn({ name: 'remove', id: 'm', input: {} }), 'done'];
  const spec = {
    name: 'kid',
    description: 'k',
    tools: [noting('remove', ran)],
    modelOverride: scripted(script),
  };
  const made = await makeSubagentTool(TaskSubAgent, spec, { host });
  host.toolkit.registerToolFunction(background.inBackground(made));
  const done = new Promise((resolve) => background.onDone(resolve));
  await host.call('go');
  await done;
  expect(ran).toEqual([]);
  expect(JSON.stringify(background.stateDict())).toContain(
    "[subagent_unavailable] kid needs a decision, and a background task can't ask for one.",
  );
});

test('a host whose files end above the folder of a sub-agent is told so', async () => {
  class Kid extends SubAgentBase {
    override async reply(): Promise<Msg> {
      return Msg.assistant('x', { name: 'kid' });
    }
  }
  const files = new FileSystemHandle(new InMemoryFileSystem());
  const register = (filesystem: FileSystemHandle): Promise<readonly string[]> =>
    logged(() => registerSubAgent(hostOf([]), Kid, { name: 'kid', description: 'k' }, { filesystem }));
  expect(await register(files)).toEqual([]);
  expect(await register(files.narrow(['/workspace/proj/']))).toEqual([
    "The sub-agent 'kid' has no folder of its own. Let the host's handle reach '/workspace/subagents/kid/', or set resources.filesystem to 'off'.",
  ]);
});

test('a host without files is told that file grants grant nothing', async () => {
  const spec = { name: 'kid', description: 'k', fileGrants: ['/userinput/'] };
  const register = (more: Partial<SubAgentSpec>, filesystem?: FileSystemHandle): Promise<readonly string[]> =>
    logged(() => registerSubAgent(hostOf([]), TaskSubAgent, { ...spec, ...more }, { filesystem }));
  expect(await register({})).toEqual([
    "The sub-agent 'kid' has fileGrants, but there are no files to grant. Pass registerSubAgent a filesystem: new FileSystemHandle(…).",
  ]);
  expect(await register({ resources: { filesystem: 'off' } })).toEqual([]);
  expect(await register({}, new FileSystemHandle(new InMemoryFileSystem()))).toEqual([]);
});

test('two sub-agents of one host have two names', async () => {
  const host = hostOf([]);
  const spec = { name: 'kid', description: 'k' };
  await registerSubAgent(host, TaskSubAgent, spec, { toolName: 't1' });
  await expect(registerSubAgent(host, TaskSubAgent, spec, { toolName: 't2' })).rejects.toMatchObject({
    code: 'invalid_config',
  });
});

test('two of one name that were made before either was registered do not work', async () => {
  const host = hostOf([turn(ask('t1', 'r1')), 'end']);
  const spec = { name: 'kid', description: 'k', modelOverride: scripted(['a']) };
  const made = await Promise.all(
    ['t1', 't2'].map((toolName) => makeSubagentTool(TaskSubAgent, spec, { host, toolName })),
  );
  for (const one of made) host.toolkit.registerToolFunction(one);
  await host.call('go');
  expect(await outputsOf(host)).toEqual([
    "[subagent_exception] kid failed: root has a sub-agent 'kid' already. Give this one another name: files and earlier tasks go by it.",
  ]);
});
