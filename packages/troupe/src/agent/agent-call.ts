import { getLogger } from '../config/run-config.ts';
import { messageOf, TroupeError, type InterruptSource } from '../errors.ts';
import type { EventError } from '../event/agent-event.ts';
import { callHook, callHooked, runPostHooks, runPreHooks } from '../hooks/run-hooks.ts';
import { Msg } from '../message/msg.ts';
import { waitBriefly, withGrace } from '../util/async/grace.ts';
import { startTimer } from '../util/clock.ts';
import { describe } from '../util/json.ts';
import type { AgentBase, Interrupt } from './agent-base.ts';
import { A_MSG, REPLY } from './agent-hooks.ts';
import type { Printer } from './printer.ts';
import type { Observer, Subscribers } from './subscribers.ts';
import type { Turn } from './turn.ts';

/** What a call needs of its agent that nobody else may have. */
export interface AgentParts {
  readonly printer: Printer;
  readonly subscribers: Subscribers;
  readonly interruptReply: () => Msg;
  /** Told what was said to an agent whose answer is to wait. */
  readonly postpone: (msgs: readonly Msg[]) => void;
  /** Told of work that ignored an interrupt. */
  readonly leaveBehind: (work: Promise<unknown>, what: 'reply' | 'handleInterrupt') => void;
}

/** `handleInterrupt` gets this long. */
const HANDLE_INTERRUPT_LIMIT_MS = 1000;

/**
 * One call of an agent that has its turn: the reply with its hooks, or the answer to an interrupt;
 * then the broadcast; then follow-ups. Ends in one `run_end`, whatever happens.
 */
export class AgentCall {
  readonly #agent: AgentBase;
  readonly #turn: Turn;
  readonly #parts: AgentParts;
  #failure: 'aborted' | 'failed' = 'failed';

  constructor(agent: AgentBase, turn: Turn, parts: AgentParts) {
    this.#agent = agent;
    this.#turn = turn;
    this.#parts = parts;
  }

  /** The reply, then those to what came in meanwhile. Ends in one `run_end`, whatever happens. */
  async answer(msgs: readonly Msg[]): Promise<Msg> {
    const turn = this.#turn;
    try {
      let answer = await this.#answerOne(msgs);
      while (!turn.signal.aborted && !turn.isSuspended) {
        const next = turn.takeFollowUps();
        if (next.length === 0) break;
        answer = await this.#answerOne(next);
      }
      if (turn.isSuspended) this.#parts.postpone(turn.takeUnread());
      await turn.emit({
        type: 'run_end',
        status: turn.interruptedBy ? 'interrupted' : 'finished',
        msg: answer,
      });
      return answer;
    } catch (error) {
      await turn.emit({ type: 'run_end', status: this.#failure, error: eventError(error) });
      throw error;
    } finally {
      const lost = turn.unread.length;
      if (lost > 0 && !turn.interruptedBy)
        getLogger().log('warn', `${this.#agent.name} left ${lost} messages unanswered.`);
    }
  }

  async #answerOne(msgs: readonly Msg[]): Promise<Msg> {
    const turn = this.#turn;
    try {
      const waits = turn.emit({ type: 'reply_start', name: this.#agent.name });
      if (waits) await waits; // otherwise the reply starts at once, so that its input is safe
      const answer = await this.#replyOrInterrupt(msgs);
      await this.#parts.printer.end(this.#agent.name, turn);
      if (!turn.isSuspended) await this.#broadcast(answer); // a question is for whoever has called
      await turn.emit({
        type: 'reply_end',
        status: turn.interruptedBy ? 'interrupted' : 'finished',
        msgId: answer.id,
      });
      return answer;
    } catch (error) {
      turn.fail();
      await this.#parts.printer.end(this.#agent.name, turn);
      this.#failure = failureStatus(turn);
      if (this.#failure === 'failed') await this.#runErrorHooks(error, msgs);
      await turn.emit({ type: 'reply_end', status: this.#failure });
      throw error;
    }
  }

  async #replyOrInterrupt(msgs: readonly Msg[]): Promise<Msg> {
    const turn = this.#turn;
    const work = this.#reply(msgs);
    try {
      return await withGrace(
        work,
        turn.signal,
        () => this.#parts.leaveBehind(work, 'reply'),
        () => turn.children,
      );
    } catch (error) {
      if (!turn.signal.aborted) throw error;
      if (turn.answer !== undefined) return turn.answer; // the interrupt came too late
      if (turn.interruptedBy === undefined) throw turn.signal.reason;
      await this.#parts.printer.end(this.#agent.name, turn);
      return this.#answerInterrupt(msgs, turn.interruptedBy);
    }
  }

  async #reply(msgs: readonly Msg[]): Promise<Msg> {
    const turn = this.#turn;
    turn.signal.throwIfAborted();
    const preHooks = this.#agent.hooksOf('preCall');
    const args =
      preHooks.length === 0
        ? { msgs }
        : await runPreHooks(this.#agent, 'preCall', preHooks, { msgs }, turn.signal);
    const reply = checkedMsg(
      await callHooked(this.#agent, REPLY, args.msgs, turn),
      `reply() of ${this.#agent.constructor.name}`,
    );
    const question = turn.isSuspended ? turn.answer : undefined;
    turn.commit(reply);
    const hooks = this.#agent.hooksOf('postCall');
    const said = await runPostHooks(this.#agent, 'postCall', hooks, args, reply, {
      kind: A_MSG,
      signal: turn.signal,
    });
    const answer = question === undefined ? said : asQuestion(said, question);
    turn.commit(answer);
    return answer;
  }

  async #answerInterrupt(msgs: readonly Msg[], source: InterruptSource): Promise<Msg> {
    const turn = this.#turn;
    const handling = turn.continuation();
    const answer = async (): Promise<Msg> => {
      const { signal } = handling;
      const interrupt: Interrupt = { source, msgs: turn.interruptMsgs, unread: turn.unread, signal };
      return checkedMsg(
        await this.#agent.handleInterrupt(msgs, interrupt),
        `handleInterrupt() of ${this.#agent.constructor.name}`,
      );
    };
    const stopWaiting = startTimer(HANDLE_INTERRUPT_LIMIT_MS, () => turn.hurry());
    const work = handling.run(answer);
    try {
      return await withGrace(work, turn.closing, () => this.#parts.leaveBehind(work, 'handleInterrupt'));
    } catch (error) {
      if (turn.closing.aborted) return this.#parts.interruptReply();
      throw error;
    } finally {
      stopWaiting();
      turn.fail(); // or done: in any case decided
      handling.end();
    }
  }

  async #broadcast(msg: Msg): Promise<void> {
    const turn = this.#turn;
    if (this.#parts.subscribers.isEmpty) return;
    const report = (observer: Observer, error: unknown): void => {
      const message = `${observer.name} could not observe ${this.#agent.name}: ${messageOf(error)}`;
      getLogger().log('warn', message);
      void turn.emit({ type: 'error', error: { message } });
    };
    const told = this.#parts.subscribers.broadcast(msg, report, turn.closing);
    await (turn.signal.aborted ? waitBriefly(told) : told);
  }

  async #runErrorHooks(error: unknown, msgs: readonly Msg[]): Promise<void> {
    const turn = this.#turn;
    for (const hook of this.#agent.hooksOf('error')) {
      try {
        await callHook('error', hook, [this.#agent, { error, msgs }], turn.closing);
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

/** Whatever hooks make of its words, a question says what is pending: who has called has to know. */
function asQuestion(said: Msg, { metadata }: Msg): Msg {
  const isOne = Object.entries(metadata).every(([key, value]) => said.metadata[key] === value);
  return isOne ? said : said.with({ metadata: { ...said.metadata, ...metadata } });
}

/** Why a call rejects: it was aborted from outside, or something in it failed. */
function failureStatus(turn: Turn): 'aborted' | 'failed' {
  return turn.signal.aborted && turn.interruptedBy === undefined ? 'aborted' : 'failed';
}

function eventError(error: unknown): EventError {
  return { message: messageOf(error), ...(TroupeError.isInstance(error) && { code: error.code }) };
}
