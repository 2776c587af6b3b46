import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError } from '../errors.ts';
import type { FormatterBase } from '../formatter/formatter-base.ts';
import type { LongTermMemoryBase, LongTermMemoryMode } from '../longterm/long-term-memory-base.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Exchange } from '../message/exchange.ts';
import { Msg, type MsgInit, type MsgInput } from '../message/msg.ts';
import type { ChatModelBase, GenerationOptions, ModelRequest, ToolChoice } from '../model/chat-model-base.ts';
import { mergeGeneration } from '../model/generation.ts';
import type { KnowledgeBase } from '../rag/knowledge-base.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { inAMoment, untilStopped } from '../util/grace.ts';
import type { JsonObject } from '../util/json.ts';
import type { AgentOptions, Interrupt } from './agent-base.ts';
import { AnswerForm, FORM_NAME } from './answer-form.ts';
import { FailedCalls } from './failed-calls.ts';
import { FILL_IN_THE_FORM, hintMsg, SAY_SOMETHING, SUM_UP } from './hints.ts';
import { ReActAgentBase } from './react-agent-base.ts';
import { memoryTools, recordExperience, retrieveContext } from './retrieval.ts';
import { sideBySide } from './side-by-side.ts';
import { Thinker } from './thinker.ts';
import { currentTurn, type Turn } from './turn.ts';

/** Why a reply ended: in its metadata, as `_end_reason`. */
export type EndReason = 'finished' | 'structured' | 'max_iters' | 'interrupted' | 'error';

export interface ReActAgentOptions extends AgentOptions {
  readonly model: ChatModelBase;
  /** What the agent is told before everything else. A function is asked before every model call. */
  readonly sysPrompt?: string | (() => string | Promise<string>) | undefined;
  readonly toolkit?: Toolkit | undefined;
  readonly memory?: MemoryBase | undefined;
  /** @default the model's own */
  readonly formatter?: FormatterBase | undefined;
  /** How often it may think for one reply, before it has to sum up. @default 10 */
  readonly maxIters?: number | undefined;
  /** Whether the calls of one thought run side by side; a number says how many at most. @default false */
  readonly parallelToolCalls?: boolean | number | undefined;
  /** How many calls of one thought are made; the rest is answered with an error. @default 128 */
  readonly maxToolCalls?: number | undefined;
  /** For all model calls of this agent. */
  readonly generateOptions?: GenerationOptions | undefined;
  /** Given to every tool as its `context`, and never shown to the model. */
  readonly toolContext?: unknown;
  /** Lets the model choose its groups of tools by `reset_equipped_tools`. @default false */
  readonly enableMetaTool?: boolean | undefined;
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  /** @default 'both' */
  readonly longTermMemoryMode?: LongTermMemoryMode | undefined;
  readonly knowledge?: KnowledgeBase | readonly KnowledgeBase[] | undefined;
  /** Whether the model first writes the question as a query that stands by itself, before knowledge is searched. @default true */
  readonly enableRewriteQuery?: boolean | undefined;
  /** Whether hints to the model are printed. @default false */
  readonly printHintMsg?: boolean | undefined;
}

const NO_ANSWER = 'The model gave no answer, though it was asked again.';

/** So many thoughts in a row may say and do nothing before the reply is given up. */
const MAX_EMPTY_THOUGHTS = 3;

/** What belongs to one reply. */
interface Work {
  readonly toolkit: Toolkit;
  readonly form: AnswerForm | undefined;
  readonly failedCalls: FailedCalls;
  /** Are told to the model at its next call, and forgotten. */
  readonly hints: string[];
  /** What was thought, until it is known what becomes of it. */
  thought: Msg | undefined;
  /** The calls that are being made. */
  exchange: Exchange | undefined;
  /** What tools gave, until their hooks are through. */
  readonly results: Map<string, ToolResultBlock>;
}

/**
 * An agent that thinks, acts and thinks again, until it has an answer.
 *
 * Its memory is valid after every way out: a thought and the results of all its calls enter it together; an interrupt
 * keeps the text so far and drops calls that were half made. A tool that fails is a result, which the model sees. A
 * model that fails ends the call, and what was said so far is kept. At `maxIters` the model sums up without tools.
 */
export class ReActAgent extends ReActAgentBase {
  readonly model: ChatModelBase;
  readonly toolkit: Toolkit;
  readonly memory: MemoryBase;
  /** What the agent is told before everything else. As a text it is part of the state. */
  sysPrompt: string | (() => string | Promise<string>);
  readonly longTermMemory: LongTermMemoryBase | undefined;
  readonly #options: ReActAgentOptions;
  readonly #thinker: Thinker;
  /** The toolkit, with what only this agent has besides. */
  readonly #tools: Toolkit;
  readonly #work = new WeakMap<Turn, Work>();
  /** The reply whose input is in memory, or on its way there. */
  #storedFor: string | undefined;
  /** All writes so far. The next one, and every look into memory, waits for them. */
  #written: Promise<void> = Promise.resolve();

  constructor(options: ReActAgentOptions) {
    super(options);
    checkNumbers(options);
    this.#options = options;
    this.model = options.model;
    this.toolkit = options.toolkit ?? new Toolkit();
    this.memory = options.memory ?? new InMemoryMemory();
    this.longTermMemory = options.longTermMemory;
    this.#thinker = new Thinker(this, options);
    this.sysPrompt = options.sysPrompt ?? '';
    this.registerState('name');
    if (typeof this.sysPrompt === 'string') this.registerState('sysPrompt');
    const extra = [...(options.enableMetaTool ? [this.toolkit.metaTool] : []), ...memoryTools(options)];
    this.#tools = extra.length > 0 ? this.toolkit.withTools(...extra) : this.toolkit;
  }

  /** Thinks and acts by turns, until a thought is the answer. */
  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const work = this.#begin(turn);
    this.#storedFor = turn.replyId;
    await this.#remember(msgs, turn);
    try {
      await this.#remember(await retrieveContext(msgs, this.#options, turn, () => this.#recall()), turn);
      return await this.#loop(work, turn);
    } catch (error) {
      if (turn.interruptedBy === undefined) await this.#remember(turn.unread, turn); // nobody else will
      throw error;
    }
  }

  async #loop(work: Work, turn: Turn): Promise<Msg> {
    const { maxIters = 10 } = this.#options;
    let toolChoice: ToolChoice = work.form && this.#canForceTools ? 'required' : 'auto';
    let emptyThoughts = 0;
    for (let iter = 0; iter < maxIters; iter++) {
      await this.#remember(turn.takeSteering(), turn); // what was said while we were busy
      const exchange = new Exchange(await this.#kept(this.reasoning(toolChoice, turn), work, turn));
      if (exchange.calls.length > 0) {
        try {
          await untilStopped(this.#act(exchange, work, turn), turn.signal);
        } finally {
          await this.#remember(exchange.toMsgs(), turn); // on every way out: every call, and one result for each
        }
        const answer = this.#answerIn(exchange, work);
        if (answer !== undefined) return this.#answer(answer.msg, answer.reason, turn);
        work.hints.push(...work.failedCalls.hintsAfter(exchange));
        emptyThoughts = 0;
      } else if (isEmpty(exchange.thought)) {
        if (++emptyThoughts === MAX_EMPTY_THOUGHTS) return this.#answer(this.#say(NO_ANSWER), 'error', turn);
        work.hints.push(SAY_SOMETHING);
      } else if (work.form === undefined) {
        return this.#answer(exchange.thought, 'finished', turn);
      } else {
        await this.#remember([exchange.thought], turn); // it talked; now it has to fill in the form
        work.hints.push(FILL_IN_THE_FORM);
        if (this.#canForceTools) toolChoice = { name: FORM_NAME };
      }
    }
    return this.#answer(await this.#kept(this.summarizing(turn), work, turn), 'max_iters', turn);
  }

  override async observe(msgs: MsgInput): Promise<void> {
    await this.#write(() => this.memory.add(msgs));
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    const answer = this.interruptReply();
    const input = currentTurn()?.replyId === this.#storedFor ? [] : msgs; // the reply had no chance to remember it
    const written = this.#write(() =>
      this.memory.add([...input, ...interrupt.unread, ...interrupt.msgs, answer]),
    );
    const shown = this.print(answer);
    for (const work of [written, shown]) {
      work.catch((error: unknown) =>
        getLogger().log('warn', `${this.name} was interrupted: ${messageOf(error)}`),
      );
    }
    await inAMoment(Promise.allSettled([written, shown])); // what takes longer goes on, in its place
    return answer;
  }

  /** Asks the model once, and prints the thought while it grows. Cut short, it leaves its text in memory. */
  protected override async reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg> {
    const { toolkit, hints } = this.#workOf(turn);
    const tools = toolkit.getJsonSchemas();
    return this.#think({ tools, ...(tools.length > 0 && { toolChoice }) }, hints.splice(0), turn);
  }

  /** Runs one tool call. Whatever the tool does, this is a result. */
  protected override async acting(toolUse: ToolUseBlock, turn: Turn): Promise<ToolResultBlock> {
    const work = this.#workOf(turn);
    let running: Promise<ToolResultBlock> | undefined;
    let hookFailure: { readonly error: unknown } | undefined;
    const call = (): Promise<ToolResultBlock> =>
      (running = work.toolkit.callToolFunction(toolUse, {
        signal: turn.signal,
        agentName: this.name,
        context: this.#options.toolContext,
        onChunk: async (result) => {
          await turn.emit({ type: 'tool_chunk', result });
          if (work.exchange !== undefined) await this.print(work.exchange.resultMsg(result), false);
          await this.notifyActingChunk(result).catch((error: unknown) => (hookFailure ??= { error }));
        },
      }));
    try {
      const result = await turn.step(`tool ${toolUse.name}`, call);
      work.results.set(toolUse.id, result);
      if (hookFailure !== undefined) throw hookFailure.error; // a tool can't help it, so it was not told
      return result;
    } catch (error) {
      if (!turn.signal.aborted || running === undefined) throw error;
      return running; // a call that is stopped has its result at once, with what the tool showed so far
    }
  }

  /** Has the model answer with what it knows. It is offered no tools, so nothing is left open. */
  protected override async summarizing(turn: Turn): Promise<Msg> {
    const { maxIters = 10 } = this.#options;
    try {
      const summary = await this.#think({}, [SUM_UP], turn);
      const content = summary.getContentBlocks().filter((block) => block.type !== 'tool_use');
      if (!isEmpty(summary)) return this.#say(content, summary.id);
    } catch (error) {
      turn.signal.throwIfAborted();
      return this.#say(`I have no answer after ${maxIters} steps, and could not sum up: ${messageOf(error)}`);
    }
    return this.#say(`I have no answer after ${maxIters} steps.`);
  }

  protected override interruptReply(): Msg {
    const msg = super.interruptReply();
    return msg.with({ metadata: { ...msg.metadata, ...endedBy('interrupted') } });
  }

  /** A thought, as its hooks leave it. If one of those fails, what was thought is kept. */
  async #kept(thinking: Promise<Msg>, work: Work, turn: Turn): Promise<Msg> {
    try {
      const thought = await thinking;
      if (thought !== work.thought) assertFits(thought, await this.#recall());
      return thought;
    } catch (error) {
      if (work.thought !== undefined) await this.#remember(new Exchange(work.thought).toMsgs(), turn);
      throw error;
    } finally {
      work.thought = undefined;
    }
  }

  /** Runs the calls of a thought, in turn or side by side. */
  async #act(exchange: Exchange, work: Work, turn: Turn): Promise<void> {
    work.exchange = exchange;
    const { parallelToolCalls = false, maxToolCalls = 128 } = this.#options;
    const atOnce =
      typeof parallelToolCalls === 'number' ? parallelToolCalls : parallelToolCalls ? Infinity : 1;
    await sideBySide(exchange.calls, atOnce, async (call, index) => {
      turn.signal.throwIfAborted();
      await turn.emit({ type: 'tool_start', call });
      const isTooMany = index >= maxToolCalls;
      const result = isTooMany ? tooMany(call, maxToolCalls) : await this.#actOn(call, exchange, work, turn);
      exchange.answer(result);
      await turn.emit({ type: 'tool_result', result });
      await this.print(exchange.resultMsg(result));
    });
  }

  /** The result of one call, as its hooks leave it. If one of those fails, what the tool did is kept. */
  async #actOn(call: ToolUseBlock, exchange: Exchange, work: Work, turn: Turn): Promise<ToolResultBlock> {
    const { id, name } = call;
    try {
      return { ...(await this.acting(call, turn)), id, name };
    } catch (error) {
      const result = work.results.get(id);
      if (result !== undefined) exchange.answer({ ...result, id, name });
      throw error;
    } finally {
      work.results.delete(id);
    }
  }

  /** The answer that an exchange brought: a form that is filled in, or the result of a tool that speaks for itself. */
  #answerIn(exchange: Exchange, { form, toolkit }: Work): { msg: Msg; reason: EndReason } | undefined {
    const metadata = form?.read(exchange);
    if (metadata !== undefined) {
      const text = exchange.thought.text || JSON.stringify(metadata);
      return { msg: Msg.assistant(text, { name: this.name, metadata }), reason: 'structured' };
    }
    const [call, ...others] = exchange.calls;
    const result = call && exchange.answerTo(call.id);
    if (call === undefined || others.length > 0 || result?.status !== 'ok' || form !== undefined)
      return undefined;
    if (!toolkit.get(call.name)?.returnDirect) return undefined;
    return { msg: Msg.assistant(result.output, { name: this.name }), reason: 'finished' };
  }

  /** Ends the reply. From here on an interrupt comes too late. */
  async #answer(msg: Msg, reason: EndReason, turn: Turn): Promise<Msg> {
    const answer = msg.with({ metadata: { ...msg.metadata, ...endedBy(reason) }, usage: turn.usage });
    if (turn.signal.aborted) await this.#remember([answer], turn); // interrupted just now: what was said is kept
    turn.commit(answer);
    await this.#remember([answer], turn);
    await this.print(answer);
    await recordExperience(() => this.#recall(), this.#options, turn);
    return answer;
  }

  #begin(turn: Turn): Work {
    const form = turn.structuredModel && new AnswerForm(turn.structuredModel);
    const toolkit = form ? this.#tools.withTools(form.tool) : this.#tools;
    const work: Work = {
      toolkit,
      form,
      failedCalls: new FailedCalls(),
      hints: [],
      thought: undefined,
      exchange: undefined,
      results: new Map(),
    };
    this.#work.set(turn, work);
    return work;
  }

  /** The work of a turn; that of a bare call of a step, such as in a test, is empty. */
  #workOf(turn: Turn): Work {
    return this.#work.get(turn) ?? this.#begin(turn);
  }

  async #think(
    request: Pick<ModelRequest, 'tools' | 'toolChoice'>,
    hints: readonly string[],
    turn: Turn,
  ): Promise<Msg> {
    const msgs = hints.map(hintMsg);
    for (const msg of msgs) {
      await turn.emit({ type: 'hint', msg });
      if (this.#options.printHintMsg) await this.print(msg);
    }
    const thought = await this.#thinker.think(
      { ...request, history: await this.#recall(), hints: msgs },
      turn,
      {
        onChunk: async (soFar) => {
          await this.print(soFar, false);
          await this.notifyReasoningChunk(soFar);
        },
        onCutShort: async (rest) => {
          await this.#remember(new Exchange(rest).toMsgs(), turn); // whole calls in it read as interrupted
          await this.print(rest);
        },
      },
    );
    this.#workOf(turn).thought = thought;
    // An answer is printed when it is one, and a call that was not offered is none.
    if (request.tools !== undefined && thought.hasContentBlocks('tool_use')) await this.print(thought);
    return thought;
  }

  /** Whether the model can be made to call a tool, as it is set up here. */
  get #canForceTools(): boolean {
    const { forcedTools } = this.model.capabilities;
    const { reasoningEffort = 'none', thinkingTokens = 0 } = mergeGeneration(
      this.model.generation,
      this.#options.generateOptions,
    );
    const isThinking = reasoningEffort !== 'none' || thinkingTokens > 0;
    return forcedTools === 'always' || (forcedTools === 'without_thinking' && !isThinking);
  }

  #say(content: MsgInit['content'], id?: string): Msg {
    return Msg.assistant(content, { name: this.name, id });
  }

  async #recall(): Promise<readonly Msg[]> {
    await this.#written;
    return this.memory.getMemory();
  }

  /** Puts messages into memory, also when the turn was stopped meanwhile; a turn that is over changes nothing any more. */
  async #remember(msgs: readonly Msg[], turn: Turn): Promise<void> {
    if (msgs.length === 0 || turn.isOver) return;
    await this.#write(() => turn.write('memory', () => this.memory.add(msgs)));
  }

  /** Writes happen in the order in which they are asked for, one after the other. */
  #write(write: () => Promise<void>): Promise<void> {
    const done = this.#written.then(write);
    this.#written = done.catch(() => {}); // whoever asked for it knows
    return done;
  }
}

/** @throws TroupeError */
function checkNumbers({ maxIters = 10, maxToolCalls = 128, parallelToolCalls = 1 }: ReActAgentOptions): void {
  const isCount = (value: number): boolean => value === Infinity || (Number.isInteger(value) && value >= 1);
  const wrong = Object.entries({
    maxIters,
    maxToolCalls,
    parallelToolCalls: typeof parallelToolCalls === 'number' ? parallelToolCalls : 1,
  }).find(([, value]) => !isCount(value));
  if (wrong !== undefined)
    throw new TroupeError('invalid_config', `${wrong[0]} must be a whole number of 1 or more.`);
}

/** Whether a thought neither says nor does anything. */
function isEmpty(thought: Msg): boolean {
  return thought
    .getContentBlocks()
    .every((block) => block.type === 'thinking' || (block.type === 'text' && block.text.trim() === ''));
}

/** @throws TroupeError if a hook put a message in the place of a thought that would break the history. */
function assertFits(thought: Msg, history: readonly Msg[]): void {
  const ids = new Set(thought.getContentBlocks('tool_use').map(({ id }) => id));
  const isKnown = (msg: Msg): boolean =>
    msg.id === thought.id || msg.getContentBlocks('tool_use').some(({ id }) => ids.has(id));
  if (thought.role === 'assistant' && !history.some(isKnown)) return;
  throw new TroupeError(
    'invalid_reply',
    'A thought must be a new message of the assistant, with call ids of its own.',
  );
}

function endedBy(reason: EndReason): JsonObject {
  return { _end_reason: reason };
}

function tooMany({ id, name }: ToolUseBlock, most: number): ToolResultBlock {
  const output = `Error: too many calls at once. At most ${most} are made; call the rest later.`;
  return { type: 'tool_result', id, name, output, status: 'error' };
}
