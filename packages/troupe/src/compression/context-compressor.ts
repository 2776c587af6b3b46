import type { CompressionEvent } from '../event/agent-event.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../message/usage.ts';
import type { ChatModelBase, ToolSchema } from '../model/chat-model-base.ts';
import type { Tool } from '../toolkit/tool/tool.ts';

/** What whoever makes room in a context is told, and what it can do. */
export interface CompressionTask {
  /** Aborted by an interrupt: leave everything as it is then, and throw. */
  readonly signal: AbortSignal;
  /** The agent's own model, for a compressor that has none. */
  readonly model: ChatModelBase;
  /** What goes with the conversation in each prompt, and takes room too. */
  readonly sysPrompt: string;
  readonly tools: readonly ToolSchema[];
  /** What stands behind the conversation in this prompt. */
  readonly hints: readonly Msg[];
  /** Who the agent is: what others have said is no answer of its own. */
  readonly agentName: string;
  /** The ids of what the agent was asked in this call: those messages must stay. */
  readonly requestIds: ReadonlySet<string>;
  /** The model has refused the prompt because it is too long: make room whatever the thresholds say. */
  readonly force: boolean;
  /** What is being worked on, for the one who sums up. */
  readonly planHint: string | undefined;
  /** Runs a model call. What it resolves to must be JSON. */
  readonly step: <T>(name: string, body: () => Promise<T>) => Promise<T>;
  readonly emit: (event: CompressionEvent) => void | Promise<void>;
  readonly addUsage: (usage: Usage | undefined) => void | Promise<void>;
}

/**
 * Keeps a conversation small enough for its model. An agent asks it before every model call. It never fails the reply: what
 * can't be made smaller stays as it is. It rejects only when the signal is aborted.
 */
export interface ContextCompressor {
  /** Resolves to whether anything has changed. */
  compress(task: CompressionTask): Promise<boolean>;
  /** The tools that the model needs for what was removed, such as `context_reload`. */
  readonly contextTools: readonly Tool[];
  /** What the model is told about it, behind the system prompt; empty as long as there is nothing to tell. */
  readonly contextInstruction: string;
}

/** Whether a memory keeps itself small. */
export function isContextCompressor<T extends object>(memory: T): memory is T & ContextCompressor {
  return 'compress' in memory && typeof memory.compress === 'function';
}
