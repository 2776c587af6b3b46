import type { ApiErrorCode, FieldProblem } from '../protocol.ts';

const STATUSES = {
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  invalid: 400,
  too_large: 413,
  gone: 410,
  decided: 409,
  changed: 409,
  busy: 409,
  unsupported: 400,
  timeout: 504,
  failed: 502,
} as const satisfies Record<ApiErrorCode, number>;

/** Status of a failed request. */
export type FailureStatus = (typeof STATUSES)[ApiErrorCode] | 405 | 415;

/** A request that can not be answered as wanted: becomes the body `ApiError`. Its message is for people, and holds nothing secret. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';

  constructor(
    readonly code: ApiErrorCode,
    message: string,
    readonly problems?: readonly FieldProblem[],
    readonly status: FailureStatus = STATUSES[code],
  ) {
    super(message);
  }
}
