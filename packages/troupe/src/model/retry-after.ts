import type { HttpHeaders } from '../util/net/http.ts';

/** HTTP date in its current and its two older formats. */
const HTTP_DATES = [
  /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
];
const NUMBER = /^\d{1,15}(?:\.\d{1,15})?$/;

/**
 * Delay in milliseconds that a server asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date.
 * Undefined if missing or invalid. A date counts from the `Date` of the response, which has the same clock;
 * without one, from `now`.
 */
export function parseRetryAfter(headers: HttpHeaders, now: number): number | undefined {
  const exact = inMilliseconds(headers.get('retry-after-ms'), 1);
  const rough = roughDelay(headers, now);
  // Some gateways send 0 milliseconds beside a real delay in seconds.
  return exact === 0 ? (rough ?? exact) : (exact ?? rough);
}

function roughDelay(headers: HttpHeaders, now: number): number | undefined {
  const asked = headers.get('retry-after');
  const delay = inMilliseconds(asked, 1000);
  if (delay !== undefined) return delay;
  const date = parseDate(asked);
  return date === undefined ? undefined : Math.max(0, date - (parseDate(headers.get('date')) ?? now));
}

function parseDate(value: string | null): number | undefined {
  const text = value?.trim() ?? '';
  if (!HTTP_DATES.some((form) => form.test(text))) return undefined;
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`); // the oldest format has no GMT
  return Number.isNaN(date) ? undefined : date;
}

function inMilliseconds(value: string | null, unit: number): number | undefined {
  const text = value?.trim() ?? '';
  return NUMBER.test(text) ? Math.round(Number(text) * unit) : undefined;
}
