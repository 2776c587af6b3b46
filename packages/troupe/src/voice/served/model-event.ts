import type { RealtimeEvent } from '../../realtime/realtime-event.ts';
import { toBase64 } from '../../util/base64.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import type { MediaFormat } from './client-event.ts';

/** Tool call in events, as AgentScope writes it. `raw_input` has all arguments so far. */
export interface ToolUse {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly raw_input: string;
}

interface Item {
  readonly response_id: string;
  readonly item_id: string;
}

/** Event of a realtime model, with the names and fields of AgentScope. */
export type ModelEvent =
  | { readonly type: 'model_session_created'; readonly session_id: string }
  | { readonly type: 'model_session_ended'; readonly session_id: string; readonly reason: string }
  | { readonly type: 'model_response_created'; readonly response_id: string }
  | {
      readonly type: 'model_response_done';
      readonly response_id: string;
      readonly input_tokens: number;
      readonly output_tokens: number;
      readonly metadata: JsonObject;
    }
  | (Item & {
      readonly type: 'model_response_audio_delta';
      readonly delta: string;
      readonly format: MediaFormat;
    })
  | (Item & { readonly type: 'model_response_audio_done' })
  | (Item & { readonly type: 'model_response_audio_transcript_delta'; readonly delta: string })
  | (Item & { readonly type: 'model_response_audio_transcript_done' })
  | (Item & { readonly type: 'model_response_tool_use_delta'; readonly tool_use: ToolUse })
  | (Item & { readonly type: 'model_response_tool_use_done'; readonly tool_use: ToolUse })
  | { readonly type: 'model_input_transcription_delta'; readonly item_id: string; readonly delta: string }
  | {
      readonly type: 'model_input_transcription_done';
      readonly item_id: string;
      readonly transcript: string;
      readonly input_tokens?: number;
      readonly output_tokens?: number;
    }
  | { readonly type: 'model_input_started'; readonly item_id: string; readonly audio_start_ms: number }
  | { readonly type: 'model_input_done'; readonly item_id: string; readonly audio_end_ms: number }
  | {
      readonly type: 'model_error';
      readonly error_type: string;
      readonly code: string;
      readonly message: string;
    };

/** Writes the events of one conversation as AgentScope's events of a model. */
export class ModelEventWriter {
  readonly #sessionId: string;
  /** Arguments so far of tool calls that are made. */
  readonly #json = new Map<string, string>();

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** The event, or undefined if AgentScope has no such event. */
  write(event: RealtimeEvent): ModelEvent | undefined {
    switch (event.type) {
      case 'session_created':
        return { type: 'model_session_created', session_id: event.sessionId };
      case 'closed':
        return { type: 'model_session_ended', session_id: this.#sessionId, reason: event.message };
      case 'response_created':
        return { type: 'model_response_created', response_id: event.responseId };
      case 'response_done': {
        const { inputTokens = 0, outputTokens = 0 } = event.usage ?? {};
        this.#json.clear();
        return {
          type: 'model_response_done',
          response_id: event.responseId,
          input_tokens: inputTokens,
          output_tokens: outputTokens,
          metadata: { status: event.status },
        };
      }
      case 'audio_delta':
        return {
          type: 'model_response_audio_delta',
          ...itemOf(event),
          delta: toBase64(event.audio.data),
          format: { type: 'audio/pcm', rate: event.audio.rate },
        };
      case 'audio_done':
        return { type: 'model_response_audio_done', ...itemOf(event) };
      case 'transcript_delta':
        return { type: 'model_response_audio_transcript_delta', ...itemOf(event), delta: event.text };
      case 'transcript_done':
        return { type: 'model_response_audio_transcript_done', ...itemOf(event) };
      case 'tool_call_delta': {
        const raw = (this.#json.get(event.id) ?? '') + event.json;
        this.#json.set(event.id, raw);
        return {
          type: 'model_response_tool_use_delta',
          response_id: event.responseId,
          item_id: event.id,
          tool_use: toolUse(event.id, event.name, raw),
        };
      }
      case 'tool_call':
        return {
          type: 'model_response_tool_use_done',
          response_id: event.responseId,
          item_id: event.call.id,
          tool_use: toolUse(event.call.id, event.call.name, event.call.json),
        };
      case 'input_transcript_delta':
        return { type: 'model_input_transcription_delta', item_id: event.itemId, delta: event.text };
      case 'input_transcript_done': {
        const { inputTokens, outputTokens } = event.usage ?? {};
        return {
          type: 'model_input_transcription_done',
          item_id: event.itemId,
          transcript: event.text,
          ...(inputTokens !== undefined && { input_tokens: inputTokens }),
          ...(outputTokens !== undefined && { output_tokens: outputTokens }),
        };
      }
      case 'speech_started':
        return { type: 'model_input_started', item_id: event.itemId ?? '', audio_start_ms: event.atMs ?? 0 };
      case 'speech_stopped':
        return { type: 'model_input_done', item_id: event.itemId, audio_end_ms: event.atMs ?? 0 };
      case 'error':
        return {
          type: 'model_error',
          error_type: 'error',
          code: event.code ?? 'error',
          message: event.message,
        };
      default:
        return undefined;
    }
  }
}

function itemOf(event: { readonly responseId: string; readonly itemId: string }): Item {
  return { response_id: event.responseId, item_id: event.itemId };
}

function toolUse(id: string, name: string, json: string): ToolUse {
  const input = readJson(json);
  return { type: 'tool_use', id, name, input: isJsonObject(input) ? input : {}, raw_input: json };
}
