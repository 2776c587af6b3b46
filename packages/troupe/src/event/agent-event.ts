import { TroupeError, type ErrorCode } from '../errors.ts';
import type { BlockChange } from '../message/block-change.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { FinishReason } from '../message/model-delta.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { Usage } from '../message/usage.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';

/** End of an agent call. `suspended`: tool calls are pending, and the agent call continues after the decisions about them. */
export type RunStatus = 'finished' | 'suspended' | 'interrupted' | 'aborted' | 'failed';

/** An error as an event shows it: no stack, no cause. */
export interface EventError {
  readonly message: string;
  readonly code?: ErrorCode;
  /** Kind of failure, if a model failed, such as `rate_limit`. */
  readonly kind?: string;
}

/** Progress of one compression: a part of the conversation is replaced by a shorter message. */
export interface CompressionEvent {
  readonly type: 'compression';
  /** `start` before a model call, `progress` during the model call, `end` after the conversation changed, `failed` if nothing changed. */
  readonly phase: 'start' | 'progress' | 'end' | 'failed';
  /** Name of the strategy, such as `tool_invocation_compress`. */
  readonly strategy: string;
  readonly compressedMessageCount: number;
  /** Counted tokens of the whole prompt: system prompt, tools, messages and hints. */
  readonly tokensBefore: number;
  readonly tokensAfter?: number;
  /** The message before the compressed part, the message after the part, and the message that replaces the part. */
  readonly previousMessageId?: string;
  readonly nextMessageId?: string;
  readonly compressedMessageId?: string;
  readonly durationMs?: number;
  readonly usage?: Usage;
  /** Reason of a failure. */
  readonly problem?: string;
}

/** The end of a tool call: exactly once for each, whatever became of it. */
export interface ToolResultEvent {
  readonly type: 'tool_result';
  /** The tool call as the model made it. */
  readonly call: ToolUseBlock;
  /** The result with its final status, as it is stored. */
  readonly result: ToolResultBlock;
  /** Time spent on the tool call, without the time in which it was pending. */
  readonly durationMs: number;
}

/** The start of a model call. */
export interface ModelStartEvent {
  readonly type: 'model_start';
  /** Purpose of the model call: `reasoning`, `summary`, `compression`, `rewrite query`, or the name of the step of a program's own. */
  readonly purpose: string;
  readonly modelName: string;
}

/** The end of a model call: exactly once for each start. */
export interface ModelEndEvent {
  readonly type: 'model_end';
  readonly purpose: string;
  readonly modelName: string;
  readonly status: Exclude<RunStatus, 'suspended'>;
  /** The model message, if it is one of the loop. */
  readonly msgId?: string;
  readonly usage?: Usage;
  readonly finishReason?: FinishReason;
  readonly durationMs: number;
  /** Why it failed. */
  readonly error?: EventError;
}

/** An event without its origin. */
export type EventBody =
  | { readonly type: 'reply_start'; readonly name: string }
  | BlockChange
  | ModelStartEvent
  | ModelEndEvent
  /** An agent begins with a tool call. Not sent again when a suspended tool call is resumed. */
  | { readonly type: 'tool_start'; readonly call: ToolUseBlock }
  | { readonly type: 'tool_chunk'; readonly result: ToolResultBlock }
  | ToolResultEvent
  | { readonly type: 'hint'; readonly msg: Msg }
  | CompressionEvent
  /** A tool call is pending, of this agent or of an agent called inside a tool. */
  | { readonly type: 'approval_needed'; readonly pending: PendingCall }
  | { readonly type: 'plan_change'; readonly plan: JsonObject | null }
  /** Cost of one model call; `msgId` names the model message, if the loop made the model call. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly msgId?: string }
  /** An error that did not end the run. */
  | { readonly type: 'error'; readonly error: EventError }
  /** An event of the program's own, sent by `turn.emit`. */
  | { readonly type: 'custom'; readonly name: string; readonly data: JsonValue }
  | {
      readonly type: 'reply_end';
      readonly status: RunStatus;
      readonly msgId?: string;
      readonly durationMs: number;
    }
  /** The last event of every run, exactly once. */
  | {
      readonly type: 'run_end';
      readonly status: RunStatus;
      readonly msg?: Msg;
      readonly error?: EventError;
      readonly durationMs: number;
    };

/** Origin of an event. `seq` counts all events of a run, including events of nested agents. */
export interface EventOrigin {
  /** Unique id of the event. */
  readonly id: string;
  readonly runId: string;
  readonly replyId: string;
  /** Agent names from the outermost agent to the agent of the event. */
  readonly agentPath: readonly string[];
  readonly seq: number;
  /** When it happened, as in a message, e.g. `2026-01-31T09:30:00.000Z`. */
  readonly timestamp: string;
}

/** One event of a run: small, typed, and plain JSON after `JSON.stringify`. Folder `event`: start here. */
export type AgentEvent = EventBody & EventOrigin;

/** Discriminator of the event union. */
export type EventType = AgentEvent['type'];

/** All types of events. */
const EVENT_TYPES: Readonly<Record<EventType, true>> = {
  reply_start: true,
  block_start: true,
  text_delta: true,
  thinking_delta: true,
  tool_input_delta: true,
  audio_delta: true,
  citations_delta: true,
  image_delta: true,
  block_end: true,
  msg_reset: true,
  model_start: true,
  model_end: true,
  tool_start: true,
  tool_chunk: true,
  tool_result: true,
  hint: true,
  compression: true,
  approval_needed: true,
  plan_change: true,
  usage: true,
  error: true,
  custom: true,
  reply_end: true,
  run_end: true,
};

/** @throws TroupeError for a type that no event has */
export function assertEventType(type: string): void {
  if (Object.hasOwn(EVENT_TYPES, type)) return;
  const advice = "An event of your own has the type 'custom', and a name.";
  const types = Object.keys(EVENT_TYPES).join(', ');
  throw new TroupeError(
    'invalid_input',
    `No event has the type ${JSON.stringify(type)}. ${advice} The types are: ${types}.`,
  );
}

/** The event of one type, or the union of several types. */
export type EventOf<Type extends EventType> = Extract<AgentEvent, { readonly type: Type }>;

/** Accepts an event; returns a promise only if the producer should wait. */
export type Emit = (event: AgentEvent) => void | Promise<void>;
