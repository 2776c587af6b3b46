import type { InterruptedError } from '../../errors.ts';
import type { Msg } from '../../message/msg.ts';

/** An interrupt in effect. */
export interface AcceptedInterrupt {
  readonly error: InterruptedError;
  /** Messages passed with the interrupt. */
  readonly msgs: readonly Msg[];
}

/** The tagged state of an agent call. `decided` is about the outcome of the agent call, never about pending tool calls. */
type Tagged =
  | { readonly tag: 'running' }
  | {
      readonly tag: 'interrupted';
      readonly interrupt: AcceptedInterrupt;
      /** Whether `handleInterrupt` has begun: messages of further interrupts come too late for it. */
      readonly isHandled: boolean;
    }
  | {
      readonly tag: 'decided';
      /** Undefined if the call failed, or if `handleInterrupt` has answered. */
      readonly answer: Msg | undefined;
      readonly interrupt: AcceptedInterrupt | undefined;
      /** Whether the hooks after the reply have run: from then on nothing changes the answer. */
      readonly isFinal: boolean;
      /** Interrupt between the answer and the end of its hooks: in effect only if the hooks do not end in time. */
      readonly late: AcceptedInterrupt | undefined;
    }
  /** The answer is a question for decisions about pending tool calls. */
  | { readonly tag: 'suspended'; readonly answer: Msg }
  | {
      readonly tag: 'over';
      readonly answer: Msg | undefined;
      readonly interrupt: AcceptedInterrupt | undefined;
    };

/**
 * State of an agent call. An abort from outside is no state of its own: the signal of the call carries it.
 *
 * - `running` → `interrupted` by an interrupt, → `decided` by an answer or a failure, → `suspended` by a question for an approval
 * - `interrupted` → `decided` when `handleInterrupt` has answered
 * - `decided` → `interrupted` when a late interrupt has cut off the hooks of the answer
 * - `decided` → `running` when a follow-up begins the next reply
 * - every state → `over`, the last one
 */
export class TurnState {
  #now: Tagged = { tag: 'running' };

  get isOver(): boolean {
    return this.#now.tag === 'over';
  }

  /** Whether the answer is a question for decisions about pending tool calls. Incoming messages are not answered then. */
  get isSuspended(): boolean {
    return this.#now.tag === 'suspended';
  }

  /** The committed answer. */
  get answer(): Msg | undefined {
    return 'answer' in this.#now ? this.#now.answer : undefined;
  }

  /** Whether nothing changes the answer any more: its hooks have run, or it is a question. */
  get isAnswerFinal(): boolean {
    return this.isSuspended || (this.#now.tag === 'decided' && this.#now.isFinal);
  }

  /** The interrupt of this very call; undefined for an abort from outside. */
  get interrupt(): AcceptedInterrupt | undefined {
    return 'interrupt' in this.#now ? this.#now.interrupt : undefined;
  }

  /** Whether an interrupt came between the answer and the end of its hooks. */
  get hasLateInterrupt(): boolean {
    return this.#now.tag === 'decided' && this.#now.late !== undefined;
  }

  /**
   * Takes an interrupt in.
   * @param isStopped whether the signal of the call is aborted
   * @returns `first` if the call has to stop for it, `further` if its messages are added to those of the first one, `refused` if too late
   */
  addInterrupt(interrupt: AcceptedInterrupt, isStopped: boolean): 'first' | 'further' | 'refused' {
    const now = this.#now;
    if (now.tag === 'interrupted' && !now.isHandled) {
      const { error, msgs } = now.interrupt;
      this.#now = { ...now, interrupt: { error, msgs: [...msgs, ...interrupt.msgs] } };
      return 'further';
    }
    if (isStopped) return 'refused';
    if (now.tag === 'running') this.#now = { tag: 'interrupted', interrupt, isHandled: false };
    else if (now.tag === 'decided' && now.answer !== undefined && !now.isFinal)
      this.#now = { ...now, late: interrupt };
    else return 'refused';
    return 'first';
  }

  /** Puts a late interrupt into effect, because the hooks of the answer were cut off. */
  acceptLateInterrupt(): void {
    const now = this.#now;
    if (now.tag !== 'decided' || now.late === undefined) return;
    this.#now = { tag: 'interrupted', interrupt: now.late, isHandled: false };
  }

  /** Declares that `handleInterrupt` begins. */
  beginHandling(): void {
    if (this.#now.tag === 'interrupted') this.#now = { ...this.#now, isHandled: true };
  }

  /** Declares the answer, which hooks may still replace. */
  commit(answer: Msg): void {
    const now = this.#now;
    if (now.tag === 'suspended') this.#now = { tag: 'suspended', answer };
    else if (now.tag !== 'over') {
      const late = now.tag === 'decided' ? now.late : undefined;
      this.#now = { tag: 'decided', answer, interrupt: this.interrupt, isFinal: false, late };
    }
  }

  /** Makes the committed answer the final one: a late interrupt had no effect. */
  finalize(): void {
    if (this.#now.tag === 'decided') this.#now = { ...this.#now, isFinal: true, late: undefined };
  }

  /** Declares that the answer is a question for decisions about pending tool calls. */
  suspend(question: Msg): void {
    if (!this.isOver) this.#now = { tag: 'suspended', answer: question };
  }

  /** Decides the outcome without an answer of `reply`: after a failure, or after `handleInterrupt`. Later interrupts come too late. */
  decideWithoutAnswer(): void {
    const { tag } = this.#now;
    if (tag !== 'running' && tag !== 'interrupted') return;
    const { interrupt } = this;
    this.#now = { tag: 'decided', answer: undefined, interrupt, isFinal: true, late: undefined };
  }

  /** Begins the next reply of the same call. */
  restart(): void {
    this.#now = { tag: 'running' };
  }

  /** Ends the call. */
  end(): void {
    this.#now = { tag: 'over', answer: this.answer, interrupt: this.interrupt };
  }
}
