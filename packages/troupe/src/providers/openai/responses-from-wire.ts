import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';

/** Output item that is still receiving events. */
interface OutputItem {
  /** Index of the tool call, for tool call items. */
  readonly index: number;
  readonly type: string;
  /** Deltas not yet passed on. */
  readonly deltas: ModelDelta[];
  /** Whether content was reported, so that the item's end does not repeat the content. */
  hasContent: boolean;
  /** Current part of a reasoning summary. */
  part: string | undefined;
  isDone: boolean;
}

/**
 * Decodes the events of one answer. Blocks are reported in the order of the output items: items behind a
 * reasoning item wait until the reasoning item ends, which some servers report only at the very end of the
 * answer.
 */
export class ResponsesDecoder implements WireDecoder {
  readonly #metaKey: string;
  readonly #toError: (data: JsonObject) => Error;
  readonly #keepsIds: boolean;
  /** Open items, in the order in which they began. */
  #items: OutputItem[] = [];
  /** Latest item by its index on the wire. */
  readonly #byNumber = new Map<number, OutputItem>();
  /** Tool calls with all arguments received. Only the next event shows whether the arguments are complete. */
  #receivedCalls: OutputItem[] = [];
  #latest = 0;
  #itemCount = 0;
  #hasCalls = false;
  #isRefusal = false;
  #reason: FinishReason | undefined;

  /**
   * @param metaKey key under which blocks keep the data to send back
   * @param toError makes the error for an error event
   * @param keepsIds whether blocks keep the ids of their items, for a vendor that stores the items
   */
  constructor(metaKey: string, toError: (data: JsonObject) => Error, keepsIds = false) {
    this.#metaKey = metaKey;
    this.#toError = toError;
    this.#keepsIds = keepsIds;
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
        this.#closeCalls(this.#receivedCalls);
        return yield* this.#finish(response, this.#hasCalls ? 'tool_calls' : 'stop');
      case 'response.incomplete':
        this.#closeCalls(this.#receivedCalls.slice(0, -1));
        return yield* this.#finish(response, incompleteReason(response));
      case 'response.failed':
        yield* this.#flush(response);
        throw this.#toError({ error: response['error'] ?? 'The answer failed.' });
      case 'error':
        yield* this.#flush(response);
        throw this.#toError({
          error: { code: stringOf(event['code']), message: stringOf(event['message']) },
        });
      default:
        this.#readItem(event);
        yield* this.#emitReady();
    }
  }

  *readWhole(response: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.read({ type: 'response.created', response });
    for (const [output_index, item] of objectsOf(response['output']).entries()) {
      yield* this.read({ type: 'response.output_item.added', output_index, item });
      yield* this.read({ type: 'response.output_item.done', output_index, item });
    }
    const status = stringOf(response['status']);
    if (/^(?:completed|incomplete|failed)$/.test(status)) {
      yield* this.read({ type: `response.${status}`, response });
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
        this.#closeCalls(this.#receivedCalls);
        this.#begin(number, data);
        return;
      case 'response.reasoning_summary_text.delta':
        return this.#think(number, `summary ${numberOf(event['summary_index'])}`, delta);
      case 'response.reasoning_text.delta':
        return this.#think(number, `text ${numberOf(event['content_index'])}`, delta);
      case 'response.refusal.delta':
        this.#isRefusal = true;
        return this.#text(number, delta);
      case 'response.output_text.delta':
        return this.#text(number, delta);
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
      const kept = this.#idOf(data);
      const meta = kept.id !== undefined && { providerMeta: { [this.#metaKey]: { id: kept.id } } };
      item.deltas.push({ type: 'tool_use_start', index, ...call, ...meta });
    }
    return item;
  }

  /** Finds the item with an index. Some servers never announce the beginning of an item. */
  #itemAt(number: number, data: JsonObject): OutputItem {
    const item = this.#byNumber.get(number);
    return item === undefined || item.isDone ? this.#begin(number, data) : item;
  }

  /** Joins the parts of a summary as paragraphs. */
  #think(number: number, part: string, thinking: string): void {
    if (thinking === '') return;
    const item = this.#itemAt(number, { type: 'reasoning' });
    const isNewPart = item.part !== undefined && item.part !== part;
    item.part = part;
    item.hasContent = true;
    item.deltas.push({ type: 'thinking', thinking: isNewPart ? `\n\n${thinking}` : thinking });
  }

  #text(number: number, text: string): void {
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
      this.#receivedCalls.push(item);
      return;
    }
    item.isDone = true;
    if (item.type === 'reasoning') this.#endReasoning(item, data);
    if (item.type === 'message') this.#endMessage(item, data);
  }

  /** Keeps encrypted thinking for the vendor, and marks thinking in plain text, which goes back as plain text. */
  #endReasoning(item: OutputItem, data: JsonObject): void {
    const encryptedContent = stringOf(data['encrypted_content']);
    const summary = textIn(data['summary'], '\n\n');
    const raw = textIn(data['content'], '\n\n');
    const isRaw = summary === '' && (raw !== '' || item.part?.startsWith('text') === true);
    const thinking = item.hasContent ? '' : summary || raw;
    if (encryptedContent === '' && !isRaw) {
      if (thinking !== '') item.deltas.push({ type: 'thinking', thinking });
      return;
    }
    const meta = { ...(encryptedContent !== '' && { encryptedContent }), ...(isRaw && { isRaw }) };
    const providerMeta = { [this.#metaKey]: { id: stringOf(data['id']), ...meta } };
    const whole = { type: 'thinking', thinking, providerMeta } as const;
    item.deltas.push(item.hasContent ? whole : { type: 'block', block: whole });
  }

  /** Keeps the phase of a message, comment or answer: newer models expect the phase back. */
  #endMessage(item: OutputItem, data: JsonObject): void {
    const text = item.hasContent ? '' : textIn(data['content'], '');
    this.#isRefusal ||= objectsOf(data['content']).some(({ type }) => type === 'refusal');
    const phase = stringOf(data['phase']);
    if (!item.hasContent && text === '') return;
    const kept = { ...(phase !== '' && { phase }), ...this.#idOf(data) };
    const meta = Object.keys(kept).length > 0 && { providerMeta: { [this.#metaKey]: kept } };
    item.deltas.push({ type: 'text', text, ...meta });
  }

  /** The id of an item, where the vendor stores the item. */
  #idOf(data: JsonObject): { readonly id?: string } {
    const id = stringOf(data['id']);
    return this.#keepsIds && id !== '' ? { id } : {};
  }

  #closeCalls(calls: readonly OutputItem[]): void {
    this.#receivedCalls = [];
    for (const call of calls) {
      call.isDone = true;
      call.deltas.push({ type: 'tool_use_end', index: call.index });
      this.#hasCalls = true;
    }
  }

  /** Passes on deltas, up to a reasoning item that may still grow. */
  *#emitReady(): Generator<ModelDelta, void, void> {
    for (const item of this.#items) {
      yield* item.deltas.splice(0);
      if (item.type === 'reasoning' && !item.isDone) break;
    }
    this.#items = this.#items.filter((item) => !item.isDone || item.deltas.length > 0);
  }

  /** Passes on all remaining deltas, then the usage. */
  *#flush(response: JsonObject): Generator<ModelDelta, void, void> {
    for (const item of this.#items) yield* item.deltas.splice(0);
    if (isJsonObject(response['usage'])) yield { type: 'usage', usage: toUsage(response['usage']) };
  }

  *#finish(response: JsonObject, reason: FinishReason): Generator<ModelDelta, void, void> {
    this.#reason = reason;
    yield* this.#flush(response);
  }
}

function incompleteReason(response: JsonObject): FinishReason {
  const { reason } = objectOf(response['incomplete_details']);
  if (reason === 'max_output_tokens') return 'length';
  return reason === 'content_filter' ? 'content_filter' : 'other';
}

function textIn(parts: unknown, separator: string): string {
  return objectsOf(parts)
    .map((part) => stringOf(part['text'] ?? part['refusal']))
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
