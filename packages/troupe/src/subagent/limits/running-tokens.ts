import type { Spending } from '../../agent/turn/spending.ts';
import { LimitReached } from './limit-reached.ts';

/** A token limit, and the tokens spent on it. */
export interface TokenLimit {
  readonly maxTokens: number;
  readonly spending: Spending;
}

/**
 * Counts the tokens of one model call while it runs, against all token limits. Model calls that run at the same
 * time see each other's tokens, so that together they stop at the limit.
 */
export class RunningTokens {
  readonly #limits: readonly TokenLimit[];
  #count = 0;

  constructor(limits: readonly TokenLimit[]) {
    this.#limits = limits;
  }

  get isLimited(): boolean {
    return this.#limits.length > 0;
  }

  /**
   * Counts the input before the model call. Returns the tokens left for the answer.
   * @throws LimitReached if nothing is left for an answer
   */
  begin(inputTokens: number): number {
    const left = this.#left;
    if (left <= inputTokens) throw this.limitReached();
    this.#add(inputTokens);
    return left - inputTokens;
  }

  /** Sets the tokens of the model call so far. Returns the tokens left, less than 0 if a limit is passed. */
  count(tokens: number): number {
    this.#add(tokens - this.#count);
    return this.#left;
  }

  /** Stops counting: from now on the reported usage counts. */
  end(): void {
    this.#add(-this.#count);
  }

  /** The error for the limit with the fewest tokens left. */
  limitReached(): LimitReached {
    const tightest = this.#limits.toSorted((a, b) => leftOf(a) - leftOf(b))[0];
    return new LimitReached(`${tightest?.maxTokens ?? 0} tokens`);
  }

  get #left(): number {
    return Math.min(...this.#limits.map(leftOf));
  }

  #add(tokens: number): void {
    this.#count += tokens;
    for (const { spending } of this.#limits) spending.runningTokens += tokens;
  }
}

function leftOf({ maxTokens, spending }: TokenLimit): number {
  return maxTokens - spending.tokens;
}
