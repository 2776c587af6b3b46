import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';

/** An item of the output that is being told. */
interface OutputItem {
  /** The number of the call, if it is one. */
  readonly index: number;
  readonly type: string;
  /** What of it was not passed on yet. */
  readonly deltas: ModelDelta[];
  /** Whether it has said something, so that its end need not say it again. */
  hasContent: boolean;
  /** The part of a summary that is being told. */
  part: string | undefined;
  isDone: boolean;
}

/**
 * Reads the events of one answer. The blocks come out in the order of the output's
 * items: what follows a reasoning item is held back until that is told to its end,
 * which some servers do only at the very end of the answer.
 */
export class ResponsesDecoder implements WireDecoder {
  readonly #metaKey: string;
  readonly #toError: (data: JsonObject) => Error;
  /** The items that are not over, in the order in which they began. */
  #items: OutputItem[] = [];
  /** The latest item under each number of the wire. */
  readonly #byNumber = new Map<number, OutputItem>();
  /** Calls that were told to the end. Whether they are whole shows only in what comes next. */
  #told: OutputItem[] = [];
  #latest = 0;
  #itemCount = 0;
  #hasCalls = false;
  #isRefusal = false;
  #reason: FinishReason | undefined;

  /**
   * @param metaKey under which blocks keep what the API wants back
   * @param toError makes the error of an event that tells one
   */
  constructor(metaKey: string, toError: (data: JsonObject) => Error) {
    this.#metaKey = metaKey;
    this.#toError = toError;
  }

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  get isOver(): boolean {
    return this.isComplete;
  }

  *read(event: JsonObject): Generator<ModelDelta, void, void> {
    const response = objectOf(event['response']);
    switch (stringOf(event['type'])) {
      case 'response.created':
        if (stringOf(response['id']) !== '') yield { type: 'response_id', id: stringOf(response['id']) };
        return;
      case 'response.completed':
        this.#closeCalls(this.#told);
        return yield* this.#finish(response, this.#hasCalls ? 'tool_calls' : 'stop');
      case 'response.incomplete':
        this.#closeCalls(this.#told.slice(0, -1));
        return yield* this.#finish(response, incompleteReason(response));
      case 'response.failed':
        yield* this.#letGo(response);
        throw this.#toError({ error: response['error'] ?? 'The answer failed.' });
      case 'error':
        yield* this.#letGo(response);
        throw this.#toError({
          error: { code: stringOf(event['code']), message: stringOf(event['message']) },
        });
      default:
        this.#readItem(event);
        yield* this.#passOn();
    }
  }

  *end(): Generator<ModelDelta, void, void> {
    yield { type: 'finish', reason: this.#isRefusal ? 'refusal' : (this.#reason ?? 'other') };
  }

  #readItem(event: JsonObject): void {
    const number = numberOf(event['output_index']) ?? this.#latest;
    const data = objectOf(event['item']);
    const delta = stringOf(event['delta']);
    switch (stringOf(event['type'])) {
      case 'response.output_item.added':
        this.#closeCalls(this.#told);
        this.#begin(number, data);
        return;
      case 'response.reasoning_summary_text.delta':
        return this.#think(number, `summary ${numberOf(event['summary_index'])}`, delta);
      case 'response.reasoning_text.delta':
        return this.#think(number, `text ${numberOf(event['content_index'])}`, delta);
      case 'response.refusal.delta':
        this.#isRefusal = true;
        return this.#say(number, delta);
      case 'response.output_text.delta':
        return this.#say(number, delta);
      case 'response.function_call_arguments.delta':
        return this.#addInput(this.#byNumber.get(number), delta);
      case 'response.output_item.done':
        return this.#end(this.#itemAt(number, data), data);
    }
  }

  #begin(number: number, data: JsonObject): OutputItem {
    const item: OutputItem = {
      index: this.#itemCount++,
      type: stringOf(data['type']),
      deltas: [],
      hasContent: false,
      part: undefined,
      isDone: false,
    };
    this.#items.push(item);
    this.#byNumber.set(number, item);
    this.#latest = number;
    if (item.type === 'function_call') {
      const { index } = item;
      const call = { id: stringOf(data['call_id']), name: stringOf(data['name']) };
      item.deltas.push({ type: 'tool_use_start', index, ...call });
    }
    return item;
  }

  /** The item of that number. Some servers don't say that they begin one. */
  #itemAt(number: number, data: JsonObject): OutputItem {
    const item = this.#byNumber.get(number);
    return item === undefined || item.isDone ? this.#begin(number, data) : item;
  }

  /** Parts of a summary are paragraphs. */
  #think(number: number, part: string, thinking: string): void {
    if (thinking === '') return;
    const item = this.#itemAt(number, { type: 'reasoning' });
    const isNewPart = item.part !== undefined && item.part !== part;
    item.part = part;
    item.hasContent = true;
    item.deltas.push({ type: 'thinking', thinking: isNewPart ? `\n\n${thinking}` : thinking });
  }

  #say(number: number, text: string): void {
    if (text === '') return;
    const item = this.#itemAt(number, { type: 'message' });
    item.hasContent = true;
    item.deltas.push({ type: 'text', text });
  }

  #addInput(call: OutputItem | undefined, json: string): void {
    if (call?.type !== 'function_call' || json === '') return;
    call.hasContent = true;
    call.deltas.push({ type: 'tool_input', index: call.index, json });
  }

  #end(item: OutputItem, data: JsonObject): void {
    if (item.type === 'function_call') {
      if (data['status'] === 'incomplete') return;
      if (!item.hasContent) this.#addInput(item, stringOf(data['arguments']));
      this.#told.push(item);
      return;
    }
    item.isDone = true;
    if (item.type === 'reasoning') this.#endReasoning(item, data);
    if (item.type === 'message') this.#endMessage(item, data);
  }

  #endReasoning(item: OutputItem, data: JsonObject): void {
    const encryptedContent = stringOf(data['encrypted_content']);
    const thinking = item.hasContent ? '' : textIn(data['summary'], '\n\n');
    if (encryptedContent === '') {
      if (thinking !== '') item.deltas.push({ type: 'thinking', thinking });
      return;
    }
    const providerMeta = { [this.#metaKey]: { id: stringOf(data['id']), encryptedContent } };
    const whole = { type: 'thinking', thinking, providerMeta } as const;
    item.deltas.push(item.hasContent ? whole : { type: 'block', block: whole });
  }

  /** Newer models say whether a message is a comment or the answer, and want to be told so again. */
  #endMessage(item: OutputItem, data: JsonObject): void {
    const text = item.hasContent ? '' : textIn(data['content'], '');
    const phase = stringOf(data['phase']);
    if (!item.hasContent && text === '') return;
    const meta = phase !== '' && { providerMeta: { [this.#metaKey]: { phase } } };
    item.deltas.push({ type: 'text', text, ...meta });
  }

  #closeCalls(calls: readonly OutputItem[]): void {
    this.#told = [];
    for (const call of calls) {
      call.isDone = true;
      call.deltas.push({ type: 'tool_use_end', index: call.index });
      this.#hasCalls = true;
    }
  }

  /** What can be told: up to a reasoning item of which something may still come. */
  *#passOn(): Generator<ModelDelta, void, void> {
    for (const item of this.#items) {
      yield* item.deltas.splice(0);
      if (item.type === 'reasoning' && !item.isDone) break;
    }
    this.#items = this.#items.filter((item) => !item.isDone || item.deltas.length > 0);
  }

  /** Everything that was told, and what it cost. */
  *#letGo(response: JsonObject): Generator<ModelDelta, void, void> {
    for (const item of this.#items) yield* item.deltas.splice(0);
    if (isJsonObject(response['usage'])) yield { type: 'usage', usage: toUsage(response['usage']) };
  }

  *#finish(response: JsonObject, reason: FinishReason): Generator<ModelDelta, void, void> {
    this.#reason = reason;
    yield* this.#letGo(response);
  }
}

function incompleteReason(response: JsonObject): FinishReason {
  const { reason } = objectOf(response['incomplete_details']);
  if (reason === 'max_output_tokens') return 'length';
  return reason === 'content_filter' ? 'content_filter' : 'other';
}

function textIn(parts: unknown, separator: string): string {
  return objectsOf(parts)
    .map((part) => stringOf(part['text']))
    .join(separator);
}

function toUsage(usage: JsonObject): Usage {
  const details = objectOf(usage['input_tokens_details']);
  const written = numberOf(details['cache_write_tokens']);
  return {
    inputTokens: numberOf(usage['input_tokens']) ?? 0,
    outputTokens: numberOf(usage['output_tokens']) ?? 0,
    cachedTokens: numberOf(details['cached_tokens']) ?? 0,
    ...(written !== undefined && { cacheWriteTokens: written }),
    reasoningTokens: numberOf(objectOf(usage['output_tokens_details'])['reasoning_tokens']) ?? 0,
  };
}
