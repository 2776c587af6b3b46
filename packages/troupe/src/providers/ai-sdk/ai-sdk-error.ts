import { messageOf, TroupeError } from '../../errors.ts';
import { responseError, kindOf, malformedResponse } from '../../model/http/http-error.ts';
import { ModelError, nameOrigin, type ModelOrigin } from '../../model/model-error.ts';
import { parseRetryAfter } from '../../model/retry-after.ts';
import { now } from '../../util/clock.ts';
import { isJsonObject } from '../../util/json.ts';

const UNREADABLE: readonly string[] = [
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_EmptyResponseBodyError',
  'AI_NoContentGeneratedError',
];
const REQUEST_ID_HEADERS = ['x-request-id', 'request-id', 'x-goog-request-id', 'apim-request-id'];

/**
 * Converts a thrown value or an error part of a wrapped model to an error of Troupe. An AI SDK error holds
 * the request with the whole prompt and the headers: only the provider's answer is taken over, and the
 * original is never the `cause`.
 */
export function toModelError(thrown: unknown, asked: ModelOrigin, hasBegun: boolean): TroupeError {
  if (TroupeError.isInstance(thrown)) return thrown;
  const { name, statusCode, isRetryable, responseBody, responseHeaders, url } = fieldsOf(thrown);
  const origin = { ...asked, host: hostOf(url) ?? asked.host };
  if (typeof name === 'string' && UNREADABLE.includes(name)) {
    return malformedResponse(origin, `it could not be read (${name})`, messageOf(thrown));
  }
  if (typeof statusCode === 'number' && statusCode >= 400) {
    const hasBody = typeof responseBody === 'string' && responseBody.trim() !== '';
    return responseError({
      origin,
      status: statusCode,
      body: hasBody ? responseBody : complaintOf(thrown),
      ...fromHeaders(responseHeaders),
    });
  }
  const who = nameOrigin(origin);
  if (name === 'TimeoutError') return new ModelError(`${who} took too long.`, { ...origin, kind: 'timeout' });
  const reason = networkReason(thrown);
  if (reason !== undefined) return lostAnswer(origin, hasBegun, reason);
  // Without a status, the SDK calls only connection errors retryable; with a good status, the answer was
  // unreadable.
  if (name === 'AI_APICallError' && (isRetryable === true || statusCode !== undefined)) {
    return lostAnswer(origin, hasBegun, messageOf(thrown));
  }
  if (!(thrown instanceof Error)) return responseError({ origin, body: complaintOf(thrown) });
  const complaint = { code: thrown.name, message: thrown.message };
  return new ModelError(`${who} could not be called: ${messageOf(thrown)}`, {
    ...origin,
    kind: kindOf(400, complaint),
  });
}

/** Error for a connection that failed, or ended before the answer. */
export function lostAnswer(
  origin: ModelOrigin,
  hasBegun: boolean,
  reason = 'it ended before the answer did',
): ModelError {
  const who = nameOrigin(origin);
  const what = hasBegun ? `The connection to ${who} was lost` : `${who} could not be reached`;
  const check = 'Check the network and the address.';
  return new ModelError(`${what}: ${reason}.`, { ...origin, kind: 'network', check });
}

interface ErrorFields {
  readonly name?: unknown;
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly responseBody?: unknown;
  readonly responseHeaders?: unknown;
  readonly url?: unknown;
}

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host : undefined;
}

function fieldsOf(thrown: unknown): ErrorFields {
  return typeof thrown === 'object' && thrown !== null ? thrown : {};
}

/** Finds the error text in the shapes that providers send. */
function complaintOf(thrown: unknown): string {
  if (!isJsonObject(thrown)) return JSON.stringify({ error: messageOf(thrown) });
  const inner = isJsonObject(thrown['error']) ? thrown['error'] : thrown;
  const { message, code, status, type } = inner;
  return JSON.stringify({
    error: { message: text(message), code: text(code), status: text(status), type: text(type) },
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 1000) : undefined;
}

/**
 * Reason of a failed connection; undefined for other errors. The message of `fetch` is 'fetch failed' or
 * 'terminated', and its cause has the reason.
 */
function networkReason(thrown: unknown): string | undefined {
  let error = thrown;
  for (let depth = 0; depth < 5 && error instanceof Error; depth++) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && /^(?:E(?!RR_)[A-Z_]{3,}|UND_ERR_\w+)$/.test(code))
      return `${code} ${messageOf(error)}`;
    error = error.cause;
  }
  const isFetch =
    thrown instanceof TypeError && /^(?:fetch failed|failed to fetch|terminated)$/i.test(thrown.message);
  // Our own aborts were recognised before.
  const isAbort = thrown instanceof Error && thrown.name === 'AbortError';
  return isFetch || isAbort ? messageOf(thrown) : undefined;
}

function fromHeaders(value: unknown): { requestId?: string | undefined; retryAfterMs?: number | undefined } {
  if (!isJsonObject(value)) return {};
  const headers = new Headers();
  for (const [name, content] of Object.entries(value)) {
    if (typeof content === 'string' && /^[\w-]+$/.test(name)) headers.set(name, content);
  }
  const ids = REQUEST_ID_HEADERS.map((name) => headers.get(name));
  return {
    requestId: ids.find((id) => id !== null) ?? undefined,
    retryAfterMs: parseRetryAfter(headers, now()),
  };
}
