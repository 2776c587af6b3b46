import type { CompressionEvent } from '../event/agent-event.ts';
import type { StepInit } from '../event/step.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../message/usage.ts';
import type { ChatModelBase, ToolSchema } from '../model/chat-model-base.ts';
import type { Tool } from '../toolkit/tool/tool.ts';

/**
 * Input of a compression: the prompt parts that count towards the limit, and callbacks into the agent call.
 */
export interface CompressionTask {
  /** Aborted by an interrupt. A compressor then changes nothing more and throws the abort reason. */
  readonly signal: AbortSignal;
  /** The agent's model, used by compressors without their own. */
  readonly model: ChatModelBase;
  /**
   * The agent's formatter without truncation, so that a summary misses no message. Undefined: the model's own.
   */
  readonly formatter: FormatterBase | undefined;
  /** System prompt and tool schemas. Both are part of every prompt and count towards the token limit. */
  readonly sysPrompt: string;
  readonly tools: readonly ToolSchema[];
  /** Messages that follow the conversation in this prompt only. */
  readonly hints: readonly Msg[];
  /** Name of the agent. Assistant messages with other names are input, not the agent's answers. */
  readonly agentName: string;
  /** Ids of the messages that the current agent call has to answer. Never removed. */
  readonly requestIds: ReadonlySet<string>;
  /** True after the model refused the prompt as too long: compress even below the thresholds. */
  readonly force: boolean;
  /** Description of the current plan, added to the prompt for a summary. */
  readonly planHint: string | undefined;
  /** Runs a model call as a step of the run. The result must be JSON. */
  readonly step: <T>(step: StepInit, body: () => Promise<T>) => Promise<T>;
  readonly emit: (event: CompressionEvent) => void | Promise<void>;
  readonly addUsage: (usage: Usage | undefined) => void | Promise<void>;
}

/**
 * Port for compression: keeps a conversation within the context window of its model. `ReActAgent` calls
 * `compress` before every model call. Implemented by `SummaryCompressor` and `AutoContextMemory`; read those
 * two files next.
 * A compressor never fails the reply: a conversation that can't be compressed stays unchanged. `compress`
 * rejects only when the signal is aborted. Folder `compression`: start here.
 */
export interface ContextCompressor {
  /** Resolves to true if the conversation has changed. */
  compress(task: CompressionTask): Promise<boolean>;
  /** Tools with which the model reads removed messages, such as `context_reload`. */
  readonly contextTools: readonly Tool[];
  /** Text appended to the system prompt; empty if the compressor has nothing to explain. */
  readonly contextInstruction: string;
}

/** True for a memory that compresses itself. */
export function isContextCompressor<T extends object>(memory: T): memory is T & ContextCompressor {
  return 'compress' in memory && typeof memory.compress === 'function';
}
