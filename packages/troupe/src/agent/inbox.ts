import type { Msg } from '../message/msg.ts';

/** The messages that come in while an agent works: to be read at its next step, or answered after its reply. Once it is closed it takes no more. */
export class Inbox {
  readonly #steering: Msg[] = [];
  readonly #followUps: Msg[] = [];
  #isOpen = true;

  /** Returns false if nobody will read them. */
  steer(msgs: readonly Msg[]): boolean {
    return this.#receive(this.#steering, msgs);
  }

  /** Returns false if nobody will answer them. */
  followUp(msgs: readonly Msg[]): boolean {
    return this.#receive(this.#followUps, msgs);
  }

  /** What was neither read nor answered, what is to be read first. */
  get unread(): readonly Msg[] {
    return [...this.#steering, ...this.#followUps];
  }

  takeSteering(): readonly Msg[] {
    return this.#steering.splice(0);
  }

  takeAll(): readonly Msg[] {
    return [...this.#steering.splice(0), ...this.#followUps.splice(0)];
  }

  close(): void {
    this.#isOpen = false;
  }

  #receive(box: Msg[], msgs: readonly Msg[]): boolean {
    if (this.#isOpen) box.push(...msgs);
    return this.#isOpen;
  }
}
