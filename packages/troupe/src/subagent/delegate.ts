import type { Emit } from '../event/agent-event.ts';
import { isMedia } from '../formatter/prompt-media.ts';
import type { ContentBlock, ToolOutputBlock } from '../message/blocks.ts';
import { isInterruptReply } from '../message/end-reason.ts';
import { Msg } from '../message/msg.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { ToolSuspension } from '../toolkit/tool/tool-suspension.ts';
import type { CallOptions } from '../agent/agent-base.ts';
import { currentControl, currentControlOf } from '../agent/turn/current-turn.ts';
import { runDelegated } from './limits/delegation-scope.ts';
import { countedSteps } from './limits/counted-steps.ts';
import type { DelegationContext } from './grants/context-text.ts';
import { compressContext, toDelegationContext } from './grants/delegation-context.ts';
import { endNote, withNote } from './end-note.ts';
import { ownContext } from './grants/granted-resources.ts';
import {
  aboutTask,
  failedResponse,
  failureFrom,
  type AboutTask,
  type SubAgentFailure,
} from './sub-agent-error.ts';
import type { DelegateOptions, SubAgent } from './sub-agent.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { taskTimeoutOf, withTimeLimits } from './limits/time-limits.ts';

/** Sub-agents with a task, also while the context is loaded and the memory is cleared. */
const busyAgents = new WeakSet<SubAgent>();

/**
 * Runs one task of a sub-agent: loads the context into the sub-agent's memory, calls the sub-agent, and turns
 * the answer or the failure into one response. An interrupt of the host stops the sub-agent, and the
 * sub-agent's steps are steps of the host's run, unless the task runs in the background.
 */
export async function delegateTo(
  agent: SubAgent,
  taskSummary: string,
  given: DelegationContext | undefined,
  options: DelegateOptions = {},
): Promise<ToolResponse> {
  const { signal = currentControl()?.signal, ephemeralMemory = true } = options;
  const { timeoutMs = taskTimeoutOf(agent) } = options;
  const { permissions } = agent;
  const { budget, supervisorName: supervisor } = permissions;
  const known = given ?? compressContext(ownContext(permissions), taskSummary);
  const context = toDelegationContext(
    known.task_summary === taskSummary ? known : { ...known, task_summary: taskSummary },
  );
  const about = { ...aboutTask(agent.name, supervisor, agent.tags), delegation_context: context };
  if (agent.isRunning || busyAgents.has(agent)) {
    const cause = 'works on another task already. Ask again later, or make another one.';
    // clearing would empty the memory of the running task
    return failed(agent, { code: 'unavailable', cause }, about);
  }
  busyAgents.add(agent);
  let running: Promise<Msg> | undefined;
  let isWaiting = false;
  let isDone = false;
  try {
    const answer = await withTimeLimits(budget, timeoutMs, signal, (stop) => {
      running = runDelegated(agent, () => runTask(agent, context, { ...options, signal: stop }));
      return running;
    });
    isDone = true;
    const { pending } = answer;
    if (pending !== undefined) {
      isWaiting = true;
      const state = { agent: agent.stateDict(), context, spent: budget.toJSON() };
      throw new ToolSuspension(undefined, { pending, state });
    }
    return await toToolResponse(agent, answer, about);
  } catch (error) {
    signal?.throwIfAborted();
    if (isWaiting) throw error;
    return failed(agent, failureFrom(error), about);
  } finally {
    busyAgents.delete(agent);
    if (ephemeralMemory && !isWaiting) {
      const clear = (): Promise<void> => agent.memory.clear().catch(() => {});
      // the call repairs the memory before it ends, so clearing comes after
      const cleared = Promise.resolve(running).then(clear, clear);
      if (isDone) await cleared;
    }
  }
}

/** Calls the sub-agent, as part of the host's run unless in the background. */
async function runTask(agent: SubAgent, context: DelegationContext, options: DelegateOptions): Promise<Msg> {
  const { task = context.task_summary, metadata, signal, decisions, onEvent, isBackground = false } = options;
  const { budget, supervisorName: name } = agent.permissions;
  // the host's call may have ended before a background task does
  const host = isBackground ? undefined : currentControl();
  const runStep = countedSteps({ budget, host, caller: () => currentControlOf(agent.id) });
  const lifetime = isBackground ? 'background' : 'nested';
  const callOptions: CallOptions = { signal, runStep, decisions, lifetime };
  if (decisions !== undefined) return callObserved(agent, undefined, callOptions, onEvent);
  await agent.loadDelegationContext(context);
  const input = Msg.user(task, { name, metadata: { ...metadata, delegation_context: context } });
  return callObserved(agent, input, callOptions, onEvent);
}

async function callObserved(
  agent: SubAgent,
  input: Msg | undefined,
  options: CallOptions,
  onEvent: Emit | undefined,
): Promise<Msg> {
  if (onEvent === undefined) return agent.call(input, options);
  const events = agent.stream(input, { ...options, nested: true });
  let step = await events.next();
  for (; !step.done; step = await events.next()) {
    const { value } = step;
    const notify = async (): Promise<void> => onEvent(value);
    notify().catch((error: unknown) => {
      agent.permissions.logger.log(
        'warn',
        `An event listener of ${agent.name} failed: ${redactedMessage(error)}`,
      );
    });
  }
  return step.value;
}

/**
 * Turns an answer into a tool response. Failed and empty answers, and those after too many steps, become failures; a note says that an
 * answer was cut off or stopped.
 */
async function toToolResponse(agent: SubAgent, answer: Msg, about: AboutTask): Promise<ToolResponse> {
  const { endReason, metadata } = answer;
  const isInterrupted = isInterruptReply(answer);
  const { _is_interrupted: _, ...others } = metadata;
  const rest = isInterrupted ? others : metadata;
  if (endReason === 'max_iters') {
    const cause = `ran out of steps. What it found so far: ${answer.text}`;
    return failed(agent, { code: 'max_iters', cause }, about);
  }
  if (endReason === 'error')
    return failed(agent, { code: 'exception', cause: `failed: ${answer.text}` }, about);
  const blocks = answer.getContentBlocks().filter(isOutput);
  const content = blocks.every(({ type }) => type === 'text') ? answer.text : blocks;
  if (content.length === 0)
    return failed(agent, { code: 'invalid_reply', cause: 'gave an answer without content.' }, about);
  const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
  const note = endNote(agent.name, answer);
  return new ToolResponse(withNote(content, note), {
    status: isInterrupted ? 'interrupted' : 'ok',
    metadata: {
      ...about,
      ...(note && { end_reason: note.reason }),
      tool_trace: results.map(({ name }) => name),
      ...(Object.keys(rest).length > 0 && { response_metadata: rest }),
    },
  });
}

function failed({ permissions }: SubAgent, failure: SubAgentFailure, about: AboutTask): ToolResponse {
  return failedResponse(failure, about, permissions.logger);
}

function isOutput(block: ContentBlock): block is ToolOutputBlock {
  return block.type === 'text' || isMedia(block);
}
