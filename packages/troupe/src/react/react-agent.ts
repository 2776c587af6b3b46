import { compressorFor } from '../compression/compressor-for.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Exchange } from '../message/exchange.ts';
import { Msg, type MsgInit, type MsgInput } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { ChatModelBase, ModelRequest, ToolChoice } from '../model/chat-model-base.ts';
import { canForceTools, mergeGeneration } from '../model/generation.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { PlanNotebook } from '../plan/plan-notebook.ts';
import type { BackgroundTools } from '../toolkit/background-tools.ts';
import type { SuspendedToolCall } from '../toolkit/call/tool-call-outcome.ts';
import { Toolkit } from '../toolkit/toolkit.ts';
import { waitBriefly, untilStopped } from '../util/async/grace.ts';
import type { JsonValue } from '../util/json.ts';
import type { Interrupt } from '../agent/interrupt.ts';
import { FORM_NAME } from './answer-form.ts';
import { endedBy, type EndReason } from '../message/end-reason.ts';
import { FILL_IN_THE_FORM, hintMsg, SAY_SOMETHING, SUM_UP } from './hints.ts';
import { OpenCalls } from '../approval/open-calls.ts';
import { OpenExchange } from '../approval/open-exchange.ts';
import { OrderedMemory } from '../approval/ordered-memory.ts';
import { ReActAgentBase } from './react-agent-base.ts';
import { checkReActOptions, type ReActAgentOptions } from './react-agent-options.ts';
import { ReplyWork } from './reply-work.ts';
import { memoryTools, recordExperience, retrieveContext } from './retrieval.ts';
import { suspensionMsg } from '../approval/suspension-msg.ts';
import { Thinker } from './thinker.ts';
import { assertFits, isEmpty, withoutCalls } from './thought.ts';
import { ToolCalls } from './tool-calls.ts';
import { currentTurn } from '../agent/current-turn.ts';
import { controlOf } from '../agent/turn-control.ts';
import type { Turn } from '../agent/turn.ts';
import { watchPlan } from './watch-plan.ts';

const NO_ANSWER = 'The model gave no answer, though it was asked again.';

/** So many thoughts in a row may say and do nothing before the reply is given up. */
const MAX_EMPTY_THOUGHTS = 3;

/**
 * An agent that thinks, acts and thinks again, until it has an answer.
 *
 * Its memory is valid after every way out: a thought and the results of all its calls enter it together; an interrupt
 * keeps the text so far and drops calls that were half made. A tool that fails is a result, which the model sees. A
 * model that fails ends the call, and what was said so far is kept. At `maxIters` the model sums up without tools.
 *
 * A call about which somebody has to be asked ends the reply: what was thought and done waits in the agent's state, not in
 * memory, and goes on from there when it is decided, also by another program.
 */
export class ReActAgent extends ReActAgentBase {
  static override readonly stateNames = { permissionPolicy: 'permission' };
  /** Decides about its tool calls, and about those of its sub-agents. It comes before the agents in tools, which may have the same one. */
  readonly permissionPolicy: PermissionPolicy | undefined;
  readonly model: ChatModelBase;
  readonly toolkit: Toolkit;
  readonly memory: MemoryBase;
  /** What the agent is told before everything else. As a text it is part of the state. */
  sysPrompt: string | (() => string | Promise<string>);
  readonly longTermMemory: LongTermMemoryBase | undefined;
  readonly planNotebook: PlanNotebook | undefined;
  readonly background: BackgroundTools | undefined;
  readonly #options: ReActAgentOptions;
  readonly #thinker: Thinker;
  readonly #calls: ToolCalls;
  /** The toolkit, with what only this agent has besides. */
  readonly #tools: Toolkit;
  #unwatchPlan: (() => void) | undefined;
  readonly #work = new WeakMap<Turn, ReplyWork>();
  /** The latest one. */
  #turn: Turn | undefined;
  /** The reply whose input is in memory, or on its way there. */
  #storedFor: string | undefined;
  readonly #ordered: OrderedMemory;
  readonly #open: OpenCalls;

  constructor(options: ReActAgentOptions) {
    super(options);
    checkReActOptions(options);
    this.#options = options;
    this.permissionPolicy = options.permissionPolicy;
    this.model = options.model;
    this.toolkit = options.toolkit ?? new Toolkit();
    this.memory = options.memory ?? new InMemoryMemory();
    this.#ordered = new OrderedMemory(this.memory);
    this.#open = new OpenCalls(this.#ordered, {
      onPending: options.onPending,
      fit: (result) => this.#tools.fitResult(result),
    });
    this.longTermMemory = options.longTermMemory;
    this.planNotebook = options.planNotebook;
    this.background = options.background;
    this.sysPrompt = options.sysPrompt ?? '';
    const compressor = compressorFor(this.memory, options.compression);
    this.#thinker = new Thinker(this, this.#ordered, options, compressor);
    this.#calls = new ToolCalls(options, {
      act: (call, turn) => this.acting(call, turn),
      print: (msg, last) => this.print(msg, last),
      notifyChunk: (result) => this.notifyActingChunk(result),
    });
    this.registerState('name');
    if (typeof this.sysPrompt === 'string') this.registerState('sysPrompt');
    this.registerState('openExchange', {
      toJson: (open: OpenExchange | undefined) => open?.toJSON() ?? null,
      fromJson: (json: JsonValue) => (json === null ? undefined : OpenExchange.from(json)),
    });
    this.#tools = this.toolkit.withTools(
      ...(options.enableMetaTool ? [this.toolkit.metaTool] : []),
      ...memoryTools(options),
      ...(compressor?.contextTools ?? []),
      ...(options.background?.tools ?? []),
    );
    this.planNotebook?.registerPlanTools(this.#tools, { asGroup: options.enableMetaTool });
    this.#unwatchPlan = this.planNotebook && watchPlan(this.planNotebook, this.id, () => this.#turn);
  }

  /** The calls about which somebody outside has to decide, those of agents in tools included. See `decisions` of `call`. */
  get pendingCalls(): readonly PendingCall[] {
    return this.#open.pending;
  }

  /** The tool calls in which the agent was called when its calls were suspended, or cut off by the program's end. */
  get openCallOwner(): readonly string[] {
    return this.#open.current?.owner ?? [];
  }

  /** Says that the tool call in which the agent was called waits for what is pending: decisions are taken in it, and nowhere else. */
  askThrough(): void {
    if (this.#open.current !== undefined) this.#open.current.isAskedThrough = true;
  }

  /** Ends calls that wait, or were left over, as interrupted. There must be no call of the agent at that time. */
  async closePending(): Promise<void> {
    if (!this.isRunning) await this.#open.close();
  }

  /** Is waited for before a tool with a `sideEffect` runs, so that its start can be saved. The returned function ends that. */
  onCheckpoint(listener: () => Promise<void>): () => void {
    return this.#open.onCheckpoint(listener);
  }

  /** Thinks and acts by turns, until a thought is the answer. */
  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    const work = this.#begin(turn);
    const control = controlOf(turn);
    const { resumed, closed, answered, input } = await this.#open.begin(this.name, msgs, control);
    this.#storedFor = turn.replyId;
    const earlier = resumed ?? closed;
    if (resumed !== undefined) control.resumeSpending(resumed.spending);
    for (const id of earlier?.requestIds ?? []) work.requestIds.add(id); // it was asked, and is not answered yet
    await Promise.all([closed && this.#close(closed, turn), this.#remember(input, turn)]); // in this order
    for (const { id } of [...input, ...(earlier?.later ?? [])]) work.requestIds.add(id);
    await this.#recollect(earlier?.saidIds, work);
    for (const result of answered) await turn.emit({ type: 'tool_result', result });
    try {
      await this.#remember(
        await retrieveContext(input, this.#options, turn, () => this.#ordered.recall()),
        turn,
      );
      return await this.#loop(resumed, work, turn);
    } catch (error) {
      if (control.interruptedBy === undefined) await this.#remember(control.unread, turn); // nobody else will
      throw error;
    }
  }

  async #loop(resumed: OpenExchange | undefined, work: ReplyWork, turn: Turn): Promise<Msg> {
    const { maxIters = 10 } = this.#options;
    let toolChoice: ToolChoice = work.form && this.#canForceTools ? 'required' : 'auto';
    let emptyThoughts = 0;
    const first = Math.min(resumed?.iteration ?? 0, maxIters - 1);
    for (let iter = first; iter < maxIters; iter++) {
      const open = (iter === first && resumed) || (await this.#thoughtOf(toolChoice, work, turn));
      open.iteration = iter;
      const { exchange } = open;
      if (exchange.calls.length > 0) {
        const suspended = await this.#act(open, work, turn);
        if (suspended !== undefined) return suspended;
        const answer = work.answerIn(exchange, this.name);
        if (answer !== undefined) return this.#answer(answer.msg, answer.reason, turn);
        work.hints.push(...work.failedCalls.hintsAfter(exchange));
        emptyThoughts = 0;
      } else if (isEmpty(exchange.thought)) {
        if (++emptyThoughts === MAX_EMPTY_THOUGHTS) return this.#answer(this.#msg(NO_ANSWER), 'error', turn);
        work.hints.push(SAY_SOMETHING);
      } else if (work.form === undefined) {
        return this.#answer(exchange.thought, 'finished', turn);
      } else {
        await this.#remember([exchange.thought], turn); // it talked; now it has to fill in the form
        work.hints.push(FILL_IN_THE_FORM);
        if (this.#canForceTools) toolChoice = { name: FORM_NAME };
      }
    }
    const summary = await this.#kept(this.summarizing(turn), work, turn);
    return this.#answer(withoutCalls(summary), 'max_iters', turn);
  }

  override async observe(msgs: MsgInput): Promise<void> {
    await this.#ordered.add(msgs);
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    const answer = this.interruptReply();
    const isStored = currentTurn()?.replyId === this.#storedFor;
    const input = isStored ? [] : msgs.filter((msg) => !msg.hasContentBlocks('tool_result')); // results belong to calls
    const written = this.#ordered.add([...input, ...interrupt.unread, ...interrupt.msgs, answer]);
    const shown = this.print(answer);
    for (const work of [written, shown]) {
      work.catch((error: unknown) =>
        getLogger().log('warn', `${this.name} was interrupted: ${messageOf(error)}`),
      );
    }
    await waitBriefly(Promise.allSettled([written, shown])); // what takes longer goes on, in its place
    return answer;
  }

  /** Asks the model once, and prints the thought while it grows. Cut short, it leaves its text in memory. */
  protected override async reasoning(toolChoice: ToolChoice, turn: Turn): Promise<Msg> {
    const { toolkit, hints } = this.#workOf(turn);
    const tools = toolkit.getJsonSchemas();
    const planHint =
      this.planNotebook?.isActiveIn(toolkit) && (await this.planNotebook.getCurrentHint(this.name));
    const notices = this.background?.takeNotices() ?? [];
    const msgs = [...[...hints.splice(0), ...notices].map(hintMsg), ...(planHint ? [planHint] : [])];
    try {
      return await this.#think({ tools, ...(tools.length > 0 && { toolChoice }) }, msgs, turn);
    } catch (error) {
      this.background?.giveNoticesBack(notices); // the model has not read them
      throw error;
    }
  }

  /** Runs one tool call as a step: a result, whatever the tool does, or a suspension. */
  protected override async acting(
    call: ToolUseBlock,
    turn: Turn,
  ): Promise<ToolResultBlock | SuspendedToolCall> {
    const outcome = await this.#calls.run(call, this.#workOf(turn), turn);
    return outcome.kind === 'result' ? outcome.result : outcome;
  }

  /** Has the model answer with what it knows. It is offered no tools, so nothing is left open. */
  protected override async summarizing(turn: Turn): Promise<Msg> {
    const { maxIters = 10 } = this.#options;
    try {
      const summary = await this.#think({}, [hintMsg(SUM_UP)], turn);
      if (!isEmpty(withoutCalls(summary))) return this.#msg(withoutCalls(summary).content, summary.id);
    } catch (error) {
      turn.signal.throwIfAborted();
      return this.#msg(`I have no answer after ${maxIters} steps, and could not sum up: ${messageOf(error)}`);
    }
    return this.#msg(`I have no answer after ${maxIters} steps.`);
  }

  /** It is read when the calls that wait have their results. */
  protected override postpone(msgs: readonly Msg[]): void {
    this.#open.current?.later.push(...msgs);
  }

  protected override interruptReply(): Msg {
    return endedBy('interrupted', super.interruptReply());
  }

  /** A thought, as its hooks leave it. If one of those fails, what was thought is kept. */
  async #kept(thinking: Promise<Msg>, work: ReplyWork, turn: Turn): Promise<Msg> {
    try {
      const thought = await thinking;
      if (thought !== work.thought) assertFits(thought, await this.#ordered.recall());
      return thought;
    } catch (error) {
      if (work.thought !== undefined) await this.#remember(new Exchange(work.thought).toMsgs(), turn);
      throw error;
    } finally {
      work.thought = undefined;
    }
  }

  /** What the model thinks next, after what was said while it was busy. */
  async #thoughtOf(toolChoice: ToolChoice, work: ReplyWork, turn: Turn): Promise<OpenExchange> {
    const steering = turn.takeSteering();
    for (const { id } of steering) work.requestIds.add(id);
    await this.#remember(steering, turn);
    return new OpenExchange(await this.#kept(this.reasoning(toolChoice, turn), work, turn), {
      grantedTools: work.grantedTools,
      requestIds: work.requestIds,
      saidIds: work.saidIds,
      owner: controlOf(turn).toolCallPath,
      wantsShape: work.form !== undefined,
    });
  }

  /**
   * Makes the calls of a thought. On every way out, the thought and one result for each call are remembered, unless
   * calls wait for somebody outside: then all of it waits, and what is returned says so.
   */
  async #act(open: OpenExchange, work: ReplyWork, turn: Turn): Promise<Msg | undefined> {
    const control = controlOf(turn);
    control.assertNotOver(); // somebody else may have them by now
    this.#open.current = open;
    work.open = open;
    open.spending = control.spending;
    for (const name of open.grantedTools) work.grantedTools.add(name);
    let suspended: Msg | undefined;
    try {
      await untilStopped(this.#calls.make(open, work, turn), turn.signal);
      if (open.isWaiting) {
        const question = this.#ended(suspensionMsg(this.name, open.pending), 'tool_suspended', turn);
        control.suspend(question); // not if it was interrupted just now
        suspended = question;
        open.spending.pause();
        for (const pending of open.pending) await turn.emit({ type: 'approval_needed', pending }); // who leaves now leaves it waiting
        await this.print(suspended);
      }
      return suspended;
    } finally {
      if (suspended === undefined) await this.#close(open, turn);
    }
  }

  /** Remembers a thought and one result for each of its calls. Those that nothing answered are told as well. */
  async #close(open: OpenExchange, turn: Turn): Promise<void> {
    controlOf(turn).assertNotOver(); // they stay open: the next turn closes them
    const { exchange } = open;
    const unanswered = exchange.calls.filter(({ id }) => exchange.answerTo(id) === undefined);
    const msgs = exchange.toMsgs();
    await this.#remember([...msgs, ...open.later], turn);
    this.#open.letGo(open);
    for (const result of msgs.flatMap((msg) => msg.getContentBlocks('tool_result'))) {
      if (unanswered.some(({ id }) => id === result.id)) await turn.emit({ type: 'tool_result', result });
    }
  }

  /** Ends the reply. From here on an interrupt comes too late. */
  async #answer(msg: Msg, reason: EndReason, turn: Turn): Promise<Msg> {
    const answer = this.#ended(msg, reason, turn);
    if (turn.signal.aborted) await this.#remember([answer], turn); // interrupted just now: what was said is kept
    turn.commit(answer);
    await this.#remember([answer], turn);
    await this.print(answer);
    await recordExperience(this.#workOf(turn).said, this.#options, turn);
    return answer;
  }

  #ended(msg: Msg, reason: EndReason, turn: Turn): Msg {
    return endedBy(reason, msg).with({ usage: turn.usage });
  }

  /** Brings back what was said for a reply before its calls had to wait, if somebody wants to learn from it. */
  async #recollect(saidIds: ReadonlySet<string> | undefined, work: ReplyWork): Promise<void> {
    if (!saidIds?.size || this.longTermMemory === undefined) return;
    work.note(
      (await this.#ordered.recall()).filter(({ id }) => saidIds.has(id)),
      'before',
    );
  }

  #begin(turn: Turn): ReplyWork {
    const work = new ReplyWork(this.#tools, turn.structuredModel);
    controlOf(turn).attach({
      isCallOpen: (toolCallId) => work.open?.isOpen(toolCallId) ?? false,
      checkpoint: async (toolCallId) => {
        if (toolCallId !== undefined) work.open?.start(toolCallId);
        await this.#open.checkpoint();
      },
    });
    if (this.planNotebook !== undefined) this.#turn = turn;
    this.#work.set(turn, work);
    return work;
  }

  /** The work of a turn; that of a bare call of a step, such as in a test, is empty. */
  #workOf(turn: Turn): ReplyWork {
    return this.#work.get(turn) ?? this.#begin(turn);
  }

  async #think(
    request: Pick<ModelRequest, 'tools' | 'toolChoice'>,
    hints: readonly Msg[],
    turn: Turn,
  ): Promise<Msg> {
    for (const msg of hints) {
      await turn.emit({ type: 'hint', msg });
      if (this.#options.printHintMsg) await this.print(msg);
    }
    const { requestIds } = this.#workOf(turn);
    const thought = await this.#thinker.think({ ...request, hints, requestIds }, turn, {
      onChunk: async (soFar) => {
        await this.print(soFar, false);
        await this.notifyReasoningChunk(soFar);
      },
      onCutShort: async (rest) => {
        await this.#remember(new Exchange(rest).toMsgs(), turn); // whole calls in it read as interrupted
        await this.print(rest);
      },
    });
    this.#workOf(turn).thought = thought;
    // An answer is printed when it is one, and a call that was not offered is none.
    if (request.tools !== undefined && thought.hasContentBlocks('tool_use')) await this.print(thought);
    return thought;
  }

  /** Interrupts what runs, waits for it, and takes no more calls. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    this.#unwatchPlan?.();
    this.#unwatchPlan = undefined;
  }

  /** For the state. */
  protected get openExchange(): OpenExchange | undefined {
    return this.#open.current;
  }

  protected set openExchange(open: OpenExchange | undefined) {
    this.#open.current = open;
  }

  /** Whether the model can be made to call a tool, as it is set up here. */
  get #canForceTools(): boolean {
    const { capabilities, generation } = this.model;
    return canForceTools(capabilities, mergeGeneration(generation, this.#options.generation));
  }

  #msg(content: MsgInit['content'], id?: string): Msg {
    return Msg.assistant(content, { name: this.name, id });
  }

  /** Puts messages into memory, also when the turn was stopped meanwhile; a turn that is over changes nothing any more. */
  async #remember(msgs: readonly Msg[], turn: Turn): Promise<void> {
    if (msgs.length === 0 || controlOf(turn).isOver) return;
    this.#workOf(turn).note(msgs);
    await this.#ordered.add(msgs, (write) => turn.write({ name: 'memory' }, write));
  }
}
