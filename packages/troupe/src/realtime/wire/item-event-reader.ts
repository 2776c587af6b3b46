import { BYTES_PER_SAMPLE } from '../../util/audio/pcm.ts';
import { fromBase64 } from '../../util/base64.ts';
import { now } from '../../util/clock.ts';
import type { JsonObject } from '../../util/json.ts';
import type { RealtimeEvent, ResponseStatus } from '../realtime-event.ts';
import type { RealtimeUsage } from '../realtime-usage.ts';
import { numberIn, objectIn, objectsIn, stringIn } from './wire-values.ts';

const STATUSES: Readonly<Record<string, ResponseStatus>> = {
  completed: 'completed',
  cancelled: 'cancelled',
  failed: 'failed',
  incomplete: 'incomplete',
};
/** Codes of errors of cancels and commits without effect. */
const HARMLESS_CODES: readonly string[] = ['response_cancel_not_active', 'input_audio_buffer_commit_empty'];

interface OpenResponse {
  readonly calls: Map<string, { readonly name: string; readonly json: string }>;
}

/**
 * Reads the server events of OpenAI's Realtime API, of its earlier version, and of the APIs that copy it: items and responses. An event of
 * a response that is not open is dropped.
 */
export class ItemEventReader {
  readonly #rate: number;
  readonly #open = new Map<string, OpenResponse>();
  /** Names of function calls, by item id. */
  readonly #names = new Map<string, { readonly id: string; readonly name: string }>();
  /** Tool calls that this connection has. */
  readonly callIds = new Set<string>();
  isReady = false;

  /** @param rate rate of the sound that the model makes */
  constructor(rate: number) {
    this.#rate = rate;
  }

  *read(frame: JsonObject): Generator<RealtimeEvent, void, void> {
    const type = stringIn(frame['type']).replace('response.output_', 'response.');
    const itemId = stringIn(frame['item_id']);
    const responseId = stringIn(frame['response_id']);
    switch (type) {
      case 'session.created': {
        const { id, expires_at } = objectIn(frame['session']);
        yield { type: 'session_created', sessionId: stringIn(id) };
        const expiresAt = numberIn(expires_at);
        if (expiresAt !== undefined && expiresAt > 0)
          yield { type: 'expiring', ms: expiresAt * 1000 - now() };
        return;
      }
      case 'session.updated':
        this.isReady = true;
        return;
      case 'input_audio_buffer.speech_started': {
        const atMs = numberIn(frame['audio_start_ms']);
        yield { type: 'speech_started', itemId, ...(atMs !== undefined && { atMs }) };
        return;
      }
      case 'input_audio_buffer.committed':
        yield { type: 'speech_stopped', itemId };
        return;
      case 'conversation.item.input_audio_transcription.delta':
        yield { type: 'input_transcript_delta', itemId, text: stringIn(frame['delta']) };
        return;
      case 'conversation.item.input_audio_transcription.completed':
        yield { type: 'input_transcript_done', itemId, text: stringIn(frame['transcript']) };
        return;
      case 'conversation.item.input_audio_transcription.failed':
        yield { type: 'input_transcript_done', itemId, text: '' };
        return;
      case 'response.created':
        yield* this.#begin(stringIn(objectIn(frame['response'])['id']));
        return;
      case 'response.done':
        yield* this.#end(objectIn(frame['response']));
        return;
      case 'error': {
        const { message, code } = objectIn(frame['error']);
        if (!HARMLESS_CODES.includes(stringIn(code)))
          yield { type: 'error', message: stringIn(message) || 'unknown error', code: stringIn(code) };
        return;
      }
      default:
        if (this.#open.has(responseId)) yield* this.#part(type, responseId, itemId, frame);
    }
  }

  *#begin(responseId: string): Generator<RealtimeEvent, void, void> {
    if (responseId === '' || this.#open.has(responseId)) return;
    for (const open of this.#open.keys()) yield this.#lost(open); // the model makes one at a time
    this.#open.set(responseId, { calls: new Map() });
    yield { type: 'response_created', responseId };
  }

  /** Ends a response of which no end was told. */
  #lost(responseId: string): RealtimeEvent {
    this.#open.delete(responseId);
    return { type: 'response_done', responseId, status: 'cancelled' };
  }

  *#part(
    type: string,
    responseId: string,
    itemId: string,
    frame: JsonObject,
  ): Generator<RealtimeEvent, void, void> {
    const delta = stringIn(frame['delta']);
    switch (type) {
      case 'response.audio.delta': {
        const bytes = fromBase64(delta);
        const data = bytes.subarray(0, bytes.length - (bytes.length % BYTES_PER_SAMPLE));
        yield { type: 'audio_delta', responseId, itemId, audio: { data, rate: this.#rate } };
        return;
      }
      case 'response.audio.done':
        yield { type: 'audio_done', responseId, itemId };
        return;
      case 'response.audio_transcript.delta':
        yield { type: 'transcript_delta', responseId, itemId, text: delta };
        return;
      case 'response.text.delta':
        yield { type: 'transcript_delta', responseId, itemId, text: delta, isSilent: true };
        return;
      case 'response.audio_transcript.done':
      case 'response.text.done':
        yield { type: 'transcript_done', responseId, itemId };
        return;
      case 'response.item.added': {
        const { id, type: kind, name, call_id } = objectIn(frame['item']);
        if (kind === 'function_call')
          this.#names.set(stringIn(id), { id: stringIn(call_id), name: stringIn(name) });
        return;
      }
      case 'response.item.done':
        if (objectIn(frame['item'])['status'] === 'incomplete') yield this.#lost(responseId);
        return;
      case 'response.function_call_arguments.delta': {
        const call = this.#names.get(itemId);
        if (call !== undefined) yield { type: 'tool_call_delta', responseId, ...call, json: delta };
        return;
      }
      case 'response.function_call_arguments.done': {
        const known = this.#names.get(itemId);
        const id = stringIn(frame['call_id']) || (known?.id ?? '');
        const name = stringIn(frame['name']) || (known?.name ?? '');
        this.#names.delete(itemId);
        if (id !== '')
          this.#open.get(responseId)?.calls.set(id, { name, json: stringIn(frame['arguments']) });
        return;
      }
      default:
    }
  }

  *#end(response: JsonObject): Generator<RealtimeEvent, void, void> {
    const responseId = stringIn(response['id']);
    const open = this.#open.get(responseId);
    if (open === undefined) return;
    this.#open.delete(responseId);
    const status = STATUSES[stringIn(response['status'])] ?? 'completed';
    const details = objectIn(response['status_details']);
    const message = stringIn(objectIn(details['error'])['message']) || stringIn(details['reason']);
    if (status === 'completed') {
      for (const item of objectsIn(response['output'])) {
        const id = stringIn(item['call_id']);
        if (item['type'] === 'function_call' && id !== '' && !open.calls.has(id))
          open.calls.set(id, { name: stringIn(item['name']), json: stringIn(item['arguments']) });
      }
      for (const [id, { name, json }] of open.calls) {
        this.callIds.add(id);
        yield { type: 'tool_call', responseId, call: { id, name, json: json || '{}' } };
      }
    }
    const usage = usageOf(objectIn(response['usage']));
    yield {
      type: 'response_done',
      responseId,
      status,
      ...(usage !== undefined && { usage }),
      ...(message !== '' && { message }),
    };
  }
}

function usageOf(usage: JsonObject): RealtimeUsage | undefined {
  const inputTokens = numberIn(usage['input_tokens']);
  const outputTokens = numberIn(usage['output_tokens']);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const input = objectIn(usage['input_token_details'] ?? usage['input_tokens_details']);
  const output = objectIn(usage['output_token_details'] ?? usage['output_tokens_details']);
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cachedTokens: numberIn(input['cached_tokens']),
    inputAudioTokens: numberIn(input['audio_tokens']),
    inputTextTokens: numberIn(input['text_tokens']),
    inputImageTokens: numberIn(input['image_tokens']),
    outputAudioTokens: numberIn(output['audio_tokens']),
    outputTextTokens: numberIn(output['text_tokens']),
  };
}
