import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError, type InterruptSource } from '../errors.ts';
import type { EventBody, RunStatus } from '../event/agent-event.ts';
import { toEventError } from '../event/event-error.ts';
import { callHook, callHooked, runPostHooks, runPreHooks, type Hookable } from '../hooks/run-hooks.ts';
import { Msg } from '../message/msg.ts';
import { abortable } from '../util/abort.ts';
import { waitBriefly, waitTicks, withGrace } from '../util/async/grace.ts';
import { settledWithin } from '../util/async/settled-within.ts';
import { elapsedSince, monotonic, startTimer } from '../util/clock.ts';
import { describe } from '../util/json.ts';
import { A_MSG, REPLY } from './agent-hooks.ts';
import type { Interrupt } from './interrupt.ts';
import { unfinishedObservations } from './observations.ts';
import type { Printer } from './printing/printer.ts';
import type { Observer, Subscribers } from './subscribers.ts';
import type { TurnControl } from './turn/turn-control.ts';

/** The part of an agent that its calls use. */
export interface CalledAgent extends Hookable {
  readonly name: string;
  readonly observeTimeoutMs: number;
  handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg>;
  print(msg: Msg, last?: boolean): Promise<void>;
}

/** The private parts of an agent that its calls need. */
export interface AgentParts {
  readonly printer: Printer;
  readonly subscribers: Subscribers;
  readonly interruptReply: () => Msg;
  /** Time limit of `handleInterrupt`, if any. */
  readonly interruptTimeoutMs: number;
  /** Whether `reply` may refuse the call. */
  readonly mayRefuse: () => boolean;
  /** Gets messages that came in while the answer became a question for an approval. */
  readonly postpone: (msgs: readonly Msg[]) => void;
  /** Gets work that ignored an interrupt and still runs. */
  readonly leaveBehind: (work: Promise<unknown>, what: 'reply' | 'handleInterrupt') => void;
}

/** Maximum time that an interrupted call waits for the listeners of `onOutcome`, such as a save. */
const OUTCOME_LIMIT_MS = 1000;

/**
 * One agent call after its admission: the reply with its hooks, or the answer to an interrupt; then the broadcast; then
 * follow-ups. The caller and the stream are told the outcome after the listeners of `onOutcome`, such as a save. Ends in
 * exactly one `run_end`, whatever happens, unless the reply refuses the call: then there is no event at all.
 */
export class AgentCall {
  readonly #agent: CalledAgent;
  readonly #control: TurnControl;
  readonly #parts: AgentParts;
  #failure: 'aborted' | 'failed' = 'failed';

  constructor(agent: CalledAgent, control: TurnControl, parts: AgentParts) {
    this.#agent = agent;
    this.#control = control;
    this.#parts = parts;
  }

  /** Replies to the messages, then to follow-ups. */
  async answer(msgs: readonly Msg[]): Promise<Msg> {
    const control = this.#control;
    const startedAt = monotonic();
    control.outlet.hold(this.#start);
    try {
      const unheard = unfinishedObservations(this.#agent);
      if (unheard) await this.#hear(unheard);
      const waits = this.#parts.mayRefuse() ? undefined : control.accept();
      if (waits) await waits; // otherwise the reply starts at once, so that its input is safe
      let answer = await this.#answerOne(msgs);
      while (!control.signal.aborted && !control.state.isSuspended) {
        const next = control.takeFollowUps();
        if (next.length === 0) break;
        await control.emit(this.#start);
        answer = await this.#answerOne(next);
      }
      const isAsked = control.state.isSuspended && answer.pending !== undefined; // then the question was saved
      if (!isAsked) await this.#beforeOutcome();
      const durationMs = elapsedSince(startedAt);
      await control.emit({ type: 'run_end', status: this.#statusOf(answer), msg: answer, durationMs });
      return answer;
    } catch (error) {
      if (isRefused(control, error)) throw error;
      await this.#beforeOutcome();
      const durationMs = elapsedSince(startedAt);
      await control.emit({ type: 'run_end', status: this.#failure, error: toEventError(error), durationMs });
      throw error;
    } finally {
      const lost = control.inbox.unread.length;
      if (lost > 0 && !control.state.interrupt)
        getLogger().log('warn', unansweredText(this.#agent.name, lost));
    }
  }

  /** Waits for observations that began before the call, so that the history is in order. */
  async #hear(observations: Promise<unknown>): Promise<void> {
    const { signal } = this.#control;
    const { name, observeTimeoutMs } = this.#agent;
    const isHeard = await settledWithin(observations, observeTimeoutMs, signal);
    if (isHeard || signal.aborted) return;
    const message = `${name} answers before it has taken in everything: that took longer than ${observeTimeoutMs} ms.`;
    getLogger().log('warn', message);
    this.#control.outlet.hold({ type: 'error', error: { message } }); // no event before the call is accepted
  }

  #report(message: string): void {
    getLogger().log('warn', message);
    void this.#control.emit({ type: 'error', error: { message } });
  }

  async #answerOne(msgs: readonly Msg[]): Promise<Msg> {
    const control = this.#control;
    const startedAt = monotonic();
    try {
      const answer = await this.#replyOrInterrupt(msgs);
      await this.#parts.printer.end(this.#agent.name, control);
      if (control.state.isSuspended) this.#parts.postpone(control.inbox.takeRest());
      else await this.#broadcast(answer); // a question for decisions is for the caller alone
      if (answer.pending !== undefined) await this.#ask(answer);
      const durationMs = elapsedSince(startedAt);
      await control.emit({ type: 'reply_end', status: this.#statusOf(answer), msgId: answer.id, durationMs });
      return answer;
    } catch (error) {
      control.state.decideWithoutAnswer();
      if (isRefused(control, error)) throw error;
      await this.#parts.printer.end(this.#agent.name, control);
      this.#failure = failureStatus(control);
      if (this.#failure === 'failed') await this.#runErrorHooks(error, msgs);
      const durationMs = elapsedSince(startedAt);
      await control.emit({ type: 'reply_end', status: this.#failure, durationMs });
      throw error;
    }
  }

  /** Tells the caller and the stream what is pending. Leaving the stream here leaves the tool calls pending. */
  async #ask(question: Msg): Promise<void> {
    const control = this.#control;
    await this.#beforeOutcome();
    for (const pending of question.pending ?? []) await control.emit({ type: 'approval_needed', pending });
    if (!control.state.isSuspended) return;
    await this.#agent.print(question).catch((error: unknown) => {
      if (!control.signal.aborted) throw error; // stopped while a hook of `print` ran: the question is told already
    });
    await this.#parts.printer.end(this.#agent.name, control);
  }

  /** Waits for the listeners of `onOutcome`. A failure of theirs is an event, and changes nothing else. */
  async #beforeOutcome(): Promise<void> {
    const control = this.#control;
    const work = control.savePoints.beforeOutcome();
    if (work === undefined) return;
    const failed = (error: unknown): void => void control.emit({ type: 'error', error: toEventError(error) });
    const done = work.catch(failed);
    const isLimited = control.signal.aborted && !control.stop.waitsEnded.aborted;
    const stopWaiting = isLimited ? startTimer(OUTCOME_LIMIT_MS, () => control.stop.endWaits()) : undefined;
    await abortable(done, control.stop.waitsEnded).catch(() => {});
    stopWaiting?.();
    if (control.stop.waitsEnded.aborted) await waitBriefly(done, control.stop.graceOver);
  }

  get #start(): EventBody {
    return { type: 'reply_start', name: this.#agent.name };
  }

  #statusOf({ pending }: Msg): RunStatus {
    if (this.#control.state.interrupt) return 'interrupted';
    return pending === undefined && !this.#control.state.isSuspended ? 'finished' : 'suspended';
  }

  async #replyOrInterrupt(msgs: readonly Msg[]): Promise<Msg> {
    const control = this.#control;
    const work = this.#reply(msgs);
    try {
      return await withGrace(work, control.signal, () => this.#parts.leaveBehind(work, 'reply'), {
        started: () => control.place.nested,
        over: () => control.stop.graceOver,
      });
    } catch (error) {
      if (!control.signal.aborted) throw error;
      if (control.state.isAnswerFinal && control.state.answer !== undefined) return control.state.answer; // the stop came too late
      const { answer } = control.state;
      if (answer !== undefined && control.state.hasLateInterrupt && !this.#hasAnswerHooks) return answer;
      control.state.acceptLateInterrupt(); // the hooks of the answer were cut off: an answer without them is not given
      const { interrupt } = control.state;
      if (interrupt === undefined) throw control.signal.reason;
      await control.accept(); // an interrupted call is answered, so it is not refused
      await this.#parts.printer.end(this.#agent.name, control);
      return this.#answerInterrupt(msgs, interrupt.error.source);
    }
  }

  get #hasAnswerHooks(): boolean {
    return ['postReply', 'postCall'].some((type) => this.#agent.hooksOf(type).length > 0);
  }

  async #reply(msgs: readonly Msg[]): Promise<Msg> {
    const control = this.#control;
    control.signal.throwIfAborted();
    const preHooks = this.#agent.hooksOf('preCall');
    const args =
      preHooks.length === 0
        ? { msgs }
        : await runPreHooks(this.#agent, 'preCall', preHooks, { msgs }, { signal: control.signal });
    const reply = checkedMsg(
      await callHooked(this.#agent, REPLY, args.msgs, control.turn),
      `reply() of ${this.#agent.constructor.name}`,
    );
    const question = control.state.isSuspended ? control.state.answer : undefined;
    control.commit(reply);
    const hooks = this.#agent.hooksOf('postCall');
    const said = await runPostHooks(this.#agent, 'postCall', hooks, args, reply, { kind: A_MSG });
    const answer = question === undefined ? said : asQuestion(said, question);
    control.commit(answer);
    control.state.finalize(); // later interrupts and aborts do not change the answer
    return answer;
  }

  async #answerInterrupt(msgs: readonly Msg[], source: InterruptSource): Promise<Msg> {
    const control = this.#control;
    const handling = control.continuation();
    const answer = async (): Promise<Msg> => {
      const { signal } = handling;
      const interrupt: Interrupt = {
        source,
        msgs: control.state.interrupt?.msgs ?? [],
        unread: control.inbox.unread,
        signal,
      };
      return checkedMsg(
        await this.#agent.handleInterrupt(msgs, interrupt),
        `handleInterrupt() of ${this.#agent.constructor.name}`,
      );
    };
    const { interruptTimeoutMs } = this.#parts;
    const stopWaiting =
      interruptTimeoutMs === Infinity
        ? undefined
        : startTimer(interruptTimeoutMs, () => control.stop.endWaits());
    const work = handling.run(answer);
    const abandon = (): void => this.#parts.leaveBehind(work, 'handleInterrupt');
    try {
      return asInterruptReply(
        await withGrace(work, control.stop.waitsEnded, abandon, { over: () => control.stop.graceOver }),
      );
    } catch (error) {
      if (control.stop.waitsEnded.aborted) return this.#parts.interruptReply();
      throw error;
    } finally {
      stopWaiting?.();
      control.state.decideWithoutAnswer();
      handling.end();
    }
  }

  /**
   * Gives the answer to subscribers. After a stop, observers that have not heard the answer within a few turns of the event loop are
   * named in an `error` event. Such an observer hears the answer later, before any answer of its own; then the listeners of `onOutcome`
   * are called again, so that the session is saved.
   */
  async #broadcast(msg: Msg): Promise<void> {
    const control = this.#control;
    if (this.#parts.subscribers.isEmpty) return;
    const { name, observeTimeoutMs } = this.#agent;
    const report = (observer: Observer, error: unknown): void =>
      this.#report(`${observer.name} could not observe ${name}: ${messageOf(error)}`);
    const broadcast = this.#parts.subscribers.broadcast(msg, report, observeTimeoutMs);
    const { done, waitedFor } = broadcast;
    const heard = control.signal.aborted ? waitBriefly(done, control.stop.graceOver) : done;
    await abortable(heard, control.stop.waitsEnded).catch(() => {});
    if (control.stop.waitsEnded.aborted) await waitTicks(done);
    if (waitedFor.size === 0) return;
    broadcast.dropLimit();
    const names = Array.from(waitedFor, (observer) => observer.name).join(', ');
    this.#report(`${name} was stopped before its answer was heard by ${names}, who will hear it later.`);
    void done
      .then(() => control.savePoints.beforeOutcome())
      .catch((error: unknown) => {
        getLogger().log('warn', `After an answer was heard late: ${messageOf(error)}`);
      });
  }

  async #runErrorHooks(error: unknown, msgs: readonly Msg[]): Promise<void> {
    const control = this.#control;
    for (const hook of this.#agent.hooksOf('error')) {
      try {
        await callHook('error', hook, [this.#agent, { error, msgs }], control.stop.waitsEnded);
      } catch (failure) {
        getLogger().log('warn', messageOf(failure));
      }
    }
  }
}

function unansweredText(name: string, count: number): string {
  const [what, which] = count === 1 ? ['message', 'it'] : ['messages', 'them'];
  return `${name} left ${count} ${what} of steer() or followUp() unanswered, because the call ended first. Send ${which} again by call().`;
}

function checkedMsg(value: unknown, source: string): Msg {
  if (value instanceof Msg) return value;
  throw new TroupeError('invalid_reply', `${source} must return a Msg, not ${describe(value)}.`);
}

/** Marks the answer of a `handleInterrupt` of the program's own, as the default answer is. */
function asInterruptReply(answer: Msg): Msg {
  const { endReason = 'interrupted', metadata } = answer;
  const isMarked = answer.endReason !== undefined && metadata['_is_interrupted'] !== undefined;
  return isMarked ? answer : answer.with({ endReason, metadata: { _is_interrupted: true, ...metadata } });
}

/** Keeps the pending tool calls in a question, whatever hooks make of its text: the caller has to know them. */
function asQuestion(said: Msg, { endReason, pending }: Msg): Msg {
  const isOne = said.endReason === endReason && said.pending === pending;
  return isOne ? said : said.with({ endReason, pending });
}

/** Whether the call was refused before it had an event. */
function isRefused(control: TurnControl, error: unknown): boolean {
  return control.outlet.isHolding && TroupeError.isInstance(error) && error.isRefusal;
}

/** Whether a call rejects because of an abort from outside, or because something in it failed. */
function failureStatus(control: TurnControl): 'aborted' | 'failed' {
  return control.signal.aborted && control.state.interrupt === undefined ? 'aborted' : 'failed';
}
