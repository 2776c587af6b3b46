import type { PcmAudio } from '../util/audio/pcm.ts';
import type { RealtimeUsage } from './realtime-usage.ts';

/** Outcome of a response of a realtime model. */
export type ResponseStatus = 'completed' | 'cancelled' | 'failed' | 'incomplete';

/**
 * One thing that a realtime model says about the conversation, the same for all vendors. An adapter sends every event of a response between
 * its `response_created` and its `response_done`, and never one of the two twice.
 */
export type RealtimeEvent =
  | { readonly type: 'session_created'; readonly sessionId: string }
  | { readonly type: 'response_created'; readonly responseId: string }
  | {
      readonly type: 'audio_delta';
      readonly responseId: string;
      readonly itemId: string;
      readonly audio: PcmAudio;
    }
  | { readonly type: 'audio_done'; readonly responseId: string; readonly itemId: string }
  | {
      readonly type: 'transcript_delta';
      readonly responseId: string;
      readonly itemId: string;
      readonly text: string;
      /** The item is text without sound. @default false */
      readonly isSilent?: boolean;
    }
  | { readonly type: 'transcript_done'; readonly responseId: string; readonly itemId: string }
  /** A piece of the arguments of a tool call, before the whole tool call. */
  | {
      readonly type: 'tool_call_delta';
      readonly responseId: string;
      readonly id: string;
      readonly name: string;
      readonly json: string;
    }
  | { readonly type: 'tool_call'; readonly responseId: string; readonly call: RealtimeToolCall }
  /** The model no longer wants the results of tool calls. */
  | { readonly type: 'tool_calls_cancelled'; readonly ids: readonly string[] }
  | {
      readonly type: 'response_done';
      readonly responseId: string;
      readonly status: ResponseStatus;
      readonly usage?: RealtimeUsage;
      /** Why a response failed. */
      readonly message?: string;
    }
  /** The model hears a person speak. */
  | { readonly type: 'speech_started'; readonly itemId?: string; readonly atMs?: number }
  /** The person has ended a turn, which the model has as an item. */
  | { readonly type: 'speech_stopped'; readonly itemId: string; readonly atMs?: number }
  /** Words of the person's turn. The final text replaces them. */
  | { readonly type: 'input_transcript_delta'; readonly itemId: string; readonly text: string }
  | {
      readonly type: 'input_transcript_done';
      readonly itemId: string;
      readonly text: string;
      readonly usage?: RealtimeUsage;
    }
  /** The model has stopped its response by itself, because it heard a person. */
  | { readonly type: 'interrupted' }
  /** The connection will end soon. */
  | { readonly type: 'expiring'; readonly ms: number }
  /** A new connection can go on from here by this handle. */
  | { readonly type: 'resumable'; readonly handle: string }
  | { readonly type: 'error'; readonly message: string; readonly code?: string }
  /** The connection has ended. Nothing follows. */
  | { readonly type: 'closed'; readonly message: string; readonly canReconnect: boolean };

/** A tool call of a realtime model, as the vendor sent it. */
export interface RealtimeToolCall {
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON text. */
  readonly json: string;
}
