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

/** The hooks of an agent that reasons and acts, besides those that every agent has. */
export interface ReActHooks<Agent> extends AgentHooks<Agent> {
  preReasoning(agent: Agent, args: ReasoningArgs): MaybeAsync<Partial<ReasoningArgs>>;
  postReasoning(agent: Agent, args: ReasoningArgs, result: Msg): MaybeAsync<Msg>;
  /** Each time the thought has grown; awaited before the next piece. */
  reasoningChunk(agent: Agent, args: { readonly msg: Msg }): MaybeAsync<void>;
  /** Once for each tool call, also when calls run side by side. */
  preActing(agent: Agent, args: ActingArgs): MaybeAsync<Partial<ActingArgs>>;
  /** Sees, and may replace, the tool's real result. Not called for a suspended tool call, which has no result yet. */
  postActing(agent: Agent, args: ActingArgs, result: ToolResultBlock): MaybeAsync<ToolResultBlock>;
  /** Each time a tool has shown some of its result; awaited before the next piece. */
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
 * The base of agents that go round in steps: think (`reasoning`), use tools
 * (`acting`), and at the limit sum up (`summarizing`). How they do that is up
 * to the subclass; the hooks around the steps are there by themselves.
 */
export abstract class ReActAgentBase extends AgentBase {
  static override readonly hookPoints: readonly HookPoint[] = [...AgentBase.hookPoints, ...REACT_HOOK_POINTS];
  static override readonly otherHookTypes: readonly string[] = [
    ...AgentBase.otherHookTypes,
    'reasoningChunk',
    'actingChunk',
  ];

  declare readonly [hookTypes]?: ReActHooks<this>;

  /** Asks the model once, and returns its thought: text, tool calls, or both. */
  protected abstract reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg>;

  /** Runs one tool call. A tool that fails is a result too; a suspended tool call has no result yet. */
  protected abstract acting(call: ToolUseBlock, turn: Turn): Promise<ToolResultBlock | SuspendedToolCall>;

  /** Answers with what is known when there may be no further step. */
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
