import { MAX_TIMER_MS } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { elapsedSince, monotonic, startTimer } from '../../util/clock.ts';
import { reportsConnections } from '#platform';
import { ModelError, nameOrigin, type DeadlineName, type ModelOrigin } from '../model-error.ts';

/**
 * Time limits for one response in milliseconds; `Infinity` means no limit. Node's own fetch stops after 10
 * seconds without a connection and after 5 minutes of silence in any case: for more, give the model another
 * `fetch`.
 */
export interface Deadlines {
  /**
   * From the request to the connection, TLS included. Where fetch does not report its connections (browsers,
   * Bun, Deno), the time is added to `firstByteMs`. A `fetch` of your own that does not use Node's connects
   * when it returns. @default 2 minutes
   */
  readonly connectMs?: number | undefined;
  /** From the connection to the first byte of the answer, after its head. @default 5 minutes */
  readonly firstByteMs?: number | undefined;
  /** Between two chunks of the body. @default 5 minutes */
  readonly idleMs?: number | undefined;
  /** For the whole response. @default 1 hour */
  readonly totalMs?: number | undefined;
}

const MINUTE = 60_000;
export type Limits = Readonly<Record<keyof Deadlines, number>>;

/** Deadlines of a model without deadlines of its own. */
export const DEFAULT_DEADLINES: Deadlines = Object.freeze({});

const DEFAULTS: Limits = {
  connectMs: 2 * MINUTE,
  firstByteMs: 5 * MINUTE,
  idleMs: 5 * MINUTE,
  totalMs: 60 * MINUTE,
};

/** Maximum wait for trailing events, such as usage, after a complete answer. */
const TRAILER_MS = 5000;

/** @throws TroupeError if a limit is not a positive number */
export function checkDeadlines(deadlines: Deadlines = DEFAULT_DEADLINES): Limits {
  if (deadlines === DEFAULT_DEADLINES) return DEFAULTS;
  const limits: { -readonly [Key in keyof Limits]: number } = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as (keyof Limits)[]) {
    const ms = deadlines[key] ?? DEFAULTS[key];
    if (!(ms > 0))
      throw new TroupeError('invalid_config', `deadlines.${key} must be a number of milliseconds above 0.`);
    limits[key] = ms;
  }
  return limits;
}

const PROBLEM: Record<DeadlineName, string> = {
  connect: 'did not accept the connection within',
  first_byte: 'did not begin to answer within',
  idle: 'sent nothing in the middle of its answer for',
  total: 'did not finish its answer within',
};

const OPTION: Record<DeadlineName, keyof Deadlines> = {
  connect: 'connectMs',
  first_byte: 'firstByteMs',
  idle: 'idleMs',
  total: 'totalMs',
};

/** Watches the deadlines of one response and reports the first one that passes. */
export class DeadlineWatch {
  readonly #limits: Limits;
  readonly #onMissed: (error: ModelError) => void;
  readonly #origin: ModelOrigin;
  readonly #stopTotal: () => void;
  #stopCurrent: () => void = () => {};
  #isConnected = false;
  /** Limit between chunks; undefined before the first chunk. */
  #idleMs: number | undefined;
  /** Time since which the next chunk is awaited; undefined while the consumer is busy. */
  #waitingSince: number | undefined;

  constructor(origin: ModelOrigin, deadlines: Deadlines, onMissed: (error: ModelError) => void) {
    this.#origin = origin;
    this.#limits = checkDeadlines(deadlines);
    this.#onMissed = onMissed;
    this.#stopTotal = this.#start('total', this.#limits.totalMs);
    const { connectMs, firstByteMs } = this.#limits;
    if (reportsConnections) this.#wait('connect', connectMs);
    else this.#wait('first_byte', connectMs + firstByteMs);
  }

  /**
   * Call when the request has its connection, or when the head of the response has arrived, whichever is first.
   * Further calls change nothing.
   */
  connected(): void {
    if (this.#isConnected) return;
    this.#isConnected = true;
    this.#wait('first_byte', this.#limits.firstByteMs);
  }

  /**
   * Call when a chunk has arrived.
   * @param isComplete true if only trailing events can follow
   */
  received(isComplete = false): void {
    const { idleMs } = this.#limits;
    const ms = isComplete ? Math.min(idleMs, TRAILER_MS) : idleMs;
    this.#waitingSince = monotonic();
    if (this.#idleMs === ms) return; // the timer runs
    this.#stopCurrent();
    this.#idleMs = ms;
    this.#watchIdle(ms, ms);
  }

  /** Pauses the current deadline while the consumer is busy, which is not the server's fault. */
  pause(): void {
    if (this.#idleMs === undefined) this.#stopCurrent();
    this.#waitingSince = undefined;
  }

  stop(): void {
    this.#isConnected = true; // a connection that comes later starts no timer
    this.#stopCurrent();
    this.#stopTotal();
  }

  #wait(deadline: DeadlineName, ms: number): void {
    this.#stopCurrent();
    this.#stopCurrent = this.#start(deadline, ms);
  }

  /** Looks at the time since the last chunk when it may be over, so that a chunk needs no timer of its own. */
  #watchIdle(ms: number, left: number): void {
    if (ms > MAX_TIMER_MS) return;
    this.#stopCurrent = startTimer(left, () => {
      const waited = this.#waitingSince === undefined ? 0 : elapsedSince(this.#waitingSince);
      if (waited >= ms) this.#miss('idle', ms);
      else this.#watchIdle(ms, ms - waited);
    });
  }

  #start(deadline: DeadlineName, ms: number): () => void {
    if (ms > MAX_TIMER_MS) return () => {};
    return startTimer(ms, () => this.#miss(deadline, ms));
  }

  #miss(deadline: DeadlineName, ms: number): void {
    const problem = `${nameOrigin(this.#origin)} ${PROBLEM[deadline]} ${ms / 1000} seconds.`;
    const check = `Raise deadlines.${OPTION[deadline]}.`;
    this.#onMissed(new ModelError(problem, { ...this.#origin, kind: 'timeout', deadline, check }));
  }
}
