import type { Msg } from '../../message/msg.ts';

/**
 * Messages that arrive while an agent call runs: steering, read at the next step, and follow-ups, answered after the reply.
 * A closed inbox, or one of a stopped call, takes no more.
 */
export class Inbox {
  readonly #steering: Msg[] = [];
  readonly #followUps: Msg[] = [];
  readonly #signal: AbortSignal;
  #isOpen = true;

  /** @param signal aborted when the call is stopped */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** @returns false if nobody will read the messages */
  steer(msgs: readonly Msg[]): boolean {
    return this.#receive(this.#steering, msgs);
  }

  /** @returns false if nobody will answer the messages */
  followUp(msgs: readonly Msg[]): boolean {
    return this.#receive(this.#followUps, msgs);
  }

  /** Messages that were neither read nor answered, steering first. */
  get unread(): readonly Msg[] {
    return [...this.#steering, ...this.#followUps];
  }

  takeSteering(): readonly Msg[] {
    return this.#steering.splice(0);
  }

  takeAll(): readonly Msg[] {
    return [...this.#steering.splice(0), ...this.#followUps.splice(0)];
  }

  /** Takes all unread messages, and closes the inbox. */
  takeRest(): readonly Msg[] {
    this.close();
    return this.takeAll();
  }

  close(): void {
    this.#isOpen = false;
  }

  #receive(box: Msg[], msgs: readonly Msg[]): boolean {
    const isOpen = this.#isOpen && !this.#signal.aborted;
    if (isOpen) box.push(...msgs);
    return isOpen;
  }
}
