import type { Emit } from '../event/agent-event.ts';
import type { ContentBlock, ToolOutputBlock } from '../message/blocks.ts';
import { Msg } from '../message/msg.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { ToolSuspension } from '../toolkit/tool/tool-suspension.ts';
import type { CallOptions } from '../agent/agent-base.ts';
import { pendingIn } from '../approval/suspension-msg.ts';
import { currentTurn, currentTurnOf } from '../agent/current-turn.ts';
import { runDelegated } from './limits/around.ts';
import { countedSteps } from './limits/counted-steps.ts';
import { toDelegationContext, type DelegationContext } from './grants/delegation-context.ts';
import { failedResponse, failureFrom, type AboutTask, type SubAgentFailure } from './sub-agent-error.ts';
import type { DelegateOptions, SubAgent } from './sub-agent.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { withTimeLimits } from './limits/time-limits.ts';

/** Those who have a task, also before and after they are called. */
const working = new WeakSet<SubAgent>();

/**
 * How every sub-agent works on a task: the context goes into its memory, it is called like any other agent, and what it answers,
 * or why it doesn't, becomes one response. It stops with its host, and its steps are those of the host's run,
 * unless it works in the background.
 */
export async function delegateTo(
  agent: SubAgent,
  taskSummary: string,
  given: DelegationContext | undefined,
  options: DelegateOptions = {},
): Promise<ToolResponse> {
  const { signal = currentTurn()?.signal, timeoutMs = Infinity, ephemeralMemory = true } = options;
  const { budget, supervisorName: supervisor } = agent.permissions;
  const context = toDelegationContext(
    given?.task_summary === taskSummary ? given : { ...given, task_summary: taskSummary },
  );
  const about = { subagent: agent.name, supervisor, delegation_context: context };
  if (agent.isRunning || working.has(agent)) {
    const cause = 'works on another task already. Ask again later, or make another one.';
    return failed(agent, { code: 'unavailable', cause }, about); // the memory is the other task's
  }
  working.add(agent);
  let running: Promise<Msg> | undefined;
  let isWaiting = false;
  let isDone = false;
  try {
    const answer = await withTimeLimits(budget, timeoutMs, signal, (stop) => {
      running = runDelegated(agent, () => converse(agent, context, { ...options, signal: stop }));
      return running;
    });
    isDone = true;
    const pending = pendingIn(answer);
    if (pending !== undefined) {
      isWaiting = true;
      const state = { agent: agent.stateDict(), context, spent: budget.toJSON() };
      throw new ToolSuspension(undefined, { pending, state });
    }
    return await folded(agent, answer, about);
  } catch (error) {
    signal?.throwIfAborted();
    if (isWaiting) throw error;
    return failed(agent, failureFrom(error), about);
  } finally {
    working.delete(agent);
    if (ephemeralMemory && !isWaiting) {
      const clear = (): Promise<void> => agent.memory.clear().catch(() => {});
      const cleared = Promise.resolve(running).then(clear, clear); // first it puts its memory in order
      if (isDone) await cleared;
    }
  }
}

/** Lets the sub-agent have its say, as a part of the host's run. */
async function converse(
  agent: SubAgent,
  context: DelegationContext,
  { task = context.task_summary, signal, decisions, observer, isBackground = false }: DelegateOptions,
): Promise<Msg> {
  const { budget, supervisorName: name } = agent.permissions;
  const host = isBackground ? undefined : currentTurn(); // it may be over by then
  const runStep = countedSteps({ budget, host, turn: () => currentTurnOf(agent.id) });
  const lifetime = isBackground ? 'background' : 'nested';
  const options: CallOptions = { signal, runStep, decisions, lifetime };
  if (decisions !== undefined) return called(agent, undefined, options, observer);
  await agent.loadDelegationContext(context);
  return called(
    agent,
    Msg.user(task, { name, metadata: { delegation_context: context } }),
    options,
    observer,
  );
}

async function called(
  agent: SubAgent,
  input: Msg | undefined,
  options: CallOptions,
  observer: Emit | undefined,
): Promise<Msg> {
  if (observer === undefined) return agent.call(input, options);
  const events = agent.stream(input, { ...options, nested: true });
  let step = await events.next();
  for (; !step.done; step = await events.next()) {
    const { value } = step;
    const told = async (): Promise<void> => observer(value);
    told().catch((error: unknown) => {
      agent.permissions.logger.log('warn', `An observer of ${agent.name} failed: ${redactedMessage(error)}`);
    });
  }
  return step.value;
}

/** An answer as a result: what a host can use of it. An answer that is none, or only half of one, is a failure. */
async function folded(agent: SubAgent, answer: Msg, about: AboutTask): Promise<ToolResponse> {
  const { _end_reason: reason, _is_interrupted: isInterrupted, ...rest } = answer.metadata;
  if (reason === 'max_iters') {
    const cause = `ran out of steps. What it found so far: ${answer.text}`;
    return failed(agent, { code: 'max_iters', cause }, about);
  }
  if (reason === 'error') return failed(agent, { code: 'exception', cause: `failed: ${answer.text}` }, about);
  const blocks = answer.getContentBlocks().filter(isOutput);
  const content = blocks.every(({ type }) => type === 'text') ? answer.text : blocks;
  if (content.length === 0)
    return failed(agent, { code: 'invalid_reply', cause: 'gave an answer without content.' }, about);
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  return new ToolResponse(content, {
    status: isInterrupted === true ? 'interrupted' : 'ok',
    metadata: {
      ...about,
      tool_trace: results.map(({ name }) => name),
      ...(Object.keys(rest).length > 0 && { response_metadata: rest }),
    },
  });
}

function failed({ permissions }: SubAgent, failure: SubAgentFailure, about: AboutTask): ToolResponse {
  return failedResponse(failure, about, permissions.logger);
}

function isOutput(block: ContentBlock): block is ToolOutputBlock {
  return block.type !== 'thinking' && block.type !== 'tool_use' && block.type !== 'tool_result';
}
