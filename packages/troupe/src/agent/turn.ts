import { InterruptedError, type InterruptSource } from '../errors.ts';
import type { EventBody, EventOrigin } from '../event/agent-event.ts';
import { both, EventOutlet } from '../event/event-outlet.ts';
import type { RunListener } from '../event/reply-stream.ts';
import type { Step, StepInit, StepRunner } from '../event/step.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { addUsage, type Usage } from '../message/usage.ts';
import { abortable, whenAborted } from '../util/abort.ts';
import { newId } from '../util/ids.ts';
import type { AnySchema } from '../util/schema.ts';
import { yieldToEventLoop } from '#platform';
import { currentCallId, currentTurn, runInTurn } from './current-turn.ts';
import { Inbox } from './inbox.ts';
import { StepKeys } from './step-keys.ts';

export interface TurnOptions {
  readonly agentId: string;
  readonly agentName: string;
  readonly parent?: Turn | undefined;
  /** Whether it goes on when the parent stops; its steps are not those of the parent's run then. */
  readonly outlivesParent?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly listener?: RunListener | undefined;
  readonly runStep?: StepRunner | undefined;
  readonly structuredModel?: AnySchema | undefined;
  readonly decisions?: readonly PendingDecision[] | undefined;
  readonly onPending?: 'refuse' | 'close' | undefined;
  /** The turn whose interrupt this one handles: the same run, but not stopped yet. */
  readonly continues?: Turn | undefined;
}

/** After so many prints, events and steps without a pause, everybody else gets a chance: timers, input, an interrupt. */
const STEPS_BETWEEN_PAUSES = 256;

/**
 * One call of an agent, from start to end: its ids, its signal, its events, and
 * the messages that arrive meanwhile.
 *
 * `signal` is aborted by an interrupt, by the caller's own signal, by a consumer
 * that left, or with the turn of the agent that made the call. Once the answer is
 * committed, an interrupt comes too late. A turn that is over is deaf: what
 * late work emits or prints is dropped.
 */
export class Turn {
  readonly runId: string;
  readonly agentId: string;
  readonly agentPath: readonly string[];
  readonly parent: Turn | undefined;
  /** The turn whose interrupt this one handles, or else itself: together they are one call. */
  readonly origin: Turn;
  /** Whether it goes on when the parent stops, which doesn't wait for it. */
  readonly outlivesParent: boolean;
  /** What is to be done about pending calls, if the caller says so. */
  readonly onPending: 'refuse' | 'close' | undefined;
  /** The tool call of the parent in which this turn was begun. */
  readonly outerCallId: string | undefined;
  /** The shape that the caller wants the answer's `metadata` to have. */
  readonly structuredModel: AnySchema | undefined;
  /** Set by an agent that makes calls: whether one of them has no result yet. */
  isCallOpen: ((callId: string) => boolean) | undefined;
  /** Set by an agent that can note where it stands. Gets the call in whose tool another agent does something for good, if it is one. */
  onCheckpoint: ((callId: string | undefined) => Promise<void>) | undefined;
  #decisions: readonly PendingDecision[];
  readonly #agentName: string;
  readonly #controller = new AbortController();
  readonly #unlink: (() => void)[];
  readonly #listener: RunListener | undefined;
  readonly #outlet: EventOutlet;
  readonly #runStep: StepRunner | undefined;
  /** Shared with the turn that handles an interrupt of this one. */
  readonly #keys: StepKeys;
  /** Shared by all turns of a run. */
  readonly #run: { events: number; turns: number };
  /** Shared with the turn that handles an interrupt of this one. */
  readonly #spent: { usage: Usage | undefined };
  readonly #inbox = new Inbox();
  readonly #children = new Set<Promise<unknown>>();
  #replyId: string;
  #stepsSincePause = 0;
  #interruptedBy: InterruptedError | undefined;
  #interruptMsgs: readonly Msg[] = [];
  #answer: Msg | undefined;
  #isDecided = false;
  #isInterruptHandled = false;
  #isSuspended = false;
  #isOver = false;
  #closing: AbortController | undefined;

  constructor(options: TurnOptions) {
    const { agentName, parent, listener, continues } = options;
    this.#agentName = agentName;
    this.agentId = options.agentId;
    this.parent = parent;
    this.origin = continues?.origin ?? this;
    this.outlivesParent = options.outlivesParent ?? false;
    this.outerCallId = continues === undefined ? parent && currentCallId() : continues.outerCallId;
    this.structuredModel = options.structuredModel;
    this.onPending = options.onPending;
    this.#decisions = options.decisions ?? [];
    this.runId = (continues ?? parent)?.runId ?? newId();
    this.#replyId = continues?.replyId ?? newId();
    this.agentPath = Object.freeze([...(parent?.agentPath ?? []), agentName]);
    const sameRun = continues ?? parent;
    this.#run = sameRun === undefined ? { events: 0, turns: 0 } : sameRun.#run;
    if (continues === undefined) this.#run.turns++;
    this.#spent = continues === undefined ? { usage: undefined } : continues.#spent;
    if (continues !== undefined) this.#keys = continues.#keys;
    else
      this.#keys = parent === undefined ? new StepKeys() : parent.#keys.nested(agentName, this.outerCallId);
    this.#listener = listener;
    const outer = parent === undefined ? undefined : parent.#outlet;
    this.#outlet = new EventOutlet(listener, outer, () => this.#origin());
    const stepsOf = continues ?? (this.outlivesParent ? undefined : parent);
    this.#runStep = options.runStep ?? (stepsOf === undefined ? undefined : stepsOf.#runStep);
    const stopForConsumer = (): void => void this.interrupt('consumer');
    listener?.left.addEventListener('abort', stopForConsumer, { once: true });
    this.#unlink = [
      whenAborted(this.outlivesParent ? undefined : parent?.signal, (reason) => this.#abort(reason)),
      whenAborted(options.signal, (reason) => this.#abort(reason)),
      () => listener?.left.removeEventListener('abort', stopForConsumer),
    ];
    if (listener !== undefined) this.signal.addEventListener('abort', listener.release, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The id of the reply that is being made; a follow-up gets a new one. */
  get replyId(): string {
    return this.#replyId;
  }

  /** How many calls of agents there were in this run so far, nested ones included. */
  get turnsInRun(): number {
    return this.#run.turns;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** For late work that would change something. @throws the reason why the turn was stopped, if it is over */
  assertNotOver(): void {
    if (this.#isOver) this.signal.throwIfAborted();
  }

  /** Who interrupted this very turn; undefined for a foreign abort. */
  get interruptedBy(): InterruptSource | undefined {
    return this.#interruptedBy?.source;
  }

  /** What was said with the interrupt. */
  get interruptMsgs(): readonly Msg[] {
    return this.#interruptMsgs;
  }

  /** The turn in which an interrupt of this one is handled. It is stopped by `hurry`. */
  continuation(): Turn {
    this.#isInterruptHandled = true;
    return new Turn({
      agentId: this.agentId,
      agentName: this.#agentName,
      parent: this.parent,
      outlivesParent: this.outlivesParent,
      signal: this.closing,
      listener: this.#listener && { ...this.#listener, left: this.closing },
      structuredModel: this.structuredModel,
      continues: this,
    });
  }

  /** The answer, once it is committed. */
  get answer(): Msg | undefined {
    return this.#answer;
  }

  /**
   * Stops the turn. A second interrupt adds its messages to the first, as long as that is not handled yet.
   * Returns false if it is too late: the outcome is decided, or the turn was stopped otherwise.
   */
  interrupt(source: InterruptSource, msgs: readonly Msg[] = []): boolean {
    if (this.#interruptedBy !== undefined && !this.#isInterruptHandled && !this.#isDecided) {
      this.#interruptMsgs = [...this.#interruptMsgs, ...msgs];
      return true;
    }
    if (this.#isOver || this.#isDecided || this.signal.aborted) return false;
    this.#interruptedBy = new InterruptedError(this.#agentName, source);
    this.#interruptMsgs = msgs;
    this.#controller.abort(this.#interruptedBy);
    return true;
  }

  /** Cuts short what comes after the answer: post hooks, `handleInterrupt`, observers. */
  hurry(): void {
    this.#abort(new InterruptedError(this.#agentName, 'user'));
  }

  /** Aborted when nobody wants to wait for the end of the turn. */
  get closing(): AbortSignal {
    return (this.#closing ??= new AbortController()).signal;
  }

  /** Says what the answer is, just before it is stored. From here on an interrupt does not change it. */
  commit(answer: Msg): void {
    if (this.#answer === undefined) this.signal.throwIfAborted();
    this.#answer = answer;
    this.#isDecided = true;
  }

  /** Says that there will be no answer, because something failed. An interrupt does not change that either. */
  fail(): void {
    this.#isDecided = true;
  }

  /** Tells the stream what happens. Returns a promise only when the consumer is slow, or others need a chance. */
  emit(body: EventBody): void | Promise<void> {
    return both(this.#outlet.emit(body), this.pause()) as void | Promise<void>;
  }

  /** What this turn has cost so far, with all agents that it called. */
  get usage(): Usage | undefined {
    return this.#spent.usage;
  }

  /** Counts what a model's answer cost, for this turn and for those around it, and tells the stream. */
  addUsage(usage: Usage | undefined): void | Promise<void> {
    if (usage === undefined || this.#isOver) return;
    this.#spend(usage);
    return this.emit({ type: 'usage', usage });
  }

  #spend(usage: Usage): void {
    this.#spent.usage = addUsage(this.#spent.usage, usage);
    if (this.parent !== undefined) this.parent.#spend(usage);
  }

  /** Whether anybody would see an event. */
  get hasListener(): boolean {
    return this.#outlet.hasListener;
  }

  /** Lets timers, input and interrupts have their turn, if it is time for that. */
  pause(): void | Promise<void> {
    if (!this.#isOver && ++this.#stepsSincePause < STEPS_BETWEEN_PAUSES) return;
    this.#stepsSincePause = 0;
    return yieldToEventLoop();
  }

  /**
   * Runs a model call, a tool call or a durable write of this turn.
   * Rejects as soon as the turn is stopped, even if the step goes on.
   */
  async step<T>(init: StepInit, body: () => Promise<T>): Promise<T> {
    const { kind, name } = init;
    const step = this.#runStep && { kind, name, key: this.#keyOf(init) }; // before any wait: parallel steps keep their order
    const pauses = this.pause();
    if (pauses) await pauses;
    this.signal.throwIfAborted();
    return abortable(this.relayStep(step, body), this.signal);
  }

  /** Runs a write to the agent's memory, also when the turn was stopped, so that nothing is left half. */
  async write<T>({ name, key }: Omit<StepInit, 'kind'>, body: () => Promise<T>): Promise<T> {
    const kind = 'write';
    return this.relayStep(this.#runStep && { kind, name, key: this.#keyOf({ kind, name, key }) }, body);
  }

  /** Runs a step of this turn, or of one inside of it, by whoever runs the steps of this turn. */
  async relayStep<T>(step: Step | undefined, body: () => Promise<T>): Promise<T> {
    return this.#runStep && step ? this.#runStep(step, body) : body();
  }

  #keyOf(init: StepInit): string {
    const callId = currentTurn() === this ? currentCallId() : undefined;
    return this.#keys.next(init, callId === this.outerCallId ? undefined : callId);
  }

  /** Notes, before something is done that can't be undone, where this turn and those around it stand. */
  async checkpoint(callId?: string): Promise<void> {
    await this.onCheckpoint?.(callId);
    await this.parent?.checkpoint(this.outerCallId);
  }

  /** The tool calls in which this turn was begun, from the outermost on. */
  get callPath(): readonly string[] {
    const outer = this.parent?.callPath ?? [];
    return this.outerCallId === undefined ? outer : [...outer, this.outerCallId];
  }

  /** Whether one of these calls has no result yet, in this turn or in one around it. */
  hasOpenCall(callIds: readonly string[]): boolean {
    const isMine = callIds.some((id) => this.isCallOpen?.(id) === true);
    return isMine || (this.parent?.hasOpenCall(callIds) ?? false);
  }

  /** What the caller has decided about pending calls. It is given away once. */
  takeDecisions(): readonly PendingDecision[] {
    const decisions = this.#decisions;
    this.#decisions = [];
    return decisions;
  }

  /** The messages that came by `steer` since the last time. */
  takeSteering(): readonly Msg[] {
    return this.#inbox.takeSteering();
  }

  /** What is to be answered next, in this run: follow-ups, and steering that nobody read. If that is nothing, no more is taken in. */
  takeFollowUps(): readonly Msg[] {
    const next = this.#inbox.takeAll();
    if (next.length === 0) this.#inbox.close();
    else {
      this.#replyId = newId();
      this.#answer = undefined;
      this.#isDecided = false;
    }
    return next;
  }

  steer(msgs: readonly Msg[]): boolean {
    return !this.signal.aborted && this.#inbox.steer(msgs);
  }

  followUp(msgs: readonly Msg[]): boolean {
    return !this.signal.aborted && this.#inbox.followUp(msgs);
  }

  /** Says that the answer is to wait for somebody: what comes in is not answered in this turn. */
  suspend(answer: Msg): void {
    this.commit(answer);
    this.#isSuspended = true;
  }

  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Gives away what was neither read nor answered, and takes no more in. */
  takeUnread(): readonly Msg[] {
    this.#inbox.close();
    return this.#inbox.takeAll();
  }

  /** Messages that arrived but were neither read nor answered. */
  get unread(): readonly Msg[] {
    return this.#inbox.unread;
  }

  /** Runs code so that `currentTurn()` finds this turn, through all awaits. */
  run<T>(body: () => T): T {
    return runInTurn(this, body);
  }

  /** The calls that were made in this turn and still run. They stop with it. */
  get children(): Iterable<Promise<unknown>> {
    return this.#children;
  }

  adopt(child: Promise<unknown>): void {
    this.#children.add(child);
    const settled = (): void => void this.#children.delete(child);
    child.then(settled, settled);
  }

  /** Ends the turn. Nothing that happens later has an effect. */
  end(): void {
    this.#isOver = true;
    this.#inbox.close();
    this.#outlet.close();
    for (const unlink of this.#unlink) unlink();
  }

  /** Stops everything, and lets nobody wait for what comes after. */
  #abort(reason: unknown): void {
    (this.#closing ??= new AbortController()).abort(reason);
    this.#controller.abort(reason);
  }

  #origin(): EventOrigin {
    return {
      runId: this.runId,
      replyId: this.#replyId,
      agentPath: this.agentPath,
      seq: this.#run.events++,
    };
  }
}
