/**
 * A small agent that calls tools, for tests of the kernel: parallel or in turn, with
 * tools that work, throw, stream, never end or don't exist. It keeps the rules of every loop: a
 * model message and its tool results enter memory together, on every way out; half-made tool calls are dropped; late tool
 * results change nothing.
 */
import { ReActAgentBase } from '../src/react/react-agent-base.ts';
import type { Interrupt } from '../src/agent/interrupt.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import type { ToolResultBlock, ToolStatus, ToolUseBlock } from '../src/message/blocks.ts';
import { Exchange } from '../src/message/exchange.ts';
import { MsgDraft } from '../src/message/msg-draft.ts';
import { Msg } from '../src/message/msg.ts';
import type { ChatModelBase, ToolChoice } from '../src/model/chat-model-base.ts';
import { abortable, abortableItems } from '../src/util/abort.ts';
import { elapsedSince, now } from '../src/util/clock.ts';
import type { JsonObject } from '../src/util/json.ts';

export type Tool = (input: JsonObject, turn: Turn) => Promise<string> | AsyncIterable<string>;

export interface ReferenceAgentOptions {
  readonly name?: string;
  readonly model: ChatModelBase;
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly parallel?: boolean;
  readonly maxIters?: number;
}

/** An endless tool is cut off after this many pieces. */
const MAX_CHUNKS = 3;

export class ReferenceAgent extends ReActAgentBase {
  readonly history: Msg[] = [];
  /** Number of tool results that came after the tool call had another result. */
  lateResults = 0;
  readonly #options: ReferenceAgentOptions;

  constructor(options: ReferenceAgentOptions) {
    super({ name: options.name ?? 'reference' });
    this.#options = options;
    this.setConsoleOutputEnabled(false);
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    this.history.push(...msgs);
    for (let iter = 0; iter < (this.#options.maxIters ?? 10); iter++) {
      this.history.push(...turn.takeSteering());
      const thought = await this.reasoning('auto', turn);
      const exchange = new Exchange(thought);
      if (exchange.calls.length === 0) return this.#answer(thought, turn);
      try {
        await this.#act(exchange, turn);
      } finally {
        this.history.push(...exchange.toMsgs());
      }
    }
    return this.#answer(await this.summarizing(turn), turn);
  }

  override async observe(msgs: readonly Msg[]): Promise<void> {
    this.history.push(...msgs);
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    const missed = msgs.filter((msg) => !this.history.includes(msg));
    const reply = await super.handleInterrupt(msgs, interrupt);
    this.history.push(...missed, ...interrupt.msgs, ...interrupt.unread, reply);
    return reply;
  }

  protected override async reasoning(_toolChoice: ToolChoice, turn: Turn): Promise<Msg> {
    const taken = new Set(
      this.history.flatMap((msg) => msg.getContentBlocks('tool_use').map((call) => call.id)),
    );
    const draft = new MsgDraft(this.name, { isToolCallIdTaken: (id) => taken.has(id) });
    try {
      return await turn.step({ kind: 'model', name: 'reasoning' }, async () => {
        const deltas = this.#options.model.stream({ messages: this.history }, { signal: turn.signal });
        for await (const delta of abortableItems(deltas, turn.signal)) {
          draft.add(delta);
          await this.print(draft.snapshot(), false);
          await this.notifyReasoningChunk(draft.snapshot(), delta);
        }
        const thought = draft.finish();
        await this.print(thought, true);
        return thought;
      });
    } catch (error) {
      const rest = draft.cutShort();
      if (rest !== undefined) this.history.push(...new Exchange(rest).toMsgs());
      throw error;
    }
  }

  protected override async acting(call: ToolUseBlock, turn: Turn): Promise<ToolResultBlock> {
    const tool = this.#options.tools?.[call.name];
    if (tool === undefined) return result(call, `There is no tool '${call.name}'.`, 'error');
    try {
      const output = await turn.step({ kind: 'tool', name: call.name, key: call.id }, () =>
        this.#run(tool, call, turn),
      );
      return result(call, output, 'ok');
    } catch (error) {
      turn.signal.throwIfAborted();
      return result(call, String(error), 'error');
    }
  }

  protected override async summarizing(_turn: Turn): Promise<Msg> {
    return Msg.assistant('I could not finish.', { name: this.name });
  }

  async #act(exchange: Exchange, turn: Turn): Promise<void> {
    const work = exchange.calls.map((call) => async () => {
      turn.signal.throwIfAborted();
      const start = now();
      await turn.emit({ type: 'tool_start', call });
      const answer = await this.acting(call, turn);
      if (!exchange.addResult(answer)) this.lateResults++;
      await turn.emit({ type: 'tool_result', call, result: answer, durationMs: elapsedSince(start) });
      await this.print(exchange.resultMsg(answer), true);
    });
    if (!this.#options.parallel) {
      for (const run of work) await run();
      return;
    }
    const settled = await abortable(Promise.allSettled(work.map((run) => run())), turn.signal);
    for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #run(tool: Tool, call: ToolUseBlock, turn: Turn): Promise<string> {
    const output = tool(call.input, turn);
    if (output instanceof Promise) return output;
    let text = '';
    let chunks = 0;
    for await (const chunk of abortableItems(output, turn.signal)) {
      text += chunk;
      const soFar = result(call, text, 'ok');
      await turn.emit({ type: 'tool_chunk', result: soFar });
      await this.notifyActingChunk(call, soFar);
      if (++chunks === MAX_CHUNKS) break;
    }
    return text;
  }

  #answer(msg: Msg, turn: Turn): Msg {
    turn.commit(msg);
    this.history.push(msg);
    return msg;
  }
}

function result(call: ToolUseBlock, output: string, status: ToolStatus): ToolResultBlock {
  return { type: 'tool_result', id: call.id, name: call.name, output, status };
}
