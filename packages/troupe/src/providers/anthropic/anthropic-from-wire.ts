import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
};

/** Ends at which the last call may lack arguments, though its block was closed. */
const CUT_OFF: readonly FinishReason[] = ['length', 'refusal'];

/** Reads the events of one answer. Events and blocks that it doesn't know are left out. */
export class AnthropicDecoder implements WireDecoder {
  readonly #blocks = new Map<number, WireBlock>();
  /** Calls whose blocks were closed, but which may still turn out to be cut off. */
  #closedCalls: number[] = [];
  #hasCalls = false;
  /** Whether what was told last is thinking: more of it would go on there, under the same signature. */
  #endsInThinking = false;
  #hasId = false;
  #usage: Usage | undefined;
  #reason: FinishReason | undefined;

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  *read(event: JsonObject): Generator<ModelDelta, void, void> {
    const index = typeof event['index'] === 'number' ? event['index'] : 0;
    switch (textIn(event, 'type')) {
      case 'message_start':
        return yield* this.#start(objectIn(event, 'message'));
      case 'content_block_start':
        return yield* this.#startBlock(index, objectIn(event, 'content_block'));
      case 'content_block_delta':
        return yield* this.#delta(this.#blocks.get(index), objectIn(event, 'delta'));
      case 'content_block_stop':
        return yield* this.#endBlock(index);
      case 'message_delta':
        this.#usage = withCounts(this.#usage, event['usage']);
        return yield* this.#finish(objectIn(event, 'delta')['stop_reason']);
    }
  }

  *end(): Generator<ModelDelta, void, void> {
    if (this.#usage !== undefined) yield { type: 'usage', usage: this.#usage };
    yield { type: 'finish', reason: this.#reason ?? 'other' };
  }

  *#start(message: JsonObject): Generator<ModelDelta, void, void> {
    const { id } = message;
    this.#usage = withCounts(this.#usage, message['usage']);
    if (this.#hasId || typeof id !== 'string') return;
    this.#hasId = true;
    yield { type: 'response_id', id };
  }

  *#startBlock(index: number, start: JsonObject): Generator<ModelDelta, void, void> {
    yield* this.#endCalls(this.#closedCalls); // something follows: they were not cut off
    const type = textIn(start, 'type');
    const block: WireBlock = { type, index, isHeldBack: false, thinking: '', signature: '' };
    this.#blocks.set(index, block);
    switch (type) {
      case 'text':
        return yield* this.#text(textIn(start, 'text'));
      case 'thinking':
        block.isHeldBack = this.#endsInThinking;
        block.signature = textIn(start, 'signature');
        return yield* this.#thinking(block, textIn(start, 'thinking'));
      case 'redacted_thinking':
        return yield* this.#wholeThinking('', { redactedData: textIn(start, 'data') });
      case 'tool_use':
        return yield* this.#startCall(index, start);
    }
  }

  /** The arguments follow in pieces, but may also be there at once. */
  *#startCall(index: number, { id, name, input }: JsonObject): Generator<ModelDelta, void, void> {
    this.#endsInThinking = false;
    yield {
      type: 'tool_use_start',
      index,
      ...(typeof id === 'string' && { id }),
      name: typeof name === 'string' ? name : '',
    };
    if (!isJsonObject(input) || Object.keys(input).length === 0) return;
    yield { type: 'tool_input', index, json: JSON.stringify(input) };
  }

  *#delta(block: WireBlock | undefined, delta: JsonObject): Generator<ModelDelta, void, void> {
    if (block?.type === 'text') yield* this.#text(textIn(delta, 'text'));
    if (block?.type === 'thinking') {
      block.signature += textIn(delta, 'signature');
      yield* this.#thinking(block, textIn(delta, 'thinking'));
    }
    const json = textIn(delta, 'partial_json');
    if (block?.type === 'tool_use' && json !== '') yield { type: 'tool_input', index: block.index, json };
  }

  *#endBlock(index: number): Generator<ModelDelta, void, void> {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.type === 'tool_use') this.#closedCalls.push(index);
    if (block?.type !== 'thinking') return;
    const { thinking, signature, isHeldBack } = block;
    if (isHeldBack) return yield* this.#wholeThinking(thinking, { signature });
    if (signature !== '')
      yield { type: 'thinking', thinking: '', providerMeta: { anthropic: { signature } } };
  }

  *#text(text: string): Generator<ModelDelta, void, void> {
    if (text === '') return;
    this.#endsInThinking = false;
    yield { type: 'text', text };
  }

  *#thinking(block: WireBlock, thinking: string): Generator<ModelDelta, void, void> {
    if (block.isHeldBack) {
      block.thinking += thinking;
      return;
    }
    this.#endsInThinking = true;
    if (thinking !== '') yield { type: 'thinking', thinking };
  }

  /** Thinking in a block of its own, apart from that before it. */
  *#wholeThinking(thinking: string, meta: JsonObject): Generator<ModelDelta, void, void> {
    this.#endsInThinking = false;
    yield { type: 'block', block: { type: 'thinking', thinking, providerMeta: { anthropic: meta } } };
  }

  *#endCalls(indexes: readonly number[]): Generator<ModelDelta, void, void> {
    this.#closedCalls = [];
    for (const index of indexes) {
      this.#hasCalls = true;
      yield { type: 'tool_use_end', index };
    }
  }

  *#finish(said: JsonValue | undefined): Generator<ModelDelta, void, void> {
    if (typeof said !== 'string') return;
    const reason = Object.hasOwn(REASONS, said) ? (REASONS[said] ?? 'other') : 'other';
    if (!CUT_OFF.includes(reason)) {
      const open = [...this.#blocks.values()].filter(({ type }) => type === 'tool_use');
      yield* this.#endCalls([...this.#closedCalls, ...open.map(({ index }) => index)]);
    }
    this.#reason = this.#hasCalls && reason === 'stop' ? 'tool_calls' : reason;
  }
}

/** A block of the answer that is not closed yet. */
interface WireBlock {
  readonly type: string;
  readonly index: number;
  /** Whether its thinking is told only when it is whole. */
  isHeldBack: boolean;
  thinking: string;
  signature: string;
}

/** The counts come at the start and again at the end, where some are missing or 0: the highest of each holds. */
function withCounts(before: Usage | undefined, counts: JsonValue | undefined): Usage | undefined {
  if (!isJsonObject(counts)) return before;
  const cached = numberIn(counts, 'cache_read_input_tokens');
  const written = numberIn(counts, 'cache_creation_input_tokens');
  const thought = numberIn(objectIn(counts, 'output_tokens_details'), 'thinking_tokens');
  const input = (numberIn(counts, 'input_tokens') ?? 0) + (cached ?? 0) + (written ?? 0);
  return {
    inputTokens: Math.max(input, before?.inputTokens ?? 0),
    outputTokens: Math.max(numberIn(counts, 'output_tokens') ?? 0, before?.outputTokens ?? 0),
    ...highest('cachedTokens', cached, before),
    ...highest('cacheWriteTokens', written, before),
    ...highest('reasoningTokens', thought, before),
  };
}

/** What neither of the two knows stays unknown. */
function highest(key: keyof Usage, count: number | undefined, before: Usage | undefined): Partial<Usage> {
  const known = before?.[key] ?? count;
  return known === undefined ? {} : { [key]: Math.max(known, count ?? 0) };
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
