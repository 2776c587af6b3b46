import type { ProviderMeta } from '../../message/blocks.ts';
import type { Citation } from '../../message/citation.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import { annotatedParts, toCitation, type AnnotatedPart } from './tools/responses-annotations.ts';
import { isClientCall, readClientCall } from './tools/responses-client-calls.ts';
import {
  generatedImage,
  isProviderItem,
  providerItemId,
  providerToolInput,
  providerToolName,
  providerToolResult,
} from './tools/responses-provider-items.ts';

/** Output item that is still receiving events. */
interface OutputItem {
  /** Index of the tool call, for tool call items. */
  readonly index: number;
  readonly type: string;
  /** Kind of the item: a call of the program's tools, of the vendor's own tools, or none. */
  readonly kind: 'function' | 'client' | 'provider' | 'other';
  /** Begin of a message in the text of its block, which may hold several messages. */
  readonly base: number;
  /** Lengths of the text parts so far. */
  readonly partLengths: number[];
  /** Number of annotations that were reported. */
  annotations: number;
  /** Deltas not yet passed on. */
  readonly deltas: ModelDelta[];
  /** Whether content was reported, so that the item's end does not repeat the content. */
  hasContent: boolean;
  /** Current part of a reasoning summary. */
  part: string | undefined;
  isDone: boolean;
  /** Whether the call of a tool that the vendor runs was reported as complete. */
  isCallEnded: boolean;
  /** Data to send back with a call of the program's. */
  meta: ProviderMeta | undefined;
}

/**
 * Decodes the events of one answer. Blocks are reported in the order of the output items: items behind a
 * reasoning item wait until the reasoning item ends, which some servers report only at the very end of the
 * answer.
 */
export class ResponsesDecoder implements WireDecoder {
  readonly #metaKey: string;
  readonly #vendorName: string;
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
  /** Length of the text in the last block, as long as text goes on. */
  #textRun = 0;
  #reason: FinishReason | undefined;

  /**
   * @param metaKey key under which blocks keep the data to send back
   * @param vendorName name of the vendor, for the calls that it runs itself
   * @param toError makes the error for an error event
   * @param keepsIds whether blocks keep the ids of their items, for a vendor that stores the items
   */
  constructor(metaKey: string, vendorName: string, toError: (data: JsonObject) => Error, keepsIds = false) {
    this.#metaKey = metaKey;
    this.#vendorName = vendorName;
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
        return this.#text(number, delta, numberOf(event['content_index']));
      case 'response.output_text.annotation.added':
        return this.#annotate(event, number);
      case 'response.function_call_arguments.delta':
      case 'response.mcp_call_arguments.delta':
        return this.#addInput(this.#byNumber.get(number), delta);
      case 'response.custom_tool_call_input.delta':
        return this.#addString(this.#byNumber.get(number), 'input', delta);
      case 'response.code_interpreter_call_code.delta':
        return this.#addString(this.#byNumber.get(number), 'code', delta);
      case 'response.image_generation_call.partial_image':
        return this.#showImage(this.#byNumber.get(number), event);
      case 'response.output_item.done':
        return this.#end(this.#itemAt(number, data), data);
    }
  }

  #begin(number: number, data: JsonObject): OutputItem {
    const item: OutputItem = {
      index: this.#itemCount++,
      type: stringOf(data['type']),
      kind: kindOf(data),
      base: this.#textRun,
      partLengths: [],
      annotations: 0,
      deltas: [],
      hasContent: false,
      part: undefined,
      isDone: false,
      isCallEnded: false,
      meta: undefined,
    };
    this.#items.push(item);
    this.#byNumber.set(number, item);
    this.#latest = number;
    if (item.type !== 'message') this.#textRun = 0;
    const start = { type: 'tool_use_start', index: item.index } as const;
    if (item.kind === 'function') {
      const kept = { ...this.#idOf(data), ...callOrigin(data) };
      const meta = Object.keys(kept).length > 0 && { providerMeta: { [this.#metaKey]: kept } };
      item.deltas.push({ ...start, id: stringOf(data['call_id']), name: stringOf(data['name']), ...meta });
    } else if (item.kind === 'client') {
      if (item.type !== LATE_ID) this.#startClientCall(item, data);
    } else if (item.kind === 'provider') {
      const call = { id: providerItemId(data), name: providerToolName(data) };
      item.deltas.push({ ...start, ...call, executedBy: this.#vendorName });
    }
    return item;
  }

  #startClientCall({ deltas, index }: OutputItem, data: JsonObject): void {
    const { id, name } = readClientCall(data);
    deltas.push({ type: 'tool_use_start', index, id, name });
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
    const before = item.partLengths.slice(0, numberOf(event['content_index']) ?? 0);
    const citation = toCitation(objectOf(event['annotation']), item.base + sum(before));
    item.annotations++;
    item.deltas.push({ type: 'citations', citations: [citation] });
  }

  #addInput(call: OutputItem | undefined, json: string): void {
    if (call === undefined || call.kind === 'other' || json === '') return;
    call.hasContent = true;
    call.deltas.push({ type: 'tool_input', index: call.index, json });
  }

  /** Adds a piece of an input that is one text, as a piece of JSON. */
  #addString(call: OutputItem | undefined, key: string, piece: string): void {
    if (call === undefined || piece === '') return;
    const isFirst = !call.hasContent;
    this.#addInput(
      call,
      `${isFirst ? `{${JSON.stringify(key)}:"` : ''}${JSON.stringify(piece).slice(1, -1)}`,
    );
    call.part = key;
  }

  #showImage(item: OutputItem | undefined, event: JsonObject): void {
    const data = stringOf(event['partial_image_b64']);
    if (item?.kind !== 'provider' || data === '') return;
    this.#endProviderCall(item, { ...event, type: item.type }); // the call is complete: its image is coming
    const mediaType = `image/${stringOf(event['output_format']) || 'png'}`;
    item.deltas.push({ type: 'partial_image', data, mediaType });
  }

  #end(item: OutputItem, data: JsonObject): void {
    if (item.kind === 'function' || item.kind === 'client') {
      if (data['status'] === 'incomplete') return;
      this.#endCallInput(item, data);
      this.#receivedCalls.push(item);
      return;
    }
    item.isDone = true;
    if (item.kind === 'provider') this.#endProvider(item, data);
    if (item.type === 'reasoning') this.#endReasoning(item, data);
    if (item.type === 'message') this.#endMessage(item, data);
  }

  /** Completes the input of a call of the program's; the item of the wire stays with it. */
  #endCallInput(item: OutputItem, data: JsonObject): void {
    if (item.part !== undefined) item.deltas.push({ type: 'tool_input', index: item.index, json: '"}' });
    if (item.kind === 'client') {
      if (item.type === LATE_ID) this.#startClientCall(item, data);
      if (!item.hasContent) this.#addInput(item, JSON.stringify(readClientCall(data).input));
      item.meta = { [this.#metaKey]: { item: data } };
    } else if (!item.hasContent) this.#addInput(item, stringOf(data['arguments']));
  }

  #endProvider(item: OutputItem, data: JsonObject): void {
    this.#endProviderCall(item, data);
    const image = data['type'] === 'image_generation_call' && generatedImage(data, this.#metaKey);
    const block = image || providerToolResult(data, this.#vendorName, this.#metaKey);
    item.deltas.push({ type: 'block', block });
  }

  /** Ends the call of a tool that the vendor runs, once. */
  #endProviderCall(item: OutputItem, data: JsonObject): void {
    if (item.isCallEnded) return;
    item.isCallEnded = true;
    const { index } = item;
    if (item.part !== undefined) item.deltas.push({ type: 'tool_input', index, json: '"}' });
    else if (!item.hasContent) this.#addInput(item, JSON.stringify(providerToolInput(data)));
    const meta = item.type === 'image_generation_call' ? {} : { item: data };
    item.deltas.push({ type: 'tool_use_end', index, providerMeta: { [this.#metaKey]: meta } });
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
    const parts = annotatedParts(data['content']);
    const isCited = parts.some(({ annotations }) => annotations.length > 0);
    this.#textRun += text.length;
    if (text !== '') item.deltas.push({ type: 'text', text });
    const missing = citationsOf(parts, item.base).slice(item.annotations);
    if (missing.length > 0) item.deltas.push({ type: 'citations', citations: missing });
    const meta = {
      ...(phase !== '' && { phase }),
      ...this.#idOf(data),
      ...(isCited && item.base === 0 && { parts }),
    };
    if (Object.keys(meta).length === 0) return;
    this.#textRun = 0;
    item.deltas.push({ type: 'text', text: '', providerMeta: { [this.#metaKey]: meta } });
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
      call.deltas.push({
        type: 'tool_use_end',
        index: call.index,
        ...(call.meta && { providerMeta: call.meta }),
      });
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
    const said = saidAbout(response);
    if (Object.keys(said).length > 0)
      yield { type: 'provider_meta', providerMeta: { [this.#metaKey]: said } };
  }
}

/** Type of items whose call has another id at its end than at its beginning: the last one counts. */
const LATE_ID = 'tool_search_call';

/** Fields of a response that say something about the answer as a whole. */
const ANSWER_FIELDS = ['service_tier', 'content_filters', 'moderation', 'tool_usage'];
const COUNTED = [
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'input_tokens_details',
  'output_tokens_details',
];

/** The program and the namespace of a function call, which the vendor wants back with it. */
function callOrigin({ caller, namespace }: JsonObject): JsonObject {
  const by = objectOf(caller);
  return {
    ...(by['type'] === 'program' && { caller: by }),
    ...(stringOf(namespace) !== '' && { namespace: stringOf(namespace) }),
  };
}

function saidAbout(response: JsonObject): JsonObject {
  const said: Record<string, JsonValue> = {};
  for (const key of ANSWER_FIELDS) {
    const value = response[key];
    if (value !== undefined && value !== null) said[key] = value;
  }
  const counts = Object.entries(objectOf(response['usage'])).filter(([key]) => !COUNTED.includes(key));
  if (counts.length > 0) said['usage'] = Object.fromEntries(counts); // cost and number of searches, at xAI
  const logprobs = objectsOf(response['output']).flatMap(({ content }) =>
    objectsOf(content).flatMap((part) => objectsOf(part['logprobs'])),
  );
  return logprobs.length === 0 ? said : { ...said, logprobs };
}

function kindOf(data: JsonObject): OutputItem['kind'] {
  if (data['type'] === 'function_call') return 'function';
  if (isClientCall(data)) return 'client';
  return isProviderItem(data) ? 'provider' : 'other';
}

function citationsOf(parts: readonly AnnotatedPart[], base: number): readonly Citation[] {
  let offset = base;
  return parts.flatMap(({ length, annotations }) => {
    const start = offset;
    offset += length;
    return annotations.map((annotation) => toCitation(annotation, start));
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
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
