import type { ToolResultBlock } from '../message/blocks.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { RealtimeEvent } from '../realtime/realtime-event.ts';

/** One event of a conversation: of the model, or of the agent. */
export type TalkEvent =
  | RealtimeEvent
  /** The agent is silent because the person seems to speak. */
  | { readonly type: 'paused' }
  /** The agent goes on after a false alarm. */
  | { readonly type: 'resumed' }
  /** The person, or the program, has ended what the agent said. `heard` was heard, the rest was not. */
  | { readonly type: 'cut'; readonly responseId: string; readonly heard: string }
  | { readonly type: 'tool_result'; readonly result: ToolResultBlock }
  | { readonly type: 'approval_needed'; readonly pending: readonly PendingCall[] }
  | { readonly type: 'reconnecting' }
  | { readonly type: 'reconnected' };

export type TalkListener = (event: TalkEvent) => void;
