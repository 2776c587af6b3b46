import type * as Otel from '@opentelemetry/api';

import type { TraceHeaders } from '../tracing/instrumentation.ts';

const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.{0,100})?$/;
const SAMPLED = 1;
const MAX_STATE_CHARS = 512;
const NO_HEADERS: TraceHeaders = Object.freeze({});

/**
 * Headers of the W3C trace context for a span. Baggage is never sent: its values may be secret, and are for the
 * program's own services.
 */
export function headersOf(span: Otel.SpanContext | undefined, api: typeof Otel): TraceHeaders {
  if (span === undefined || !api.isSpanContextValid(span)) return NO_HEADERS;
  const flags = (span.traceFlags & SAMPLED).toString(16).padStart(2, '0');
  const state = span.traceState?.serialize() ?? '';
  return {
    traceparent: `00-${span.traceId}-${span.spanId}-${flags}`,
    ...(state !== '' && state.length <= MAX_STATE_CHARS && { tracestate: state }),
  };
}

/** The span of another program, from the headers of its request; undefined if they are missing or not valid. */
export function remoteSpan(
  header: (name: string) => string | undefined,
  api: typeof Otel,
): Otel.SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(header('traceparent') ?? '') ?? [];
  const span: Otel.SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & SAMPLED,
    isRemote: true,
  };
  return api.isSpanContextValid(span) ? span : undefined;
}
