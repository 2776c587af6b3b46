import type { ProviderMeta } from '../../message/blocks.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { ModelError } from '../../model/model-error.ts';
import { fromBase64 } from '../../util/base64.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { stringOf } from '../../model/http/wire-values.ts';
import { GoogleParts, isGooglePart } from './google-parts.ts';
import { Grounding } from './grounding.ts';
import { PartialArgs } from './values/partial-args.ts';

const LENGTH = /^(?:MAX_TOKENS|CONTINUATION)$/;
const FILTERED = /^(?:BLOCKLIST|SPII|MODEL_ARMOR|(?:IMAGE_)?(?:SAFETY|RECITATION|PROHIBITED_CONTENT))$/;

/** Finish reasons of a failed tool call. A second attempt mostly succeeds. */
const FAILED_CALL = /^(?:MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL)$/;
/** Finish reason of a call of a tool that was not offered. A call that is there and signed is answered like any other. */
const UNEXPECTED = 'UNEXPECTED_TOOL_CALL';

/**
 * Decodes the chunks of one answer. Tool calls come whole, but count only when the whole answer was read and
 * ended regularly: the last word of Gemini decides. No chunk is known to be the last: some models give a
 * reason in each, and the usage may follow in a chunk of its own.
 */
export class GeminiDecoder implements WireDecoder {
  #responseId = '';
  #reason = '';
  /** Function calls so far. Those that Google has answered itself are no calls of the program's. */
  readonly #calls: { readonly part: JsonObject; isAnswered: boolean }[] = [];
  readonly #googleParts = new GoogleParts();
  readonly #grounding = new Grounding();
  #usage: Usage | undefined;
  /** Arguments of a tool call that comes in parts. */
  #partialArgs: PartialArgs | undefined;
  /** Signatures that came with a later part of a tool call. */
  readonly #lateMeta = new Map<number, { readonly providerMeta: ProviderMeta }>();
  /** Whether the current block is text. A signature in a following empty part belongs to the text. */
  #isInText = false;

  get isComplete(): boolean {
    return this.#reason !== '';
  }

  *read(chunk: JsonObject): Generator<ModelDelta, void, void> {
    const id = stringOf(chunk['responseId']);
    if (this.#responseId === '' && id !== '') {
      this.#responseId = id;
      yield { type: 'response_id', id };
    }
    if (isJsonObject(chunk['usageMetadata'])) yield* this.#count(toUsage(chunk['usageMetadata']));
    this.#grounding.readAnswer(chunk);
    const candidate = listOf(chunk['candidates'])[0];
    if (candidate === undefined) return checkPrompt(chunk['promptFeedback']);
    const content = isJsonObject(candidate['content']) ? candidate['content'] : {};
    for (const part of listOf(content['parts'])) yield* this.#part(part);
    const reason = stringOf(candidate['finishReason']);
    this.#grounding.read(candidate);
    const isCall =
      reason === UNEXPECTED && this.#calls.some(({ part: { thoughtSignature } }) => thoughtSignature);
    if (FAILED_CALL.test(reason) && !isCall) throw failedCall(reason, candidate);
    if (reason !== '') this.#reason = reason;
  }

  /** Reads an answer that comes whole: it is complete also without a finish reason. */
  *readWhole(answer: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.read(answer);
    if (this.#reason === '' && listOf(answer['candidates']).length > 0) this.#reason = 'STOP';
  }

  *end(): Generator<ModelDelta, void, void> {
    yield* this.#grounding.end();
    // A call in parts without its last one may lack arguments.
    const callCount = this.#partialArgs === undefined ? this.#calls.length : this.#calls.length - 1;
    const own = [...this.#calls.keys()].filter(
      (index) => index < callCount && !this.#calls[index]?.isAnswered,
    );
    const isCalling = (this.#reason === 'STOP' || this.#reason === UNEXPECTED) && own.length > 0;
    for (const index of isCalling ? own : [])
      yield { type: 'tool_use_end', index, ...this.#lateMeta.get(index) };
    yield { type: 'finish', reason: isCalling ? 'tool_calls' : toReason(this.#reason) };
  }

  *#count(usage: Usage): Generator<ModelDelta, void, void> {
    const isNew = (Object.keys(usage) as (keyof Usage)[]).some((key) => usage[key] !== this.#usage?.[key]);
    this.#usage = usage;
    if (isNew) yield { type: 'usage', usage };
  }

  *#part(part: JsonObject): Generator<ModelDelta, void, void> {
    const signature = stringOf(part['thoughtSignature']);
    const signed = signature === '' ? undefined : { gemini: { thoughtSignature: signature } };
    const meta = signed && { providerMeta: signed };
    const { text, functionCall, inlineData } = part;
    if (typeof text === 'string') {
      if (text === '' && signed === undefined) return;
      // The signature of an empty part belongs to the text so far, otherwise to the thinking.
      const isThinking = part['thought'] === true || (text === '' && !this.#isInText);
      this.#isInText = !isThinking;
      this.#grounding.note(isThinking ? undefined : text, signed !== undefined);
      if (isThinking) yield { type: 'thinking', thinking: text, ...meta };
      else yield { type: 'text', text, ...meta };
      return;
    }
    this.#isInText = false;
    this.#grounding.note(undefined);
    if (isGooglePart(part)) yield* this.#googlePart(part);
    else if (isJsonObject(part['functionResponse'])) yield* this.#answer(part);
    else if (isJsonObject(functionCall)) yield* this.#call(part, functionCall, meta);
    else if (isJsonObject(inlineData))
      yield* part['thought'] === true ? toSketch(inlineData) : toMedia(inlineData, signed ?? { gemini: {} });
    else if (isJsonObject(part['fileData'])) yield* toLinkedMedia(part['fileData']);
    else if (hasUnknown(part)) yield { type: 'block', block: this.#googleParts.opaque(part) };
  }

  *#googlePart(part: JsonObject): Generator<ModelDelta, void, void> {
    if (isJsonObject(part['toolCall'])) this.#grounding.noteToolCall();
    yield { type: 'block', block: this.#googleParts.toBlock(part) };
  }

  /** The result of a function call that Google has run itself: the call is none of the program's, and never ends as one. */
  *#answer(part: JsonObject): Generator<ModelDelta, void, void> {
    const { id, name } = isJsonObject(part['functionResponse']) ? part['functionResponse'] : {};
    const asked = this.#calls.find(({ part: { functionCall }, isAnswered }) => {
      const call = isJsonObject(functionCall) ? functionCall : {};
      return !isAnswered && call['name'] === name && call['id'] === id;
    });
    if (asked === undefined) return yield { type: 'block', block: this.#googleParts.opaque(part) };
    asked.isAnswered = true;
    for (const block of this.#googleParts.answeredCall(asked.part, part)) yield { type: 'block', block };
  }

  /** A tool call, whole or in parts: a call in parts ends with one that does not continue. */
  *#call(
    part: JsonObject,
    call: JsonObject,
    meta: { readonly providerMeta: ProviderMeta } | undefined,
  ): Generator<ModelDelta, void, void> {
    const id = stringOf(call['id']);
    const name = stringOf(call['name']);
    const willContinue = call['willContinue'] === true;
    const isNew = name !== '';
    if (!isNew && this.#partialArgs === undefined) return; // nothing to continue
    if (isNew) yield* this.#endPartialCall(); // a call that was not ended, but another follows
    if (isNew) this.#calls.push({ part, isAnswered: false });
    const index = this.#calls.length - 1;
    if (isNew) yield { type: 'tool_use_start', index, name, ...(id !== '' && { id }), ...meta };
    else if (meta !== undefined) this.#lateMeta.set(index, meta);
    if (isJsonObject(call['args'])) yield { type: 'tool_input', index, json: JSON.stringify(call['args']) };
    const parts = listOf(call['partialArgs']);
    if (isNew && parts.length === 0 && !willContinue) return;
    this.#partialArgs ??= new PartialArgs();
    for (const part of parts) this.#partialArgs.add(part);
    if (!willContinue) yield* this.#endPartialCall();
  }

  *#endPartialCall(): Generator<ModelDelta, void, void> {
    const json = this.#partialArgs?.json;
    this.#partialArgs = undefined;
    if (json !== undefined) yield { type: 'tool_input', index: this.#calls.length - 1, json };
  }
}

function toReason(reason: string): FinishReason {
  if (reason === 'STOP') return 'stop';
  return LENGTH.test(reason) ? 'length' : FILTERED.test(reason) ? 'content_filter' : 'other';
}

/** @throws ModelError if the prompt was blocked. */
function checkPrompt(feedback: unknown): void {
  const reason = isJsonObject(feedback) ? stringOf(feedback['blockReason']) : '';
  if (reason === '') return;
  throw new ModelError(`The content filter blocked the request: ${reason.slice(0, 100)}.`, {
    kind: 'content_filter',
    providerCode: reason.slice(0, 100),
  });
}

function failedCall(reason: string, { finishMessage }: JsonObject): ModelError {
  return new ModelError(`The tool call failed: ${reason}.`, {
    kind: 'malformed',
    providerCode: reason,
    isRetryable: true,
    ...(typeof finishMessage === 'string' && { body: finishMessage }),
  });
}

/** An image that the model made while it was thinking: shown until the final one comes. */
function* toSketch(inlineData: JsonObject): Generator<ModelDelta, void, void> {
  const mediaType = stringOf(inlineData['mimeType']);
  const data = stringOf(inlineData['data']);
  if (mediaType.startsWith('image/') && data !== '') yield { type: 'partial_image', data, mediaType };
}

/** Makes media deltas, marked as the model's own so that the media may be sent back. */
function* toMedia(inlineData: JsonObject, providerMeta: ProviderMeta): Generator<ModelDelta, void, void> {
  const mediaType = stringOf(inlineData['mimeType']);
  const data = stringOf(inlineData['data']);
  const type = /^(?:image|audio|video)(?=\/)/.exec(mediaType)?.[0];
  if (data === '') return;
  if (type === 'audio') yield { type: 'audio', data: checkBase64(data), mediaType, providerMeta };
  else {
    const source = { type: 'base64', mediaType, data } as const;
    yield {
      type: 'block',
      block: { type: type === 'image' || type === 'video' ? type : 'file', source, providerMeta },
    };
  }
}

/** Whether a part has content that is read nowhere. */
function hasUnknown(part: JsonObject): boolean {
  return Object.entries(part).some(([key, value]) => key !== 'videoMetadata' && isJsonObject(value));
}

/** A file that is at Google. */
function* toLinkedMedia({ fileUri, mimeType }: JsonObject): Generator<ModelDelta, void, void> {
  const url = stringOf(fileUri);
  if (url === '') return;
  const mediaType = stringOf(mimeType);
  const type = /^(?:image|audio|video)(?=\/)/.exec(mediaType)?.[0];
  const source = { type: 'url', url, ...(mediaType !== '' && { mediaType }) } as const;
  const isMedium = type === 'image' || type === 'audio' || type === 'video';
  yield { type: 'block', block: { type: isMedium ? type : 'file', source } };
}

/** Checks a piece of sound. Joining the pieces requires each to decode. */
function checkBase64(data: string): string {
  try {
    fromBase64(data);
    return data;
  } catch {
    throw new ModelError('The audio is not base64.', { kind: 'malformed' });
  }
}

/**
 * Thinking is not among the candidates' tokens, nor what tools of Google's own were asked among the prompt's.
 */
function toUsage(usage: JsonObject): Usage {
  const cached = usage['cachedContentTokenCount'];
  const thinking = usage['thoughtsTokenCount'];
  return {
    inputTokens: numberOf(usage['promptTokenCount']) + numberOf(usage['toolUsePromptTokenCount']),
    outputTokens: numberOf(usage['candidatesTokenCount']) + numberOf(thinking),
    ...(cached !== undefined && { cachedTokens: numberOf(cached) }),
    ...(thinking !== undefined && { reasoningTokens: numberOf(thinking) }),
  };
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
