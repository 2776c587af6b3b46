import { InvalidMsgError } from '../errors.ts';
import { toBlock, type ContentBlock, type ToolResultBlock, type ToolUseBlock } from './blocks.ts';
import { Msg } from './msg.ts';

/** Result of a tool call that has none when the exchange is closed. */
const NO_RESULT = 'The tool call was interrupted before it returned a result.';

/**
 * A model message with tool calls, together with all their tool results.
 *
 * Providers reject a history in which a tool call has no result. An exchange can
 * therefore only be read whole: a tool call without a result gets a result with
 * status `interrupted`, for every cause (a signal, an error, a stream that was left).
 *
 * @example
 * ```ts
 * import { Msg } from 'troupe';
 * import { Exchange } from 'troupe/kernel';
 *
 * const modelMessage = Msg.assistant([{ type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Rome' } }]);
 * const exchange = new Exchange(modelMessage);
 * exchange.addResult({ type: 'tool_result', id: 'a', name: 'weather', output: '21 degrees', status: 'ok' });
 * console.log(exchange.toMsgs().length); // 2: the model message and one result
 * ```
 */
export class Exchange {
  /** The tool calls, in the order of the model message. */
  readonly calls: readonly ToolUseBlock[];
  readonly #results = new Map<string, ToolResultBlock>();
  /** Ids of the messages with the results, by tool call id. */
  readonly #resultIds = new Map<string, string>();
  /** Messages of recorded results, made once. */
  readonly #resultMsgs = new Map<ToolResultBlock, Msg>();
  #modelMsg: Msg;
  #lateResults = 0;
  #isClosed = false;

  /** @throws InvalidMsgError if two tool calls have the same id. A `MsgDraft` never makes such a message. */
  constructor(modelMsg: Msg) {
    this.#modelMsg = modelMsg;
    this.calls = modelMsg.getContentBlocks('tool_use');
    for (const call of this.calls) {
      if (this.#resultIds.has(call.id)) throw new InvalidMsgError('Two tool calls of a message share an id.');
      this.#resultIds.set(call.id, resultMsgId(modelMsg.id, call.id));
    }
  }

  /** The model message with the tool calls. */
  get modelMsg(): Msg {
    return this.#modelMsg;
  }

  /** Replaces the words beside the tool calls, e.g. because only a part of them was heard. No effect after `toMsgs`. */
  reviseText(text: string): void {
    if (this.#isClosed) return;
    const words: readonly ContentBlock[] = text === '' ? [] : [{ type: 'text', text }];
    const others = this.#modelMsg.getContentBlocks().filter(({ type }) => type !== 'text');
    this.#modelMsg = this.#modelMsg.with({ content: [...words, ...others] });
  }

  /** Number of ignored results: given after `toMsgs`, or a second time. */
  get lateResults(): number {
    return this.#lateResults;
  }

  /** True after `toMsgs`: further results are ignored. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Records a tool result. The first result of a tool call counts; results after `toMsgs` are ignored.
   * @returns true if the result was recorded
   * @throws InvalidMsgError if the exchange has no such tool call, or if the block is invalid: then the tool call stays unfinished.
   */
  addResult(result: ToolResultBlock): boolean {
    if (!this.#resultIds.has(result.id))
      throw new InvalidMsgError('A tool result has the id of no tool call of this message.');
    if (this.#isClosed || this.#results.has(result.id)) {
      this.#lateResults++;
      return false;
    }
    this.#results.set(result.id, toResult(result));
    return true;
  }

  /** The result of a tool call; undefined if there is none yet. */
  resultOf(toolCallId: string): ToolResultBlock | undefined {
    return this.#results.get(toolCallId);
  }

  /** The message with a tool result, streamed or final. All messages for one tool call have the same id. */
  resultMsg(result: ToolResultBlock): Msg {
    const known = this.#resultMsgs.get(result);
    if (known !== undefined) return known;
    const msg = Msg.system([result], { id: this.#resultIds.get(result.id) });
    if (this.#results.get(result.id) === result) this.#resultMsgs.set(result, msg);
    return msg;
  }

  /** The messages for memory: the model message, then exactly one result for each tool call. Closes the exchange. */
  toMsgs(): readonly Msg[] {
    this.#isClosed = true;
    return [
      this.modelMsg,
      ...this.calls.map((call) => this.resultMsg(this.#results.get(call.id) ?? interrupted(call))),
    ];
  }
}

/** The id of the message that carries the result of a tool call: the same when a run is replayed. */
export function resultMsgId(modelMsgId: string, toolCallId: string): string {
  return `${modelMsgId}:${toolCallId}`;
}

function toResult(value: unknown): ToolResultBlock {
  const block = toBlock(value, 'result');
  if (block.type !== 'tool_result') throw new InvalidMsgError('result.type must be tool_result.');
  return block;
}

function interrupted(call: ToolUseBlock): ToolResultBlock {
  return { type: 'tool_result', id: call.id, name: call.name, output: NO_RESULT, status: 'interrupted' };
}
