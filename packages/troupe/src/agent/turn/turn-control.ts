import { InterruptedError, type InterruptSource } from '../../errors.ts';
import type { AgentEvent, EventBody } from '../../event/agent-event.ts';
import { both, EventOutlet, type EventObservers } from '../../event/event-outlet.ts';
import type { RunListener } from '../../event/reply-stream.ts';
import type { StepRunner } from '../../event/step.ts';
import type { Msg } from '../../message/msg.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import type { Usage } from '../../message/usage.ts';
import { whenAborted } from '../../util/abort.ts';
import { timestamp } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import type { AnySchema } from '../../util/schema.ts';
import { yieldToEventLoop } from '#platform';
import { ControlledTurn } from './controlled-turn.ts';
import { Inbox } from './inbox.ts';
import { currentScope, runInScope } from './run-scope.ts';
import { TurnCosts } from './spending.ts';
import { StepKeys } from './step-keys.ts';
import { TurnState } from './turn-state.ts';
import { TurnSteps } from './turn-steps.ts';
import { TurnStop } from './turn-stop.ts';
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
  /** The listeners of `onOutcome` of the agent. */
  readonly outcomeListeners?: ReadonlySet<() => Promise<void>> | undefined;
  /** The listeners of `onCheckpoint` of the agent. */
  readonly checkpointListeners?: ReadonlySet<() => Promise<void>> | undefined;
  /** The call whose interrupt this one handles. Both are one agent call of the same run. */
  readonly continues?: TurnControl | undefined;
}

/** The open tool calls of one reply. An agent that makes tool calls attaches them to its call. */
export interface ReplyScope {
  /** Whether a tool call of the reply has no result yet. */
  isUnfinished(toolCallId: string): boolean;
  /** Messages with the tool results so far of the model message whose tool calls run. They are not in memory yet. */
  readonly unstoredResultMsgs: readonly Msg[];
  /** Notes that an agent in this tool call is about to change something. */
  noteStart(toolCallId: string): void;
}

/** Counters of one run, shared by all agent calls in it. */
interface RunCounts {
  events: number;
  agentCalls: number;
}

/** Number of prints, events and steps without a wait after which timers, input and interrupts get time. */
const STEPS_BETWEEN_PAUSES = 256;

/**
 * Controls one agent call from start to end. `turn` is the part that `reply` gets; the rest is for the code around `reply`.
 *
 * `state` says how far the call is, `stop` stops it, `outlet` sends its events, `steps` runs its steps, `costs` adds up what it spends,
 * `inbox` takes messages for it. An interrupt counts as long as nothing is decided. A call that is over ignores everything: late
 * events, prints and usage are dropped.
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
  /** Id of the current reply. */
  replyId: string;
  /** The open tool calls of the current reply, of an agent that makes tool calls. */
  replyScope: ReplyScope | undefined;
  readonly state = new TurnState();
  readonly stop: TurnStop;
  /** See `Turn`. */
  readonly signal: AbortSignal;
  readonly outlet: EventOutlet;
  readonly steps: TurnSteps;
  readonly costs: TurnCosts;
  readonly inbox = new Inbox();
  readonly #options: TurnControlOptions;
  readonly #unlink: (() => void)[];
  readonly #run: RunCounts;
  readonly #children = new Set<Promise<unknown>>();
  #decisions: readonly PendingDecision[];
  #stepsSincePause = 0;

  constructor(options: TurnControlOptions) {
    const { agentName, parent, listener, continues } = options;
    const sameRun = continues ?? parent;
    this.#options = options;
    this.agentId = options.agentId;
    this.parent = parent;
    this.outlivesParent = options.outlivesParent ?? false;
    this.outerToolCallId = continues ? continues.outerToolCallId : parent && currentScope().toolCall?.id;
    this.structuredModel = options.structuredModel;
    this.onPending = options.onPending;
    this.retriedIds = options.retriedIds ?? [];
    this.#decisions = options.decisions ?? [];
    this.runId = sameRun?.runId ?? newId();
    this.replyId = continues?.replyId ?? newId();
    this.agentPath = Object.freeze([...(parent?.agentPath ?? []), agentName]);
    this.#run = sameRun ? sameRun.#run : { events: 0, agentCalls: 0 };
    if (continues === undefined) this.#run.agentCalls++;
    this.stop = new TurnStop(continues?.stop.graceOver);
    this.signal = this.stop.signal;
    this.outlet = new EventOutlet({
      listener,
      observers: options.observers,
      outer: parent?.outlet,
      isInToolCall: this.outerToolCallId !== undefined,
      locate: (body) => this.#located(body),
    });
    const { runStep } = (continues ?? (this.outlivesParent ? undefined : parent))?.steps ?? {};
    const keys = continues?.steps.keys ?? parent?.steps.keys.nested(agentName, this.outerToolCallId);
    this.steps = new TurnSteps(this, options.runStep ?? runStep, keys ?? new StepKeys());
    this.costs = continues?.costs ?? new TurnCosts(parent?.costs);
    const stopForConsumer = (): void => void this.interruptOrEndWaits('consumer');
    listener?.left.addEventListener('abort', stopForConsumer, { once: true });
    this.#unlink = [
      whenAborted(this.outlivesParent ? undefined : parent?.signal, (reason) => this.stop.endWaits(reason)),
      whenAborted(options.signal, (reason) => this.stop.endWaits(reason)),
      () => listener?.left.removeEventListener('abort', stopForConsumer),
    ];
    if (listener !== undefined) this.signal.addEventListener('abort', listener.release, { once: true });
    this.turn = new ControlledTurn(this);
  }

  /** Number of agent calls in this run so far. */
  get agentCallsInRun(): number {
    return this.#run.agentCalls;
  }

  /** For late work that would change something. @throws the reason why the call was stopped, if it is over */
  assertNotOver(): void {
    if (this.state.isOver) this.signal.throwIfAborted();
  }

  /**
   * Stops the call, depending on its state:
   * - `running`: the reply is stopped, and `handleInterrupt` answers.
   * - `interrupted`, and `handleInterrupt` has not begun: the messages are added to those of the first interrupt, and
   *   `handleInterrupt` has only the rest of the grace.
   * - `decided` by an answer whose hooks still run: the hooks have the grace. If they end in time, the answer stands; otherwise
   *   the call is interrupted.
   * - any other state, or after an abort: too late, nothing happens.
   * @returns false if too late
   */
  interrupt(source: InterruptSource, msgs: readonly Msg[] = []): boolean {
    const error = new InterruptedError(this.#options.agentName, source);
    const effect = this.state.addInterrupt({ error, msgs }, this.signal.aborted);
    if (effect === 'first') this.stop.stopReply(error);
    if (effect === 'further') this.endWaits();
    return effect !== 'refused';
  }

  /** Interrupts the call, or, if that is too late, lets nothing after the answer wait any longer. */
  interruptOrEndWaits(source: InterruptSource, msgs: readonly Msg[] = []): boolean {
    const isAccepted = this.interrupt(source, msgs);
    if (!isAccepted) this.endWaits(source);
    return isAccepted;
  }

  /** Ends the waits for everything after the reply: hooks of the answer, `handleInterrupt`, observers, saves. */
  endWaits(source: InterruptSource = 'user'): void {
    this.stop.endWaits(new InterruptedError(this.#options.agentName, source));
  }

  /** The control in which an interrupt of this call is handled. `endWaits` stops it. */
  continuation(): TurnControl {
    this.state.beginHandling();
    const { agentId, agentName, parent, outlivesParent, listener, observers, checkpointListeners } =
      this.#options;
    const signal = this.stop.waitsEnded;
    return new TurnControl({
      agentId,
      agentName,
      parent,
      outlivesParent,
      signal,
      listener: listener && { ...listener, left: signal },
      observers,
      checkpointListeners,
      structuredModel: this.structuredModel,
      continues: this,
    });
  }

  /** Declares the answer. @throws the reason of the signal, if that was aborted before there was an answer */
  commit(answer: Msg): void {
    if (this.state.answer === undefined) this.signal.throwIfAborted();
    this.state.commit(answer);
  }

  /** Declares that the answer is a question for decisions about pending tool calls. @throws like `commit` */
  suspend(question: Msg): void {
    this.commit(question);
    this.state.suspend(question);
  }

  /**
   * Waits for the listeners of `onOutcome`, before the outcome is told. A question goes to the streams of the agent calls around too,
   * and may be part of the state of those agents, so it waits for their listeners as well. Undefined if there are none.
   */
  beforeOutcome(): Promise<unknown> | undefined {
    const calls: TurnControl[] = [this];
    if (this.state.isSuspended && this.outerToolCallId === undefined)
      for (let { parent } = this; parent !== undefined; { parent } = parent) calls.push(parent);
    const listeners = calls.flatMap((call) => [...(call.#options.outcomeListeners ?? [])]);
    return listeners.length === 0 ? undefined : Promise.all(listeners.map((listener) => listener()));
  }

  /** Ends the call. Nothing that happens later has an effect. */
  end(): void {
    this.state.end();
    this.inbox.close();
    this.outlet.close();
    for (const unlink of this.#unlink) unlink();
    this.stop.end();
  }

  /** See `Turn`. */
  emit(body: EventBody): void | Promise<void> {
    return both(this.outlet.emit(body), this.pause()) as void | Promise<void>;
  }

  /** Declares that the call will not be refused any more. */
  accept(): void | Promise<void> {
    return both(this.outlet.emitHeld(), this.pause()) as void | Promise<void>;
  }

  /** See `Turn`. */
  addUsage(usage: Usage | undefined, msgId?: string): void | Promise<void> {
    if (usage === undefined || this.state.isOver) return;
    this.costs.add(usage);
    return this.emit({ type: 'usage', usage, ...(msgId !== undefined && { msgId }) });
  }

  /** See `Turn`. */
  pause(): void | Promise<void> {
    if (!this.state.isOver && ++this.#stepsSincePause < STEPS_BETWEEN_PAUSES) return;
    this.#stepsSincePause = 0;
    return yieldToEventLoop();
  }

  /** Waits for the listeners of `onCheckpoint` of this agent and of the agents around, before an action that can't be undone. */
  async checkpoint(): Promise<void> {
    await Promise.all(Array.from(this.#options.checkpointListeners ?? [], (listener) => listener()));
    if (this.parent === undefined) return;
    if (this.outerToolCallId !== undefined) this.parent.replyScope?.noteStart(this.outerToolCallId);
    await this.parent.checkpoint();
  }

  /** The tool calls in which this call was made, from the outermost on. */
  get toolCallPath(): readonly string[] {
    const outer = this.parent?.toolCallPath ?? [];
    return this.outerToolCallId === undefined ? outer : [...outer, this.outerToolCallId];
  }

  /** Whether one of the tool calls has no result yet, in this agent call or in the calls around. */
  hasUnfinishedToolCall(toolCallIds: readonly string[]): boolean {
    const isMine = toolCallIds.some((id) => this.replyScope?.isUnfinished(id) === true);
    return isMine || (this.parent?.hasUnfinishedToolCall(toolCallIds) ?? false);
  }

  /** See `Turn`. */
  takeDecisions(): readonly PendingDecision[] {
    const decisions = this.#decisions;
    this.#decisions = [];
    return decisions;
  }

  /** Hands messages to the running reply. @returns false if nobody will read them */
  steer(msgs: readonly Msg[]): boolean {
    return !this.signal.aborted && this.inbox.steer(msgs);
  }

  /** Hands over messages to be answered after the reply. @returns false if nobody will answer them */
  followUp(msgs: readonly Msg[]): boolean {
    return !this.signal.aborted && this.inbox.followUp(msgs);
  }

  /** Takes the messages for the next reply of this call: follow-ups and unread steering. Closes the inbox if there are none. */
  takeFollowUps(): readonly Msg[] {
    const next = this.inbox.takeAll();
    if (next.length === 0) this.inbox.close();
    else {
      this.replyId = newId();
      this.structuredModel = this.#options.structuredModel;
      this.state.restart();
    }
    return next;
  }

  /** Takes all unread messages, and closes the inbox. */
  takeUnread(): readonly Msg[] {
    this.inbox.close();
    return this.inbox.takeAll();
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

  #located(body: EventBody): AgentEvent {
    const seq = this.#run.events++;
    return {
      ...body,
      id: `${this.runId}:${seq}`,
      runId: this.runId,
      replyId: this.replyId,
      agentPath: this.agentPath,
      seq,
      timestamp: timestamp(),
    };
  }
}
