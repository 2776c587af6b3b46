import { TroupeError } from '../errors.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { reportTracer, traced } from './instrumentation.ts';
import type { TracedOperation } from './traced-operation.ts';

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

/** A failure that a result reports: a code, and one line without content of the conversation. */
export interface SpanFailure {
  readonly code: string;
  readonly message: string;
}

export interface DelegationSpanOptions<T> {
  /** Tracer granted by the host. @default the instrumentation of the program */
  readonly tracer: Tracer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The failure that a result reports, if any. */
  readonly failureOf: (result: T) => SpanFailure | undefined;
}

const FAILED = 2;

/** Calls `run` inside of a span of a sub-agent, made by the granted tracer or by the instrumentation of the program. */
export async function inDelegationSpan<T>(
  operation: Extract<TracedOperation, { type: 'subagent' }>,
  { tracer, signal, failureOf }: DelegationSpanOptions<T>,
  run: () => Promise<T>,
): Promise<T> {
  if (tracer !== undefined) return withTracer(tracer, operation, failureOf, run);
  return traced(() => operation, run, {
    signal,
    outcomeOf: (result) => {
      const failure = failureOf(result);
      return failure === undefined ? { status: 'ok' } : { status: 'error', error: failure };
    },
  });
}

/** When the tracer fails, `run` runs without a span. */
async function withTracer<T>(
  tracer: Tracer,
  operation: Extract<TracedOperation, { type: 'subagent' }>,
  failureOf: (result: T) => SpanFailure | undefined,
  run: () => Promise<T>,
): Promise<T> {
  const { name, action, supervisor, tags } = operation;
  const attributes: SpanAttributes = {
    'subagent.name': name,
    'subagent.supervisor': supervisor,
    ...(tags.length > 0 && { 'subagent.tags': [...tags] }),
  };
  const spanName = action === 'register' ? 'register subagent' : `subagent ${name}`;
  let running: Promise<T> | undefined;
  quietly(() =>
    tracer.startActiveSpan(
      spanName,
      { attributes },
      (span) => (running ??= untilEnded(span, failureOf, run)),
    ),
  );
  return (running ??= run());
}

async function untilEnded<T>(
  span: TraceSpan,
  failureOf: (result: T) => SpanFailure | undefined,
  run: () => Promise<T>,
): Promise<T> {
  try {
    const result = await run();
    const failure = failureOf(result);
    if (failure !== undefined) quietly(() => failSpan(span, failure));
    return result;
  } catch (error) {
    const code = TroupeError.isInstance(error) ? error.code : 'exception';
    quietly(() => {
      if (code === 'tool_suspended') span.setAttribute('subagent.suspended', true);
      else failSpan(span, { code, message: redactedMessage(error) });
    });
    throw error;
  } finally {
    quietly(() => span.end());
  }
}

/** Marks a span as failed, with a code and one line: no stack, no part of a conversation. */
function failSpan(span: TraceSpan, { code, message }: SpanFailure): void {
  span.setAttribute('subagent.error', code);
  span.setStatus({ code: FAILED, message: code });
  span.recordException({ name: code, message });
}

function quietly(trace: () => unknown): void {
  try {
    trace();
  } catch (error) {
    reportTracer(error);
  }
}
