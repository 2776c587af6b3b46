import { whenAborted } from '../../util/abort.ts';
import { now, startTimer } from '../../util/clock.ts';

export interface GateLimits {
  /** How many requests may begin within a minute. @default any number */
  readonly requestsPerMinute?: number | undefined;
  /** How many tokens they may take within a minute. @default any number */
  readonly tokensPerMinute?: number | undefined;
  /** How many requests may run at the same time. @default any number */
  readonly maxConcurrent?: number | undefined;
}

/** A request that was let in. */
export interface Visit {
  /** Makes room for others. What the request really took, if that is known, stands in for the estimate. */
  end(tokens?: number): void;
}

interface Waiting {
  readonly tokens: number;
  readonly enter: (visit: Visit) => void;
}

interface Spending {
  readonly at: number;
  tokens: number;
}

const MINUTE = 60_000;

/**
 * Lets requests in, in the order in which they came, as far as the limits allow in any 60 seconds. A large
 * one at the head is not overtaken by small ones, so it gets in at some time; one that is larger than the
 * limit itself waits until no other counts. Who is aborted while waiting leaves nothing behind.
 */
export class RequestGate {
  readonly #maxRequests: number;
  readonly #maxTokens: number;
  readonly #maxConcurrent: number;
  /** A set keeps the order, and is left from anywhere in it. */
  readonly #waiting = new Set<Waiting>();
  #starts: number[] = [];
  #spendings: Spending[] = [];
  #running = 0;
  #stopTimer: () => void = () => {};

  constructor({
    requestsPerMinute = Infinity,
    tokensPerMinute = Infinity,
    maxConcurrent = Infinity,
  }: GateLimits) {
    this.#maxRequests = requestsPerMinute;
    this.#maxTokens = tokensPerMinute;
    this.#maxConcurrent = maxConcurrent;
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** How many requests run. */
  get running(): number {
    return this.#running;
  }

  /** Waits until it is this request's turn. Rejects with the signal's reason as soon as that is aborted. */
  enter(tokens: number, signal: AbortSignal): Promise<Visit> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const waiting: Waiting = {
        tokens,
        enter(visit) {
          stopListening();
          resolve(visit);
        },
      };
      const stopListening = whenAborted(signal, (reason) => {
        this.#waiting.delete(waiting);
        this.#letIn();
        reject(reason);
      });
      this.#waiting.add(waiting);
      this.#letIn();
    });
  }

  #letIn(): void {
    this.#stopTimer();
    this.#forget(now() - MINUTE);
    let spent = this.#spendings.reduce((sum, spending) => sum + spending.tokens, 0);
    for (const waiting of this.#waiting) {
      if (this.#running >= this.#maxConcurrent || this.#starts.length >= this.#maxRequests) break;
      if (spent > 0 && spent + waiting.tokens > this.#maxTokens) break;
      spent += waiting.tokens;
      this.#waiting.delete(waiting);
      waiting.enter(this.#begin(waiting.tokens));
    }
    const oldest = Math.min(this.#starts[0] ?? Infinity, this.#spendings[0]?.at ?? Infinity);
    if (this.#waiting.size === 0 || oldest === Infinity) return;
    this.#stopTimer = startTimer(oldest + MINUTE - now(), () => this.#letIn());
  }

  #begin(tokens: number): Visit {
    this.#running++;
    if (this.#maxRequests < Infinity) this.#starts.push(now());
    const estimate = this.#spend(tokens);
    let hasEnded = false;
    return {
      end: (actual = tokens) => {
        if (hasEnded) return;
        hasEnded = true;
        this.#running--;
        // What went beyond the estimate counts from now on, as nobody knew of it before.
        if (actual > tokens) this.#spend(actual - tokens);
        else estimate.tokens = actual;
        this.#letIn();
      },
    };
  }

  #spend(tokens: number): Spending {
    const spending = { at: now(), tokens };
    if (this.#maxTokens < Infinity) this.#spendings.push(spending);
    return spending;
  }

  /** What happened up to then no longer counts. */
  #forget(then: number): void {
    if ((this.#starts[0] ?? Infinity) <= then) this.#starts = this.#starts.filter((at) => at > then);
    if ((this.#spendings[0]?.at ?? Infinity) <= then)
      this.#spendings = this.#spendings.filter(({ at }) => at > then);
  }
}
