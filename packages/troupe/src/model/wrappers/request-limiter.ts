import { whenAborted } from '../../util/abort.ts';
import { monotonic, startTimer } from '../../util/clock.ts';

export interface RequestLimits {
  /** Maximum requests started per minute. @default no limit */
  readonly requestsPerMinute?: number | undefined;
  /** Maximum tokens used per minute. @default no limit */
  readonly tokensPerMinute?: number | undefined;
  /** Maximum requests at the same time. @default no limit */
  readonly maxConcurrent?: number | undefined;
}

/** Running request. */
export interface Admission {
  /** Ends the request. Actual tokens, if known, replace the estimate. */
  end(tokens?: number): void;
}

interface Waiting {
  readonly tokens: number;
  readonly admit: (admission: Admission) => void;
}

interface TokenUse {
  readonly at: number;
  tokens: number;
}

const MINUTE = 60_000;

/**
 * Admits requests in order of arrival within the limits of any 60 seconds. A large request at the head is not
 * overtaken by smaller ones; a request above the token limit itself waits until no tokens are counted. An
 * aborted waiting request is removed.
 */
export class RequestLimiter {
  readonly #maxRequests: number;
  readonly #maxTokens: number;
  readonly #maxConcurrent: number;
  /** A set keeps the order and allows removal anywhere. */
  readonly #waiting = new Set<Waiting>();
  #starts: number[] = [];
  #tokenUses: TokenUse[] = [];
  #running = 0;
  #stopTimer: () => void = () => {};

  constructor({
    requestsPerMinute = Infinity,
    tokensPerMinute = Infinity,
    maxConcurrent = Infinity,
  }: RequestLimits) {
    this.#maxRequests = requestsPerMinute;
    this.#maxTokens = tokensPerMinute;
    this.#maxConcurrent = maxConcurrent;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Number of running requests. */
  get running(): number {
    return this.#running;
  }

  /**
   * Resolves when the request may start. Rejects with the signal's reason as soon as the signal is aborted.
   */
  acquire(tokens: number, signal: AbortSignal): Promise<Admission> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const waiting: Waiting = {
        tokens,
        admit(admission) {
          stopListening();
          resolve(admission);
        },
      };
      const stopListening = whenAborted(signal, (reason) => {
        this.#waiting.delete(waiting);
        this.#admit();
        reject(reason);
      });
      this.#waiting.add(waiting);
      this.#admit();
    });
  }

  #admit(): void {
    this.#stopTimer();
    this.#forget(monotonic() - MINUTE);
    let spent = this.#tokenUses.reduce((sum, use) => sum + use.tokens, 0);
    for (const waiting of this.#waiting) {
      if (this.#running >= this.#maxConcurrent || this.#starts.length >= this.#maxRequests) break;
      if (spent > 0 && spent + waiting.tokens > this.#maxTokens) break;
      spent += waiting.tokens;
      this.#waiting.delete(waiting);
      waiting.admit(this.#begin(waiting.tokens));
    }
    const oldest = Math.min(this.#starts[0] ?? Infinity, this.#tokenUses[0]?.at ?? Infinity);
    if (this.#waiting.size === 0 || oldest === Infinity) return;
    this.#stopTimer = startTimer(oldest + MINUTE - monotonic(), () => this.#admit());
  }

  #begin(tokens: number): Admission {
    this.#running++;
    if (this.#maxRequests < Infinity) this.#starts.push(monotonic());
    const estimate = this.#spend(tokens);
    let hasEnded = false;
    return {
      end: (actual = tokens) => {
        if (hasEnded) return;
        hasEnded = true;
        this.#running--;
        // Tokens above the estimate count from now on.
        if (actual > tokens) this.#spend(actual - tokens);
        else estimate.tokens = actual;
        this.#admit();
      },
    };
  }

  #spend(tokens: number): TokenUse {
    const use = { at: monotonic(), tokens };
    if (this.#maxTokens < Infinity) this.#tokenUses.push(use);
    return use;
  }

  /** Removes everything up to the given time from the counts. */
  #forget(then: number): void {
    if ((this.#starts[0] ?? Infinity) <= then) this.#starts = this.#starts.filter((at) => at > then);
    if ((this.#tokenUses[0]?.at ?? Infinity) <= then)
      this.#tokenUses = this.#tokenUses.filter(({ at }) => at > then);
  }
}
