import type { hookTypes } from '../hooks/hooked-module.ts';
import { callHook, type HookPoint, type ResultKind } from '../hooks/run-hooks.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolChoice } from '../model/chat-model-base.ts';
import { isSuspended, type SuspendedToolCall } from '../toolkit/call/tool-call-outcome.ts';
import { isJsonObject } from '../util/json.ts';
import { AgentBase } from '../agent/agent-base.ts';
import { A_MSG, type AgentHooks, type MaybeAsync } from '../agent/agent-hooks.ts';
import { signalOfTurn } from '../agent/turn-control.ts';
import type { Turn } from '../agent/turn.ts';

interface ReasoningArgs {
  readonly toolChoice: ToolChoice;
  readonly turn: Turn;
}

interface ActingArgs {
  readonly call: ToolUseBlock;
  readonly turn: Turn;
}

interface SummaryArgs {
  readonly turn: Turn;
}

/** Hooks of agents with reasoning and acting, added to the hooks of every agent. */
export interface ReActHooks<Agent> extends AgentHooks<Agent> {
  preReasoning(agent: Agent, args: ReasoningArgs): MaybeAsync<Partial<ReasoningArgs>>;
  postReasoning(agent: Agent, args: ReasoningArgs, result: Msg): MaybeAsync<Msg>;
  /** After every delta of a model message; awaited before the next delta. */
  reasoningChunk(agent: Agent, args: { readonly msg: Msg }): MaybeAsync<void>;
  /** Once for each tool call, also when tool calls run concurrently. */
  preActing(agent: Agent, args: ActingArgs): MaybeAsync<Partial<ActingArgs>>;
  /** Sees, and may replace, the tool result, also one with the status `interrupted`. Not called for a suspended tool call, which has no result yet. */
  postActing(agent: Agent, args: ActingArgs, result: ToolResultBlock): MaybeAsync<ToolResultBlock>;
  /** After every snapshot of a tool; awaited before the next snapshot. */
  actingChunk(agent: Agent, args: { readonly result: ToolResultBlock }): MaybeAsync<void>;
  preSummary(agent: Agent, args: SummaryArgs): MaybeAsync<Partial<SummaryArgs>>;
  postSummary(agent: Agent, args: SummaryArgs, result: Msg): MaybeAsync<Msg>;
}

const A_TOOL_RESULT: ResultKind = {
  name: 'nothing or a tool_result block',
  includes: (value) => isJsonObject(value) && value['type'] === 'tool_result',
};

const REACT_HOOK_POINTS: readonly HookPoint[] = [
  {
    method: 'reasoning',
    pre: 'preReasoning',
    post: 'postReasoning',
    params: ['toolChoice', 'turn'],
    result: A_MSG,
    signalOf: signalOfTurn,
  },
  {
    method: 'acting',
    pre: 'preActing',
    post: 'postActing',
    params: ['call', 'turn'],
    result: A_TOOL_RESULT,
    isUnfinished: isSuspended,
    signalOf: signalOfTurn,
    postSignalOf: () => undefined,
  },
  {
    method: 'summarizing',
    pre: 'preSummary',
    post: 'postSummary',
    params: ['turn'],
    result: A_MSG,
    signalOf: signalOfTurn,
  },
];

/**
 * Base of agents that alternate model calls (`reasoning`) and tool calls (`acting`), and sum up at a limit (`summarizing`).
 * Subclasses define the three methods; hooks around them run without any code in the subclass.
 */
export abstract class ReActAgentBase extends AgentBase {
  static override readonly hookPoints: readonly HookPoint[] = [...AgentBase.hookPoints, ...REACT_HOOK_POINTS];
  static override readonly otherHookTypes: readonly string[] = [
    ...AgentBase.otherHookTypes,
    'reasoningChunk',
    'actingChunk',
  ];

  declare readonly [hookTypes]?: ReActHooks<this>;

  /** Calls the model once. Resolves to the model message: text, tool calls, or both. */
  protected abstract reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg>;

  /** Runs one tool call. A tool that fails is a result too; a suspended tool call has no result yet. */
  protected abstract acting(call: ToolUseBlock, turn: Turn): Promise<ToolResultBlock | SuspendedToolCall>;

  /** Answers from the history so far, at the limit of model calls. */
  protected abstract summarizing(turn: Turn): Promise<Msg>;

  /** Runs the `reasoningChunk` hooks. */
  protected async notifyReasoningChunk(msg: Msg): Promise<void> {
    for (const hook of this.hooksOf('reasoningChunk'))
      await callHook('reasoningChunk', hook, [this, { msg }]);
  }

  /** Runs the `actingChunk` hooks. */
  protected async notifyActingChunk(result: ToolResultBlock): Promise<void> {
    for (const hook of this.hooksOf('actingChunk')) await callHook('actingChunk', hook, [this, { result }]);
  }
}
