/** Codes of refused requests, each with its HTTP status. */
export const FAILURE_STATUS = {
  invalid_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  session_exists: 409,
  session_busy: 409,
  pending_calls: 409,
  decision_refused: 409,
  run_ended: 409,
  state_gone: 409,
  too_large: 413,
  unsupported_type: 415,
  key_reused: 422,
  limit_reached: 429,
  internal: 500,
  run_failed: 500,
  not_available: 501,
  closing: 503,
} as const;

export type FailureCode = keyof typeof FAILURE_STATUS;

/** A request that the service refuses, with a text for the caller. Nothing has changed. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';
  readonly code: FailureCode;
  /** Seconds after which the request may succeed. */
  readonly retryAfter: number | undefined;

  constructor(code: FailureCode, message: string, retryAfter?: number) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  get status(): (typeof FAILURE_STATUS)[FailureCode] {
    return FAILURE_STATUS[this.code];
  }
}
