import {
  AgentBase,
  Exchange,
  Msg,
  MsgDraft,
  type ChatModelBase,
  type Interrupt,
  type JsonValue,
  type MsgInput,
  type ToolResultBlock,
  type ToolUseBlock,
  type Turn,
} from 'troupe';

import type { Tool } from './tools.ts';

export interface ToolAgentOptions {
  readonly name: string;
  readonly model: ChatModelBase;
  readonly tools: readonly Tool[];
  readonly systemPrompt: string;
  /** How often it may ask the model for one answer. @default 8 */
  readonly maxIters?: number;
}

/**
 * An agent that thinks, uses tools, and answers. It shows how to subclass `AgentBase`.
 *
 * Its memory is valid after every way out: each call has exactly one result right behind it. An
 * interrupt keeps the text so far; what a tool or a model still says afterwards is ignored.
 */
export class ToolAgent extends AgentBase {
  memory: Msg[] = [];
  readonly #options: ToolAgentOptions;
  readonly #tools: ReadonlyMap<string, Tool>;

  constructor(options: ToolAgentOptions) {
    super({ name: options.name });
    this.#options = options;
    this.#tools = new Map(options.tools.map((tool) => [tool.name, tool]));
    this.registerState('memory', {
      toJson: (memory: readonly Msg[]) => memory.map((msg) => msg.toJSON()),
      fromJson: (json) => (json as readonly JsonValue[]).map((msg) => Msg.from(msg)),
    });
  }

  /** Thinks and acts by turns, until a thought asks for no tool: that is the answer. */
  async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    this.#remember(msgs, turn);
    const { maxIters = 8 } = this.#options;
    for (let iter = 0; iter < maxIters; iter++) {
      this.#remember(turn.takeSteering(), turn); // what the user said while we were busy
      const exchange = new Exchange(await this.#think(turn));
      try {
        if (exchange.calls.length === 0) {
          turn.commit(exchange.thought); // from here on an interrupt comes too late
          return exchange.thought;
        }
        await this.#act(exchange, turn);
      } finally {
        this.#remember(exchange.toMsgs(), turn); // on every way out: every call, and one result for each
      }
    }
    const answer = Msg.assistant(`I have no answer after ${maxIters} steps, so I stopped.`, {
      name: this.name,
    });
    await this.print(answer);
    turn.commit(answer);
    this.#remember([answer], turn);
    return answer;
  }

  override async observe(msgs: MsgInput): Promise<void> {
    this.memory.push(...Msg.list(msgs));
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    const answer = this.interruptReply();
    const missed = msgs.filter((msg) => !this.memory.includes(msg)); // if it came before the reply began
    this.memory.push(...missed, ...interrupt.unread, ...interrupt.msgs, answer);
    await this.print(answer);
    return answer;
  }

  /** Asks the model once, and prints the answer while it grows. Cut short, it leaves its text in memory. */
  async #think(turn: Turn): Promise<Msg> {
    const { name, model, systemPrompt, tools } = this.#options;
    const callIds = new Set(
      this.memory.flatMap((msg) => msg.getContentBlocks('tool_use')).map((call) => call.id),
    );
    const draft = new MsgDraft(name, { isCallIdTaken: (id) => callIds.has(id) });
    const messages = [Msg.system(systemPrompt), ...this.memory];
    try {
      const thought = await turn.step('model', async () => {
        for await (const delta of model.stream({ messages, tools }, { signal: turn.signal })) {
          draft.add(delta);
          await this.print(draft.snapshot(), false);
        }
        return draft.finish();
      });
      await turn.addUsage(thought.usage);
      const isAnswer = !thought.hasContentBlocks('tool_use');
      const told = isAnswer && turn.usage ? thought.with({ usage: turn.usage }) : thought; // what all of it cost
      await this.print(told);
      return told;
    } catch (error) {
      const rest = draft.cutShort();
      if (rest !== undefined) {
        this.#remember(new Exchange(rest).toMsgs(), turn); // whole calls in it read as interrupted
        await this.print(rest);
      }
      throw error;
    }
  }

  /** Runs all calls side by side. An interrupt does not wait for them. */
  async #act(exchange: Exchange, turn: Turn): Promise<void> {
    await Promise.all(
      exchange.calls.map(async (call) => {
        await turn.emit({ type: 'tool_start', call });
        const result = await turn.step(`tool ${call.name}`, () => this.#run(call, turn.signal));
        exchange.answer(result);
        await turn.emit({ type: 'tool_result', result });
        await this.print(exchange.resultMsg(result));
      }),
    );
  }

  /** Whatever a tool does, it ends in a result. */
  async #run({ id, name, input, rawInput }: ToolUseBlock, signal: AbortSignal): Promise<ToolResultBlock> {
    const result = { type: 'tool_result', id, name } as const;
    const tool = this.#tools.get(name);
    if (tool === undefined)
      return { ...result, status: 'unavailable', output: `There is no tool named ${name}.` };
    if (rawInput !== undefined)
      return { ...result, status: 'error', output: 'The arguments are not valid JSON.' };
    try {
      return { ...result, status: 'ok', output: await tool.run(input, signal) };
    } catch (error) {
      return { ...result, status: 'error', output: error instanceof Error ? error.message : String(error) };
    }
  }

  /** A turn that is over changes nothing any more. */
  #remember(msgs: readonly Msg[], turn: Turn): void {
    if (!turn.isOver) this.memory.push(...msgs);
  }
}
