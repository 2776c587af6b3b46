import { startTimer } from '../../util/clock.ts';
import { ModelError, type Deadline } from '../model-error.ts';

/** How long to wait, in milliseconds, before an answer is given up. `Infinity` waits for ever. */
export interface Deadlines {
  /** For the server to accept the request, up to the head of its answer. @default 2 minutes */
  readonly connectMs?: number;
  /** From there to the first byte of the answer. @default 5 minutes */
  readonly firstByteMs?: number;
  /** Between two pieces of the answer. @default 5 minutes */
  readonly idleMs?: number;
  /** For all of it. @default 1 hour */
  readonly totalMs?: number;
}

const MINUTE = 60_000;
const DEFAULTS: Required<Deadlines> = {
  connectMs: 2 * MINUTE,
  firstByteMs: 5 * MINUTE,
  idleMs: 5 * MINUTE,
  totalMs: 60 * MINUTE,
};

const WAITED_FOR: Record<Deadline, string> = {
  connect: 'did not accept the request within',
  first_byte: 'did not begin to answer within',
  idle: 'fell silent in the middle of its answer for',
  total: 'did not finish its answer within',
};

/** Watches over one answer, and aborts it when a deadline passes. */
export class DeadlineWatch {
  readonly #limits: Required<Deadlines>;
  readonly #onMissed: (error: ModelError) => void;
  readonly #vendor: string;
  readonly #stopTotal: () => void;
  #stopCurrent: () => void = () => {};

  constructor(vendor: string, deadlines: Deadlines, onMissed: (error: ModelError) => void) {
    this.#vendor = vendor;
    this.#limits = { ...DEFAULTS, ...deadlines };
    this.#onMissed = onMissed;
    this.#stopTotal = this.#start('total', this.#limits.totalMs);
    this.#stopCurrent = this.#start('connect', this.#limits.connectMs);
  }

  /** The head of the answer is here. */
  accepted(): void {
    this.#wait('first_byte', this.#limits.firstByteMs);
  }

  /** A piece of the answer is here. */
  heard(): void {
    this.#wait('idle', this.#limits.idleMs);
  }

  /** The reader takes its time, which is not the server's fault. */
  pause(): void {
    this.#stopCurrent();
  }

  stop(): void {
    this.#stopCurrent();
    this.#stopTotal();
  }

  #wait(deadline: Deadline, ms: number): void {
    this.#stopCurrent();
    this.#stopCurrent = this.#start(deadline, ms);
  }

  #start(deadline: Deadline, ms: number): () => void {
    if (ms === Infinity) return () => {};
    return startTimer(ms, () => {
      const message = `${this.#vendor} ${WAITED_FOR[deadline]} ${ms / 1000} seconds.`;
      this.#onMissed(new ModelError(message, { kind: 'timeout', deadline }));
    });
  }
}
