import { getLogger } from '../../config/run-config.ts';
import { toBlock, type ContentBlock } from '../../message/blocks.ts';
import type { Citation } from '../../message/citation.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { ModelOrigin } from '../../model/model-error.ts';
import { toBase64 } from '../../util/base64.ts';
import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import { oneLine } from '../../util/text.ts';
import { lostAnswer, toModelError } from './ai-sdk-error.ts';
import { toBlockMeta } from './block-meta.ts';
import { reasonOf, usageOf } from './finish-part.ts';
import type { SpecVersion } from './language-model.ts';
import { stringOf } from '../../model/http/wire-values.ts';
import { metadataIn } from './part-values.ts';
import { APPROVAL_TOOL, toCustomBlock, toResultBlock, toSource } from './provider-tools.ts';
import { TextParts } from './text-parts.ts';

interface OpenCall {
  readonly index: number;
  readonly name: string;
  /** Arguments passed on so far. */
  json: string;
  /** Whether the arguments are not JSON until complete. */
  readonly isRaw: boolean;
}

/** Complete tool call, unless the answer is truncated directly after it. */
interface HeldCall {
  readonly index: number;
  readonly metadata: JsonObject | undefined;
}

const TRUNCATED: readonly FinishReason[] = ['length', 'content_filter'];

/** Reads the stream parts of one answer, in any version of the specification. */
export class PartDecoder {
  readonly #provider: string;
  readonly #version: SpecVersion;
  readonly #origin: ModelOrigin;
  readonly #calls = new Map<string, OpenCall>();
  #text: TextParts | undefined;
  #held: HeldCall | undefined;
  /** Calls that the provider makes itself, by their ids. */
  readonly #providerCalls = new Map<string, { readonly name: string; readonly input: string }>();
  /** Sources that wait for their text. */
  readonly #sources: Citation[] = [];
  #customCount = 0;
  #callCount = 0;
  #endedCount = 0;
  #hasId = false;
  #finish: JsonObject | undefined;

  /** @param origin who is named in errors */
  constructor(provider: string, version: SpecVersion, origin: ModelOrigin = { vendor: provider }) {
    this.#provider = provider;
    this.#version = version;
    this.#origin = origin;
  }

  /** Whether the finish reason was received. */
  get isComplete(): boolean {
    return this.#finish !== undefined;
  }

  /** Decodes one part. @throws ModelError if the part reports a failure. */
  *read(part: unknown): Generator<ModelDelta, void, void> {
    if (!isJsonObject(part)) return;
    switch (stringOf(part['type'])) {
      case 'stream-start':
        return this.#warn(part['warnings']);
      case 'response-metadata':
        return yield* this.#responseId(stringOf(part['id']));
      case 'text-start':
      case 'text-delta':
        return yield* this.#write('text', part);
      case 'reasoning-start':
      case 'reasoning-delta':
        return yield* this.#write('thinking', part);
      case 'text-end':
      case 'reasoning-end': {
        const type = part['type'] === 'text-end' ? 'text' : 'thinking';
        if (this.#text?.type === type) this.#text.add(part); // otherwise another block has begun already
        return;
      }
      case 'tool-input-start':
        yield* this.#startCall(stringOf(part['id']), part);
        return;
      case 'tool-input-delta':
        return yield* this.#input(part);
      case 'tool-call':
        return yield* part['providerExecuted'] === true ? this.#providerCall(part) : this.#call(part);
      case 'tool-result':
        if (part['preliminary'] === true) return;
        return yield* this.#block(toResultBlock(part, this.#executedBy, this.#meta(part)));
      case 'tool-approval-request':
        return yield* this.#approval(part);
      case 'source':
        return yield* this.#source(toSource(part));
      case 'custom': {
        const kind = stringOf(part['kind']);
        if (kind.endsWith('.message_start')) return yield this.#said({ start: metadataIn(part) ?? {} }); // no content
        const id = `${kind}_${this.#customCount++}`;
        return yield* this.#block(toCustomBlock(kind, id, this.#executedBy, this.#meta(part)));
      }
      case 'file':
        return yield* this.#file(part);
      case 'finish':
        this.#finish = part; // a stream may hold several finish parts: the last counts
        return;
      case 'error':
        throw toModelError(part['error'], this.#origin, true);
    }
  }

  /** Ends the answer with the remaining deltas. @throws ModelError if the stream ended before the answer. */
  *end(): Generator<ModelDelta, void, void> {
    if (this.#finish === undefined) throw lostAnswer(this.#origin, true);
    const reason = reasonOf(this.#finish, { origin: this.#origin, version: this.#version });
    yield* this.#closeText();
    if (this.#sources.length > 0)
      yield this.#said({ sources: this.#sources.map((source) => ({ ...source })) });
    const metadata = metadataIn(this.#finish);
    if (metadata !== undefined) yield this.#said({ metadata });
    if (!TRUNCATED.includes(reason)) yield* this.#endHeldCall();
    const usage = usageOf(this.#finish);
    if (usage !== undefined) yield { type: 'usage', usage };
    yield { type: 'finish', reason: reason === 'stop' && this.#endedCount > 0 ? 'tool_calls' : reason };
  }

  /** Data about the answer as a whole. */
  #said(said: JsonObject): ModelDelta {
    return { type: 'provider_meta', providerMeta: { aiSdk: { provider: this.#provider, ...said } } };
  }

  get #executedBy(): string {
    return /^[^.]*/.exec(this.#provider)?.[0] || this.#provider;
  }

  #meta(part: JsonObject): JsonObject {
    return { provider: this.#provider, metadata: metadataIn(part) ?? {} };
  }

  *#block(block: ContentBlock): Generator<ModelDelta, void, void> {
    yield* this.#closeText();
    yield { type: 'block', block: toBlock(block, 'part') };
  }

  /** A call of a tool that the provider runs itself: complete at once, and none of the program's. */
  *#providerCall(part: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.#endHeldCall();
    const { index, metadata } = yield* this.#wholeCall(part);
    const { id, name } = { id: stringOf(part['toolCallId']), name: stringOf(part['toolName']) };
    this.#providerCalls.set(id, { name, input: stringOf(part['input']) });
    const providerMeta = toBlockMeta(this.#provider, { metadata: metadata ?? {} });
    yield { type: 'tool_use_end', index, providerMeta };
  }

  /** A question of the provider whether it may make a call, which becomes a tool call of the program's. */
  *#approval(part: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.#endHeldCall();
    yield* this.#closeText();
    const { name, input } = this.#providerCalls.get(stringOf(part['toolCallId'])) ?? { name: '', input: '' };
    const index = this.#callCount++;
    const asked = { tool: name, arguments: readJson(input) ?? {} };
    yield { type: 'tool_use_start', index, id: stringOf(part['approvalId']), name: APPROVAL_TOOL };
    yield { type: 'tool_input', index, json: JSON.stringify(asked) };
    const providerMeta = { aiSdk: { ...this.#meta(part), isApproval: true } };
    this.#endedCount++;
    yield { type: 'tool_use_end', index, providerMeta };
  }

  /** A source of the text, told with the text: it may come before. */
  *#source(source: Citation): Generator<ModelDelta, void, void> {
    this.#sources.push(source);
    if (this.#text?.type === 'text' && this.#text.hasText) yield* this.#cite();
  }

  *#cite(): Generator<ModelDelta, void, void> {
    const citations = this.#sources.splice(0);
    if (citations.length > 0) yield { type: 'citations', citations };
  }

  *#responseId(id: string): Generator<ModelDelta, void, void> {
    if (this.#hasId || id === '') return;
    this.#hasId = true;
    yield { type: 'response_id', id };
  }

  *#write(type: TextParts['type'], part: JsonObject): Generator<ModelDelta, void, void> {
    if (stringOf(part['delta']) === '' && part['providerMetadata'] === undefined) return;
    if (this.#text?.type !== type) {
      yield* this.#closeText();
      this.#text = new TextParts(type);
    }
    const text = this.#text.add(part);
    if (text === '') return;
    yield type === 'text' ? { type, text } : { type, thinking: text };
    if (type === 'text') yield* this.#cite();
  }

  /** Reports the metadata of the block that ends now. */
  *#closeText(): Generator<ModelDelta, void, void> {
    const text = this.#text;
    this.#text = undefined;
    if (text?.pieces === undefined) return;
    const providerMeta = toBlockMeta(this.#provider, { pieces: text.pieces });
    yield text.type === 'text'
      ? { type: 'text', text: '', providerMeta }
      : { type: 'thinking', thinking: '', providerMeta };
  }

  *#startCall(id: string, part: JsonObject): Generator<ModelDelta, OpenCall, void> {
    yield* this.#closeText();
    const name = stringOf(part['toolName']);
    const call = { index: this.#callCount++, name, json: '', isRaw: part['inputEncoding'] === 'text' };
    this.#calls.set(id, call);
    const by = part['providerExecuted'] === true && { executedBy: this.#executedBy };
    yield { type: 'tool_use_start', index: call.index, name, ...(id !== '' && { id }), ...by };
    return call;
  }

  *#input(part: JsonObject): Generator<ModelDelta, void, void> {
    const call = this.#calls.get(stringOf(part['id']));
    const json = stringOf(part['delta']);
    if (call === undefined || call.isRaw || json === '') return;
    call.json += json;
    yield { type: 'tool_input', index: call.index, json };
  }

  /** Reports a complete tool call. The arguments here replace the pieces passed on before. */
  *#call(part: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.#endHeldCall();
    this.#held = yield* this.#wholeCall(part);
  }

  *#wholeCall(part: JsonObject): Generator<ModelDelta, HeldCall, void> {
    const id = stringOf(part['toolCallId']);
    const input = stringOf(part['input']);
    const begun = this.#calls.get(id);
    const isSame = begun?.name === part['toolName'] && input.startsWith(begun?.json ?? '');
    const call = begun !== undefined && isSame ? begun : yield* this.#startCall(id, part);
    this.#calls.delete(id);
    const rest = input.slice(call.json.length);
    if (rest !== '') yield { type: 'tool_input', index: call.index, json: rest };
    return { index: call.index, metadata: metadataIn(part) };
  }

  *#endHeldCall(): Generator<ModelDelta, void, void> {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    this.#endedCount++;
    const { index, metadata } = held;
    yield metadata === undefined
      ? { type: 'tool_use_end', index }
      : { type: 'tool_use_end', index, providerMeta: toBlockMeta(this.#provider, { metadata }) };
  }

  /** Reports a medium made by the model. */
  *#file(part: JsonObject): Generator<ModelDelta, void, void> {
    const mediaType = stringOf(part['mediaType']);
    const source = locate(part['data'], mediaType);
    if (source === undefined) return;
    yield* this.#closeText();
    const type = /^(?:image|audio|video)(?=\/)/.exec(mediaType)?.[0] ?? 'file';
    const providerMeta = toBlockMeta(this.#provider, { metadata: metadataIn(part) ?? {} });
    yield { type: 'block', block: toBlock({ type, source, providerMeta }, 'file') };
  }

  #warn(warnings: unknown): void {
    if (!Array.isArray(warnings)) return;
    for (const warning of warnings) {
      getLogger().log('warn', `${this.#provider} warns: ${oneLine(describeWarning(warning)).slice(0, 300)}`);
    }
  }
}

/** Location of a file's bytes. From v4 on, the part has a tag for inline bytes or a URL. */
function locate(data: unknown, mediaType: string): JsonObject | undefined {
  if (isJsonObject(data) && data['type'] === 'url') {
    const url: unknown = data['url'];
    return { type: 'url', url: url instanceof URL ? url.href : stringOf(url), mediaType };
  }
  const bytes: unknown = isJsonObject(data) && data['type'] === 'data' ? data['data'] : data;
  if (typeof bytes === 'string') return { type: 'base64', mediaType, data: bytes };
  return bytes instanceof Uint8Array ? { type: 'base64', mediaType, data: toBase64(bytes) } : undefined;
}

function describeWarning(warning: unknown): string {
  if (!isJsonObject(warning)) return String(warning);
  const { type, feature, setting, tool, details, message } = warning;
  const about = feature ?? setting ?? (isJsonObject(tool) ? tool['name'] : undefined);
  return [type, about, details ?? message].map(stringOf).filter(Boolean).join(', ');
}
