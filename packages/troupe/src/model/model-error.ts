import { TroupeError } from '../errors.ts';
import { cutText } from '../util/text.ts';

/** Kind of failure, the same for all providers. */
export type ModelErrorKind =
  | 'auth'
  | 'rate_limit'
  | 'overloaded'
  | 'context_overflow'
  | 'content_filter'
  | 'bad_request'
  | 'network'
  | 'timeout'
  | 'malformed';

/** Name of the deadline that passed. */
export type DeadlineName = 'connect' | 'first_byte' | 'idle' | 'total';

export interface ModelErrorDetails extends ErrorOptions {
  readonly kind: ModelErrorKind;
  /** HTTP status. */
  readonly status?: number | undefined;
  /** Error code of the provider, such as `rate_limit_exceeded`. */
  readonly providerCode?: string | undefined;
  /** Delay requested by the provider. */
  readonly retryAfterMs?: number | undefined;
  readonly isRetryable?: boolean | undefined;
  readonly deadline?: DeadlineName | undefined;
  /** Request id of the provider, for its support. */
  readonly requestId?: string | undefined;
  /** Response body; at most 1 kB is kept. */
  readonly body?: string | undefined;
}

const RETRYABLE: readonly ModelErrorKind[] = ['rate_limit', 'overloaded', 'network', 'timeout'];
const MAX_BODY = 1024;

/**
 * Failed model call. `kind` is the same for all providers. Contains no key, header or prompt. `body` holds
 * the provider's response, cut to 1 kB and not enumerable, so that logs and JSON leave it out.
 */
export class ModelError extends TroupeError {
  override readonly name: string = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly isRetryable: boolean;
  declare readonly status?: number;
  declare readonly providerCode?: string;
  declare readonly retryAfterMs?: number;
  declare readonly deadline?: DeadlineName;
  declare readonly requestId?: string;
  declare readonly body?: string;

  constructor(message: string, details: ModelErrorDetails) {
    const { kind, cause, body, isRetryable, ...others } = details;
    super('model_failed', message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.isRetryable = isRetryable ?? RETRYABLE.includes(kind);
    for (const [key, value] of Object.entries(others))
      if (value !== undefined) Object.assign(this, { [key]: value });
    if (body !== undefined) {
      Object.defineProperty(this, 'body', { value: cutText(body, MAX_BODY), enumerable: false });
    }
  }

  static override isInstance(value: unknown): value is ModelError {
    return TroupeError.isInstance(value) && 'kind' in value && 'isRetryable' in value;
  }
}
