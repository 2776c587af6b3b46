import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import { endOf, incompleteReason, responseUsage, saidAbout } from './responses/responses-answer.ts';
import { ItemCalls } from './responses/responses-item-calls.ts';
import {
  citationsOf,
  endOfThinking,
  itemKind,
  keptId,
  sum,
  textIn,
  type OutputItem,
} from './responses/responses-output-item.ts';
import { annotatedParts, toCitation } from './tools/responses-annotations.ts';

export interface ResponsesDecoderOptions {
  /** Key under which blocks keep the data to send back. */
  readonly metaKey: string;
  /** Name of the vendor, for calls of the vendor's own tools. */
  readonly vendorName: string;
  /** Makes the error for an error event. */
  readonly toError: (data: JsonObject) => Error;
  /** Whether blocks keep the ids of their items, for a vendor that stores the items. */
  readonly keepsIds: boolean;
  /** Whether the vendor runs a call of a type that programs run elsewhere. */
  readonly isVendors: (item: JsonObject) => boolean;
}

/**
 * Decodes the events of one answer. Blocks are reported in the order of the output items: items behind a
 * reasoning item wait until the reasoning item ends, which some servers report only at the very end of the
 * answer.
 */
export class ResponsesDecoder implements WireDecoder {
  readonly #metaKey: string;
  readonly #calls: ItemCalls;
  readonly #toError: (data: JsonObject) => Error;
  readonly #keepsIds: boolean;
  readonly #isVendors: (item: JsonObject) => boolean;
  /** Open items, in the order in which they began. */
  #items: OutputItem[] = [];
  /** Latest item by its index on the wire. */
  readonly #byNumber = new Map<number, OutputItem>();
  /** Tool calls with all arguments received. Only the next event shows whether the arguments are complete. */
  #receivedCalls: OutputItem[] = [];
  #latest = 0;
  #itemCount = 0;
  #hasCalls = false;
  #hasId = false;
  #isRefusal = false;
  /** Length of the text in the last block, as long as text goes on. */
  #textRun = 0;
  #reason: FinishReason | undefined;

  constructor({ metaKey, vendorName, toError, keepsIds, isVendors }: ResponsesDecoderOptions) {
    this.#metaKey = metaKey;
    this.#calls = new ItemCalls(metaKey, vendorName, keepsIds);
    this.#toError = toError;
    this.#keepsIds = keepsIds;
    this.#isVendors = isVendors;
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
        return yield* this.#nameAnswer(response);
      case 'response.completed':
        yield* this.#readUntold(response);
        this.#endItems(response);
        this.#closeCalls(this.#receivedCalls);
        return yield* this.#finish(event, this.#hasCalls ? 'tool_calls' : 'stop');
      case 'response.incomplete':
        yield* this.#readUntold(response);
        this.#closeCalls(this.#receivedCalls.slice(0, -1));
        return yield* this.#finish(event, incompleteReason(response));
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
    const end = endOf(response);
    if (end === 'failed') yield* this.#readUntold(response);
    if (end !== '') yield* this.read({ type: `response.${end}`, response });
  }

  /** Reads the items of an answer of which no event has told. */
  *#readUntold(response: JsonObject): Generator<ModelDelta, void, void> {
    if (this.#itemCount > 0) return;
    for (const [output_index, item] of objectsOf(response['output']).entries()) {
      yield* this.read({ type: 'response.output_item.added', output_index, item });
      yield* this.read({ type: 'response.output_item.done', output_index, item });
    }
  }

  /** Ends the items of a complete answer whose end no event has told, and reads those of which only their end tells. */
  #endItems(response: JsonObject): void {
    for (const [number, data] of objectsOf(response['output']).entries()) {
      const item = this.#byNumber.get(number);
      const isUntold = item === undefined && number >= this.#itemCount;
      const isOpen =
        item?.type === data['type'] && !item?.isDone && !this.#receivedCalls.includes(item as OutputItem);
      if (isUntold || isOpen) this.#end(item ?? this.#begin(number, data), data);
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
        return this.#text(number, delta, partIndex(event));
      case 'response.output_text.annotation.added':
        return this.#annotate(event, number);
      case 'response.function_call_arguments.delta':
      case 'response.mcp_call_arguments.delta':
        return this.#calls.addInput(this.#byNumber.get(number), delta);
      case 'response.custom_tool_call_input.delta':
        return this.#calls.addString(this.#byNumber.get(number), 'input', delta);
      case 'response.code_interpreter_call_code.delta':
        return this.#calls.addString(this.#byNumber.get(number), 'code', delta);
      case 'response.image_generation_call.partial_image':
        return this.#calls.showImage(this.#byNumber.get(number), event);
      case 'response.output_item.done':
        return this.#end(this.#itemAt(number, data), data);
    }
  }

  #begin(number: number, data: JsonObject, index = this.#itemCount++): OutputItem {
    const item: OutputItem = {
      index,
      type: stringOf(data['type']),
      kind: this.#isVendors(data) ? 'provider' : itemKind(data),
      base: this.#textRun,
      partLengths: [],
      annotations: 0,
      input: '',
      deltas: [],
      hasContent: false,
      part: undefined,
      isDone: false,
      isCallEnded: false,
      meta: undefined,
      held: undefined,
    };
    this.#items.push(item);
    this.#byNumber.set(number, item);
    this.#latest = number;
    if (item.type !== 'message') this.#textRun = 0;
    this.#calls.begin(item, data);
    return item;
  }

  /** Finds the item with an index. Some servers never announce the beginning of an item. */
  #itemAt(number: number, data: JsonObject): OutputItem {
    const item = this.#byNumber.get(number);
    if (item === undefined || item.isDone) return this.#begin(number, data);
    if (item.held === undefined || data['type'] === item.type) return item;
    this.#items = this.#items.filter((one) => one !== item); // Perplexity ends a call of its own as its result
    return this.#begin(number, data, item.index);
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

  #text(number: number, text: string, part = 0): void {
    if (text === '') return;
    const item = this.#itemAt(number, { type: 'message' });
    item.hasContent = true;
    item.partLengths[part] = (item.partLengths[part] ?? 0) + text.length;
    this.#textRun += text.length;
    item.deltas.push({ type: 'text', text });
  }

  /** Reports a source of the text so far. */
  #annotate(event: JsonObject, number: number): void {
    const item = this.#byNumber.get(number);
    if (item?.type !== 'message' || !item.hasContent) return;
    const before = item.partLengths.slice(0, partIndex(event));
    const citation = toCitation(objectOf(event['annotation']), item.base + sum(before));
    item.annotations++;
    item.deltas.push({ type: 'citations', citations: [citation] });
  }

  #end(item: OutputItem, data: JsonObject): void {
    if (item.kind === 'function' || item.kind === 'client') {
      this.#calls.startFunction(item);
      if (data['status'] === 'incomplete') return;
      this.#calls.endInput(item, data);
      this.#receivedCalls.push(item);
      return;
    }
    item.isDone = true;
    if (item.kind === 'provider') this.#calls.endProvider(item, data);
    if (item.type === 'reasoning') this.#endReasoning(item, data);
    if (item.type === 'message') this.#endMessage(item, data);
  }

  #endReasoning(item: OutputItem, data: JsonObject): void {
    const delta = endOfThinking(item, data, { metaKey: this.#metaKey, keepsIds: this.#keepsIds });
    if (delta !== undefined) item.deltas.push(delta);
  }

  /** Keeps the phase of a message, comment or answer: newer models expect the phase back. */
  #endMessage(item: OutputItem, data: JsonObject): void {
    const text = item.hasContent ? '' : textIn(data['content'], '');
    this.#isRefusal ||= objectsOf(data['content']).some(({ type }) => type === 'refusal');
    const phase = stringOf(data['phase']);
    if (!item.hasContent && text === '') return;
    const parts = annotatedParts(data['content']);
    const isCited = parts.some(({ annotations }) => annotations.length > 0);
    this.#textRun += text.length;
    if (text !== '') item.deltas.push({ type: 'text', text });
    const missing = citationsOf(parts, item.base).slice(item.annotations);
    if (missing.length > 0) item.deltas.push({ type: 'citations', citations: missing });
    const meta = {
      ...(phase !== '' && { phase }),
      ...(this.#keepsIds && keptId(data)),
      ...(isCited && item.base === 0 && { parts }),
    };
    if (Object.keys(meta).length === 0) return;
    this.#textRun = 0;
    item.deltas.push({ type: 'text', text: '', providerMeta: { [this.#metaKey]: meta } });
  }

  #closeCalls(calls: readonly OutputItem[]): void {
    this.#receivedCalls = [];
    for (const call of calls) {
      call.isDone = true;
      call.deltas.push({
        type: 'tool_use_end',
        index: call.index,
        ...(call.meta && { providerMeta: call.meta }),
      });
      this.#hasCalls = true;
    }
  }

  /** Passes on deltas, up to a reasoning item that may still grow, or a function call that is held. */
  *#emitReady(): Generator<ModelDelta, void, void> {
    for (const item of this.#items) {
      yield* item.deltas.splice(0);
      if (item.held !== undefined || (item.type === 'reasoning' && !item.isDone)) break;
    }
    this.#items = this.#items.filter((item) => !item.isDone || item.deltas.length > 0);
  }

  /** Passes on all remaining deltas, then the usage. */
  *#flush(response: JsonObject): Generator<ModelDelta, void, void> {
    for (const item of this.#items) {
      this.#calls.startFunction(item);
      yield* item.deltas.splice(0);
    }
    if (isJsonObject(response['usage'])) yield { type: 'usage', usage: responseUsage(response['usage']) };
  }

  /** Reports the id of the answer, once. */
  *#nameAnswer(response: JsonObject): Generator<ModelDelta, void, void> {
    const id = stringOf(response['id']);
    if (id === '' || this.#hasId) return;
    this.#hasId = true;
    yield { type: 'response_id', id };
  }

  *#finish(event: JsonObject, reason: FinishReason): Generator<ModelDelta, void, void> {
    const response = objectOf(event['response']);
    this.#reason = reason;
    yield* this.#nameAnswer(response);
    yield* this.#flush(response);
    const said = saidAbout(event);
    if (Object.keys(said).length > 0)
      yield { type: 'provider_meta', providerMeta: { [this.#metaKey]: said } };
  }
}

/** Maximum parts of a message: a larger index is one that no server means. */
const MAX_PARTS = 1000;

/** Index of the part of a message that an event is about. */
function partIndex({ content_index: index }: JsonObject): number {
  const isIndex = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < MAX_PARTS;
  return isIndex ? index : 0;
}
