import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';

/** A part of a trace. OpenTelemetry's `Span` is one. */
export interface TraceSpan {
  setAttribute(key: string, value: string | number | boolean): unknown;
  /** `code` 2 means that it failed. */
  setStatus(status: { code: 0 | 1 | 2; message?: string }): unknown;
  recordException(exception: { name: string; message: string }): void;
  end(): void;
}

/**
 * Where spans come from. OpenTelemetry's `Tracer` is one: what is traced inside of `run`, sub-agents of a sub-agent included,
 * comes under the span.
 */
export interface Tracer {
  startActiveSpan<T>(
    name: string,
    options: { attributes?: Record<string, string | number | boolean> },
    run: (span: TraceSpan) => T,
  ): T;
}

const FAILED = 2;

/** Marks a span as failed, by a code and a line: no stack, nothing of a conversation. */
export function failSpan(span: TraceSpan, code: string, message: string): void {
  span.setAttribute('subagent.error', code);
  span.setStatus({ code: FAILED, message: code });
  span.recordException({ name: code, message });
}

/** Runs something inside of a span, which ends with it; without a tracer, or with one that fails, it just runs. */
export async function inSpan<T>(
  tracer: Tracer | undefined,
  name: string,
  attributes: Record<string, string | number | boolean>,
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

/** A span whose failures are nobody's but the tracer's. */
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
