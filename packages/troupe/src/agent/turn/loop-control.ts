import { TroupeError } from '../../errors.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import { Msg, type MsgInput } from '../../message/msg.ts';
import { describe, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

const brand = Symbol.for('troupe.loop_control');

/**
 * Returned by a hook after reasoning or acting, in place of a result: ends the reply (`stop`), or has the model called again
 * (`reasoning`). Made by `stopAgent` and `gotoReasoning`.
 */
export class LoopControl {
  readonly [brand] = true;

  /** @param msgs the answer of a stop, if it has one; the messages to read before the next model call otherwise */
  constructor(
    readonly kind: 'stop' | 'reasoning',
    readonly msgs: readonly Msg[],
  ) {}

  /** Also true for instances of another copy of the package. */
  static isInstance(value: unknown): value is LoopControl {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** Joins the controls of several hooks: a stop is stronger than reasoning, and the first stop counts. */
  static merged(controls: readonly LoopControl[]): LoopControl | undefined {
    const stop = controls.find(({ kind }) => kind === 'stop');
    if (stop !== undefined || controls.length === 0) return stop;
    return new LoopControl(
      'reasoning',
      controls.flatMap(({ msgs }) => msgs),
    );
  }

  /** Content of the answer of a stop; undefined if the hook gave none. */
  get answer(): readonly ContentBlock[] | undefined {
    const blocks = this.msgs.flatMap((msg) => msg.getContentBlocks());
    return this.msgs.length === 0 ? undefined : blocks.filter(isAnswer);
  }

  toJSON(): JsonObject {
    return { kind: this.kind, msgs: this.msgs.map((msg) => msg.toJSON()) };
  }

  /** Reads the result of `toJSON`. @throws TypeError, InvalidMsgError */
  static from(json: JsonValue): LoopControl {
    const { kind, msgs } = isJsonObject(json) ? json : {};
    if ((kind !== 'stop' && kind !== 'reasoning') || !Array.isArray(msgs))
      throw new TypeError('a control of the loop is not readable');
    return new LoopControl(
      kind,
      msgs.map((msg) => Msg.from(msg)),
    );
  }
}

/**
 * Ends the reply, from a `postReasoning` or `postActing` hook. After reasoning the answer is the message, or else the model message; its
 * tool calls then stay unfinished, and run when the agent is called without input. After acting all tool calls of the model message
 * run first; the answer is the message, or else the tool result.
 *
 * @example
 * ```ts
 * import { ReActAgent, stopAgent } from 'troupe';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(['The code is 4711.']) });
 * agent.registerInstanceHook('postReasoning', 'guard', (_agent, _args, msg) =>
 *   msg.text.includes('4711') ? stopAgent('I may not tell.') : undefined,
 * );
 * console.log((await agent.call('The code, please.')).text); // I may not tell.
 * ```
 */
export function stopAgent(msg?: string | Msg): LoopControl {
  if (msg !== undefined && typeof msg !== 'string' && !(msg instanceof Msg))
    throw new TroupeError('invalid_input', `stopAgent takes a text or a Msg, not ${describe(msg)}.`);
  return new LoopControl('stop', typeof msg === 'string' ? [Msg.assistant(msg)] : Msg.list(msg));
}

/**
 * Has the model called again, from a `postReasoning` or `postActing` hook, after these messages. After reasoning the tool calls of the
 * model message are not run: they get the tool results among the messages, or the status `interrupted`.
 */
export function gotoReasoning(msgs?: MsgInput): LoopControl {
  const list = Msg.list(msgs);
  if (list.some((msg) => msg.hasContentBlocks('tool_use')))
    throw new TroupeError('invalid_input', 'gotoReasoning takes no tool calls: nobody would run them.');
  return new LoopControl('reasoning', list);
}

function isAnswer({ type }: ContentBlock): boolean {
  return type !== 'tool_use' && type !== 'tool_result';
}
