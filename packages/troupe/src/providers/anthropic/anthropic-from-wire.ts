import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['pause_turn', 'other'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'refusal'],
]);

/**
 * Regular stop reasons. After any other or unknown reason the last tool call may lack arguments, even if
 * closed.
 */
const REGULAR: readonly string[] = ['end_turn', 'stop_sequence', 'tool_use', 'pause_turn'];

/**
 * Decodes the events of an answer; ignores unknown events and blocks. A tool call is complete when its block
 * was closed and either another block follows or the answer ends regularly.
 */
export class AnthropicDecoder implements WireDecoder {
  readonly #open = new Map<number, OpenBlock>();
  #closedCalls: number[] = [];
  #hasCalls = false;
  #hasId = false;
  #usage: Usage | undefined;
  #reason: string | undefined;
  #isOver = false;

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  *read(event: JsonObject): Generator<ModelDelta, void, void> {
    const index = typeof event['index'] === 'number' ? event['index'] : 0;
    switch (textIn(event, 'type')) {
      case 'message_start':
        return yield* this.#start(objectIn(event, 'message'));
      case 'content_block_start':
        return yield* this.#startBlock(index, objectIn(event, 'content_block'));
      case 'content_block_delta':
        return yield* this.#delta(index, objectIn(event, 'delta'));
      case 'content_block_stop':
        return yield* this.#endBlock(index);
      case 'message_delta':
        this.#reason = textIn(objectIn(event, 'delta'), 'stop_reason') || this.#reason;
        return yield* this.#count(event['usage']);
      case 'message_stop':
        this.#isOver = true;
    }
  }

  *readWhole(message: JsonObject): Generator<ModelDelta, void, void> {
    const { content, stop_reason: reason = null, usage = null } = message;
    yield* this.read({ type: 'message_start', message });
    for (const [index, block] of (Array.isArray(content)
      ? (content as readonly JsonValue[])
      : []
    ).entries()) {
      yield* this.read({ type: 'content_block_start', index, content_block: block });
      yield* this.read({ type: 'content_block_stop', index });
    }
    yield* this.read({ type: 'message_delta', delta: { stop_reason: reason }, usage });
  }

  *end(): Generator<ModelDelta, void, void> {
    const stopReason = this.#reason ?? '';
    if (REGULAR.includes(stopReason)) yield* this.#endCalls();
    const reason = REASONS.get(stopReason) ?? 'other';
    yield { type: 'finish', reason: reason === 'stop' && this.#hasCalls ? 'tool_calls' : reason };
  }

  *#start(message: JsonObject): Generator<ModelDelta, void, void> {
    const id = textIn(message, 'id');
    if (id !== '' && !this.#hasId) {
      this.#hasId = true;
      yield { type: 'response_id', id };
    }
    yield* this.#count(message['usage']);
  }

  *#startBlock(index: number, start: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.#endCalls(); // more content follows, so these tool calls were not cut off
    const block: OpenBlock = { type: textIn(start, 'type'), hasThinking: false, signature: '' };
    this.#open.set(index, block);
    if (block.type === 'tool_use') {
      const id = textIn(start, 'id');
      yield { type: 'tool_use_start', index, ...(id !== '' && { id }), name: textIn(start, 'name') };
      const input = objectIn(start, 'input'); // mostly empty: the input follows in pieces
      if (Object.keys(input).length > 0) yield { type: 'tool_input', index, json: JSON.stringify(input) };
    } else if (block.type === 'redacted_thinking') {
      yield wholeThinking({ redactedData: textIn(start, 'data') });
    } else yield* this.#delta(index, start);
  }

  /** Converts the start or a piece of a block to a delta. */
  *#delta(index: number, piece: JsonObject): Generator<ModelDelta, void, void> {
    const block = this.#open.get(index);
    const text = textIn(piece, 'text');
    const thinking = textIn(piece, 'thinking');
    const json = textIn(piece, 'partial_json');
    if (block?.type === 'text' && text !== '') yield { type: 'text', text };
    if (block?.type === 'tool_use' && json !== '') yield { type: 'tool_input', index, json };
    if (block?.type !== 'thinking') return;
    block.signature += textIn(piece, 'signature');
    if (thinking === '') return;
    block.hasThinking = true;
    yield { type: 'thinking', thinking };
  }

  *#endBlock(index: number): Generator<ModelDelta, void, void> {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block?.type === 'tool_use') this.#closedCalls.push(index);
    if (block?.type !== 'thinking') return;
    const { signature, hasThinking } = block;
    if (hasThinking) yield { type: 'thinking', thinking: '', providerMeta: { anthropic: { signature } } };
    else if (signature !== '') yield wholeThinking({ signature });
  }

  *#endCalls(): Generator<ModelDelta, void, void> {
    const indexes = this.#closedCalls;
    this.#closedCalls = [];
    this.#hasCalls ||= indexes.length > 0;
    for (const index of indexes) yield { type: 'tool_use_end', index };
  }

  /**
   * The counts come at the start and again at the end, where some are missing or 0: the highest of each
   * holds.
   */
  *#count(counts: JsonValue | undefined): Generator<ModelDelta, void, void> {
    if (!isJsonObject(counts)) return;
    const usage = highest(toUsage(counts), this.#usage);
    const isNew = (Object.keys(usage) as (keyof Usage)[]).some((key) => usage[key] !== this.#usage?.[key]);
    this.#usage = usage;
    if (isNew) yield { type: 'usage', usage };
  }
}

/** Block of the answer before its end. */
interface OpenBlock {
  readonly type: string;
  hasThinking: boolean;
  signature: string;
}

/** Makes a block of hidden thinking. A separate block: its metadata must not merge with the block before. */
function wholeThinking(anthropic: JsonObject): ModelDelta {
  return { type: 'block', block: { type: 'thinking', thinking: '', providerMeta: { anthropic } } };
}

function toUsage(counts: JsonObject): Usage {
  const cachedTokens = numberIn(counts, 'cache_read_input_tokens');
  const cacheWriteTokens = numberIn(counts, 'cache_creation_input_tokens');
  const reasoningTokens = numberIn(objectIn(counts, 'output_tokens_details'), 'thinking_tokens');
  return {
    inputTokens: (numberIn(counts, 'input_tokens') ?? 0) + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0),
    outputTokens: numberIn(counts, 'output_tokens') ?? 0,
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}

function highest(usage: Usage, before: Usage | undefined): Usage {
  const all: Record<string, number> = { ...before };
  for (const [key, count] of Object.entries(usage)) all[key] = Math.max(count, all[key] ?? 0);
  return { ...usage, ...all };
}

function objectIn(holder: JsonObject, key: string): JsonObject {
  const value = holder[key];
  return isJsonObject(value) ? value : {};
}

function textIn(holder: JsonObject, key: string): string {
  const value = holder[key];
  return typeof value === 'string' ? value : '';
}

function numberIn(holder: JsonObject, key: string): number | undefined {
  const value = holder[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
