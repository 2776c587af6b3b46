import { AgentBusyError } from '../errors.ts';
import { abortable } from '../util/abort.ts';
import { currentTurn, type Turn } from './turn.ts';

/** What a call does when the agent is busy with another. */
export type OnBusy = 'reject' | 'queue' | 'interrupt';

/** Lets one turn at a time through. */
export class RunLane {
  #current: { readonly turn: Turn; readonly left: Promise<void>; readonly leave: () => void } | undefined;
  readonly #waiting: (() => void)[] = [];

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
    if (this.#current === undefined && this.#waiting.length === 0) return this.#admit(turn);
    if (onBusy === 'reject') {
      throw new AgentBusyError(
        agentName,
        "Wait for it, or call with { onBusy: 'queue' } or { onBusy: 'interrupt' }.",
      );
    }
    for (let outer = currentTurn(); outer !== undefined; outer = outer.parent) {
      if (outer === this.current)
        throw new AgentBusyError(agentName, 'It can not wait for itself inside its own reply.');
    }
    if (onBusy === 'interrupt') this.current?.interrupt('caller');
    return this.#wait(turn, onBusy === 'interrupt');
  }

  leave(): void {
    const current = this.#current;
    this.#current = undefined;
    current?.leave();
    this.#waiting.shift()?.();
  }

  async #wait(turn: Turn, goesFirst: boolean): Promise<void> {
    let admit = (): void => {};
    const admitted = new Promise<void>((resolve) => {
      admit = () => {
        this.#admit(turn);
        resolve();
      };
    });
    if (goesFirst) this.#waiting.unshift(admit);
    else this.#waiting.push(admit);
    try {
      await abortable(admitted, turn.signal);
    } catch (error) {
      const place = this.#waiting.indexOf(admit);
      if (place === -1) this.leave(); // admitted and aborted at the same moment
      else this.#waiting.splice(place, 1);
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
