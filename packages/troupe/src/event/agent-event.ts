import type { ErrorCode } from '../errors.ts';
import type { BlockChange } from '../message/block-change.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../message/usage.ts';

/** How a run ended. */
export type RunStatus = 'finished' | 'interrupted' | 'aborted' | 'failed';

/** An error as an event shows it: no stack, no cause. */
export interface EventError {
  readonly message: string;
  readonly code?: ErrorCode;
}

/** What happened, before it is known in which run. */
export type EventBody =
  | { readonly type: 'reply_start'; readonly name: string }
  | BlockChange
  | { readonly type: 'tool_start'; readonly call: ToolUseBlock }
  | { readonly type: 'tool_chunk'; readonly result: ToolResultBlock }
  | { readonly type: 'tool_result'; readonly result: ToolResultBlock }
  | { readonly type: 'hint'; readonly msg: Msg }
  | { readonly type: 'usage'; readonly usage: Usage }
  /** Something went wrong that did not end the run. */
  | { readonly type: 'error'; readonly error: EventError }
  | { readonly type: 'reply_end'; readonly status: RunStatus; readonly msgId?: string }
  /** The last event of every run, exactly once. */
  | { readonly type: 'run_end'; readonly status: RunStatus; readonly msg?: Msg; readonly error?: EventError };

/** Where and when it happened. `seq` counts all events of a run, those of nested agents included. */
export interface EventOrigin {
  readonly runId: string;
  readonly replyId: string;
  /** The names of the agents from the outermost to the one that speaks. */
  readonly agentPath: readonly string[];
  readonly seq: number;
}

/** Something that an agent did. `JSON.stringify` turns it into plain JSON. */
export type AgentEvent = EventBody & EventOrigin;

/** Takes an event; returns a promise only when the producer should wait. */
export type Emit = (event: AgentEvent) => void | Promise<void>;
