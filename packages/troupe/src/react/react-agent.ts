import type { CallOptions } from '../agent/agent-base.ts';
import { controlOf, currentControl } from '../agent/turn/current-turn.ts';
import type { Interrupt } from '../agent/interrupt.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { UnfinishedToolCalls } from '../approval/unfinished-tool-calls.ts';
import { OpenExchange } from '../approval/open-exchange.ts';
import { OPEN_EXCHANGE_STATE } from '../approval/saved-exchange.ts';
import { OrderedMemory } from '../memory/ordered-memory.ts';
import { compressorFor } from '../compression/compressor-for.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Msg, type MsgInit, type MsgInput } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { ChatModelBase, ToolChoice, ToolSchema } from '../model/chat-model-base.ts';
import { canForceTools, mergeGeneration } from '../model/generation.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { PlanNotebook } from '../plan/plan-notebook.ts';
import type { KnowledgeBase } from '../rag/knowledge-base.ts';
import { NAME_STATE, TEXT_STATE } from '../state/text-state.ts';
import type { BackgroundTools } from '../toolkit/background-tools.ts';
import type { SuspendedToolCall } from '../toolkit/call/tool-call-outcome.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { untilStopped, waitBriefly } from '../util/async/grace.ts';
import { CUT_MSG_HINT, EMPTY_MSG_HINT, REASON_AGAIN_HINT, STRUCTURED_OUTPUT_HINT } from './hints.ts';
import { ModelCaller } from './model-caller.ts';
import { isCutOff, isEmpty, withoutToolCalls, hasProviderTools } from './model-message.ts';
import type { ModelCallPurpose, ModelPrompt } from '../agent/turn/hook-results.ts';
import { ReActAgentBase } from './react-agent-base.ts';
import {
  checkReActOptions,
  defineModules,
  hasPlainTools,
  knowledgeBases,
  refuseReplacement,
  DEFAULT_MAX_ITERS,
  type ReActAgentOptions,
} from './react-agent-options.ts';
import {
  endAfterActing,
  endBeforeActing,
  endReply,
  endWithoutAnswer,
  endWithQuestion,
  repeatAnswer,
} from './reply-end.ts';
import { ReplyState, type ReplyAgent } from './reply-state.ts';
import { STRUCTURED_OUTPUT_TOOL } from './structured-output-tool.ts';
import { toolsOfKnowledge, retrieveContext } from './retrieval.ts';
import { runToolCalls, runToolCallStep, withholdUnhooked } from './tool-call-runner.ts';
import { watchPlan } from './watch-plan.ts';

/** Toolkit, memory, model caller and state of the tool calls of an agent, made when first used. */
interface ReActParts {
  readonly toolkit: Toolkit;
  readonly memory: MemoryBase;
  /** Writes to the memory, in order. */
  readonly ordered: OrderedMemory;
  readonly unfinishedToolCalls: UnfinishedToolCalls;
  /** The agent as the parts of a reply use it. */
  readonly agent: ReplyAgent;
  /** The toolkit, with the tools of memory, plan, compression and background tasks. */
  readonly tools: Toolkit;
  readonly modelCaller: ModelCaller;
  unwatchPlan?: (() => void) | undefined;
  /** The tools with those of hooks: the same object as long as the hooks bring the same tools, because providers cache by it. */
  hookedTools?: { readonly added: readonly Tool[]; readonly toolkit: Toolkit };
  /** The latest reply. */
  reply?: ReplyState;
}

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
 * when the decision is there, in this process or in another. Folder `react`: start here.
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
  static override readonly componentName: string = 'reActAgent';

  static override readonly stateNames = { permissionPolicy: 'permission' };
  /** Judges the tool calls of the agent and of its sub-agents. Declared before the toolkit, whose agents may share the policy: state is named by the first owner. */
  readonly permissionPolicy: PermissionPolicy | undefined;
  readonly model: ChatModelBase;
  declare readonly toolkit: Toolkit;
  declare readonly memory: MemoryBase;
  /** First message of every prompt. A string is part of the state. */
  sysPrompt: string | (() => string | Promise<string>);
  readonly longTermMemory: LongTermMemoryBase | undefined;
  readonly knowledge: readonly KnowledgeBase[];
  readonly planNotebook: PlanNotebook | undefined;
  readonly background: BackgroundTools | undefined;
  readonly #options: ReActAgentOptions;
  /** The option `tools`, until the toolkit is made. */
  readonly #givenTools: readonly Tool[] | undefined;
  #usedParts: ReActParts | undefined;

  static {
    // A program may hold many agents that are not called: their toolkit and memory are made when first used.
    for (const name of ['toolkit', 'memory'] as const) {
      const get = function (this: ReActAgent): unknown {
        return this.#parts[name];
      };
      const set = (): never => refuseReplacement(name);
      Object.defineProperty(this.prototype, name, { configurable: true, get, set });
    }
  }

  constructor(given: ReActAgentOptions) {
    const options = Object.freeze({ ...given }); // read later too, when the program may have changed its own object
    super(options);
    checkReActOptions(options);
    this.#options = options;
    this.permissionPolicy = options.permissionPolicy;
    this.model = options.model;
    const isPlain = hasPlainTools(options);
    if (isPlain) this.#givenTools = options.tools && [...options.tools];
    else defineModules(this, options);
    this.longTermMemory = options.longTermMemory;
    this.knowledge = knowledgeBases(options);
    this.planNotebook = options.planNotebook;
    this.background = options.background;
    this.sysPrompt = options.sysPrompt ?? '';
    if (!isPlain) this.makeModules();
  }

  protected override makeModules(): void {
    void this.#parts;
  }

  /** The parts of the agent, made when first used. */
  get #parts(): ReActParts {
    return this.#usedParts ?? this.#makeParts();
  }

  #makeParts(): ReActParts {
    const options = this.#options;
    const { toolkit, memory } = defineModules(this, options, this.#givenTools);
    const compressor = compressorFor(memory, options.compression);
    const ownTools = [
      ...(options.enableMetaTool ? [toolkit.metaTool] : []),
      ...toolsOfKnowledge(options),
      ...(compressor?.contextTools ?? []),
      ...(options.background?.tools ?? []),
    ];
    const hasOwnTools = ownTools.length > 0 || this.planNotebook !== undefined;
    const tools = hasOwnTools ? toolkit.withTools(...ownTools) : toolkit;
    const ordered = new OrderedMemory(memory);
    const unfinishedToolCalls = new UnfinishedToolCalls(ordered, {
      onPending: options.onPending,
      fit: (result) => this.#toolsNow().fitResult(result),
      onAbandoned: (toolName, state) => this.#toolsNow().abandon(toolName, state),
    });
    const agent: ReplyAgent = {
      self: this,
      options,
      tools: () => this.#toolsNow(),
      memory: ordered,
      unfinishedToolCalls,
      prompt: async (purpose, turn) => this.hookedPrompt(turn) ?? this.makePrompt(purpose, turn),
      hookAgain: (purpose, prompt, turn) =>
        this.hookAgain(purpose === 'summary' ? 'preSummary' : 'preReasoning', { turn, ...prompt }),
      hookCutMsg: (type, args, msg, end) => this.hookCutMsg(type, args, msg, end),
      showDraft: (purpose, draft, delta, control) => {
        const type = purpose === 'summary' ? 'summaryChunk' : 'reasoningChunk';
        if (this.hooksOf(type).length === 0) return this.printDraft(draft, control);
        const msg = draft.snapshot();
        return this.print(msg, false).then(() =>
          purpose === 'summary' ? this.notifySummaryChunk(msg, delta) : this.notifyReasoningChunk(msg, delta),
        );
      },
      actingChunk: (call, result, previous) => this.notifyActingChunk(call, result, previous),
    };
    const modelCaller = new ModelCaller(compressor);
    const parts = { toolkit, memory, ordered, unfinishedToolCalls, agent, tools, modelCaller };
    this.#usedParts = parts; // registering reads properties of the agent
    if (!this.isRegistered('name')) this.registerState('name', NAME_STATE);
    const hasTextPrompt = typeof (options.sysPrompt ?? '') === 'string';
    if (hasTextPrompt && !this.isRegistered('sysPrompt')) this.registerState<string>('sysPrompt', TEXT_STATE);
    this.registerState('openExchange', OPEN_EXCHANGE_STATE);
    this.planNotebook?.registerPlanTools(tools, { asGroup: options.enableMetaTool });
    if (this.planNotebook !== undefined)
      this.#usedParts.unwatchPlan = watchPlan(this.planNotebook, this.id, () => this.#parts.reply?.control);
    return this.#usedParts;
  }

  /** Pending tool calls, of agents in tools too. Decided by the option `decisions` of `call`. */
  override get pendingCalls(): readonly PendingCall[] {
    return this.#usedParts?.unfinishedToolCalls.pending ?? [];
  }

  override refusesInput(onPending: CallOptions['onPending'] = this.#options.onPending): boolean {
    return this.pendingCalls.length > 0 && onPending !== 'close';
  }

  /** The tool calls of other agents in which this agent was called when its tool calls were suspended, or cut off by the end of the program */
  get unfinishedCallOwner(): readonly string[] {
    return this.#usedParts?.unfinishedToolCalls.current?.owner ?? [];
  }

  /** Declares that the tool call in which this agent was called is suspended for the pending tool calls: only that tool call takes decisions. */
  leaveDecisionsToOwner(): void {
    if (this.#parts.unfinishedToolCalls.current !== undefined)
      this.#parts.unfinishedToolCalls.current.isDecidedByOwner = true;
  }

  /** Ends unfinished tool calls with the status `interrupted`, and waits for the listeners of `onOutcome`. Does nothing while the agent runs. */
  async closePending(): Promise<void> {
    if (this.isRunning || this.#parts.unfinishedToolCalls.current === undefined) return;
    await this.emitOutside(await this.#parts.unfinishedToolCalls.close());
  }

  /** Alternates reasoning and acting until a model message is the answer. */
  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const reply = this.#beginReply(turn);
    const start = await this.#parts.unfinishedToolCalls.begin(this.name, msgs, reply.control);
    const waits = reply.control.accept();
    if (waits) await waits; // otherwise the input is stored at once
    await reply.takeInput(start);
    if (start.answer !== undefined) return repeatAnswer(start.answer, reply);
    try {
      await retrieveContext(start.input, reply);
      return await this.#loop(start.resumed, reply);
    } catch (error) {
      if (reply.control.state.interrupt === undefined) await reply.remember(reply.control.inbox.unread); // otherwise handleInterrupt does
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
      const control = this.takeControl(reply.control.turn);
      if (control?.kind === 'stop') return endBeforeActing(open, control, reply);
      if (control !== undefined) {
        await this.#reasonAgain(open, control.msgs, reply);
      } else if (exchange.calls.length > 0) {
        const end = (await this.#act(open, reply)) ?? (await endAfterActing(open, reply));
        if (end !== undefined) return end;
        reply.nextHints.push(...reply.repeatedFailures.hintsAfter(exchange));
        emptyMsgs = 0;
      } else if (isEmpty(exchange.modelMsg)) {
        if (hasProviderTools(exchange.modelMsg)) await this.#keep(exchange.modelMsg, reply);
        if (++emptyMsgs === MAX_EMPTY_MSGS) return endWithoutAnswer(exchange.modelMsg, reply);
        reply.nextHints.push(isCutOff(exchange.modelMsg) ? CUT_MSG_HINT : EMPTY_MSG_HINT);
      } else if (reply.structuredOutput === undefined) {
        const { modelMsg } = exchange;
        return endReply(modelMsg, isCutOff(modelMsg) ? 'length' : 'finished', reply);
      } else {
        await this.#keep(exchange.modelMsg, reply); // text in place of structured output
        reply.nextHints.push(STRUCTURED_OUTPUT_HINT);
        if (this.#canForceTools) toolChoice = { name: STRUCTURED_OUTPUT_TOOL };
      }
    }
    const summary = await reply.hooked('postSummary', this.summarizing(reply.control.turn));
    return endReply(withoutToolCalls(summary), 'max_iters', reply);
  }

  /** Stores and shows a model message that is no answer. */
  async #keep(modelMsg: Msg, reply: ReplyState): Promise<void> {
    await reply.remember([modelMsg]);
    await this.print(modelMsg);
  }

  /** One model call with its hooks, after messages that came by `steer`. */
  async #reason(toolChoice: ToolChoice, reply: ReplyState): Promise<OpenExchange> {
    const steering = reply.control.inbox.takeSteering();
    for (const { id } of steering) reply.requestIds.add(id);
    await reply.remember(steering);
    const modelMsg = await reply
      .hooked('postReasoning', this.reasoning(toolChoice, reply.control.turn))
      .finally(() => this.#parts.modelCaller.giveNoticesBack(reply));
    return new OpenExchange(modelMsg, {
      grantedTools: reply.grantedTools,
      requestIds: reply.requestIds,
      addedIds: reply.addedIds,
      owner: reply.control.place.toolCallPath,
      wantsStructuredOutput: reply.structuredOutput !== undefined,
    });
  }

  /**
   * Runs the tool calls of a model message. On every way out the exchange is added to memory, unless tool calls are pending:
   * then it stays in the agent's state.
   * @returns the question to the caller, if tool calls are pending
   */
  async #act(open: OpenExchange, reply: ReplyState): Promise<Msg | undefined> {
    const { turn, signal } = reply.control;
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
        signal,
      );
      if (open.statuses.hasPending) question = endWithQuestion(open, reply);
      return question;
    } finally {
      if (question === undefined) {
        withholdUnhooked(open, reply);
        await reply.closeExchange(open);
      }
    }
  }

  /** Has the model called again because a hook wants it, without running the tool calls of its message. */
  async #reasonAgain(open: OpenExchange, msgs: readonly Msg[], reply: ReplyState): Promise<void> {
    const { modelMsg, calls } = open.exchange;
    await this.print(modelMsg);
    await reply.skipToolCalls(open, msgs);
    if (msgs.length === 0 && calls.length === 0) reply.nextHints.push(REASON_AGAIN_HINT);
  }

  override async observe(msgs: MsgInput): Promise<void> {
    await this.#parts.ordered.add(msgs);
  }

  /**
   * Replaces messages in memory, between two writes of the agent. Stores all old messages again if the store fails.
   * @param change gives all messages in order, the same objects where nothing changes
   */
  reviseMemory(change: (msgs: readonly Msg[]) => readonly Msg[]): Promise<void> {
    return this.#parts.ordered.revise(change);
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    const answer = this.interruptReply();
    await this.keepInterrupted(msgs, interrupt, answer);
    return answer;
  }

  /** Stores what an interrupted agent call was told, then its answer, and prints the answer. @param answer undefined if memory has it already */
  protected async keepInterrupted(msgs: readonly Msg[], interrupt: Interrupt, answer?: Msg): Promise<void> {
    const control = currentControl();
    const isStored = this.#parts.reply?.isInputStored && this.#parts.reply.id === control?.reply.id;
    const input = isStored ? [] : msgs.filter((msg) => !msg.hasContentBlocks('tool_result')); // results belong to tool calls
    const told = [
      ...input,
      ...interrupt.unread,
      ...interrupt.msgs,
      ...(answer === undefined ? [] : [answer]),
    ];
    const written = this.#parts.ordered.add(told, (write) =>
      control === undefined ? write() : control.steps.write({ name: 'memory' }, write),
    );
    const shown = answer === undefined ? Promise.resolve() : this.print(answer);
    for (const work of [written, shown]) {
      work.catch((error: unknown) =>
        getLogger().log('warn', `${this.name} was interrupted: ${messageOf(error)}`),
      );
    }
    await waitBriefly(Promise.allSettled([written, shown]), control?.stop.graceOver); // slower writes go on, in order
  }

  /** Calls the model once, and prints the model message while it grows. If stopped, the text so far is kept in memory. */
  protected override async reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg> {
    const reply = this.#replyOf(turn);
    const tools = reply.toolkit.getJsonSchemas();
    const call = { purpose: 'reasoning', tools, ...(tools.length > 0 && { toolChoice }) } as const;
    return this.#parts.modelCaller.call(call, reply);
  }

  /** The prompt of the next model call, after compression. */
  protected override async makePrompt(purpose: ModelCallPurpose, turn: Turn): Promise<ModelPrompt> {
    return this.#parts.modelCaller.makePrompt(purpose, this.#replyOf(turn));
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
      const msg = await this.#parts.modelCaller.call({ purpose: 'summary' }, this.#replyOf(turn));
      turn.signal.throwIfAborted(); // a message that was cut off is stored by the model caller
      const summary = withoutToolCalls(msg);
      const { id, finishReason, responseId, answeredBy, providerMeta } = msg;
      const fields = { id, finishReason, responseId, answeredBy, providerMeta };
      if (!isEmpty(summary)) return Msg.assistant(summary.content, { name: this.name, ...fields });
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
    this.#parts.unfinishedToolCalls.current?.postponed.push(...msgs);
  }

  /** Interrupts a running call, waits for it, and refuses further calls. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    const { unwatchPlan } = this.#usedParts ?? {};
    if (this.#usedParts !== undefined) this.#usedParts.unwatchPlan = undefined;
    unwatchPlan?.();
  }

  /** For the state. */
  protected get openExchange(): OpenExchange | undefined {
    return this.#parts.unfinishedToolCalls.current;
  }

  protected set openExchange(open: OpenExchange | undefined) {
    this.#parts.unfinishedToolCalls.current = open;
  }

  /** Schemas of the tools that a model call is offered now. */
  protected get toolSchemas(): readonly ToolSchema[] {
    return this.#toolsNow().getJsonSchemas();
  }

  /** The tools of the agent and of its hooks. @throws TroupeError if two hooks bring different tools of one name */
  #toolsNow(): Toolkit {
    const added = this.hookTools();
    if (added.length === 0) return this.#parts.tools;
    const known = this.#parts.hookedTools;
    if (known?.added.length === added.length && added.every((one, i) => one === known.added[i]))
      return known.toolkit;
    const toolkit = this.#parts.tools.withTools(...added);
    this.#parts.hookedTools = { added, toolkit };
    return toolkit;
  }

  #beginReply(turn: Turn): ReplyState {
    return (this.#parts.reply = new ReplyState(this.#parts.agent, turn));
  }

  /** The reply of a turn; a new one where a subclass or a test calls a step outside of `reply`. */
  #replyOf(turn: Turn): ReplyState {
    const { scope } = controlOf(turn).reply;
    const isOwn = scope instanceof ReplyState && scope.agent === this.#parts.agent;
    return isOwn ? scope : this.#beginReply(turn);
  }

  /** Whether the model, with these generation options, can be made to call a tool. */
  get #canForceTools(): boolean {
    const { capabilities, generation } = this.model;
    return canForceTools(capabilities, mergeGeneration(generation, this.#options.generation));
  }

  #msg(content: MsgInit['content']): Msg {
    return Msg.assistant(content, { name: this.name });
  }
}
