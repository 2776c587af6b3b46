import { getLogger } from '../../config/run-config.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { sleep } from '../../util/clock.ts';
import { randomFraction } from '../../util/ids.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { changeModelError, ModelError, problemOf } from '../model-error.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

/** Failed attempt that is followed by another one. */
export interface Retry {
  /** Number of the failed attempt, from 1. */
  readonly attempt: number;
  /** Delay before the next attempt. */
  readonly delayMs: number;
  readonly error: ModelError;
}

export interface RetryOptions {
  /** Maximum attempts, including the first. @default 3 */
  readonly maxAttempts?: number | undefined;
  /** Upper bound of the first delay; doubles with every attempt. @default 500 */
  readonly baseDelayMs?: number | undefined;
  /** Maximum of the doubled bound. @default 30 seconds */
  readonly maxDelayMs?: number | undefined;
  /**
   * Maximum delay that a provider may ask for; the model call fails at once if it asks for more.
   * @default 60 seconds
   */
  readonly maxRetryAfterMs?: number | undefined;
  /** Fraction of the upper bound to wait, from 0 to 1. @default random */
  readonly random?: (() => number) | undefined;
  /** Called before each delay. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

/** Options with defaults filled in. */
type Settings = {
  readonly [Key in Exclude<keyof RetryOptions, 'onRetry'>]-?: NonNullable<RetryOptions[Key]>;
};

/**
 * Repeats a request after a retryable error (`isRetryable`), but only while no part of the answer was passed
 * on; later errors go to the caller, who has the start of the answer. The error of the last attempt says how
 * often it was tried (`attempts`) and has the provider's error as its cause.
 *
 * Waits as long as the provider asks, otherwise a random fraction of a bound that doubles each time. The
 * usage of failed attempts is kept: a `reset` separates it from the next attempt.
 *
 * @example
 * ```ts
 * import { RetryModel } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const model = new RetryModel(new OfflineModel(), { maxAttempts: 5 });
 * console.log(model.modelName);
 * ```
 */
export class RetryModel extends WrapperModel {
  static override readonly className: string = 'RetryModel';

  readonly #options: Settings;
  readonly #onRetry: ((retry: Retry) => void) | undefined;

  constructor(model: ChatModelBase, { onRetry, ...options }: RetryOptions = {}) {
    super(model);
    const {
      maxAttempts = 3,
      baseDelayMs = 500,
      maxDelayMs = 30_000,
      maxRetryAfterMs = 60_000,
      random = randomFraction,
    } = options;
    checkNumber('maxAttempts', maxAttempts, { least: 1, whole: true });
    checkNumber('baseDelayMs', baseDelayMs, { least: 0, most: MAX_TIMER_MS });
    checkNumber('maxDelayMs', maxDelayMs, { least: 0, most: MAX_TIMER_MS });
    checkNumber('maxRetryAfterMs', maxRetryAfterMs, { least: 0, most: MAX_TIMER_MS });
    this.#options = { maxAttempts, baseDelayMs, maxDelayMs, maxRetryAfterMs, random };
    this.#onRetry = onRetry;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    for (let attempt = 1; ; attempt++) {
      let hasPassed = false;
      let hasShown = false;
      let failure: unknown;
      try {
        for await (const delta of this.model.stream(request, options)) {
          hasPassed = true;
          hasShown ||= isShown(delta);
          yield delta;
        }
        return;
      } catch (error) {
        failure = error;
      }
      options.signal.throwIfAborted();
      if (!ModelError.isInstance(failure) || !failure.isRetryable) throw failure;
      if (hasShown) throw givenUp(failure, attempt, 'The answer had begun, so it was not tried again.');
      const delayMs = this.#delayAfter(failure, attempt);
      if (attempt >= this.#options.maxAttempts) throw givenUp(failure, attempt, triedTimes(attempt));
      this.#report({ attempt, delayMs, error: failure });
      if (hasPassed)
        yield { type: 'reset', reason: `Attempt ${attempt} failed (${failure.kind}); trying again.` };
      await sleep(delayMs, options.signal);
    }
  }

  /** @throws ModelError if the provider asks for more than `maxRetryAfterMs` */
  #delayAfter(error: ModelError, attempt: number): number {
    const { baseDelayMs, maxDelayMs, maxRetryAfterMs, random } = this.#options;
    const { retryAfterMs } = error;
    if (retryAfterMs === undefined) return random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
    if (retryAfterMs > maxRetryAfterMs) throw tooLong(error, attempt, retryAfterMs, maxRetryAfterMs);
    return retryAfterMs;
  }

  #report(retry: Retry): void {
    const { attempt, delayMs, error } = retry;
    getLogger().log('warn', `${this.modelName} failed (${error.kind}) and is retried.`, {
      attempt,
      delayMs,
    });
    this.#onRetry?.(retry);
  }
}

/** Types of deltas that are not part of the answer itself. */
const UNSHOWN: readonly ModelDelta['type'][] = ['usage', 'response_id', 'answered_by', 'reset'];

function isShown({ type }: ModelDelta): boolean {
  return !UNSHOWN.includes(type);
}

/**
 * The last error, with the reason why it is not followed by another attempt. An error that names no vendor
 * gives no advice that could be wrong by now, and stays as it is.
 */
function givenUp(error: ModelError, attempts: number, reason: string): ModelError {
  if (error.vendor === undefined && error.models === undefined) return error;
  const problem = `${problemOf(error)} ${reason}`;
  return changeModelError(error, { problem, attempts, cause: error });
}

function triedTimes(attempts: number): string {
  return attempts === 1 ? 'It was tried once.' : `It was tried ${attempts} times.`;
}

function tooLong(error: ModelError, attempts: number, asked: number, most: number): ModelError {
  const reason = `It asks to wait for ${asked / 1000} s, and maxRetryAfterMs allows ${most / 1000} s.`;
  const problem = `${problemOf(error)} ${reason}`;
  return changeModelError(error, { problem, attempts, check: 'Raise maxRetryAfterMs.', cause: error });
}
