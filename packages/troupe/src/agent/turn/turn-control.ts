import { InterruptedError, type InterruptSource } from '../../errors.ts';
import type { EventBody } from '../../event/agent-event.ts';
import { both, EventOutlet, type EventObservers } from '../../event/event-outlet.ts';
import type { RunListener } from '../../event/reply-stream.ts';
import type { StepRunner } from '../../event/step.ts';
import type { Msg } from '../../message/msg.ts';
import type { Usage } from '../../message/usage.ts';
import { whenAborted } from '../../util/abort.ts';
import { yieldToEventLoop } from '#platform';
import { CallPlace } from './call-place.ts';
import { ControlledTurn } from './controlled-turn.ts';
import { CurrentReply, type ReplyRequest } from './current-reply.ts';
import { HookResults } from './hook-results.ts';
import { Inbox } from './inbox.ts';
import { currentScope, runInScope } from './run-scope.ts';
import { SavePoints, type SaveListeners } from './save-points.ts';
import { TurnCosts } from './spending.ts';
import { StepKeys } from './step-keys.ts';
import { TurnState } from './turn-state.ts';
import { TurnSteps } from './turn-steps.ts';
import { TurnStop } from './turn-stop.ts';
import type { Turn } from './turn.ts';

export interface TurnControlOptions extends ReplyRequest {
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
  /** The listeners of `onOutcome` of the agent. */
  readonly outcomeListeners?: SaveListeners | undefined;
  /** The listeners of `onCheckpoint` of the agent. */
  readonly checkpointListeners?: SaveListeners | undefined;
  /** The call whose interrupt this one handles. Both are one agent call of the same run. */
  readonly continues?: TurnControl | undefined;
}

/** Number of prints, events and steps without a wait after which timers, input and interrupts get time. */
const STEPS_BETWEEN_PAUSES = 256;

/**
 * Controls one agent call from start to end. `turn` is the part that `reply` gets; the rest is for the code around `reply`.
 *
 * `state` says how far the call is, `stop` stops it, `place` is its position in the run, `reply` the reply that it gives now; `outlet` sends
 * its events, `steps` runs its steps, `costs` adds up what it spends, `inbox` takes messages for it, `savePoints` has the state saved
 * first, `hookResults` keeps what its hooks returned. An interrupt counts as long as nothing is decided. A call that is over ignores
 * everything: late events, prints and usage are dropped.
 */
export class TurnControl {
  readonly turn: Turn;
  /** The agent call around. */
  readonly parent: TurnControl | undefined;
  readonly place: CallPlace;
  readonly reply: CurrentReply;
  readonly state = new TurnState();
  readonly stop: TurnStop;
  /** See `Turn`. */
  readonly signal: AbortSignal;
  readonly outlet: EventOutlet;
  readonly steps: TurnSteps;
  readonly costs: TurnCosts;
  readonly inbox: Inbox;
  readonly savePoints: SavePoints;
  readonly hookResults = new HookResults();
  /** Whether the call waits until its answer is spoken. An interrupt then ends the speech, and not the waits for saves and observers. */
  isSpeaking = false;
  readonly #options: TurnControlOptions;
  readonly #unlink: (() => void)[];
  #stepsSincePause = 0;

  constructor(options: TurnControlOptions) {
    const { agentId, agentName, parent, listener, continues, outlivesParent = false } = options;
    this.#options = options;
    this.parent = parent;
    this.place =
      continues?.place ??
      new CallPlace({
        agentId,
        agentName,
        outer: parent?.place,
        outlivesOuter: outlivesParent,
        outerToolCallId: parent && currentScope().toolCall?.id,
      });
    const { outerToolCallId } = this.place;
    this.reply = new CurrentReply(options, continues?.reply.id);
    this.stop = new TurnStop(agentName, continues?.stop.graceOver);
    this.signal = this.stop.signal;
    this.outlet = new EventOutlet({
      listener,
      observers: options.observers,
      outer: parent?.outlet,
      isInToolCall: outerToolCallId !== undefined,
      locate: (body) => this.place.locate(body, this.reply.id),
    });
    const { runStep } = (continues ?? (outlivesParent ? undefined : parent))?.steps ?? {};
    const keys = continues?.steps.keys ?? parent?.steps.keys.nested(agentName, outerToolCallId);
    this.steps = new TurnSteps(this, options.runStep ?? runStep, keys ?? new StepKeys());
    this.costs = continues?.costs ?? new TurnCosts(parent?.costs);
    this.inbox = new Inbox(this.signal);
    this.savePoints = new SavePoints({
      outcomeListeners: options.outcomeListeners,
      checkpointListeners: options.checkpointListeners,
      outer: parent?.savePoints,
      isToldOutside: () => this.state.isSuspended && outerToolCallId === undefined,
      noteStart: () => outerToolCallId !== undefined && parent?.reply.scope?.noteStart(outerToolCallId),
    });
    const stopForConsumer = (): void => void this.interruptOrEndWaits('consumer');
    listener?.left.addEventListener('abort', stopForConsumer, { once: true });
    this.#unlink = [
      whenAborted(outlivesParent ? undefined : parent?.signal, (reason) => this.stop.endWaits(reason)),
      whenAborted(options.signal, (reason) => this.stop.endWaits(reason)),
      () => listener?.left.removeEventListener('abort', stopForConsumer),
    ];
    if (listener !== undefined) this.signal.addEventListener('abort', listener.release, { once: true });
    this.turn = new ControlledTurn(this);
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
    if (effect === 'further') this.stop.endWaits();
    return effect !== 'refused';
  }

  /** Interrupts the call, or, if that is too late, ends speech that still plays; otherwise nothing after the answer waits any longer. */
  interruptOrEndWaits(source: InterruptSource, msgs: readonly Msg[] = []): boolean {
    const isAccepted = this.interrupt(source, msgs);
    if (isAccepted) return true;
    const error = new InterruptedError(this.#options.agentName, source);
    if (this.isSpeaking && source === 'user') this.stop.stopReply(error);
    else this.stop.endWaits(error);
    return false;
  }

  /** The control in which an interrupt of this call is handled. `stop.endWaits` stops it. */
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
      structuredModel: this.reply.structuredModel,
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

  /** Takes the messages for the next reply of this call: follow-ups and unread steering. Closes the inbox if there are none. */
  takeFollowUps(): readonly Msg[] {
    const next = this.inbox.takeAll();
    if (next.length === 0) this.inbox.close();
    else {
      this.reply.restart();
      this.state.restart();
    }
    return next;
  }

  /** Runs code so that `currentTurn()` returns this turn, through all awaits. */
  run<T>(body: () => T): T {
    return runInScope({ control: this }, body);
  }
}
