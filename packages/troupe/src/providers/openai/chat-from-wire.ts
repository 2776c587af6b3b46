import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { ModelError } from '../../model/model-error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { ChatVendor } from './vendors.ts';

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

/** Reasons that are no end of an answer but a failure of the vendor. */
const FAILURES: readonly string[] = ['error', 'network_error', 'insufficient_system_resource'];

/** A call that is being made. It is known by the vendor's index; some vendors use an index again for the next call. */
interface OpenCall {
  readonly index: number;
  readonly id: string;
}

/** Reads the chunks of one answer. */
export class ChatDecoder implements WireDecoder {
  readonly #vendor: ChatVendor;
  readonly #audioType: string;
  readonly #calls = new Map<number, OpenCall>();
  readonly #details: JsonObject[] = [];
  #callCount = 0;
  #responseId = '';
  #reason: FinishReason | undefined;
  #isRefusal = false;
  #usage: Usage | undefined;

  constructor(vendor: ChatVendor, audioType: string) {
    this.#vendor = vendor;
    this.#audioType = audioType;
  }

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  *read(chunk: JsonObject): Generator<ModelDelta, void, void> {
    const { id, usage } = chunk;
    if (this.#responseId === '' && typeof id === 'string' && id !== '') {
      this.#responseId = id;
      yield { type: 'response_id', id };
    }
    if (isJsonObject(usage)) this.#usage = toUsage(usage, this.#vendor);
    const choice = listOf(chunk['choices'])[0];
    if (choice === undefined) return;
    if (isJsonObject(choice['usage'])) this.#usage = toUsage(choice['usage'], this.#vendor); // where Moonshot puts it
    if (isJsonObject(choice['delta'])) yield* this.#delta(choice['delta']);
    if (typeof choice['finish_reason'] === 'string' && choice['finish_reason'] !== '') {
      yield* this.#finish(choice['finish_reason']);
    }
  }

  *end(): Generator<ModelDelta, void, void> {
    if (this.#usage !== undefined) yield { type: 'usage', usage: this.#usage };
    yield { type: 'finish', reason: this.#isRefusal ? 'refusal' : (this.#reason ?? 'other') };
  }

  *#delta(delta: JsonObject): Generator<ModelDelta, void, void> {
    const thinking = stringOf(delta['reasoning_content']) || stringOf(delta['reasoning']);
    for (const detail of listOf(delta['reasoning_details'])) this.#addDetail(detail);
    if (thinking !== '') yield { type: 'thinking', thinking };
    const text = stringOf(delta['content']);
    const refusal = stringOf(delta['refusal']);
    const audio = isJsonObject(delta['audio']) ? delta['audio'] : {};
    const spoken = stringOf(audio['transcript']);
    const calls = listOf(delta['tool_calls']);
    if (text + refusal + spoken !== '' || calls.length > 0) yield* this.#takeDetails();
    if (refusal !== '') this.#isRefusal = true;
    if (text + refusal + spoken !== '') yield { type: 'text', text: text + refusal + spoken };
    const sound = stringOf(audio['data']);
    if (sound !== '') yield { type: 'audio', data: sound, mediaType: this.#audioType };
    for (const call of calls) yield* this.#call(call);
  }

  *#call(piece: JsonObject): Generator<ModelDelta, void, void> {
    const number = typeof piece['index'] === 'number' ? piece['index'] : 0;
    const called = isJsonObject(piece['function']) ? piece['function'] : {};
    const id = stringOf(piece['id']);
    const name = stringOf(called['name']);
    let call = this.#calls.get(number);
    if (name !== '' && (call === undefined || (id !== '' && id !== call.id))) {
      call = { index: this.#callCount++, id };
      this.#calls.set(this.#freeNumber(number), call);
      yield { type: 'tool_use_start', index: call.index, name, ...(id !== '' && { id }) };
    }
    if (call === undefined) return;
    const json = toJsonText(called['arguments']);
    if (json !== '') yield { type: 'tool_input', index: call.index, json };
  }

  /** The number for a new call. One that is taken by another call is handed on: pieces that follow mean the new one. */
  #freeNumber(number: number): number {
    const before = this.#calls.get(number);
    if (before !== undefined) this.#calls.set(-1 - before.index, before);
    return number;
  }

  /** A call counts as made only if the answer came to a regular end: one that was cut off may lack arguments. */
  *#finish(said: string): Generator<ModelDelta, void, void> {
    if (FAILURES.includes(said)) {
      throw new ModelError(`${this.#vendor.title} broke off its answer: ${said}.`, { kind: 'overloaded' });
    }
    yield* this.#takeDetails();
    const reason = Object.hasOwn(REASONS, said) ? (REASONS[said] ?? 'other') : 'other';
    const hasCalls = this.#calls.size > 0;
    this.#reason = hasCalls && reason === 'stop' ? 'tool_calls' : reason;
    if (this.#reason !== 'tool_calls') return;
    const calls = [...this.#calls.values()].sort((a, b) => a.index - b.index);
    this.#calls.clear();
    for (const { index } of calls) yield { type: 'tool_use_end', index };
  }

  /** OpenRouter's record of the thinking, which it wants back as it was. It comes in pieces. */
  #addDetail(piece: JsonObject): void {
    const last = this.#details.at(-1);
    if (last === undefined || last['type'] !== piece['type'] || last['index'] !== piece['index']) {
      this.#details.push(piece);
      return;
    }
    const joined: Record<string, JsonValue> = { ...last, ...piece };
    for (const key of ['text', 'summary', 'data']) {
      const whole = stringOf(last[key]) + stringOf(piece[key]);
      if (whole !== '') joined[key] = whole;
    }
    this.#details[this.#details.length - 1] = joined;
  }

  *#takeDetails(): Generator<ModelDelta, void, void> {
    const reasoningDetails = this.#details.splice(0);
    if (reasoningDetails.length === 0) return;
    yield { type: 'thinking', thinking: '', providerMeta: { openrouter: { reasoningDetails } } };
  }
}

function toUsage(usage: JsonObject, vendor: ChatVendor): Usage {
  const promptDetails = isJsonObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const details = isJsonObject(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {};
  const cached = numberOf(
    promptDetails['cached_tokens'] ?? usage['cached_tokens'] ?? usage['prompt_cache_hit_tokens'],
  );
  const reasoning = numberOf(details['reasoning_tokens']);
  const output = numberOf(usage['completion_tokens']) ?? 0;
  return {
    inputTokens: numberOf(usage['prompt_tokens']) ?? 0,
    outputTokens: vendor.countsThinkingApart ? output + (reasoning ?? 0) : output,
    ...(cached !== undefined && { cachedTokens: cached }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  };
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Arguments are text, but some vendors send the object itself. */
function toJsonText(value: unknown): string {
  return isJsonObject(value) ? JSON.stringify(value) : stringOf(value);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
