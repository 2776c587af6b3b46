import { AgentBusyError, TroupeError } from '../errors.ts';
import { abortable } from '../util/abort.ts';
import { isInsideCallOf } from './current-turn.ts';
import type { Turn } from './turn.ts';

/** What a call does when the agent is busy with another. */
export type OnBusy = 'reject' | 'queue' | 'interrupt';

const ON_BUSY: readonly OnBusy[] = ['reject', 'queue', 'interrupt'];

/** Lets one turn at a time through. */
export class RunLane {
  #current: { readonly turn: Turn; readonly left: Promise<void>; readonly leave: () => void } | undefined;
  readonly #waiting: { readonly admit: () => void; readonly isUrgent: boolean }[] = [];

  get current(): Turn | undefined {
    return this.#current?.turn;
  }

  /** Resolves once the turn that runs now has left; at once if there is none. */
  whenLeft(): Promise<void> {
    return this.#current?.left ?? Promise.resolve();
  }

  /**
   * Enters at once, or returns a promise if the turn has to wait.
   * @throws AgentBusyError if it may not wait, or would wait for itself.
   * @throws the reason of a signal that is aborted already.
   */
  enter(turn: Turn, agentName: string, onBusy: OnBusy): void | Promise<void> {
    turn.signal.throwIfAborted();
    if (!ON_BUSY.includes(onBusy)) {
      throw new TroupeError('invalid_config', `onBusy is one of ${ON_BUSY.join(', ')}.`);
    }
    if (this.#current === undefined && this.#waiting.length === 0) return this.#admit(turn);
    if (onBusy === 'reject') {
      throw new AgentBusyError(
        agentName,
        "Wait for it, or call with { onBusy: 'queue' } or { onBusy: 'interrupt' }.",
      );
    }
    if (isInsideCallOf(turn.agentId)) {
      throw new AgentBusyError(agentName, 'It can not wait for itself inside its own reply.');
    }
    const isUrgent = onBusy === 'interrupt';
    if (isUrgent && this.current?.interrupt('caller') === false) this.current.hurry();
    return this.#wait(turn, isUrgent);
  }

  leave(): void {
    const current = this.#current;
    this.#current = undefined;
    current?.leave();
    this.#waiting.shift()?.admit();
  }

  /** Waits behind those that came earlier; an urgent turn goes before all that are not. */
  async #wait(turn: Turn, isUrgent: boolean): Promise<void> {
    let admit = (): void => {};
    const admitted = new Promise<void>((resolve) => {
      admit = () => {
        this.#admit(turn);
        resolve();
      };
    });
    const entry = { admit, isUrgent };
    const place = isUrgent ? this.#waiting.findIndex((other) => !other.isUrgent) : -1;
    this.#waiting.splice(place === -1 ? this.#waiting.length : place, 0, entry);
    try {
      await abortable(admitted, turn.signal);
    } catch (error) {
      const place = this.#waiting.indexOf(entry);
      if (place === -1) return; // admitted at the same moment: the turn itself deals with the abort
      this.#waiting.splice(place, 1);
      throw error;
    }
  }

  #admit(turn: Turn): void {
    let leave = (): void => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#current = { turn, left, leave };
  }
}
