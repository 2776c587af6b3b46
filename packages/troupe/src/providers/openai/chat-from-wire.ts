import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import type { PlainPiece } from '../../model/http/repeated-event.ts';
import { ModelError } from '../../model/model-error.ts';
import { fromBase64 } from '../../util/base64.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { imagesIn, piecesIn, type ContentPiece } from './tools/chat-content.ts';
import { ExecutedTools } from './tools/chat-executed-tools.ts';
import { ChatSources } from './tools/chat-sources.ts';
import { ThinkingRecord } from './tools/thinking-record.ts';
import { ChatToolCalls } from './chat-tool-calls.ts';
import type { ChatDialect } from './dialect.ts';
import type { ChatVendor, ThinkingField } from './vendors.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  content_filter: 'content_filter',
  sensitive: 'content_filter',
};

/** Finish reasons that report a failure of the vendor. */
const FAILURES: readonly string[] = ['error', 'network_error', 'insufficient_system_resource'];

/** Codes of MiniMax in the words of others. */
const BASE_CODES: Readonly<Record<number, string>> = {
  1002: 'rate_limit_exceeded',
  1004: 'authentication_error',
  1008: 'insufficient_balance',
  1026: 'content_filter',
  1027: 'content_filter',
  1039: 'context_length_exceeded',
  2013: 'invalid_request_error',
};

export interface ChatDecoderOptions {
  /** Media type of the sound that the model makes. */
  readonly audioType: string;
  readonly toolNames: readonly string[];
  /** Makes the error for a chunk that reports a failure. */
  readonly toError: (data: JsonObject) => Error;
}

/** Decodes the chunks of an answer. */
export class ChatDecoder implements WireDecoder {
  readonly #dialect: ChatDialect;
  readonly #audioType: string;
  readonly #toError: (data: JsonObject) => Error;
  /** Place of the current thinking in the answer. */
  #field: ThinkingField | undefined;
  readonly #calls: ChatToolCalls;
  readonly #record = new ThinkingRecord();
  readonly #sources: ChatSources;
  readonly #executed: ExecutedTools;
  #isThinking = false;
  #responseId = '';
  #reason: FinishReason | undefined;
  #isRefusal = false;
  #isMarkedAsOver = false;
  #hasContent = false;
  /** See `WireDecoder`. */
  plainPiece: PlainPiece | undefined;

  constructor(dialect: ChatDialect, { audioType, toolNames, toError }: ChatDecoderOptions) {
    this.#toError = toError;
    this.#dialect = dialect;
    this.#audioType = audioType;
    this.#calls = new ChatToolCalls(toolNames, dialect.name);
    this.#sources = new ChatSources(dialect.name);
    this.#executed = new ExecutedTools(dialect.name);
  }

  get isComplete(): boolean {
    return this.#reason !== undefined || (this.#isMarkedAsOver && this.#hasContent);
  }

  /** Some vendors end a stream without a finish reason. */
  markEnd(): void {
    this.#isMarkedAsOver = true;
  }

  *read(chunk: JsonObject): Generator<ModelDelta, void, void> {
    this.plainPiece = undefined;
    const { id, usage } = chunk;
    if (this.#responseId === '' && typeof id === 'string' && id !== '') {
      this.#responseId = id;
      yield { type: 'response_id', id };
    }
    const counted = usage ?? objectOf(chunk['x_groq'])['usage'];
    if (isJsonObject(counted)) yield this.#usage(counted);
    if (chunk['base_resp'] !== undefined) this.#checkBase(objectOf(chunk['base_resp']));
    this.#sources.readChunk(chunk);
    const choice = objectsOf(chunk['choices']).find(({ index }) => index === undefined || index === 0);
    if (choice === undefined) return;
    this.#sources.readChoice(choice);
    if (isJsonObject(choice['usage'])) yield this.#usage(choice['usage']); // Moonshot reports usage here
    const delta = objectOf(choice['delta'] ?? choice['message']);
    for (const read of this.#read(delta)) {
      this.#hasContent = true;
      yield read;
    }
    const reason = stringOf(choice['finish_reason']);
    if (reason !== '') yield* this.#finish(reason);
    else if ((choice['logprobs'] ?? undefined) === undefined) this.plainPiece = this.#plainPieceOf(delta);
  }

  /** The piece of text or arguments that a delta holds, and nothing else. Any other field has had its effect, which is the same each time. */
  #plainPieceOf(delta: JsonObject): PlainPiece | undefined {
    const { content, reasoning_content: thought, tool_calls: calls } = delta;
    if (typeof content === 'string' && hasOnly(delta, 'content'))
      return { text: content, again: (text) => this.#moreText(text) };
    if (typeof thought === 'string' && hasOnly(delta, 'reasoning_content'))
      return { text: thought, again: (thinking) => ({ type: 'thinking', thinking }) };
    return Array.isArray(calls) && hasOnly(delta, 'tool_calls')
      ? this.#calls.plainPieceOf(objectsOf(calls))
      : undefined;
  }

  #moreText(text: string): ModelDelta {
    this.#sources.noteText(text.length);
    return { type: 'text', text };
  }

  *end(): Generator<ModelDelta, void, void> {
    if (this.#reason === undefined) yield* this.#finish(this.#calls.areWhole ? 'stop' : 'other');
    yield* this.#endThinking();
    yield* this.#sources.end();
    yield { type: 'finish', reason: this.#isRefusal ? 'refusal' : (this.#reason ?? 'other') };
  }

  /** MiniMax reports failures by a code of its own, with the status 200. */
  #checkBase({ status_code: code, status_msg: message = '' }: JsonObject): void {
    if (typeof code !== 'number' || code === 0 || this.isComplete) return;
    throw this.#toError({ error: { code: BASE_CODES[code] ?? `${code}`, message } });
  }

  #usage(usage: JsonObject): ModelDelta {
    return { type: 'usage', usage: toUsage(usage, this.#dialect.vendor) };
  }

  /** Reads a delta. Nearly all deltas hold one piece of text or of tool calls, and nothing else. */
  #read(delta: JsonObject): Iterable<ModelDelta> {
    const { content, tool_calls: calls } = delta;
    if (!this.#isThinking && this.#record.isEmpty) {
      if (typeof content === 'string' && hasOnly(delta, 'content')) return this.#text(content);
      if (Array.isArray(calls) && hasOnly(delta, 'tool_calls')) return this.#readCalls(objectsOf(calls));
    }
    return this.#readAll(delta);
  }

  *#readAll(delta: JsonObject): Generator<ModelDelta, void, void> {
    const recorded = this.#record.read(delta);
    const content = stringOf(delta['reasoning_content']);
    const reasoning = stringOf(delta['reasoning']) || (content === '' ? recorded : '');
    yield* content === '' ? this.#think(reasoning, 'reasoning') : this.#think(content, 'reasoning_content');
    const executed = [...this.#executed.read(delta['executed_tools'])];
    if (executed.length > 0) {
      this.#sources.endText();
      yield* this.#endThinking();
      yield* executed;
    }
    for (const piece of piecesIn(delta, this.#isThinking)) yield* this.#piece(piece);
    const refusal = stringOf(delta['refusal']);
    this.#isRefusal ||= refusal !== '';
    yield* this.#text(refusal);
    const audio = objectOf(delta['audio']);
    yield* this.#text(stringOf(audio['transcript']));
    yield* this.#sound(stringOf(audio['data']));
    for (const image of imagesIn(delta)) yield { type: 'block', block: image };
    this.#sources.readUnknown(delta, KNOWN_FIELDS);
    yield* this.#sources.readAnnotations(delta['annotations']);
    const calls = objectsOf(delta['tool_calls']);
    if (calls.length === 0) return;
    yield* this.#endThinking();
    yield* this.#readCalls(calls);
  }

  #readCalls(calls: readonly JsonObject[]): Iterable<ModelDelta> {
    if (calls.length > 0) this.#sources.endText();
    return this.#calls.read(calls);
  }

  *#piece({ text, thinkingField, citations, unknown }: ContentPiece): Generator<ModelDelta, void, void> {
    yield* thinkingField === undefined ? this.#text(text) : this.#think(text, thinkingField);
    if (citations !== undefined) yield* this.#sources.cite(citations, text.length);
    if (unknown !== undefined) this.#sources.keepPart(unknown);
  }

  *#think(thinking: string, field: ThinkingField): Generator<ModelDelta, void, void> {
    if (thinking === '') return;
    yield* this.#calls.settle();
    this.#sources.endText();
    this.#field = field;
    this.#isThinking = true;
    yield { type: 'thinking', thinking };
  }

  *#text(text: string): Generator<ModelDelta, void, void> {
    if (text === '') return;
    yield* this.#endThinking();
    yield* this.#calls.settle();
    yield { type: 'text', text };
    const citations = this.#sources.noteText(text.length);
    if (citations !== undefined) yield citations;
  }

  /** Reports a piece of the sound, which alternates with its transcript: both are one block each. */
  *#sound(data: string): Generator<ModelDelta, void, void> {
    if (data === '') return;
    try {
      fromBase64(data);
    } catch {
      throw badAudio();
    }
    yield { type: 'audio', index: 0, data, mediaType: this.#audioType };
  }

  /** Ends the answer. Tool calls count only after a regular end: a cut answer may lack arguments. */
  *#finish(wireReason: string): Generator<ModelDelta, void, void> {
    yield* this.#endThinking();
    if (this.#reason !== undefined) return yield* this.#finishAgain(wireReason);
    if (FAILURES.includes(wireReason)) {
      throw new ModelError(`The answer failed: ${wireReason}.`, { kind: 'overloaded' });
    }
    const reason = Object.hasOwn(REASONS, wireReason) ? (REASONS[wireReason] ?? 'other') : 'other';
    const hasCalls = this.#calls.hasCalls && (reason === 'stop' || reason === 'tool_calls');
    this.#reason = hasCalls ? 'tool_calls' : reason;
    if (hasCalls) yield* this.#calls.end();
  }

  /** Some vendors give a finish reason in several chunks, with tool calls behind the first: a regular reason ends these, too. */
  *#finishAgain(wireReason: string): Generator<ModelDelta, void, void> {
    const isRegular = (reason: string | undefined): boolean => reason === 'stop' || reason === 'tool_calls';
    if (!this.#calls.hasCalls || !isRegular(this.#reason) || !isRegular(REASONS[wireReason])) return;
    this.#reason = 'tool_calls';
    yield* this.#calls.end();
  }

  /** Marks the thinking so far as made by this vendor, so that no other vendor receives it. */
  *#endThinking(): Generator<ModelDelta, void, void> {
    const record = this.#record.take();
    const hasRecord = Object.keys(record).length > 0;
    if (!this.#isThinking && !hasRecord) return;
    this.#isThinking = false;
    const { name, vendor } = this.#dialect;
    const field = this.#field;
    const isUnusual =
      field !== undefined && field !== vendor.thinkingField && vendor.thinkingBack !== 'never';
    const mark: JsonObject = hasRecord ? record : isUnusual ? { field } : {};
    yield { type: 'thinking', thinking: '', providerMeta: { [name]: mark } };
  }
}

/** Whether a delta holds nothing but one field, and perhaps its role. */
function hasOnly(delta: JsonObject, field: string): boolean {
  for (const key in delta) {
    if (key === field || key === 'role') continue;
    const value = delta[key];
    const isEmpty = value === null || (value === '' && KNOWN_FIELDS.includes(key));
    if (!isEmpty) return false;
  }
  return true;
}

/** Fields of a delta that are read. */
const KNOWN_FIELDS: readonly string[] = [
  'index',
  'role',
  'content',
  'refusal',
  'audio',
  'images',
  'annotations',
  'tool_calls',
  'function_call',
  'executed_tools',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'thinking_blocks',
  'channel',
];

function toUsage(usage: JsonObject, vendor: ChatVendor): Usage {
  const promptDetails = objectOf(usage['prompt_tokens_details']);
  const cached = numberOf(
    promptDetails['cached_tokens'] ??
      usage['cached_tokens'] ??
      usage['num_cached_tokens'] ??
      usage['prompt_cache_hit_tokens'],
  );
  const written = numberOf(
    promptDetails['cache_write_tokens'] ?? promptDetails['cache_creation_input_tokens'],
  );
  const details = objectOf(usage['completion_tokens_details']);
  const reasoning = numberOf(details['reasoning_tokens'] ?? usage['reasoning_tokens']);
  const input = numberOf(usage['prompt_tokens']) ?? 0;
  const output = numberOf(usage['completion_tokens']) ?? 0;
  const apart = vendor.countsThinkingApart ? (reasoning ?? 0) : 0;
  // Sound at Mistral and thinking at Gemini's compatible API are counted in the total only.
  const uncounted = Math.max(0, (numberOf(usage['total_tokens']) ?? 0) - input - output - apart);
  const isSound = numberOf(usage['prompt_audio_seconds']) !== undefined;
  const thinking = reasoning ?? (uncounted > 0 && !isSound ? uncounted : undefined);
  return {
    inputTokens: isSound ? input + uncounted : input,
    outputTokens: output + apart + (isSound ? 0 : uncounted),
    ...(cached !== undefined && { cachedTokens: cached }),
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(thinking !== undefined && { reasoningTokens: thinking }),
  };
}

function badAudio(): ModelError {
  return new ModelError('The audio is not base64.', { kind: 'malformed' });
}
