import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { META_KEY } from './responses-to-wire.ts';

/** Reads the events of one answer. */
export class ResponsesDecoder implements WireDecoder {
  readonly #toError: (data: JsonObject) => Error;
  /** The calls by their place among the output items. */
  readonly #calls = new Map<number, { hasInput: boolean }>();
  /** A call that was told to the end. Whether it is whole shows only in what comes next. */
  #toldCall: number | undefined;
  #summaryPart: string | undefined;
  #hasCalls = false;
  #isRefusal = false;
  #reason: FinishReason | undefined;
  #usage: Usage | undefined;

  /** @param toError makes the error of an event that tells one */
  constructor(toError: (data: JsonObject) => Error) {
    this.#toError = toError;
  }

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  get isOver(): boolean {
    return this.isComplete;
  }

  *read(event: JsonObject): Generator<ModelDelta, void, void> {
    const index = numberOf(event['output_index']);
    const item = objectOf(event['item']);
    const delta = stringOf(event['delta']);
    const response = objectOf(event['response']);
    switch (stringOf(event['type'])) {
      case 'response.created':
        if (stringOf(response['id']) !== '') yield { type: 'response_id', id: stringOf(response['id']) };
        return;
      case 'response.output_item.added':
        yield* this.#closeToldCall();
        if (item['type'] === 'function_call') yield* this.#startCall(index, item);
        return;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        yield* this.#think(`${index} ${numberOf(event['summary_index'])}`, delta);
        return;
      case 'response.refusal.delta':
        this.#isRefusal = true;
        yield { type: 'text', text: delta };
        return;
      case 'response.output_text.delta':
        yield { type: 'text', text: delta };
        return;
      case 'response.function_call_arguments.delta': {
        const call = this.#calls.get(index);
        if (call === undefined || delta === '') return;
        call.hasInput = true;
        yield { type: 'tool_input', index, json: delta };
        return;
      }
      case 'response.output_item.done':
        yield* this.#endItem(index, item);
        return;
      case 'response.completed':
        yield* this.#closeToldCall();
        this.#finish(response, this.#hasCalls ? 'tool_calls' : 'stop');
        return;
      case 'response.incomplete':
        this.#finish(response, incompleteReason(response));
        return;
      case 'response.failed':
        throw this.#toError({ error: response['error'] ?? 'The answer failed.' });
      case 'error':
        throw this.#toError({
          error: { code: stringOf(event['code']), message: stringOf(event['message']) },
        });
    }
  }

  *end(): Generator<ModelDelta, void, void> {
    if (this.#usage !== undefined) yield { type: 'usage', usage: this.#usage };
    yield { type: 'finish', reason: this.#isRefusal ? 'refusal' : (this.#reason ?? 'other') };
  }

  *#startCall(index: number, item: JsonObject): Generator<ModelDelta, void, void> {
    this.#hasCalls = true;
    this.#calls.set(index, { hasInput: false });
    yield { type: 'tool_use_start', index, id: stringOf(item['call_id']), name: stringOf(item['name']) };
  }

  /** Parts of a summary are paragraphs. */
  *#think(part: string, thinking: string): Generator<ModelDelta, void, void> {
    const isNewPart = this.#summaryPart !== undefined && this.#summaryPart !== part;
    this.#summaryPart = part;
    yield { type: 'thinking', thinking: isNewPart ? `\n\n${thinking}` : thinking };
  }

  *#endItem(index: number, item: JsonObject): Generator<ModelDelta, void, void> {
    if (item['type'] === 'reasoning') {
      const hasSummary = this.#summaryPart !== undefined;
      this.#summaryPart = undefined;
      const encryptedContent = stringOf(item['encrypted_content']);
      if (encryptedContent === '') return;
      const providerMeta = { [META_KEY]: { id: stringOf(item['id']), encryptedContent } };
      const whole = { type: 'thinking', thinking: '', providerMeta } as const;
      yield hasSummary ? whole : { type: 'block', block: whole };
      return;
    }
    const call = this.#calls.get(index);
    if (call === undefined || item['status'] === 'incomplete') return;
    const json = stringOf(item['arguments']);
    if (!call.hasInput && json !== '') yield { type: 'tool_input', index, json };
    this.#toldCall = index;
  }

  *#closeToldCall(): Generator<ModelDelta, void, void> {
    const index = this.#toldCall;
    this.#toldCall = undefined;
    if (index !== undefined) yield { type: 'tool_use_end', index };
  }

  #finish(response: JsonObject, reason: FinishReason): void {
    this.#reason = reason;
    if (isJsonObject(response['usage'])) this.#usage = toUsage(response['usage']);
  }
}

function incompleteReason(response: JsonObject): FinishReason {
  const { reason } = objectOf(response['incomplete_details']);
  if (reason === 'max_output_tokens') return 'length';
  return reason === 'content_filter' ? 'content_filter' : 'other';
}

function toUsage(usage: JsonObject): Usage {
  return {
    inputTokens: numberOf(usage['input_tokens']),
    outputTokens: numberOf(usage['output_tokens']),
    cachedTokens: numberOf(objectOf(usage['input_tokens_details'])['cached_tokens']),
    reasoningTokens: numberOf(objectOf(usage['output_tokens_details'])['reasoning_tokens']),
  };
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
