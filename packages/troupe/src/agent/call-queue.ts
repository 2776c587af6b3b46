import { AgentBusyError, TroupeError } from '../errors.ts';
import { abortable } from '../util/abort.ts';
import { isInsideCallOf } from './turn/current-turn.ts';
import type { TurnControl } from './turn/turn-control.ts';

/** Behaviour of a call while the agent answers another one. */
export type OnBusy = 'reject' | 'queue' | 'interrupt';

const ON_BUSY: readonly OnBusy[] = ['reject', 'queue', 'interrupt'];

/** The call in progress. */
interface CurrentCall {
  readonly control: TurnControl;
  /** Resolves when the call has left the queue. */
  readonly left: Promise<void>;
  readonly leave: () => void;
}

interface WaitingCall {
  readonly admit: () => void;
  /** Interrupted the current call, and goes before calls that did not. */
  readonly isUrgent: boolean;
}

/** Admits the calls of one agent one at a time, in order. */
export class CallQueue {
  #current: CurrentCall | undefined;
  readonly #waiting: WaitingCall[] = [];

  get current(): TurnControl | undefined {
    return this.#current?.control;
  }

  /** Resolves once the current call has left; at once if there is none. */
  whenLeft(): Promise<void> {
    return this.#current?.left ?? Promise.resolve();
  }

  /**
   * Enters at once, or returns a promise if the call has to wait.
   * @throws AgentBusyError if the call may not wait, or would wait for itself
   * @throws the reason of a signal that is aborted already
   */
  enter(control: TurnControl, agentName: string, onBusy: OnBusy): void | Promise<void> {
    control.signal.throwIfAborted();
    if (!ON_BUSY.includes(onBusy)) {
      throw new TroupeError('invalid_config', `onBusy is one of ${ON_BUSY.join(', ')}.`);
    }
    if (this.#current === undefined && this.#waiting.length === 0) return this.#admit(control);
    if (onBusy === 'reject') {
      throw new AgentBusyError(
        agentName,
        "Wait for it, or call with { onBusy: 'queue' } or { onBusy: 'interrupt' }.",
      );
    }
    if (isInsideCallOf(control.place.agentId)) {
      throw new AgentBusyError(agentName, 'It can not wait for itself inside its own reply.');
    }
    const isUrgent = onBusy === 'interrupt';
    if (isUrgent) this.current?.interruptOrEndWaits('caller');
    return this.#wait(control, isUrgent);
  }

  /** Ends the current call, and admits the next one. */
  leave(): void {
    const current = this.#current;
    this.#current = undefined;
    current?.leave();
    this.#waiting.shift()?.admit();
  }

  /** Waits behind earlier calls; an urgent call goes before all that are not urgent. */
  async #wait(control: TurnControl, isUrgent: boolean): Promise<void> {
    let admit = (): void => {};
    const admitted = new Promise<void>((resolve) => {
      admit = () => {
        this.#admit(control);
        resolve();
      };
    });
    const entry = { admit, isUrgent };
    const position = isUrgent ? this.#waiting.findIndex((other) => !other.isUrgent) : -1;
    this.#waiting.splice(position === -1 ? this.#waiting.length : position, 0, entry);
    try {
      await abortable(admitted, control.signal);
    } catch (error) {
      const position = this.#waiting.indexOf(entry);
      if (position === -1) return; // admitted at the same moment: the call itself deals with the abort
      this.#waiting.splice(position, 1);
      throw error;
    }
  }

  #admit(control: TurnControl): void {
    let leave = (): void => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#current = { control, left, leave };
  }
}
