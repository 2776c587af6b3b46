import type { Msg } from '../../message/msg.ts';

/**
 * Messages that arrive while an agent call runs: steering, read at the next step, and follow-ups, answered after the reply.
 * A closed inbox takes no more.
 */
export class Inbox {
  readonly #steering: Msg[] = [];
  readonly #followUps: Msg[] = [];
  #isOpen = true;

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

  close(): void {
    this.#isOpen = false;
  }

  #receive(box: Msg[], msgs: readonly Msg[]): boolean {
    if (this.#isOpen) box.push(...msgs);
    return this.#isOpen;
  }
}
