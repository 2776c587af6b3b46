import { getLogger } from '../../config/run-config.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { sleep } from '../../util/clock.ts';
import { randomFraction } from '../../util/ids.ts';
import type { ChatModelBase, ModelRequest } from '../chat-model-base.ts';
import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { ModelError } from '../model-error.ts';
import { WrapperModel, type RelayOptions } from './wrapper-model.ts';

/** An attempt that failed and is made again. */
export interface Retry {
  /** The number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** How long it takes until the next one. */
  readonly delayMs: number;
  readonly error: ModelError;
}

export interface RetryOptions {
  /** How often a request is made at most, the first time included. @default 3 */
  readonly maxAttempts?: number | undefined;
  /** The upper limit of the first wait. It doubles from wait to wait. @default 500 */
  readonly baseDelayMs?: number | undefined;
  /** Where it stops to double. @default 30 seconds */
  readonly maxDelayMs?: number | undefined;
  /** How long a provider may ask to wait; the call fails at once if it asks for more. @default 60 seconds */
  readonly maxRetryAfterMs?: number | undefined;
  /** Which part of the upper limit to wait, from 0 to 1. @default a random one */
  readonly random?: (() => number) | undefined;
  /** Is told before each wait. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

/** The options, whatever was left out. */
type Settings = {
  readonly [Key in Exclude<keyof RetryOptions, 'onRetry'>]-?: NonNullable<RetryOptions[Key]>;
};

/**
 * Makes a request again when it fails in a way that may pass (`isRetryable`), but only as long as nothing of
 * an answer was shown: after that the error goes to the caller, who has the beginning of the answer.
 *
 * It waits as long as the provider asks for, else for a random part of a limit that doubles each time. What a
 * failed attempt has cost is kept: a `reset` stands between its usage and the next attempt.
 */
export class RetryModel extends WrapperModel {
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
      if (hasShown || !ModelError.isInstance(failure) || !failure.isRetryable) throw failure;
      const delayMs = this.#delayAfter(failure, attempt);
      if (attempt >= this.#options.maxAttempts) throw failure;
      this.#tell({ attempt, delayMs, error: failure });
      if (hasPassed)
        yield { type: 'reset', reason: `Attempt ${attempt} failed (${failure.kind}); trying again.` };
      await sleep(delayMs, options.signal);
    }
  }

  /** @throws ModelError if that is longer than anybody should wait. */
  #delayAfter(error: ModelError, attempt: number): number {
    const { baseDelayMs, maxDelayMs, maxRetryAfterMs, random } = this.#options;
    const { retryAfterMs } = error;
    if (retryAfterMs === undefined) return random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
    if (retryAfterMs > maxRetryAfterMs) throw tooLong(error, retryAfterMs, maxRetryAfterMs);
    return retryAfterMs;
  }

  #tell(retry: Retry): void {
    const { attempt, delayMs, error } = retry;
    getLogger().log('warn', `${this.modelName} failed (${error.kind}) and is asked again.`, {
      attempt,
      delayMs,
    });
    this.#onRetry?.(retry);
  }
}

/** Whether a delta is a part of the answer, and not only something about it. */
function isShown({ type }: ModelDelta): boolean {
  return type !== 'usage' && type !== 'response_id' && type !== 'reset';
}

function tooLong(error: ModelError, asked: number, most: number): ModelError {
  const { kind, status, providerCode, retryAfterMs, isRetryable, requestId, body } = error;
  const wait = `The provider asks to wait for ${asked / 1000} s, and maxRetryAfterMs allows ${most / 1000} s.`;
  return new ModelError(`${wait} ${error.message}`, {
    kind,
    status,
    providerCode,
    retryAfterMs,
    isRetryable,
    requestId,
    body,
    cause: error,
  });
}
