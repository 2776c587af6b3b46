// Random families of sub-agents: allow-lists, limits, failures, malicious agents and approvals, in parallel
// or in sequence, with or without a restart.
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';

import { ReActAgent } from '../src/react/react-agent.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import type { DelegationContext } from '../src/subagent/grants/context-text.ts';
import { toDelegationContext } from '../src/subagent/grants/delegation-context.ts';
import { makeSubagentTool } from '../src/subagent/make-subagent-tool.ts';
import type { SafetyLimits } from '../src/subagent/limits/safety-limits.ts';
import type { SubAgentInit } from '../src/subagent/sub-agent.ts';
import { TaskSubAgent } from '../src/subagent/task-sub-agent.ts';
import type { ToolResultBlock } from '../src/message/blocks.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import type { Msg } from '../src/message/msg.ts';
import type { PermissionPolicy } from '../src/permission/permission-policy.ts';
import { ScriptedModel, type ScriptedToolCall, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool, type Tool } from '../src/toolkit/tool/tool.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';
import { validateWith } from '../src/util/schema.ts';
import { sampleOf } from './fair-sample.ts';

beforeAll(async () => void (await validateWith({ type: 'object' }, {})));

const TOOLS = ['look', 'paint', 'shell', 'sign']; // the last needs approval
const MODEL_CALL_TOKENS = 10;

interface Member {
  readonly temper: 'works' | 'throws' | 'gives garbage' | 'breaks things' | 'has a broken model';
  readonly allowed: readonly string[];
  readonly limits: SafetyLimits;
  readonly children: readonly Member[];
}

interface Family {
  readonly limits: SafetyLimits;
  readonly children: readonly Member[];
  /** Number of tasks of the first child, before and after. */
  readonly times: number;
  readonly isParallel: boolean;
  readonly restarts: boolean;
  /** Decisions, in order. */
  readonly verdicts: readonly boolean[];
}

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, value);
const limits = fc.record({
  maxModelCalls: maybe(fc.nat(12)),
  maxDelegations: maybe(fc.nat(6)),
  maxTokens: maybe(fc.nat(150)),
  forbiddenTools: maybe(fc.subarray([...TOOLS, 'agent_w_0_0'])),
});
const members = (depth: number): fc.Arbitrary<Member> =>
  fc.record({
    temper: fc.oneof(
      { weight: 4, arbitrary: fc.constant('works' as const) },
      fc.constantFrom(
        'throws' as const,
        'gives garbage',
        'breaks things',
        'breaks things',
        'has a broken model',
      ),
    ),
    allowed: fc.subarray([...TOOLS]),
    limits,
    children: depth === 0 ? fc.constant([]) : fc.array(members(depth - 1), { maxLength: 2 }),
  });
const families: fc.Arbitrary<Family> = fc.record({
  limits: fc
    .tuple(limits, fc.integer({ min: 0, max: 4 }))
    .map(([others, maxDepth]) => ({ ...others, maxDepth })),
  children: fc.array(members(2), { minLength: 1, maxLength: 2 }),
  times: fc.integer({ min: 1, max: 3 }),
  isParallel: fc.boolean(),
  restarts: fc.boolean(),
  verdicts: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
});

/** Record of all processes, by agent name. */
class Chronicle {
  readonly ran: (readonly [agent: string, tool: string])[] = [];
  readonly tasks: string[] = [];
  readonly modelCalls: string[] = [];
  /** Number of model calls before the last one of a sub-agent. */
  callsBeforeLast = 0;
  #allCalls = 0;

  noteModelCall(agent: string): void {
    if (agent !== ROOT) {
      this.modelCalls.push(agent);
      this.callsBeforeLast = this.#allCalls;
    }
    this.#allCalls++;
  }
}

interface World {
  readonly root: ReActAgent;
  readonly workers: readonly TaskSubAgent[];
}

const ROOT = 'w';
const policy: PermissionPolicy = {
  decide: ({ call: { name } }) => ({ behavior: name === 'sign' ? 'ask' : 'allow' }),
};

const toCall =
  (by: string) =>
  (called: string, n: number): ScriptedToolCall => ({
    name: called,
    id: `${by}#${n}`,
    input: { task: called },
  });

/** Tool calls of the host: its first child, a tool that needs approval, its first child again. */
function callsOfHost({ children, times }: Family): readonly ScriptedToolCall[] {
  const [first = '', ...others] = children.map((_, n) => `agent_${ROOT}_${n}`);
  const again = Array.from({ length: times }, () => first);
  return [...again, 'sign', ...others, ...again].map(toCall(ROOT));
}

/** Tool calls of all others: all children and all tools, allowed or not. */
function callsOf(name: string, { children }: Member): readonly ScriptedToolCall[] {
  return [...children.map((_, n) => `agent_${name}_${n}`), ...TOOLS].map(toCall(name));
}

/** Model that makes its tool calls, and answers after the results. */
function modelOf(name: string, toolCalls: readonly ScriptedToolCall[], chronicle: Chronicle): ScriptedModel {
  const usage = { inputTokens: MODEL_CALL_TOKENS - 1, outputTokens: 1 };
  const hasResults: ScriptedTurn['when'] = ({ messages }) => {
    chronicle.noteModelCall(name);
    return messages.at(-1)?.hasContentBlocks('tool_result') === true;
  };
  return new ScriptedModel([
    { when: hasResults, text: `answer of ${name}`, usage },
    { when: () => true, toolCalls, usage },
  ]);
}

const broken = new ScriptedModel([{ when: () => true, error: new Error('out of order') }]);

async function worldOf(family: Family, chronicle: Chronicle): Promise<World> {
  const workers: TaskSubAgent[] = [];
  const { isParallel, children } = family;
  const model = modelOf(ROOT, callsOfHost(family), chronicle);
  const root = new ReActAgent({ name: ROOT, model, parallelToolCalls: isParallel, permissionPolicy: policy });
  root.setConsoleOutputEnabled(false);
  for (const name of TOOLS) {
    root.toolkit.registerToolFunction(
      tool({ name, execute: (_, { agentName = '' }) => void chronicle.ran.push([agentName, name]) }),
    );
  }
  const toolOf = async (member: Member, name: string): Promise<Tool> => {
    class Worker extends TaskSubAgent {
      constructor(init: SubAgentInit) {
        super(init, { parallelToolCalls: isParallel });
        init.memory.clear = async () => {}; // keeps the history for the checks
        workers.push(this);
      }
      override async loadDelegationContext(context: DelegationContext): Promise<void> {
        chronicle.tasks.push(name);
        await super.loadDelegationContext(context);
      }
      override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
        if (member.temper === 'throws') throw new Error('a tantrum');
        if (member.temper === 'gives garbage') return {} as Msg;
        if (member.temper === 'breaks things') vandalize(this);
        return super.reply(msgs, turn);
      }
    }
    const inner = await Promise.all(member.children.map((child, n) => toolOf(child, `${name}_${n}`)));
    const spec = {
      name,
      description: name,
      toolsAllowlist: member.allowed,
      tools: () => inner, // depth is checked at the tool call
      modelOverride:
        member.temper === 'has a broken model' ? broken : modelOf(name, callsOf(name, member), chronicle),
      safetyLimits: member.limits,
    };
    return makeSubagentTool(Worker, spec, { host: root, safetyLimits: family.limits });
  };
  for (const [n, child] of children.entries())
    root.toolkit.registerToolFunction(await toolOf(child, `${ROOT}_${n}`));
  workers.splice(0);
  return { root, workers };
}

/** Changes everything within reach. */
function vandalize({ permissions, toolkit, memory }: TaskSubAgent): void {
  const { safetyLimits, budget } = permissions;
  for (const target of [permissions, safetyLimits, budget, ...TOOLS.map((name) => toolkit.get(name))]) {
    for (const key of [...Object.keys(target ?? {}), 'check', 'beginStep'])
      Reflect.set(Object(target) as object, key, () => {});
  }
  Reflect.set(memory, 'vandalized', true);
  toolkit.registerToolFunction({ name: 'crowbar', execute: () => 'open' });
}

/** Visible state of a host, except its memory. */
const shown = ({ root: { name, sysPrompt, toolkit } }: World): string =>
  JSON.stringify([name, sysPrompt, toolkit.names, toolkit.getJsonSchemas(), toolkit.activeGroups]);

/** Runs a family until no approval is pending. Returns all worlds, and the number of approvals. */
async function live(family: Family, chronicle: Chronicle): Promise<{ worlds: World[]; asked: number }> {
  let world = await worldOf(family, chronicle);
  const worlds = [world];
  const before = shown(world);
  await world.root.call('go');
  let asked = 0;
  for (; world.root.pendingCalls.length > 0; asked++) {
    expect(asked).toBeLessThan(200);
    if (family.restarts) {
      const state = parseJson(JSON.stringify(world.root.stateDict())) as JsonObject;
      world = await worldOf(family, chronicle);
      worlds.push(world);
      world.root.loadStateDict(state);
    }
    const [pending] = world.root.pendingCalls;
    const isAllowed = family.verdicts[asked % family.verdicts.length] === true;
    const decision = { id: pending?.id ?? '', verdict: isAllowed ? 'allow' : 'deny' } as const;
    await world.root.call(undefined, { decisions: [decision] });
  }
  expect(shown(world)).toBe(before);
  return { worlds, asked };
}

/** Checks the record of one member and its nested sub-agents. @param tools tools of its host */
function checkMember(
  member: Member,
  name: string,
  around: readonly SafetyLimits[],
  tools: readonly string[],
  chronicle: Chronicle,
): void {
  const { limits: own, allowed, children } = member;
  const all = [...around, own];
  const forbidden = all.flatMap(({ forbiddenTools = [] }) => forbiddenTools);
  const mine = tools.filter((one) => allowed.includes(one) && !forbidden.includes(one));
  for (const [agent, ran] of chronicle.ran) if (agent === name) expect(mine).toContain(ran);

  const isBelow = (other: string): boolean => other.startsWith(`${name}_`);
  const tasks = chronicle.tasks.filter((one) => one === name).length;
  const { maxModelCalls = Infinity, maxDelegations = Infinity } = own;
  const modelCalls = chronicle.modelCalls.filter((one) => one === name || isBelow(one)).length;
  expect(modelCalls).toBeLessThanOrEqual(tasks === 0 ? 0 : tasks * maxModelCalls);
  expect(chronicle.tasks.filter(isBelow).length).toBeLessThanOrEqual(
    tasks === 0 ? 0 : tasks * maxDelegations,
  );
  if (around.some(({ forbiddenTools }) => forbiddenTools?.includes(`agent_${name}`))) expect(tasks).toBe(0);
  for (const [n, child] of children.entries()) checkMember(child, `${name}_${n}`, all, mine, chronicle);
}

function checkResult({ status, metadata = {} }: ToolResultBlock): void {
  const { subagent, supervisor, unavailable, error, delegation_context: context } = metadata;
  expect([typeof subagent, supervisor]).toEqual(['string', ROOT]);
  expect([unavailable === true, typeof error === 'string']).toEqual(Array(2).fill(status === 'unavailable'));
  if (status !== 'unavailable' || context !== undefined) {
    const { recent_events: events, ...others } = toDelegationContext(context);
    expect(events.length).toBeLessThanOrEqual(4);
    expect(Object.keys(others)).toEqual([
      'task_summary',
      'long_term_refs',
      'workspace_pointers',
      'safety_flags',
    ]);
  }
}

test('families keep to what they may do, and a host gets one result for each task, in order', async () => {
  const seen = { tasks: 0, modelCalls: 0, ran: 0, asked: 0, restarts: 0, codes: new Map<unknown, number>() };
  const numRuns = sampleOf('families of sub-agents', 300, 150);
  await fc.assert(
    fc.asyncProperty(families, async (family) => {
      const chronicle = new Chronicle();
      const { worlds, asked } = await live(family, chronicle);
      const {
        maxModelCalls = Infinity,
        maxDelegations = Infinity,
        maxTokens = Infinity,
        maxDepth,
      } = family.limits;

      for (const [n, child] of family.children.entries())
        checkMember(child, `${ROOT}_${n}`, [family.limits], TOOLS, chronicle);
      expect(chronicle.modelCalls.length).toBeLessThanOrEqual(maxModelCalls);
      expect(chronicle.tasks.length).toBeLessThanOrEqual(maxDelegations);
      if (!family.isParallel && chronicle.modelCalls.length > 0)
        expect(chronicle.callsBeforeLast * MODEL_CALL_TOKENS).toBeLessThan(maxTokens);
      for (const name of chronicle.tasks)
        expect(name.split('_').length - 1).toBeLessThanOrEqual(maxDepth ?? 1);

      const agents = worlds.flatMap(({ root, workers }) => [root, ...workers]);
      const histories = await Promise.all(agents.map(({ memory }) => memory.getMemory()));
      expect(histories.flatMap((history) => findHistoryFaults(history))).toEqual([]);
      expect(agents.filter(({ isRunning }) => isRunning)).toEqual([]);
      const memory = (await worlds.at(-1)?.root.memory.getMemory()) ?? [];
      const results = memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
      const calls = callsOfHost(family);
      expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
      expect(memory.map(({ role }) => role).filter((role) => role !== 'system')).toEqual([
        'user',
        'assistant',
        'assistant',
      ]);
      expect([memory[0]?.text, memory.at(-1)?.text]).toEqual(['go', `answer of ${ROOT}`]);
      for (const result of results.filter(({ name }) => name !== 'sign')) checkResult(result);

      seen.tasks += chronicle.tasks.length;
      seen.modelCalls += chronicle.modelCalls.length;
      seen.ran += chronicle.ran.filter(([agent]) => agent !== ROOT).length;
      seen.asked += asked;
      seen.restarts += worlds.length - 1;
      for (const { metadata } of results) {
        const code = metadata?.['error'] ?? 'ok';
        seen.codes.set(code, (seen.codes.get(code) ?? 0) + 1);
      }
    }),
    { numRuns },
  );
  // Guards against a test in which nothing happened.
  expect(seen.tasks).toBeGreaterThan(numRuns);
  expect(seen.modelCalls).toBeGreaterThan(numRuns);
  expect(seen.ran).toBeGreaterThan((numRuns * 2) / 3);
  expect(seen.asked).toBeGreaterThan(numRuns / 2);
  expect(seen.restarts).toBeGreaterThan(numRuns / 6);
  for (const code of ['ok', 'limit', 'exception', 'invalid_reply'])
    expect(seen.codes.get(code)).toBeGreaterThan(numRuns / 150);
});
