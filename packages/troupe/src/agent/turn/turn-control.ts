import { InterruptedError, type InterruptSource } from '../../errors.ts';
import type { AgentEvent, EventBody } from '../../event/agent-event.ts';
import { both, EventOutlet, type EventObservers } from '../../event/event-outlet.ts';
import type { RunListener } from '../../event/reply-stream.ts';
import type { Step, StepInit, StepKind, StepRunner } from '../../event/step.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import { abortable, whenAborted } from '../../util/abort.ts';
import { startTimer, timestamp } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import type { AnySchema } from '../../util/schema.ts';
import { yieldToEventLoop } from '#platform';
import { Inbox } from './inbox.ts';
import { withModelEvents } from './model-call-events.ts';
import { currentScope, runInScope } from './run-scope.ts';
import { Spending } from './spending.ts';
import { StepKeys } from './step-keys.ts';
import { answerIn, interruptIn, type TurnState } from './turn-state.ts';
import type { Turn } from './turn.ts';

export interface TurnControlOptions {
  readonly agentId: string;
  readonly agentName: string;
  readonly parent?: TurnControl | undefined;
  /** Whether the call goes on when the parent stops; its steps are not steps of the parent's run then. */
  readonly outlivesParent?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly listener?: RunListener | undefined;
  /** The listeners of the agent. */
  readonly observers?: EventObservers | undefined;
  readonly runStep?: StepRunner | undefined;
  readonly structuredModel?: AnySchema | undefined;
  readonly decisions?: readonly PendingDecision[] | undefined;
  readonly onPending?: 'refuse' | 'close' | undefined;
  /** Ids of messages that were given to a call before, which this call goes on with. */
  readonly retriedIds?: readonly string[] | undefined;
  /** Waits for the listeners of `onOutcome` of the agent; undefined if there are none. */
  readonly beforeOutcome?: (() => Promise<void> | undefined) | undefined;
  /** The call whose interrupt this one handles. Both are one agent call of the same run. */
  readonly continues?: TurnControl | undefined;
}

/** The open tool calls of one reply. An agent that makes tool calls attaches them to its call. */
export interface ReplyScope {
  /** Whether a tool call of the reply has no result yet. */
  isCallOpen(toolCallId: string): boolean;
  /** Messages with the tool results so far of the model message whose tool calls run. They are not in memory yet. */
  readonly resultsSoFar: readonly Msg[];
  /** Saves the position of the reply. Gets the tool call in which another agent is about to change something, if any. */
  checkpoint(toolCallId: string | undefined): Promise<void>;
}

/** Counters of one run, shared by all agent calls in it. */
interface RunCounts {
  events: number;
  agentCalls: number;
}

/** Data that an agent call shares with the handling of its interrupt. */
interface SharedCall {
  readonly keys: StepKeys;
  usage: Usage | undefined;
  spending: Spending | undefined;
}

/** Number of prints, events and steps without a wait after which timers, input and interrupts get time. */
const STEPS_BETWEEN_PAUSES = 256;

/** Time of all waits of a stopped call together. */
const TOTAL_GRACE_MS = 40;

/**
 * Controls one agent call from start to end. `turn` is the part that `reply` gets; the rest is for the code around `reply`.
 *
 * The state is one of `running`, `interrupted`, `decided`, `suspended` and `over`. An interrupt counts as long as nothing is decided.
 * A call that is over ignores everything: late events, prints and usage are dropped.
 */
export class TurnControl {
  readonly turn: Turn;
  readonly runId: string;
  readonly agentId: string;
  readonly agentPath: readonly string[];
  readonly parent: TurnControl | undefined;
  /** Whether the call goes on when the parent stops, which does not wait for it. */
  readonly outlivesParent: boolean;
  /** See `Turn`. */
  readonly onPending: 'refuse' | 'close' | undefined;
  /** Ids of messages that were given to a call before, which this call goes on with. */
  readonly retriedIds: readonly string[];
  /** The tool call of the parent in which this call was made. */
  readonly outerToolCallId: string | undefined;
  /** Schema of the structured output of the current reply: the caller's, unless a hook replaced it. */
  structuredModel: AnySchema | undefined;
  readonly #callersModel: AnySchema | undefined;
  readonly #agentName: string;
  readonly #beforeOutcome: (() => Promise<void> | undefined) | undefined;
  readonly #controller = new AbortController();
  readonly #unlink: (() => void)[];
  readonly #listener: RunListener | undefined;
  readonly #observers: EventObservers | undefined;
  readonly #outlet: EventOutlet;
  readonly #runStep: StepRunner | undefined;
  readonly #run: RunCounts;
  readonly #shared: SharedCall;
  readonly #inbox = new Inbox();
  readonly #children = new Set<Promise<unknown>>();
  #state: TurnState = { tag: 'running' };
  #replyId: string;
  #replyScope: ReplyScope | undefined;
  #decisions: readonly PendingDecision[];
  #stepsSincePause = 0;
  #closing: AbortController | undefined;
  #graceOver: Promise<void> | undefined;
  #cancelGrace: (() => void) | undefined;

  constructor(options: TurnControlOptions) {
    const { agentName, parent, listener, continues } = options;
    const sameRun = continues ?? parent;
    this.#agentName = agentName;
    this.#graceOver = continues?.graceOver;
    this.#beforeOutcome = options.beforeOutcome;
    this.agentId = options.agentId;
    this.parent = parent;
    this.outlivesParent = options.outlivesParent ?? false;
    this.outerToolCallId = continues ? continues.outerToolCallId : parent && currentScope().toolCall?.id;
    this.structuredModel = this.#callersModel = options.structuredModel;
    this.onPending = options.onPending;
    this.retriedIds = options.retriedIds ?? [];
    this.#decisions = options.decisions ?? [];
    this.runId = sameRun?.runId ?? newId();
    this.#replyId = continues?.replyId ?? newId();
    this.agentPath = Object.freeze([...(parent?.agentPath ?? []), agentName]);
    this.#run = sameRun ? sameRun.#run : { events: 0, agentCalls: 0 };
    if (continues === undefined) this.#run.agentCalls++;
    this.#shared = continues ? continues.#shared : this.#newCall(agentName);
    this.#listener = listener;
    this.#observers = options.observers;
    this.#outlet = new EventOutlet({
      listener,
      observers: options.observers,
      outer: parent && parent.#outlet,
      isAskedThrough: this.outerToolCallId !== undefined,
      locate: (body) => this.#located(body),
    });
    const stepsOf = continues ?? (this.outlivesParent ? undefined : parent);
    this.#runStep = options.runStep ?? (stepsOf && stepsOf.#runStep);
    const stopForConsumer = (): void => void this.interruptOrHurry('consumer');
    listener?.left.addEventListener('abort', stopForConsumer, { once: true });
    this.#unlink = [
      whenAborted(this.outlivesParent ? undefined : parent?.signal, (reason) => this.#abort(reason)),
      whenAborted(options.signal, (reason) => this.#abort(reason)),
      () => listener?.left.removeEventListener('abort', stopForConsumer),
    ];
    if (listener !== undefined) this.signal.addEventListener('abort', listener.release, { once: true });
    this.turn = new ControlledTurn(this);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get replyId(): string {
    return this.#replyId;
  }

  /** Number of agent calls in this run so far. */
  get agentCallsInRun(): number {
    return this.#run.agentCalls;
  }

  get isOver(): boolean {
    return this.#state.tag === 'over';
  }

  /** Whether the answer is a question for decisions about pending tool calls. Incoming messages are not answered then. */
  get isSuspended(): boolean {
    return this.#state.tag === 'suspended';
  }

  /** The committed answer. */
  get answer(): Msg | undefined {
    return answerIn(this.#state);
  }

  /** Source of the interrupt of this very call; undefined for an abort from outside. */
  get interruptedBy(): InterruptSource | undefined {
    return interruptIn(this.#state)?.error.source;
  }

  /** Messages passed with the interrupt. */
  get interruptMsgs(): readonly Msg[] {
    return interruptIn(this.#state)?.msgs ?? [];
  }

  /** For late work that would change something. @throws the reason why the call was stopped, if it is over */
  assertNotOver(): void {
    if (this.isOver) this.signal.throwIfAborted();
  }

  /**
   * Stops the call. A second interrupt adds its messages to the first, as long as `handleInterrupt` has not begun. An interrupt
   * between the answer and the end of its hooks lets the hooks finish within the grace; otherwise the call is interrupted.
   * @returns false if too late: the outcome is decided, or the call was aborted
   */
  interrupt(source: InterruptSource, msgs: readonly Msg[] = []): boolean {
    const state = this.#state;
    if (state.tag === 'decided' && state.answer !== undefined && !state.isFinal && !this.signal.aborted) {
      const error = new InterruptedError(this.#agentName, source);
      this.#state = { ...state, late: { error, msgs } };
      this.#stop(error);
      return true;
    }
    if (state.tag === 'interrupted' && !state.isHandled) {
      const { error, msgs: earlier } = state.interrupt;
      this.#state = { ...state, interrupt: { error, msgs: [...earlier, ...msgs] } };
      this.hurry(); // the second one: `handleInterrupt` gets what is left of the grace
      return true;
    }
    if (state.tag !== 'running' || this.signal.aborted) return false;
    const error = new InterruptedError(this.#agentName, source);
    this.#state = { tag: 'interrupted', interrupt: { error, msgs }, isHandled: false };
    this.#stop(error);
    return true;
  }

  /** Interrupts the call, or, if that is too late, lets nothing after the answer wait any longer. */
  interruptOrHurry(source: InterruptSource, msgs: readonly Msg[] = []): boolean {
    const isAccepted = this.interrupt(source, msgs);
    if (!isAccepted) this.hurry();
    return isAccepted;
  }

  /** Whether an interrupt came between the answer and the end of its hooks. */
  get hasLateInterrupt(): boolean {
    return this.#state.tag === 'decided' && this.#state.late !== undefined;
  }

  /** Puts a late interrupt into effect, because the hooks of the answer were cut off. */
  acceptLateInterrupt(): void {
    const state = this.#state;
    if (state.tag !== 'decided' || state.late === undefined) return;
    this.#state = { tag: 'interrupted', interrupt: state.late, isHandled: false };
  }

  /** The control in which an interrupt of this call is handled. `hurry` stops it. */
  continuation(): TurnControl {
    if (this.#state.tag === 'interrupted') this.#state = { ...this.#state, isHandled: true };
    return new TurnControl({
      agentId: this.agentId,
      agentName: this.#agentName,
      parent: this.parent,
      outlivesParent: this.outlivesParent,
      signal: this.closing,
      listener: this.#listener && { ...this.#listener, left: this.closing },
      observers: this.#observers,
      structuredModel: this.structuredModel,
      continues: this,
    });
  }

  /** Aborts everything after the answer: post hooks, `handleInterrupt`, observers. */
  hurry(): void {
    this.#abort(new InterruptedError(this.#agentName, 'user'));
  }

  /** Aborted when the end of the call must wait for nothing any longer. */
  get closing(): AbortSignal {
    return (this.#closing ??= new AbortController()).signal;
  }

  /** Declares the answer. @throws the reason of the signal, if that was aborted before there was an answer */
  commit(answer: Msg): void {
    if (this.answer === undefined) this.signal.throwIfAborted();
    const state = this.#state;
    if (state.tag === 'suspended') this.#state = { tag: 'suspended', answer };
    else if (state.tag !== 'over') {
      const late = state.tag === 'decided' ? state.late : undefined;
      this.#state = { tag: 'decided', answer, interrupt: interruptIn(state), isFinal: false, late };
    }
  }

  /** Declares the answer as its hooks made it. Later interrupts and aborts do not change it. */
  finalize(answer: Msg): void {
    this.commit(answer);
    if (this.#state.tag === 'decided') this.#state = { ...this.#state, isFinal: true, late: undefined };
  }

  /** Whether nothing changes the answer any more: its hooks have run, or it is a question. */
  get isAnswerFinal(): boolean {
    return this.isSuspended || (this.#state.tag === 'decided' && this.#state.isFinal);
  }

  /** Declares that the answer is a question for decisions about pending tool calls. @throws like `commit` */
  suspend(question: Msg): void {
    this.commit(question);
    if (!this.isOver) this.#state = { tag: 'suspended', answer: question };
  }

  /** Closes the outcome without an answer of `reply`: after a failure, or after `handleInterrupt`. Later interrupts come too late. */
  decide(): void {
    const { tag } = this.#state;
    if (tag === 'running' || tag === 'interrupted')
      this.#state = {
        tag: 'decided',
        answer: undefined,
        interrupt: interruptIn(this.#state),
        isFinal: true,
        late: undefined,
      };
  }

  /**
   * Waits for the listeners of `onOutcome`, before the outcome is told. A question goes to the streams of the agent calls around too,
   * and may be part of the state of those agents, so it waits for their listeners as well. Undefined if there are none.
   */
  beforeOutcome(): Promise<unknown> | undefined {
    const calls: TurnControl[] = [this];
    if (this.isSuspended && this.outerToolCallId === undefined)
      for (let { parent } = this; parent !== undefined; { parent } = parent) calls.push(parent);
    const waits = calls.flatMap((call) => call.#beforeOutcome?.() ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  /** Ends the call. Nothing that happens later has an effect. */
  end(): void {
    this.#state = { tag: 'over', answer: this.answer, interrupt: interruptIn(this.#state) };
    this.#inbox.close();
    this.#outlet.close();
    for (const unlink of this.#unlink) unlink();
    this.#cancelGrace?.();
  }

  /** Resolves when a stopped call must not wait for anything any longer. Starts with the stop, so that several waits share one grace. */
  get graceOver(): Promise<void> {
    return (this.#graceOver ??= this.#startGrace());
  }

  /** See `Turn`. */
  emit(body: EventBody): void | Promise<void> {
    return both(this.#outlet.emit(body), this.pause()) as void | Promise<void>;
  }

  /** Keeps the start of the reply back until the call is accepted, or until another event. */
  announceLater(start: EventBody): void {
    this.#outlet.hold(start);
  }

  /** Whether the call was neither accepted nor had an event so far. */
  get isUnannounced(): boolean {
    return this.#outlet.isHolding;
  }

  /** Declares that the call will not be refused any more. */
  accept(): void | Promise<void> {
    return both(this.#outlet.release(), this.pause()) as void | Promise<void>;
  }

  /** Whether events are dropped: after `run_end`. */
  get dropsEvents(): boolean {
    return this.#outlet.isClosed;
  }

  /** Whether anybody sees events about the blocks of printed messages. */
  get wantsBlocks(): boolean {
    return this.#outlet.wantsBlocks;
  }

  /** Costs of this call so far, nested agent calls included. */
  get usage(): Usage | undefined {
    return this.#shared.usage;
  }

  /** See `Turn`. */
  addUsage(usage: Usage | undefined, msgId?: string): void | Promise<void> {
    if (usage === undefined || this.isOver) return;
    this.#countUsage(usage);
    return this.emit({ type: 'usage', usage, ...(msgId !== undefined && { msgId }) });
  }

  /** Counts costs in this call and in the calls around. */
  #countUsage(usage: Usage): void {
    this.#shared.usage = addUsage(this.#shared.usage, usage);
    if (this.parent !== undefined) this.parent.#countUsage(usage);
  }

  /** Spending on the current request. */
  get spending(): Spending {
    return this.#shared.spending ?? this.resumeSpending(new Spending());
  }

  /** Goes on with the spending of an earlier call for the same request. */
  resumeSpending(spending: Spending): Spending {
    this.#shared.spending = spending;
    this.countIn(spending);
    spending.resume();
    return spending;
  }

  /** Counts the costs of this call in a spending. */
  countIn(spending: Spending): void {
    spending.add(this.#shared);
  }

  /** See `Turn`. */
  pause(): void | Promise<void> {
    if (!this.isOver && ++this.#stepsSincePause < STEPS_BETWEEN_PAUSES) return;
    this.#stepsSincePause = 0;
    return yieldToEventLoop();
  }

  /** See `Turn`. */
  async step<T>(init: StepInit, body: () => Promise<T>): Promise<T> {
    const step = this.#keyed(init.kind, init); // before any wait, so that parallel steps have keys in the order of their calls
    const pauses = this.pause();
    if (pauses) await pauses;
    const run = (): Promise<T> => {
      this.signal.throwIfAborted();
      return abortable(this.relayStep(step, body), this.signal);
    };
    const { name: purpose, modelName } = init;
    if (modelName === undefined) return run();
    return withModelEvents(
      {
        purpose,
        modelName,
        emit: (event) => this.emit(event),
        stoppedAs: () => (this.signal.aborted ? (this.interruptedBy ? 'interrupted' : 'aborted') : undefined),
      },
      run,
    );
  }

  /** See `Turn`. */
  async write<T>(init: Omit<StepInit, 'kind'>, body: () => Promise<T>): Promise<T> {
    return this.relayStep(this.#keyed('write', init), body);
  }

  /** Runs a step of this call, or of one nested in it, by the step runner of this call. */
  relayStep<T>(step: Step | undefined, body: () => Promise<T>): Promise<T> {
    return this.#runStep && step ? this.#runStep(step, body) : body();
  }

  /** Attaches the open tool calls of the current reply. */
  attach(scope: ReplyScope): void {
    this.#replyScope = scope;
  }

  /** The attached scope of the current reply. */
  get replyScope(): ReplyScope | undefined {
    return this.#replyScope;
  }

  /** Saves the positions of this call and the calls around, before an action that can't be undone. */
  async checkpoint(toolCallId?: string): Promise<void> {
    await this.#replyScope?.checkpoint(toolCallId);
    await this.parent?.checkpoint(this.outerToolCallId);
  }

  /** The tool calls in which this call was made, from the outermost on. */
  get toolCallPath(): readonly string[] {
    const outer = this.parent?.toolCallPath ?? [];
    return this.outerToolCallId === undefined ? outer : [...outer, this.outerToolCallId];
  }

  /** Whether one of the tool calls has no result yet, in this agent call or in the calls around. */
  hasOpenToolCall(toolCallIds: readonly string[]): boolean {
    const isMine = toolCallIds.some((id) => this.#replyScope?.isCallOpen(id) === true);
    return isMine || (this.parent?.hasOpenToolCall(toolCallIds) ?? false);
  }

  /** See `Turn`. */
  takeDecisions(): readonly PendingDecision[] {
    const decisions = this.#decisions;
    this.#decisions = [];
    return decisions;
  }

  /** Hands messages to the running reply. @returns false if nobody will read them */
  steer(msgs: readonly Msg[]): boolean {
    return !this.signal.aborted && this.#inbox.steer(msgs);
  }

  /** Hands over messages to be answered after the reply. @returns false if nobody will answer them */
  followUp(msgs: readonly Msg[]): boolean {
    return !this.signal.aborted && this.#inbox.followUp(msgs);
  }

  /** See `Turn`. */
  takeSteering(): readonly Msg[] {
    return this.#inbox.takeSteering();
  }

  /** Takes the messages for the next reply of this call: follow-ups and unread steering. Closes the inbox if there are none. */
  takeFollowUps(): readonly Msg[] {
    const next = this.#inbox.takeAll();
    if (next.length === 0) this.#inbox.close();
    else {
      this.#replyId = newId();
      this.structuredModel = this.#callersModel;
      this.#state = { tag: 'running' };
    }
    return next;
  }

  /** Takes all unread messages, and closes the inbox. */
  takeUnread(): readonly Msg[] {
    this.#inbox.close();
    return this.#inbox.takeAll();
  }

  /** Unread steering and unanswered follow-ups. */
  get unread(): readonly Msg[] {
    return this.#inbox.unread;
  }

  /** Runs code so that `currentTurn()` returns this turn, through all awaits. */
  run<T>(body: () => T): T {
    return runInScope({ control: this }, body);
  }

  /** Running nested agent calls. All stop with this call. */
  get children(): Iterable<Promise<unknown>> {
    return this.#children;
  }

  adopt(child: Promise<unknown>): void {
    this.#children.add(child);
    const settled = (): void => void this.#children.delete(child);
    child.then(settled, settled);
  }

  /** Stops the reply and everything after the answer. */
  #abort(reason: unknown): void {
    (this.#closing ??= new AbortController()).abort(reason);
    this.#stop(reason);
  }

  #stop(reason: unknown): void {
    if (!this.isOver) void this.graceOver;
    this.#controller.abort(reason);
  }

  #startGrace(): Promise<void> {
    const over = Promise.withResolvers<void>();
    this.#cancelGrace = startTimer(TOTAL_GRACE_MS, over.resolve);
    return over.promise;
  }

  #newCall(agentName: string): SharedCall {
    const { parent, outerToolCallId } = this;
    const keys = parent ? parent.#shared.keys.nested(agentName, outerToolCallId) : new StepKeys();
    return { keys, usage: undefined, spending: undefined };
  }

  /** Adds the key to a step; undefined without a step runner. */
  #keyed(kind: StepKind, { name, key }: Omit<StepInit, 'kind'>): Step | undefined {
    if (this.#runStep === undefined) return undefined;
    const { toolCall } = currentScope();
    const toolCallId = toolCall?.madeBy === this ? toolCall.id : undefined;
    return { kind, name, key: this.#shared.keys.next({ kind, name, key }, toolCallId) };
  }

  #located(body: EventBody): AgentEvent {
    const seq = this.#run.events++;
    return {
      ...body,
      id: `${this.runId}:${seq}`,
      runId: this.runId,
      replyId: this.#replyId,
      agentPath: this.agentPath,
      seq,
      timestamp: timestamp(),
    };
  }
}

/** The part of a control for `reply`. */
class ControlledTurn implements Turn {
  readonly #control: TurnControl;

  constructor(control: TurnControl) {
    this.#control = control;
  }

  static controlOf(turn: unknown): TurnControl | undefined {
    return typeof turn === 'object' && turn !== null && #control in turn ? turn.#control : undefined;
  }

  get runId(): string {
    return this.#control.runId;
  }

  get replyId(): string {
    return this.#control.replyId;
  }

  get agentPath(): readonly string[] {
    return this.#control.agentPath;
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  get structuredModel(): AnySchema | undefined {
    return this.#control.structuredModel;
  }

  get onPending(): 'refuse' | 'close' | undefined {
    return this.#control.onPending;
  }

  get usage(): Usage | undefined {
    return this.#control.usage;
  }

  emit(body: EventBody): void | Promise<void> {
    return this.#control.emit(body);
  }

  addUsage(usage: Usage | undefined, msgId?: string): void | Promise<void> {
    return this.#control.addUsage(usage, msgId);
  }

  step<T>(step: StepInit, body: () => Promise<T>): Promise<T> {
    return this.#control.step(step, body);
  }

  write<T>(step: Omit<StepInit, 'kind'>, body: () => Promise<T>): Promise<T> {
    return this.#control.write(step, body);
  }

  pause(): void | Promise<void> {
    return this.#control.pause();
  }

  takeSteering(): readonly Msg[] {
    return this.#control.takeSteering();
  }

  takeDecisions(): readonly PendingDecision[] {
    return this.#control.takeDecisions();
  }

  commit(answer: Msg): void {
    this.#control.commit(answer);
  }
}

/** The control of a turn; undefined for any other value. */
export function controlIn(turn: unknown): TurnControl | undefined {
  return ControlledTurn.controlOf(turn);
}

/** The control of a turn. @throws TypeError for any other object */
export function controlOf(turn: Turn): TurnControl {
  const control = controlIn(turn);
  if (control === undefined) throw new TypeError('This is no turn: pass on the turn that reply() got.');
  return control;
}

/** The signal of a turn; undefined for any other value. */
export function signalOfTurn({ turn }: { readonly turn?: unknown }): AbortSignal | undefined {
  return controlIn(turn)?.signal;
}

/** The signal of a turn as long as it has no answer. Hooks of an answer are not cut off: the agent call limits the wait for them. */
export function signalBeforeAnswer({ turn }: { readonly turn?: unknown }): AbortSignal | undefined {
  const control = ControlledTurn.controlOf(turn);
  return control?.answer === undefined ? control?.signal : undefined;
}
