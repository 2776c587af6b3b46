import { MAX_TIMER_MS } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { startTimer } from '../../util/clock.ts';
import { ModelError, type Deadline } from '../model-error.ts';

/**
 * How long to wait, in milliseconds, before an answer is given up; `Infinity` sets no limit. Node's own fetch gives up
 * after 5 minutes of silence whatever is set here: who needs more gives the model another `fetch`.
 */
export interface Deadlines {
  /** For the server to accept the request, up to the head of its answer. @default 2 minutes */
  readonly connectMs?: number | undefined;
  /** From there to the first byte of the answer. @default 5 minutes */
  readonly firstByteMs?: number | undefined;
  /** Between two pieces of the answer. @default 5 minutes */
  readonly idleMs?: number | undefined;
  /** For all of it. @default 1 hour */
  readonly totalMs?: number | undefined;
}

const MINUTE = 60_000;
export type Limits = Record<keyof Deadlines, number>;

const DEFAULTS: Limits = {
  connectMs: 2 * MINUTE,
  firstByteMs: 5 * MINUTE,
  idleMs: 5 * MINUTE,
  totalMs: 60 * MINUTE,
};

/** An answer that is complete may still get what it cost; nobody waits long for that. */
const LAST_WORDS_MS = 5000;

/** @throws TroupeError if a limit is no number of milliseconds. */
export function checkDeadlines(deadlines: Deadlines = {}): Limits {
  const limits = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as (keyof Limits)[]) {
    const ms = deadlines[key] ?? DEFAULTS[key];
    if (!(ms > 0))
      throw new TroupeError('invalid_config', `deadlines.${key} must be a number of milliseconds above 0.`);
    limits[key] = ms;
  }
  return limits;
}

const WAITED_FOR: Record<Deadline, string> = {
  connect: 'did not accept the request within',
  first_byte: 'did not begin to answer within',
  idle: 'fell silent in the middle of its answer for',
  total: 'did not finish its answer within',
};

/** Watches over one answer, and aborts it when a deadline passes. */
export class DeadlineWatch {
  readonly #limits: Limits;
  readonly #onMissed: (error: ModelError) => void;
  readonly #vendor: string;
  readonly #stopTotal: () => void;
  #stopCurrent: () => void = () => {};

  constructor(vendor: string, deadlines: Deadlines, onMissed: (error: ModelError) => void) {
    this.#vendor = vendor;
    this.#limits = checkDeadlines(deadlines);
    this.#onMissed = onMissed;
    this.#stopTotal = this.#start('total', this.#limits.totalMs);
    this.#stopCurrent = this.#start('connect', this.#limits.connectMs);
  }

  /** The head of the answer is here. */
  accepted(): void {
    this.#wait('first_byte', this.#limits.firstByteMs);
  }

  /** A piece of the answer is here. @param isComplete whether more of it would only be about it */
  heard(isComplete = false): void {
    const { idleMs } = this.#limits;
    this.#wait('idle', isComplete ? Math.min(idleMs, LAST_WORDS_MS) : idleMs);
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
    if (ms > MAX_TIMER_MS) return () => {};
    return startTimer(ms, () => {
      const message = `${this.#vendor} ${WAITED_FOR[deadline]} ${ms / 1000} seconds.`;
      this.#onMissed(new ModelError(message, { kind: 'timeout', deadline }));
    });
  }
}
