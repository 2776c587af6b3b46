import type { FinishReason, ModelDelta } from '../../message/model-delta.ts';
import type { WireDecoder } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';

/** Reads the lines of one answer. */
export class OllamaDecoder implements WireDecoder {
  #callCount = 0;
  #reason: FinishReason | undefined;

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  get isOver(): boolean {
    return this.isComplete;
  }

  *read(line: JsonObject): Generator<ModelDelta, void, void> {
    const { message } = line;
    if (isJsonObject(message)) yield* this.#message(message);
    if (line['done'] !== true) return;
    yield {
      type: 'usage',
      usage: { inputTokens: numberOf(line['prompt_eval_count']), outputTokens: numberOf(line['eval_count']) },
    };
    const isCut = line['done_reason'] === 'length';
    this.#reason = isCut ? 'length' : this.#callCount > 0 ? 'tool_calls' : 'stop';
  }

  *end(): Generator<ModelDelta, void, void> {
    yield { type: 'finish', reason: this.#reason ?? 'other' };
  }

  *#message({ thinking, content, tool_calls: calls }: JsonObject): Generator<ModelDelta, void, void> {
    if (typeof thinking === 'string' && thinking !== '') yield { type: 'thinking', thinking };
    if (typeof content === 'string' && content !== '') yield { type: 'text', text: content };
    for (const call of Array.isArray(calls) ? (calls as readonly unknown[]) : []) {
      if (isJsonObject(call)) yield* this.#call(call);
    }
  }

  /** Reports a tool call. Ollama sends tool calls whole, and may use one id for two of them. */
  *#call({ id, function: called }: JsonObject): Generator<ModelDelta, void, void> {
    if (!isJsonObject(called) || typeof called['name'] !== 'string') return;
    const index = this.#callCount++;
    const ownId = typeof id === 'string' && id !== '' ? { id } : {};
    const { name, arguments: input = {} } = called;
    // Some compatible servers send text.
    const json = typeof input === 'string' ? input : JSON.stringify(input);
    yield { type: 'tool_use_start', index, name, ...ownId };
    yield { type: 'tool_input', index, json };
    yield { type: 'tool_use_end', index };
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
