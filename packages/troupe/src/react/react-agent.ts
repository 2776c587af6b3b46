import type { CallOptions } from '../agent/agent-base.ts';
import { currentControl, currentTurn } from '../agent/turn/current-turn.ts';
import type { Interrupt } from '../agent/interrupt.ts';
import type { LoopControl } from '../agent/loop-control.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { OpenToolCalls } from '../approval/open-tool-calls.ts';
import { OpenExchange } from '../approval/open-exchange.ts';
import { OrderedMemory } from '../memory/ordered-memory.ts';
import { suspensionMsg } from '../approval/suspension-msg.ts';
import { compressorFor } from '../compression/compressor-for.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { EndReason } from '../message/end-reason.ts';
import { Msg, type MsgInit, type MsgInput } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { ChatModelBase, ToolChoice } from '../model/chat-model-base.ts';
import { canForceTools, mergeGeneration } from '../model/generation.ts';
import { ModelError } from '../model/model-error.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { PlanNotebook } from '../plan/plan-notebook.ts';
import type { KnowledgeBase } from '../rag/knowledge-base.ts';
import { NAME_STATE, TEXT_STATE } from '../state/text-state.ts';
import type { BackgroundTools } from '../toolkit/background-tools.ts';
import type { SuspendedToolCall } from '../toolkit/call/tool-call-outcome.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { untilStopped, waitBriefly } from '../util/async/grace.ts';
import type { JsonValue } from '../util/json.ts';
import {
  CUT_MSG_HINT,
  EMPTY_MSG_HINT,
  hintMsg,
  REASON_AGAIN_HINT,
  STRUCTURED_OUTPUT_HINT,
  SUMMARY_HINT,
} from './hints.ts';
import { ModelCaller, type ModelCall } from './model-caller.ts';
import { isCutOff, isEmpty, withoutToolCalls } from './model-message.ts';
import { ReActAgentBase, type ModelPrompt } from './react-agent-base.ts';
import {
  checkReActOptions,
  knowledgeBases,
  toolkitFor,
  DEFAULT_MAX_ITERS,
  type ReActAgentOptions,
} from './react-agent-options.ts';
import { ReplyState, replyStateOf, type ReplyAgent } from './reply-state.ts';
import { STRUCTURED_OUTPUT_TOOL } from './structured-output-tool.ts';
import { memoryTools, recordExperience, retrieveContext } from './retrieval.ts';
import { runToolCalls, runToolCallStep, withholdUnhooked } from './tool-call-runner.ts';
import { watchPlan } from './watch-plan.ts';

const NO_ANSWER = 'The model gave no answer, though it was asked again.';
const CUT_ANSWERS =
  'The model gave no answer: each was cut off at its limit of tokens. Raise maxTokens in the generation options.';

/** Maximum consecutive empty model messages before the reply ends with an error. */
const MAX_EMPTY_MSGS = 3;

/**
 * An agent that alternates reasoning (a model call) and acting (tool calls) until a model message is the answer.
 *
 * The memory is valid after every end of a reply: a model message and the results of all its tool calls are added together;
 * an interrupt keeps the text so far and drops incomplete tool calls. A tool that fails is a result, which the model sees.
 * A model that fails ends the agent call, and the text so far is kept. At `maxIters` the model sums up without tools.
 *
 * A tool call that needs a decision ends the reply: its exchange is kept in the agent's state, not in memory, and resumed
 * when the decision is there, in this process or in another.
 *
 * @example
 * ```ts
 * import { ReActAgent, tool } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 * import { z } from 'zod';
 *
 * const getWeather = tool({
 *   name: 'get_weather',
 *   description: 'The weather in a city.',
 *   schema: z.object({ city: z.string() }),
 *   execute: ({ city }) => `It is sunny in ${city}.`,
 * });
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), tools: [getWeather], console: false });
 * const answer = await agent.call('What is the weather in Lisbon?');
 * console.log(answer.text, answer.endReason);
 * ```
 */
export class ReActAgent extends ReActAgentBase {
  static override readonly stateNames = { permissionPolicy: 'permission' };
  /** Judges the tool calls of the agent and of its sub-agents. Declared before the toolkit, whose agents may share the policy: state is named by the first owner. */
  readonly permissionPolicy: PermissionPolicy | undefined;
  readonly model: ChatModelBase;
  readonly toolkit: Toolkit;
  readonly memory: MemoryBase;
  /** First message of every prompt. A string is part of the state. */
  sysPrompt: string | (() => string | Promise<string>);
  readonly longTermMemory: LongTermMemoryBase | undefined;
  readonly knowledge: readonly KnowledgeBase[];
  readonly planNotebook: PlanNotebook | undefined;
  readonly background: BackgroundTools | undefined;
  readonly #options: ReActAgentOptions;
  readonly #modelCaller: ModelCaller;
  readonly #memory: OrderedMemory;
  readonly #openToolCalls: OpenToolCalls;
  /** The agent as the parts of a reply use it. */
  readonly #agent: ReplyAgent;
  /** The toolkit, with the tools of memory, plan, compression and background tasks. */
  readonly #tools: Toolkit;
  /** The same with the tools of hooks: the same object as long as the hooks bring the same tools, because providers cache by it. */
  #hookedTools: { readonly added: readonly Tool[]; readonly toolkit: Toolkit } | undefined;
  /** The latest reply. */
  #reply: ReplyState | undefined;
  #unwatchPlan: (() => void) | undefined;

  constructor(options: ReActAgentOptions) {
    super(options);
    checkReActOptions(options);
    this.#options = options;
    this.permissionPolicy = options.permissionPolicy;
    this.model = options.model;
    this.toolkit = toolkitFor(options);
    this.memory = options.memory ?? new InMemoryMemory();
    this.longTermMemory = options.longTermMemory;
    this.knowledge = knowledgeBases(options);
    this.planNotebook = options.planNotebook;
    this.background = options.background;
    this.sysPrompt = options.sysPrompt ?? '';
    const compressor = compressorFor(this.memory, options.compression);
    const tools = this.toolkit.withTools(
      ...(options.enableMetaTool ? [this.toolkit.metaTool] : []),
      ...memoryTools(options),
      ...(compressor?.contextTools ?? []),
      ...(options.background?.tools ?? []),
    );
    this.#memory = new OrderedMemory(this.memory);
    this.#openToolCalls = new OpenToolCalls(this.#memory, {
      onPending: options.onPending,
      fit: (result) => this.#toolsNow().fitResult(result),
      onAbandoned: (toolName, state) => this.#toolsNow().abandon(toolName, state),
    });
    this.#tools = tools;
    this.#modelCaller = new ModelCaller(this, compressor);
    const toolsNow = (): Toolkit => this.#toolsNow();
    this.#agent = {
      options,
      get tools() {
        return toolsNow();
      },
      memory: this.#memory,
      openToolCalls: this.#openToolCalls,
      print: (msg, last) => this.print(msg, last),
      modelChunk: (purpose, msg, delta) =>
        purpose === 'summary' ? this.notifySummaryChunk(msg, delta) : this.notifyReasoningChunk(msg, delta),
      actingChunk: (call, result, previous) => this.notifyActingChunk(call, result, previous),
      hasHooks: (type) => this.hooksOf(type).length > 0,
    };
    this.registerState('name', NAME_STATE);
    if (typeof this.sysPrompt === 'string') this.registerState<string>('sysPrompt', TEXT_STATE);
    this.registerState('openExchange', {
      toJson: (open: OpenExchange | undefined) => open?.toJSON() ?? null,
      fromJson: (json: JsonValue) => (json === null ? undefined : OpenExchange.from(json)),
    });
    this.planNotebook?.registerPlanTools(tools, { asGroup: options.enableMetaTool });
    this.#unwatchPlan = this.planNotebook && watchPlan(this.planNotebook, this.id, () => this.#reply?.turn);
  }

  /** Pending tool calls, of agents in tools too. Decided by the option `decisions` of `call`. */
  override get pendingCalls(): readonly PendingCall[] {
    return this.#openToolCalls.pending;
  }

  override refusesInput(onPending: CallOptions['onPending'] = this.#options.onPending): boolean {
    return this.pendingCalls.length > 0 && onPending !== 'close';
  }

  /** The tool calls of other agents in which this agent was called when its tool calls were suspended, or cut off by the end of the program */
  get openCallOwner(): readonly string[] {
    return this.#openToolCalls.current?.owner ?? [];
  }

  /** Declares that the tool call in which this agent was called is suspended for the pending tool calls: only that tool call takes decisions. */
  askThrough(): void {
    if (this.#openToolCalls.current !== undefined) this.#openToolCalls.current.isAskedThrough = true;
  }

  /** Ends unfinished tool calls with the status `interrupted`. Does nothing while the agent runs. */
  async closePending(): Promise<void> {
    if (!this.isRunning) this.emitOutside(await this.#openToolCalls.close());
  }

  /** Adds a listener that is awaited before a tool with a `sideEffect` runs, and can save its start. Returns a function that removes the listener. */
  onCheckpoint(listener: () => Promise<void>): () => void {
    return this.#openToolCalls.onCheckpoint(listener);
  }

  /** Alternates reasoning and acting until a model message is the answer. */
  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const reply = this.#beginReply(turn);
    const start = await this.#openToolCalls.begin(this.name, msgs, reply.control);
    const waits = reply.control.accept();
    if (waits) await waits; // otherwise the input is stored at once
    await reply.takeInput(start);
    if (start.answer !== undefined) return this.#repeat(start.answer, turn);
    try {
      await reply.remember(await retrieveContext(start.input, reply, this.name));
      return await this.#loop(start.resumed, reply);
    } catch (error) {
      if (reply.control.interruptedBy === undefined) await reply.remember(reply.control.unread); // otherwise handleInterrupt does
      throw error;
    }
  }

  async #loop(resumed: OpenExchange | undefined, reply: ReplyState): Promise<Msg> {
    const { maxIters = DEFAULT_MAX_ITERS } = this.#options;
    let toolChoice: ToolChoice = reply.structuredOutput && this.#canForceTools ? 'required' : 'auto';
    let emptyMsgs = 0;
    const first = Math.min(resumed?.iteration ?? 0, maxIters - 1);
    for (let iter = first; iter < maxIters; iter++) {
      const open = (iter === first && resumed) || (await this.#reason(toolChoice, reply));
      open.iteration = iter;
      const { exchange } = open;
      const control = this.takeControl(reply.turn);
      if (control?.kind === 'stop') return this.#stopBeforeActing(open, control, reply);
      if (control !== undefined) {
        await this.#reasonAgain(open, control.msgs, reply);
      } else if (exchange.calls.length > 0) {
        const end = (await this.#act(open, reply)) ?? (await this.#endAfterActing(open, reply));
        if (end !== undefined) return end;
        reply.nextHints.push(...reply.repeatedFailures.hintsAfter(exchange));
        emptyMsgs = 0;
      } else if (isEmpty(exchange.modelMsg)) {
        if (++emptyMsgs === MAX_EMPTY_MSGS)
          return this.#answer(this.#noAnswer(exchange.modelMsg), 'error', reply);
        reply.nextHints.push(isCutOff(exchange.modelMsg) ? CUT_MSG_HINT : EMPTY_MSG_HINT);
      } else if (reply.structuredOutput === undefined) {
        const { modelMsg } = exchange;
        return this.#answer(modelMsg, isCutOff(modelMsg) ? 'length' : 'finished', reply);
      } else {
        await reply.remember([exchange.modelMsg]); // text in place of structured output
        await this.print(exchange.modelMsg);
        reply.nextHints.push(STRUCTURED_OUTPUT_HINT);
        if (this.#canForceTools) toolChoice = { name: STRUCTURED_OUTPUT_TOOL };
      }
    }
    const summary = await reply.hooked(this.summarizing(reply.turn));
    return this.#answer(withoutToolCalls(summary), 'max_iters', reply);
  }

  /** One model call with its hooks, after messages that came by `steer`. */
  async #reason(toolChoice: ToolChoice, reply: ReplyState): Promise<OpenExchange> {
    const steering = reply.turn.takeSteering();
    for (const { id } of steering) reply.requestIds.add(id);
    await reply.remember(steering);
    const modelMsg = await reply
      .hooked(this.reasoning(toolChoice, reply.turn))
      .finally(() => this.#giveNoticesBack(reply));
    return new OpenExchange(modelMsg, {
      grantedTools: reply.grantedTools,
      requestIds: reply.requestIds,
      addedIds: reply.addedIds,
      owner: reply.control.toolCallPath,
      wantsStructuredOutput: reply.structuredOutput !== undefined,
    });
  }

  /**
   * Runs the tool calls of a model message. On every way out the exchange is added to memory, unless tool calls are pending:
   * then it stays in the agent's state.
   * @returns the question to the caller, if tool calls are pending
   */
  async #act(open: OpenExchange, reply: ReplyState): Promise<Msg | undefined> {
    const { turn } = reply;
    let question: Msg | undefined;
    reply.beginExchange(open);
    try {
      await untilStopped(
        runToolCalls(open, reply, async (call) => {
          const acted = await this.acting(call, turn);
          const control = this.takeControl(turn, call.id);
          if (control !== undefined) open.controls.set(call.id, control);
          return acted;
        }),
        turn.signal,
      );
      if (open.hasPending) {
        const msg = this.#ended(suspensionMsg(this.name, open.pending), 'tool_suspended', turn);
        reply.control.suspend(msg); // throws if interrupted just now
        question = msg;
        open.spending.pause();
      }
      return question;
    } finally {
      if (question === undefined) {
        withholdUnhooked(open, reply);
        await reply.closeExchange(open);
      }
    }
  }

  /** The end of the reply after tool calls: a hook stopped the agent, or a tool gave the answer. */
  async #endAfterActing(open: OpenExchange, reply: ReplyState): Promise<Msg | undefined> {
    const { control, stoppedAt } = open;
    if (control?.kind === 'stop') {
      const { answer = stoppedAt?.output ?? '' } = control;
      return this.#answer(this.#msg(answer), 'stopped', reply, { isStored: control.answer !== undefined });
    }
    if (control !== undefined) {
      await reply.remember(reply.asRequests(control.msgs));
      return undefined;
    }
    const answer = await reply.answerIn(open.exchange, this.name);
    return answer && this.#answer(answer.msg, answer.reason, reply);
  }

  /** Ends the reply because a hook wants it: with its message, or with the model message, whose tool calls stay unfinished. */
  async #stopBeforeActing(open: OpenExchange, { answer }: LoopControl, reply: ReplyState): Promise<Msg> {
    const { turn } = reply;
    const { modelMsg, calls } = open.exchange;
    if (answer !== undefined) return this.#answer(this.#msg(answer), 'stopped', reply);
    if (calls.length === 0) return this.#answer(modelMsg, 'stopped', reply);
    const msg = this.#ended(modelMsg, 'stopped', turn);
    reply.beginExchange(open);
    try {
      reply.control.suspend(msg); // throws if interrupted just now
    } catch (error) {
      await reply.closeExchange(open);
      throw error;
    }
    open.spending.pause();
    return msg;
  }

  /** Has the model called again because a hook wants it, without running the tool calls of its message. */
  async #reasonAgain(open: OpenExchange, msgs: readonly Msg[], reply: ReplyState): Promise<void> {
    const { modelMsg, calls } = open.exchange;
    await this.print(modelMsg);
    await reply.skipToolCalls(open, msgs);
    if (msgs.length === 0 && calls.length === 0) reply.nextHints.push(REASON_AGAIN_HINT);
  }

  /** Ends the reply. A later interrupt does not change the answer. @param isStored false if memory has the content already */
  async #answer(msg: Msg, reason: EndReason, reply: ReplyState, { isStored = true } = {}): Promise<Msg> {
    const { turn } = reply;
    const answer = this.#ended(msg, reason, turn);
    if (turn.signal.aborted && isStored) {
      await reply.remember([answer]); // interrupted just now: the text is kept, then commit throws
      await this.print(answer);
    }
    turn.commit(answer);
    if (isStored) await reply.remember([answer]);
    try {
      await this.print(answer);
      await recordExperience(reply);
    } catch (error) {
      if (!turn.signal.aborted) throw error; // a late stop: the answer goes on to its hooks
    }
    return answer;
  }

  /** Gives an answer that is in memory already. */
  async #repeat(answer: Msg, turn: Turn): Promise<Msg> {
    turn.commit(answer);
    await this.print(answer);
    return answer;
  }

  override async observe(msgs: MsgInput): Promise<void> {
    await this.#memory.add(msgs);
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    const answer = this.interruptReply();
    const isStored = this.#reply?.isInputStored && this.#reply.id === currentTurn()?.replyId;
    const input = isStored ? [] : msgs.filter((msg) => !msg.hasContentBlocks('tool_result')); // results belong to tool calls
    const written = this.#memory.add([...input, ...interrupt.unread, ...interrupt.msgs, answer]);
    const shown = this.print(answer);
    for (const work of [written, shown]) {
      work.catch((error: unknown) =>
        getLogger().log('warn', `${this.name} was interrupted: ${messageOf(error)}`),
      );
    }
    await waitBriefly(Promise.allSettled([written, shown]), currentControl()?.graceOver); // slower writes go on, in order
    return answer;
  }

  /** Calls the model once, and prints the model message while it grows. If stopped, the text so far is kept in memory. */
  protected override async reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg> {
    const reply = this.#replyOf(turn);
    const tools = reply.toolkit.getJsonSchemas();
    return this.#callModel({ purpose: 'reasoning', tools, ...(tools.length > 0 && { toolChoice }) }, reply);
  }

  /** The prompt of the next model call, after compression. */
  protected override async makePrompt(purpose: 'reasoning' | 'summary', turn: Turn): Promise<ModelPrompt> {
    const reply = this.#replyOf(turn);
    const isSummary = purpose === 'summary';
    reply.hints = isSummary ? [hintMsg(SUMMARY_HINT)] : await this.#takeHints(reply);
    await this.#modelCaller.tellHints(reply);
    await this.#modelCaller.compress(isSummary ? [] : reply.toolkit.getJsonSchemas(), reply, false);
    return this.#modelCaller.makePrompt(reply);
  }

  /** One model call. A prompt that the model refuses as too long is compressed, and sent once more. */
  async #callModel(call: ModelCall, reply: ReplyState): Promise<Msg> {
    const { purpose, tools = [] } = call;
    const { turn } = reply;
    try {
      const prompt = this.hookedPrompt(turn) ?? (await this.makePrompt(purpose, turn));
      const msg = await this.#modelCaller.call(call, prompt, reply).catch(async (error: unknown) => {
        const isTooLong = ModelError.isInstance(error) && error.kind === 'context_overflow';
        if (!isTooLong || !(await this.#modelCaller.compress(tools, reply, true))) throw error;
        const shorter = { turn, ...(await this.#modelCaller.makePrompt(reply)) };
        const type = purpose === 'summary' ? 'preSummary' : 'preReasoning';
        return this.#modelCaller.call(call, await this.hookAgain(type, shorter), reply);
      });
      reply.notices = []; // read by the model
      return msg;
    } catch (error) {
      this.#giveNoticesBack(reply);
      throw error;
    }
  }

  /** Hints for one prompt: of the loop, of background tasks, and about the plan. */
  async #takeHints(reply: ReplyState): Promise<readonly Msg[]> {
    const planHint =
      this.planNotebook?.isActiveIn(reply.toolkit) && (await this.planNotebook.getCurrentHint(this.name));
    reply.notices = this.background?.takeNotices() ?? [];
    const hints = [...reply.nextHints.splice(0), ...reply.notices].map(hintMsg);
    return planHint ? [...hints, planHint] : hints;
  }

  /** Keeps notices that no model has read for the next prompt. */
  #giveNoticesBack(reply: ReplyState): void {
    this.background?.giveNoticesBack(reply.notices);
    reply.notices = [];
  }

  /** Runs one tool call as a step: a result, whatever the tool does, or a suspension. */
  protected override async acting(
    call: ToolUseBlock,
    turn: Turn,
  ): Promise<ToolResultBlock | SuspendedToolCall> {
    const outcome = await runToolCallStep(call, this.#replyOf(turn));
    return outcome.kind === 'result' ? outcome.result : outcome;
  }

  /** Has the model answer with the history so far. No tools are offered, so no tool call is left without a result. */
  protected override async summarizing(turn: Turn): Promise<Msg> {
    const { maxIters = DEFAULT_MAX_ITERS } = this.#options;
    try {
      const msg = await this.#callModel({ purpose: 'summary' }, this.#replyOf(turn));
      turn.signal.throwIfAborted(); // the message is kept as it was streamed then
      const summary = withoutToolCalls(msg);
      if (!isEmpty(summary)) return this.#from(msg, summary.content);
    } catch (error) {
      turn.signal.throwIfAborted();
      return this.#msg(`I have no answer after ${maxIters} steps, and could not sum up: ${messageOf(error)}`);
    }
    return this.#msg(`I have no answer after ${maxIters} steps.`);
  }

  protected override get mayRefuse(): boolean {
    return true;
  }

  /** Keeps messages for the time after the pending tool calls. */
  protected override postpone(msgs: readonly Msg[]): void {
    this.#openToolCalls.current?.postponed.push(...msgs);
  }

  /** Interrupts a running call, waits for it, and refuses further calls. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    this.#unwatchPlan?.();
    this.#unwatchPlan = undefined;
  }

  /** For the state. */
  protected get openExchange(): OpenExchange | undefined {
    return this.#openToolCalls.current;
  }

  protected set openExchange(open: OpenExchange | undefined) {
    this.#openToolCalls.current = open;
  }

  /** The tools of the agent and of its hooks. @throws TroupeError if two hooks bring different tools of one name */
  #toolsNow(): Toolkit {
    const added = this.hookTools();
    if (added.length === 0) return this.#tools;
    const known = this.#hookedTools;
    if (known?.added.length === added.length && added.every((one, i) => one === known.added[i]))
      return known.toolkit;
    this.#hookedTools = { added, toolkit: this.#tools.withTools(...added) };
    return this.#hookedTools.toolkit;
  }

  #beginReply(turn: Turn): ReplyState {
    this.#reply = new ReplyState(this.#agent, turn);
    return this.#reply;
  }

  /** The reply of a turn; a new one where a subclass or a test calls a step outside of `reply`. */
  #replyOf(turn: Turn): ReplyState {
    return replyStateOf(turn, this.#agent) ?? this.#beginReply(turn);
  }

  /** Whether the model, with these generation options, can be made to call a tool. */
  get #canForceTools(): boolean {
    const { capabilities, generation } = this.model;
    return canForceTools(capabilities, mergeGeneration(generation, this.#options.generation));
  }

  #ended(msg: Msg, reason: EndReason, turn: Turn): Msg {
    return msg.with({ endReason: reason, usage: turn.usage });
  }

  /** Error message after several empty model messages. */
  #noAnswer({ finishReason, answeredBy }: Msg): Msg {
    const text = finishReason === 'length' ? CUT_ANSWERS : NO_ANSWER;
    return Msg.assistant(text, { name: this.name, finishReason, answeredBy });
  }

  /** Answer in place of a model message, with what that says about its origin and end. */
  #from({ id, finishReason, answeredBy }: Msg, content: MsgInit['content']): Msg {
    return Msg.assistant(content, { name: this.name, id, finishReason, answeredBy });
  }

  #msg(content: MsgInit['content']): Msg {
    return Msg.assistant(content, { name: this.name });
  }
}
