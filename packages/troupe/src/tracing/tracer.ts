import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';

/** One span of a trace, such as OpenTelemetry's `Span`. */
export interface TraceSpan {
  setAttribute(key: string, value: string | number | boolean): unknown;
  /** `code` 2 means failed. */
  setStatus(status: { code: 0 | 1 | 2; message?: string }): unknown;
  recordException(exception: { name: string; message: string }): void;
  end(): void;
}

/** Attributes at the start of a span, as OpenTelemetry has them. */
export type SpanAttributes = Record<string, string | number | boolean | string[]>;

/**
 * Makes spans, such as OpenTelemetry's `Tracer`. Spans made inside of `run` become children of its span, those of nested sub-agents
 * included.
 */
export interface Tracer {
  startActiveSpan<T>(name: string, options: { attributes?: SpanAttributes }, run: (span: TraceSpan) => T): T;
}

const FAILED = 2;

/** Marks a span as failed, with a code and one line: no stack, no part of a conversation. */
export function failSpan(span: TraceSpan, code: string, message: string): void {
  span.setAttribute('subagent.error', code);
  span.setStatus({ code: FAILED, message: code });
  span.recordException({ name: code, message });
}

/** Calls `run` inside of a span. Without a tracer, or when the tracer fails, calls `run` without a span. */
export async function inSpan<T>(
  tracer: Tracer | undefined,
  name: string,
  attributes: SpanAttributes,
  run: (span: TraceSpan) => Promise<T>,
): Promise<T> {
  let running: Promise<T> | undefined;
  quietly(() => tracer?.startActiveSpan(name, { attributes }, (span) => (running ??= traced(span, run))));
  return (running ??= run(NO_SPAN));
}

async function traced<T>(given: TraceSpan, run: (span: TraceSpan) => Promise<T>): Promise<T> {
  const span = quiet(given);
  try {
    return await run(span);
  } catch (error) {
    const code = TroupeError.isInstance(error) ? error.code : 'exception';
    if (code === 'tool_suspended') span.setAttribute('subagent.suspended', true);
    else failSpan(span, code, redactedMessage(error));
    throw error;
  } finally {
    span.end();
  }
}

/** A span whose failures are logged instead of thrown. */
function quiet(span: TraceSpan): TraceSpan {
  return {
    setAttribute: (key, value) => quietly(() => span.setAttribute(key, value)),
    setStatus: (status) => quietly(() => span.setStatus(status)),
    recordException: (exception) => quietly(() => span.recordException(exception)),
    end: () => quietly(() => span.end()),
  };
}

function quietly(trace: () => unknown): void {
  try {
    trace();
  } catch (error) {
    getLogger().log('warn', `A tracer failed: ${redactedMessage(error)}`);
  }
}

const NO_SPAN: TraceSpan = {
  setAttribute() {},
  setStatus() {},
  recordException() {},
  end() {},
};
