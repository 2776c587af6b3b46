import { TroupeError } from '../errors.ts';
import { cutText } from '../util/text.ts';

/** What kind of thing went wrong, whichever provider it was. */
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

/** Which of the four deadlines passed. */
export type Deadline = 'connect' | 'first_byte' | 'idle' | 'total';

export interface ModelErrorDetails extends ErrorOptions {
  readonly kind: ModelErrorKind;
  /** The HTTP status. */
  readonly status?: number | undefined;
  /** The provider's own word for it, such as `rate_limit_exceeded`. */
  readonly providerCode?: string | undefined;
  /** How long the provider asks to wait. */
  readonly retryAfterMs?: number | undefined;
  readonly isRetryable?: boolean | undefined;
  readonly deadline?: Deadline | undefined;
  /** The provider's id of the request, for its support. */
  readonly requestId?: string | undefined;
  /** What the provider sent; at most 1 kB of it is kept. */
  readonly body?: string | undefined;
}

const RETRYABLE: readonly ModelErrorKind[] = ['rate_limit', 'overloaded', 'network', 'timeout'];
const MAX_BODY = 1024;

/**
 * A model did not answer. `kind` says why in the same words for every provider.
 * It holds no key, header or prompt; what the provider sent is in `body`, which
 * is cut to 1 kB and left out when the error is logged or turned into JSON.
 */
export class ModelError extends TroupeError {
  override readonly name: string = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly isRetryable: boolean;
  declare readonly status?: number;
  declare readonly providerCode?: string;
  declare readonly retryAfterMs?: number;
  declare readonly deadline?: Deadline;
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
