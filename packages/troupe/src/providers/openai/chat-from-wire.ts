import type { ImageBlock } from '../../message/blocks.ts';
import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { ModelError } from '../../model/model-error.ts';
import { fromBase64 } from '../../util/base64.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { ExecutedTools } from './tools/chat-executed-tools.ts';
import { ChatSources } from './tools/chat-sources.ts';
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
  readonly #details: JsonObject[] = [];
  readonly #sources: ChatSources;
  readonly #executed: ExecutedTools;
  #isThinking = false;
  #responseId = '';
  #reason: FinishReason | undefined;
  #isRefusal = false;
  #isMarkedAsOver = false;
  #hasContent = false;

  constructor(dialect: ChatDialect, { audioType, toolNames, toError }: ChatDecoderOptions) {
    this.#toError = toError;
    this.#dialect = dialect;
    this.#audioType = audioType;
    this.#calls = new ChatToolCalls(toolNames);
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
    const { id, usage } = chunk;
    if (this.#responseId === '' && typeof id === 'string' && id !== '') {
      this.#responseId = id;
      yield { type: 'response_id', id };
    }
    yield* this.#usage(usage ?? objectOf(chunk['x_groq'])['usage']);
    this.#checkBase(objectOf(chunk['base_resp']));
    this.#sources.readChunk(chunk);
    const choice = objectsOf(chunk['choices']).find(({ index }) => index === undefined || index === 0);
    if (choice === undefined) return;
    this.#sources.readChoice(choice);
    yield* this.#usage(choice['usage']); // Moonshot reports usage here
    for (const delta of this.#delta(objectOf(choice['delta'] ?? choice['message']))) {
      this.#hasContent = true;
      yield delta;
    }
    const reason = stringOf(choice['finish_reason']);
    if (reason !== '') yield* this.#finish(reason);
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

  *#usage(usage: unknown): Generator<ModelDelta, void, void> {
    if (isJsonObject(usage)) yield { type: 'usage', usage: toUsage(usage, this.#dialect.vendor) };
  }

  *#delta(delta: JsonObject): Generator<ModelDelta, void, void> {
    const details = objectsOf(delta['reasoning_details']);
    for (const detail of details) this.#addDetail(detail);
    const content = stringOf(delta['reasoning_content']);
    const reasoning = stringOf(delta['reasoning']) || (content === '' ? textOf(details) : '');
    yield* content === '' ? this.#think(reasoning, 'reasoning') : this.#think(content, 'reasoning_content');
    const executed = [...this.#executed.read(delta['executed_tools'])];
    if (executed.length > 0) yield* this.#endThinking();
    yield* executed;
    for (const { text, isThinking } of textsIn(delta['content'])) {
      yield* isThinking ? this.#think(text, 'content') : this.#text(text);
    }
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
    yield* this.#calls.read(calls);
  }

  *#think(thinking: string, field: ThinkingField): Generator<ModelDelta, void, void> {
    if (thinking === '') return;
    yield* this.#calls.settle();
    this.#field = field;
    this.#isThinking = true;
    yield { type: 'thinking', thinking };
  }

  *#text(text: string): Generator<ModelDelta, void, void> {
    if (text === '') return;
    yield* this.#endThinking();
    yield* this.#calls.settle();
    yield { type: 'text', text };
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
    if (this.#reason !== undefined) return; // some vendors report the finish reason twice
    if (FAILURES.includes(wireReason)) {
      throw new ModelError(`The answer failed: ${wireReason}.`, { kind: 'overloaded' });
    }
    const reason = Object.hasOwn(REASONS, wireReason) ? (REASONS[wireReason] ?? 'other') : 'other';
    const hasCalls = this.#calls.hasCalls && (reason === 'stop' || reason === 'tool_calls');
    this.#reason = hasCalls ? 'tool_calls' : reason;
    if (hasCalls) yield* this.#calls.end();
  }

  /**
   * Collects the thinking record of OpenRouter, which must be sent back unchanged. Its texts come in pieces.
   */
  #addDetail(piece: JsonObject): void {
    const last = this.#details.at(-1);
    if (last === undefined || !isSameDetail(last, piece)) {
      this.#details.push(piece);
      return;
    }
    const joined: Record<string, JsonValue> = { ...last };
    for (const [key, value] of Object.entries(piece)) if (value !== null) joined[key] = value;
    for (const key of ['text', 'summary']) {
      const whole = stringOf(last[key]) + stringOf(piece[key]);
      if (whole !== '') joined[key] = whole;
    }
    this.#details[this.#details.length - 1] = joined;
  }

  /** Marks the thinking so far as made by this vendor, so that no other vendor receives it. */
  *#endThinking(): Generator<ModelDelta, void, void> {
    const reasoningDetails = this.#details.splice(0);
    if (!this.#isThinking && reasoningDetails.length === 0) return;
    this.#isThinking = false;
    const { name, vendor } = this.#dialect;
    const field = this.#field;
    const isUnusual =
      field !== undefined && field !== vendor.thinkingField && vendor.thinkingBack !== 'never';
    const mark: JsonObject = reasoningDetails.length > 0 ? { reasoningDetails } : isUnusual ? { field } : {};
    yield { type: 'thinking', thinking: '', providerMeta: { [name]: mark } };
  }
}

/** Fields of a delta that are read. */
const KNOWN_FIELDS: readonly string[] = [
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
  'channel',
];

/** Images that the model has made: in a list of their own at OpenRouter, or among the parts of the content. */
function imagesIn({ images, content }: JsonObject): readonly ImageBlock[] {
  return [...objectsOf(images), ...objectsOf(content)].flatMap((part) => {
    const url = stringOf(objectOf(part['image_url'])['url']);
    if (url === '') return [];
    const [, mediaType, data] = /^data:(image\/[\w.+-]+);base64,(.+)$/s.exec(url) ?? [];
    const source =
      mediaType === undefined || data === undefined
        ? ({ type: 'url', url } as const)
        : ({ type: 'base64', mediaType, data } as const);
    return /^(?:https?|data):/i.test(url) ? [{ type: 'image', source }] : [];
  });
}

/** Text of thinking that came only as a record. */
function textOf(details: readonly JsonObject[]): string {
  return details
    .map((detail) => (detail['type'] === 'reasoning.text' ? stringOf(detail['text']) : ''))
    .join('');
}

function isSameDetail(a: JsonObject, b: JsonObject): boolean {
  if (a['type'] !== b['type'] || a['index'] !== b['index']) return false;
  const hasOtherId = stringOf(a['id']) !== '' && stringOf(b['id']) !== '' && a['id'] !== b['id'];
  return a['type'] !== 'reasoning.encrypted' && !hasOtherId; // encrypted reasoning comes whole
}

/** Reads content, which is text, or a list of parts at Mistral as soon as thinking is included. */
function textsIn(content: unknown): readonly { readonly text: string; readonly isThinking: boolean }[] {
  if (typeof content === 'string') return [{ text: content, isThinking: false }];
  return objectsOf(content).map((part) =>
    part['type'] === 'thinking'
      ? { text: thinkingIn(part['thinking']), isThinking: true }
      : { text: part['type'] === 'text' ? stringOf(part['text']) : '', isThinking: false },
  );
}

function thinkingIn(thinking: unknown): string {
  return typeof thinking === 'string'
    ? thinking
    : objectsOf(thinking)
        .map((part) => stringOf(part['text']))
        .join('');
}

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
