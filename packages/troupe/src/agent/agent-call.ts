import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError, type InterruptSource } from '../errors.ts';
import type { RunStatus } from '../event/agent-event.ts';
import { toEventError } from '../event/event-error.ts';
import { callHook, callHooked, runPostHooks, runPreHooks, type Hookable } from '../hooks/run-hooks.ts';
import { Msg } from '../message/msg.ts';
import { waitBriefly, withGrace } from '../util/async/grace.ts';
import { elapsedSince, now, startTimer } from '../util/clock.ts';
import { describe } from '../util/json.ts';
import { A_MSG, REPLY } from './agent-hooks.ts';
import type { Interrupt } from './interrupt.ts';
import type { Printer } from './printer.ts';
import type { Observer, Subscribers } from './subscribers.ts';
import type { TurnControl } from './turn-control.ts';

/** The part of an agent that its calls use. */
export interface CalledAgent extends Hookable {
  readonly name: string;
  handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg>;
}

/** The private parts of an agent that its calls need. */
export interface AgentParts {
  readonly printer: Printer;
  readonly subscribers: Subscribers;
  readonly interruptReply: () => Msg;
  /** Gets messages that came in while the answer became a question for an approval. */
  readonly postpone: (msgs: readonly Msg[]) => void;
  /** Gets work that ignored an interrupt and still runs. */
  readonly leaveBehind: (work: Promise<unknown>, what: 'reply' | 'handleInterrupt') => void;
}

/** Time limit of `handleInterrupt`. */
const HANDLE_INTERRUPT_LIMIT_MS = 1000;

/**
 * One agent call after its admission: the reply with its hooks, or the answer to an interrupt; then the broadcast; then
 * follow-ups. Ends in exactly one `run_end`, whatever happens.
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
    const startedAt = now();
    try {
      let answer = await this.#answerOne(msgs);
      while (!control.signal.aborted && !control.isSuspended) {
        const next = control.takeFollowUps();
        if (next.length === 0) break;
        answer = await this.#answerOne(next);
      }
      if (control.isSuspended) this.#parts.postpone(control.takeUnread());
      await control.emit({
        type: 'run_end',
        status: this.#statusOf(answer),
        msg: answer,
        durationMs: elapsedSince(startedAt),
      });
      return answer;
    } catch (error) {
      const durationMs = elapsedSince(startedAt);
      await control.emit({
        type: 'run_end',
        status: this.#failure,
        error: toEventError(error),
        durationMs,
      });
      throw error;
    } finally {
      const lost = control.unread.length;
      if (lost > 0 && !control.interruptedBy)
        getLogger().log('warn', `${this.#agent.name} left ${lost} messages unanswered.`);
    }
  }

  async #answerOne(msgs: readonly Msg[]): Promise<Msg> {
    const control = this.#control;
    const startedAt = now();
    try {
      const waits = control.emit({ type: 'reply_start', name: this.#agent.name });
      if (waits) await waits; // otherwise the reply starts at once, so that its input is safe
      const answer = await this.#replyOrInterrupt(msgs);
      await this.#parts.printer.end(this.#agent.name, control);
      if (!control.isSuspended) await this.#broadcast(answer); // a question is for the caller alone
      await control.emit({
        type: 'reply_end',
        status: this.#statusOf(answer),
        msgId: answer.id,
        durationMs: elapsedSince(startedAt),
      });
      return answer;
    } catch (error) {
      control.decide();
      await this.#parts.printer.end(this.#agent.name, control);
      this.#failure = failureStatus(control);
      if (this.#failure === 'failed') await this.#runErrorHooks(error, msgs);
      const durationMs = elapsedSince(startedAt);
      await control.emit({ type: 'reply_end', status: this.#failure, durationMs });
      throw error;
    }
  }

  #statusOf({ pending }: Msg): RunStatus {
    if (this.#control.interruptedBy) return 'interrupted';
    return pending === undefined && !this.#control.isSuspended ? 'finished' : 'suspended';
  }

  async #replyOrInterrupt(msgs: readonly Msg[]): Promise<Msg> {
    const control = this.#control;
    const work = this.#reply(msgs);
    try {
      return await withGrace(
        work,
        control.signal,
        () => this.#parts.leaveBehind(work, 'reply'),
        () => control.children,
      );
    } catch (error) {
      if (!control.signal.aborted) throw error;
      if (control.answer !== undefined) return control.answer; // the interrupt came too late
      if (control.interruptedBy === undefined) throw control.signal.reason;
      await this.#parts.printer.end(this.#agent.name, control);
      return this.#answerInterrupt(msgs, control.interruptedBy);
    }
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
    const question = control.isSuspended ? control.answer : undefined;
    control.commit(reply);
    const hooks = this.#agent.hooksOf('postCall');
    const said = await runPostHooks(this.#agent, 'postCall', hooks, args, reply, {
      kind: A_MSG,
      signal: control.signal,
    });
    const answer = question === undefined ? said : asQuestion(said, question);
    control.commit(answer);
    return answer;
  }

  async #answerInterrupt(msgs: readonly Msg[], source: InterruptSource): Promise<Msg> {
    const control = this.#control;
    const handling = control.continuation();
    const answer = async (): Promise<Msg> => {
      const { signal } = handling;
      const interrupt: Interrupt = { source, msgs: control.interruptMsgs, unread: control.unread, signal };
      return checkedMsg(
        await this.#agent.handleInterrupt(msgs, interrupt),
        `handleInterrupt() of ${this.#agent.constructor.name}`,
      );
    };
    const stopWaiting = startTimer(HANDLE_INTERRUPT_LIMIT_MS, () => control.hurry());
    const work = handling.run(answer);
    try {
      return await withGrace(work, control.closing, () => this.#parts.leaveBehind(work, 'handleInterrupt'));
    } catch (error) {
      if (control.closing.aborted) return this.#parts.interruptReply();
      throw error;
    } finally {
      stopWaiting();
      control.decide();
      handling.end();
    }
  }

  async #broadcast(msg: Msg): Promise<void> {
    const control = this.#control;
    if (this.#parts.subscribers.isEmpty) return;
    const report = (observer: Observer, error: unknown): void => {
      const message = `${observer.name} could not observe ${this.#agent.name}: ${messageOf(error)}`;
      getLogger().log('warn', message);
      void control.emit({ type: 'error', error: { message } });
    };
    const told = this.#parts.subscribers.broadcast(msg, report, control.closing);
    await (control.signal.aborted ? waitBriefly(told) : told);
  }

  async #runErrorHooks(error: unknown, msgs: readonly Msg[]): Promise<void> {
    const control = this.#control;
    for (const hook of this.#agent.hooksOf('error')) {
      try {
        await callHook('error', hook, [this.#agent, { error, msgs }], control.closing);
      } catch (failure) {
        getLogger().log('warn', messageOf(failure));
      }
    }
  }
}

function checkedMsg(value: unknown, source: string): Msg {
  if (value instanceof Msg) return value;
  throw new TroupeError('invalid_reply', `${source} must return a Msg, not ${describe(value)}.`);
}

/** Keeps the pending tool calls in a question, whatever hooks make of its text: the caller has to know them. */
function asQuestion(said: Msg, { endReason, pending }: Msg): Msg {
  const isOne = said.endReason === endReason && said.pending === pending;
  return isOne ? said : said.with({ endReason, pending });
}

/** Whether a call rejects because of an abort from outside, or because something in it failed. */
function failureStatus(control: TurnControl): 'aborted' | 'failed' {
  return control.signal.aborted && control.interruptedBy === undefined ? 'aborted' : 'failed';
}
