import { InvalidMsgError } from '../errors.ts';
import { toBlock, type ToolResultBlock, type ToolUseBlock } from './blocks.ts';
import { Msg } from './msg.ts';

const INTERRUPTED = 'The call was interrupted before it returned a result.';

/**
 * An assistant message that calls tools, together with the answers to it.
 *
 * Providers reject a history in which a call has no result. An exchange can
 * therefore only be read whole: a call that nothing answered reads as
 * interrupted, whatever stopped it (a signal, a throw, a consumer that left).
 *
 * @example
 * ```ts
 * import { Msg } from 'troupe';
 * import { Exchange } from 'troupe/kernel';
 *
 * const modelMessage = Msg.assistant([{ type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Rome' } }]);
 * const exchange = new Exchange(modelMessage);
 * exchange.answer({ type: 'tool_result', id: 'a', name: 'weather', output: '21 degrees', status: 'ok' });
 * console.log(exchange.toMsgs().length); // 2: the model message and one result
 * ```
 */
export class Exchange {
  /** The calls, in the order in which the model made them. */
  readonly calls: readonly ToolUseBlock[];
  readonly #answers = new Map<string, ToolResultBlock>();
  readonly #resultIds = new Map<string, string>();
  #lateAnswers = 0;
  #isClosed = false;

  /** @throws InvalidMsgError if two calls share an id. A `MsgDraft` never makes such a message. */
  constructor(readonly modelMsg: Msg) {
    this.calls = modelMsg.getContentBlocks('tool_use');
    for (const call of this.calls) {
      if (this.#resultIds.has(call.id)) throw new InvalidMsgError('Two tool calls of a message share an id.');
      this.#resultIds.set(call.id, resultMsgId(modelMsg.id, call.id));
    }
  }

  /** How many answers came too late, or twice. They changed nothing. */
  get lateAnswers(): number {
    return this.#lateAnswers;
  }

  /** Whether it has been read, and takes no more answers. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Records an answer. The first one wins, and none counts after `toMsgs`.
   * @returns whether it counted
   * @throws InvalidMsgError if there is no such call, or if it is no result: then the call is still open.
   */
  answer(result: ToolResultBlock): boolean {
    if (!this.#resultIds.has(result.id))
      throw new InvalidMsgError('A tool result answers a call that was not made.');
    if (this.#isClosed || this.#answers.has(result.id)) {
      this.#lateAnswers++;
      return false;
    }
    this.#answers.set(result.id, toResult(result));
    return true;
  }

  /** The answer to a call, if there is one by now. */
  answerTo(callId: string): ToolResultBlock | undefined {
    return this.#answers.get(callId);
  }

  /** The message that carries a result, final or on its way: always the same id for the same call. */
  resultMsg(result: ToolResultBlock): Msg {
    return Msg.system([result], { id: this.#resultIds.get(result.id) });
  }

  /** The messages to remember: the model message, then exactly one result for each tool call. Closes the exchange. */
  toMsgs(): readonly Msg[] {
    this.#isClosed = true;
    return [
      this.modelMsg,
      ...this.calls.map((call) => this.resultMsg(this.#answers.get(call.id) ?? interrupted(call))),
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
  return { type: 'tool_result', id: call.id, name: call.name, output: INTERRUPTED, status: 'interrupted' };
}
