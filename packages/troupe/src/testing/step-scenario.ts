import type { Step, StepRunner } from '../event/step.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model-base.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { agentTool } from '../subagent/agent-tool.ts';
import { tool } from '../toolkit/tool/tool.ts';
import type { JsonObject } from '../util/json.ts';
import { checkSame } from './contract-checks.ts';
import { ScriptedModel } from './scripted-model.ts';

/** Agents, made anew for each attempt at the scenario. */
export interface ScenarioAgents {
  readonly host: ReActAgent;
  readonly expert: ReActAgent;
}

/** Names of executed tools, over all attempts. */
export type Effects = string[];

const INPUT = Msg.user('Please do everything.', { id: 'input', timestamp: '2026-01-01T00:00:00.000Z' });
const SCHEMA = objectSchema('total', 'number');

/** The number of runs in the scenario: up to the question for an approval, and on from there. */
export const SCENARIO_RUNS = 2;

/**
 * Makes a host with three parallel tool calls (a plain tool, an expert agent with two parallel tool calls, a tool behind an
 * approval) and structured output. The models answer by the history alone, so an attempt can go on from anywhere.
 */
export function makeScenarioAgents(effects: Effects): ScenarioAgents {
  const look = tool({
    name: 'look',
    schema: objectSchema('at', 'string'),
    execute: (input: JsonObject) => noted(effects, `look ${JSON.stringify(input['at'])}`),
  });
  const expert = new ReActAgent({
    name: 'expert',
    model: new ScriptedModel([
      {
        when: hasResults(0),
        toolCalls: [
          { id: 'look_1', name: 'look', input: { at: 'a' } },
          { id: 'look_2', name: 'look', input: { at: 'b' } },
        ],
      },
      { when: hasResults(2), text: 'I have seen both.' },
    ]),
    tools: [look],
    parallelToolCalls: true,
    console: false,
  });
  const host = new ReActAgent({
    name: 'host',
    model: new ScriptedModel([
      {
        when: hasResults(0),
        text: 'Let me begin.',
        toolCalls: [
          { id: 'call_1', name: 'count', input: {} },
          { id: 'call_2', name: 'expert', input: { query: 'Look around.' } },
          { id: 'call_3', name: 'sign', input: {} },
        ],
      },
      { when: hasResults(3), toolCalls: [{ name: 'generate_response', input: { total: 3 } }] }, // no id: one is made in the step
    ]),
    tools: [
      tool({ name: 'count', execute: () => noted(effects, 'count') }),
      tool({ name: 'sign', execute: () => noted(effects, 'sign') }),
      agentTool(expert, { description: 'Looks around.' }),
    ],
    parallelToolCalls: true,
    permissionPolicy: { decide: ({ call }) => ({ behavior: call.name === 'sign' ? 'ask' : 'allow' }) },
    console: false,
  });
  return { host, expert };
}

/** Plays the scenario with one step runner for each run. Resolves to the structured output. */
export async function playScenario(
  { host }: ScenarioAgents,
  [first, second]: readonly StepRunner[],
): Promise<unknown> {
  const options = { structuredModel: SCHEMA };
  await host.call(INPUT, { ...options, runStep: first });
  const decisions = host.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }) as const);
  const { total } = (await host.call(undefined, { ...options, decisions, runStep: second })).metadata;
  return { total };
}

/** The history of the host, without ids and times that differ between runs. */
export async function historyOf({ host }: ScenarioAgents): Promise<unknown> {
  const history = await host.memory.getMemory();
  return history.map((msg) => [
    msg.role,
    msg.text,
    msg.getContentBlocks('tool_use').map(({ name, input }) => [name, input]),
    msg.getContentBlocks('tool_result').map(({ name, output, status }) => [name, output, status]),
  ]);
}

/** @throws Error if a tool call has no result, or a result no tool call. */
export async function checkHistories({ host, expert }: ScenarioAgents): Promise<void> {
  for (const { name, memory } of [host, expert])
    checkSame(findHistoryFaults(await memory.getMemory()), [], `The faults in the history of ${name}`);
}

/** Notes all steps of a run on their way to its runner. */
export function noting(steps: Step[], runStep: StepRunner): StepRunner {
  return (step, body) => {
    steps.push(step);
    return runStep(step, body);
  };
}

function hasResults(count: number): (request: ModelRequest) => boolean {
  return ({ messages }) => messages.flatMap((msg) => msg.getContentBlocks('tool_result')).length === count;
}

function objectSchema(property: string, type: string): JsonObject {
  return { type: 'object', properties: { [property]: { type } }, required: [property] };
}

async function noted(effects: Effects, effect: string): Promise<string> {
  await undefined;
  effects.push(effect);
  return `${effect} is done.`;
}
