import { InterruptedError } from '../../errors.ts';
import { startTimer } from '../../util/clock.ts';

/** Time of all waits of a stopped call together. */
const TOTAL_GRACE_MS = 40;

/**
 * Stops one agent call, in two degrees. `stopReply` aborts `signal`: the reply ends, and what follows it still runs (`handleInterrupt`,
 * hooks of the answer, observers, saves). `endWaits` also aborts `waitsEnded`: nobody waits for what follows either.
 *
 * The first stop begins a short grace, shared by all waits for work that is being stopped.
 */
export class TurnStop {
  readonly #reply = new AbortController();
  /** Aborted with an interrupt, an abort from outside, or `endWaits`. */
  readonly signal: AbortSignal = this.#reply.signal;
  #waits: AbortController | undefined;
  #graceOver: Promise<void> | undefined;
  #cancelGrace: (() => void) | undefined;
  #isOver = false;

  readonly #agentName: string;

  /** @param graceOver the grace of the call whose interrupt this one handles */
  constructor(agentName: string, graceOver?: Promise<void>) {
    this.#agentName = agentName;
    this.#graceOver = graceOver;
  }

  /** Aborted when the end of the call must wait for nothing any longer. */
  get waitsEnded(): AbortSignal {
    return (this.#waits ??= new AbortController()).signal;
  }

  /** Resolves when a stopped call must not wait for anything any longer. Starts with the stop, so that several waits share one grace. */
  get graceOver(): Promise<void> {
    if (this.#graceOver !== undefined) return this.#graceOver;
    const over = Promise.withResolvers<void>();
    this.#cancelGrace = startTimer(TOTAL_GRACE_MS, over.resolve);
    return (this.#graceOver = over.promise);
  }

  /** Stops the reply, and nothing behind the reply. */
  stopReply(reason: unknown): void {
    if (!this.#isOver) void this.graceOver;
    this.#reply.abort(reason);
  }

  /**
   * Stops the reply, and ends the waits for everything behind the reply: hooks of the answer, `handleInterrupt`, observers, saves.
   * @param reason `InterruptedError` of a user by default
   */
  endWaits(reason: unknown = new InterruptedError(this.#agentName, 'user')): void {
    (this.#waits ??= new AbortController()).abort(reason);
    this.stopReply(reason);
  }

  /** For late work that would change something. @throws the reason why the call was stopped, if it is over */
  assertNotOver(): void {
    if (this.#isOver) this.signal.throwIfAborted();
  }

  /** Ends the grace, because the call is over. */
  end(): void {
    this.#isOver = true;
    this.#cancelGrace?.();
  }
}
