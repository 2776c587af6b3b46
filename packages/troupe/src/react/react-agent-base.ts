import { AgentBase } from '../agent/agent-base.ts';
import { A_MSG, type AgentHooks, type MaybeAsync } from '../agent/agent-hooks.ts';
import { controlOf, currentToolCallId } from '../agent/turn/current-turn.ts';
import { LoopControl } from '../agent/turn/loop-control.ts';
import { signalOfTurn } from '../agent/turn/controlled-turn.ts';
import type { ModelCallPurpose, ModelPrompt } from '../agent/turn/hook-results.ts';
import type { Turn } from '../agent/turn/turn.ts';
import type { HookOptions } from '../hooks/hook-table.ts';
import type { hookOptionTypes, hookTypes } from '../hooks/hooked-module.ts';
import {
  callHook,
  runPostHooks,
  runPreHooks,
  type HookContext,
  type HookControls,
  type HookPoint,
  type ResultKind,
} from '../hooks/run-hooks.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import type { ToolChoice } from '../model/chat-model-base.ts';
import { isSuspended, type SuspendedToolCall } from '../toolkit/call/tool-call-outcome.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { describe, isJsonObject } from '../util/json.ts';

interface ReasoningArgs extends ModelPrompt {
  readonly toolChoice: ToolChoice;
  readonly turn: Turn;
}

interface ActingArgs {
  readonly call: ToolUseBlock;
  readonly turn: Turn;
}

interface SummaryArgs extends ModelPrompt {
  readonly turn: Turn;
}

interface ChunkArgs {
  /** The message so far. */
  readonly msg: Msg;
  /** The newest part. */
  readonly delta: ModelDelta;
}

interface ActingChunkArgs {
  readonly call: ToolUseBlock;
  /** The snapshot, which replaces the one before. */
  readonly result: ToolResultBlock;
  /** Text that the snapshot adds to the one before; all of its text if it does not begin like that one. */
  readonly delta: string;
}

/** Hooks of agents with reasoning and acting, added to the hooks of every agent. */
export interface ReActHooks<Agent> extends AgentHooks<Agent> {
  /** May replace messages, generation options and settings of HTTP, for this model call only. */
  preReasoning(agent: Agent, args: ReasoningArgs): MaybeAsync<Partial<ReasoningArgs>>;
  /** May replace the model message, end the reply by `stopAgent()`, or have the model called again by `gotoReasoning()`. */
  postReasoning(agent: Agent, args: ReasoningArgs, result: Msg): MaybeAsync<Msg | LoopControl>;
  /** After every delta of a model message; awaited before the next delta. */
  reasoningChunk(agent: Agent, args: ChunkArgs): MaybeAsync<void>;
  /** Once for each tool call, also when tool calls run concurrently. */
  preActing(agent: Agent, args: ActingArgs): MaybeAsync<Partial<ActingArgs>>;
  /**
   * Sees, and may replace, the tool result, also one with the status `interrupted`; may end the reply by `stopAgent()`, or add messages by `gotoReasoning()`, after all
   * tool calls of the model message. Not called for a suspended tool call, which has no result yet.
   */
  postActing(
    agent: Agent,
    args: ActingArgs,
    result: ToolResultBlock,
  ): MaybeAsync<ToolResultBlock | LoopControl>;
  /** After every snapshot of a tool; awaited before the next snapshot. */
  actingChunk(agent: Agent, args: ActingChunkArgs): MaybeAsync<void>;
  /** May replace messages, generation options and settings of HTTP, for this model call only. */
  preSummary(agent: Agent, args: SummaryArgs): MaybeAsync<Partial<SummaryArgs>>;
  postSummary(agent: Agent, args: SummaryArgs, result: Msg): MaybeAsync<Msg>;
  /** After every delta of a summary; awaited before the next delta. */
  summaryChunk(agent: Agent, args: ChunkArgs): MaybeAsync<void>;
}

/** Options of a hook of an agent with tools. */
export interface ReActHookOptions extends HookOptions {
  /** Tools that the agent has as long as the hook is registered, from its next reply on. @default none */
  readonly tools?: readonly Tool[] | undefined;
}

const A_TOOL_RESULT: ResultKind = {
  name: 'nothing or a tool_result block',
  includes: (value) => isJsonObject(value) && value['type'] === 'tool_result',
};

/**
 * Base of agents that alternate model calls (`reasoning`) and tool calls (`acting`), and sum up at a limit (`summarizing`).
 * Subclasses define the three methods; hooks around them run without any code in the subclass.
 */
export abstract class ReActAgentBase extends AgentBase {
  static override readonly hookPoints: readonly HookPoint[] = [
    ...AgentBase.hookPoints,
    {
      method: 'reasoning',
      pre: 'preReasoning',
      post: 'postReasoning',
      params: ['toolChoice', 'turn'],
      context: contextOf((agent, turn) => (agent as ReActAgentBase).makePrompt('reasoning', turn)),
      checkChanges: checkPrompt,
      result: A_MSG,
      controls: controlsOf(() => undefined),
      signalOf: signalOfTurn,
    },
    {
      method: 'acting',
      pre: 'preActing',
      post: 'postActing',
      params: ['call', 'turn'],
      result: A_TOOL_RESULT,
      controls: controlsOf(({ call }) => currentToolCallId() ?? (call as ToolUseBlock).id),
      isUnfinished: isSuspended,
      signalOf: signalOfTurn,
      postSignalOf: () => undefined,
    },
    {
      method: 'summarizing',
      pre: 'preSummary',
      post: 'postSummary',
      params: ['turn'],
      context: contextOf((agent, turn) => (agent as ReActAgentBase).makePrompt('summary', turn)),
      checkChanges: checkPrompt,
      result: A_MSG,
      signalOf: signalOfTurn,
    },
  ];
  static override readonly otherHookTypes: readonly string[] = [
    ...AgentBase.otherHookTypes,
    'reasoningChunk',
    'actingChunk',
    'summaryChunk',
  ];

  declare readonly [hookTypes]?: ReActHooks<this>;
  declare readonly [hookOptionTypes]?: ReActHookOptions;

  /** Calls the model once. Resolves to the model message: text, tool calls, or both. */
  protected abstract reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg>;

  /** Runs one tool call. A tool that fails is a result too; a suspended tool call has no result yet. */
  protected abstract acting(call: ToolUseBlock, turn: Turn): Promise<ToolResultBlock | SuspendedToolCall>;

  /** Answers from the history so far, at the limit of model calls. */
  protected abstract summarizing(turn: Turn): Promise<Msg>;

  /** Makes the prompt of a model call for its hooks. Without such hooks it is not called. */
  protected async makePrompt(_purpose: ModelCallPurpose, _turn: Turn): Promise<ModelPrompt> {
    return { messages: [], generation: undefined, http: undefined };
  }

  /** The prompt as the hooks left it, in `reasoning` and `summarizing`; undefined if there are no hooks. */
  protected hookedPrompt(turn: Turn): ModelPrompt | undefined {
    return controlOf(turn).hookResults.prompt;
  }

  /** Has the hooks before a model call change a prompt that was made anew, because the one before was too long. */
  protected async hookAgain(
    type: 'preReasoning' | 'preSummary',
    args: ModelPrompt & { readonly turn: Turn },
  ): Promise<ModelPrompt> {
    const { signal } = args.turn;
    const options = { signal, checkChanges: checkPrompt };
    const { messages, generation, http } = await runPreHooks(
      this,
      type,
      this.hooksOf(type),
      { ...args },
      options,
    );
    return { messages, generation, http };
  }

  /**
   * Has the hooks after a model call change a model message that was cut off. Controls have no effect: the reply ends anyway.
   * @param end no further hook begins after it
   */
  protected hookCutMsg(
    type: 'postReasoning' | 'postSummary',
    args: SummaryArgs,
    msg: Msg,
    end: AbortSignal,
  ): Promise<Msg> {
    const controls = { ...controlsOf(() => undefined), take: () => {} };
    const options = { kind: A_MSG, controls, signal: end };
    return runPostHooks(this, type, this.hooksOf(type), Object.freeze({ ...args }), msg, options);
  }

  /** The control that hooks after reasoning, or after a tool call, returned. Returned once. */
  protected takeControl(turn: Turn, toolCallId?: string): LoopControl | undefined {
    return controlOf(turn).hookResults.takeControl(toolCallId);
  }

  /** Tools that hooks bring, each once. */
  protected hookTools(): readonly Tool[] {
    const hooks: readonly { readonly options?: ReActHookOptions | undefined }[] = this.allHooks();
    return [...new Set(hooks.flatMap(({ options }) => options?.tools ?? []))];
  }

  /** Runs the `reasoningChunk` hooks. */
  protected async notifyReasoningChunk(msg: Msg, delta: ModelDelta): Promise<void> {
    for (const hook of this.hooksOf('reasoningChunk'))
      await callHook('reasoningChunk', hook, [this, { msg, delta }]);
  }

  /** Runs the `summaryChunk` hooks. */
  protected async notifySummaryChunk(msg: Msg, delta: ModelDelta): Promise<void> {
    for (const hook of this.hooksOf('summaryChunk'))
      await callHook('summaryChunk', hook, [this, { msg, delta }]);
  }

  /** Runs the `actingChunk` hooks. @param previous the snapshot before */
  protected async notifyActingChunk(
    call: ToolUseBlock,
    result: ToolResultBlock,
    previous?: ToolResultBlock,
  ): Promise<void> {
    const hooks = this.hooksOf('actingChunk');
    if (hooks.length === 0) return;
    const delta = newText(result, previous);
    for (const hook of hooks) await callHook('actingChunk', hook, [this, { call, result, delta }]);
  }
}

/** Has hooks see the prompt of a model call, and keeps the prompt as they left it while the method runs. */
function contextOf(makePrompt: (agent: object, turn: Turn) => Promise<ModelPrompt>): HookContext {
  return {
    get: async ({ turn }, agent) => ({ ...(await makePrompt(agent, turn as Turn)) }),
    set: ({ turn, messages, generation, http }) => {
      controlOf(turn as Turn).hookResults.prompt = { messages, generation, http } as ModelPrompt;
    },
    clear: ({ turn }) => {
      controlOf(turn as Turn).hookResults.prompt = undefined;
    },
  };
}

/** @throws TypeError, InvalidMsgError */
function checkPrompt(changes: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { messages, generation, http } = changes;
  if (http !== undefined && !isJsonObject(http))
    throw new TypeError(`http must be an object, not ${describe(http)}.`);
  if (generation !== undefined && !isJsonObject(generation))
    throw new TypeError(`generation must be an object, not ${describe(generation)}.`);
  return Object.hasOwn(changes, 'messages')
    ? { ...changes, messages: Msg.list(messages as MsgInput) }
    : changes;
}

/** @param toolCallIdOf undefined for hooks after reasoning */
function controlsOf(
  toolCallIdOf: (args: Readonly<Record<string, unknown>>) => string | undefined,
): HookControls {
  return {
    name: 'stopAgent() or gotoReasoning()',
    includes: (value) => LoopControl.isInstance(value),
    take: (value, args) =>
      controlOf(args['turn'] as Turn).hookResults.addControl(value as LoopControl, toolCallIdOf(args)),
  };
}

/** Text that a snapshot of a tool adds to the one before. */
function newText(result: ToolResultBlock, previous: ToolResultBlock | undefined): string {
  const [text, before] = [textOf(result), previous === undefined ? '' : textOf(previous)];
  return text.startsWith(before) ? text.slice(before.length) : text;
}

function textOf({ output }: ToolResultBlock): string {
  if (typeof output === 'string') return output;
  return output.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}
