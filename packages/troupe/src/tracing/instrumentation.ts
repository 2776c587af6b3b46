import { createAsyncScope } from '#platform';

import { getLogger } from '../config/run-config.ts';
import { InterruptedError, TroupeError } from '../errors.ts';
import { whenAborted } from '../util/abort.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import type { SpanOutcome, TracedOperation } from './traced-operation.ts';

/** A span that has begun. */
export interface StartedSpan {
  /** Whether the outcome should have messages and results, which are expensive to collect. */
  readonly capturesContent: boolean;
  /** Runs code so that spans begun in it, through all awaits, are children of this span. */
  run<T>(body: () => T): T;
  end(outcome: SpanOutcome): void;
}

/** Headers that carry a trace to another program: `traceparent`, and `tracestate` if there is one. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** Makes spans and metrics. `enableTracing` of `troupe/tracing` installs the one for OpenTelemetry. */
export interface Instrumentation {
  /** Whether there is anything to record spans or metrics. While false, operations run as without an instrumentation. */
  readonly isRecording: boolean;
  /** Begins a span under the current one; undefined if nothing is recorded. */
  begin(operation: TracedOperation): StartedSpan | undefined;
  /** Headers that continue the current trace elsewhere; empty without a current span. */
  headers(): TraceHeaders;
  /** Runs code as part of the trace of another program. Invalid headers are ignored. */
  continueTrace<T>(headers: (name: string) => string | undefined, body: () => T): T;
}

/** Options of a traced operation. */
export interface TraceOptions<T> {
  /** Ends the span when aborted, even if the operation goes on. */
  readonly signal?: AbortSignal | undefined;
  /** The outcome for a result. @default the status `ok` */
  readonly outcomeOf?: ((result: T) => SpanOutcome) | undefined;
}

const OK: SpanOutcome = Object.freeze({ status: 'ok' });
const NO_HEADERS: TraceHeaders = Object.freeze({});
const untraced = createAsyncScope<true>();
let installed: Instrumentation | undefined;

/** Replaces the instrumentation of the program. The returned function removes it again. */
export function installInstrumentation(instrumentation: Instrumentation): () => void {
  installed = instrumentation;
  return () => {
    if (installed === instrumentation) installed = undefined;
  };
}

/**
 * Runs an operation as a span. All spans of the library begin here or in `startSpan`. Without an
 * instrumentation, this only calls `body`: `describe` does not run. Folder `tracing`: start here.
 */
export function traced<T>(
  describe: () => TracedOperation,
  body: () => Promise<T>,
  options?: TraceOptions<T>,
): Promise<T> {
  const span = startSpan(describe);
  return span === undefined ? body() : finished(span, body, options);
}

async function finished<T>(
  span: SafeSpan,
  body: () => Promise<T>,
  { signal, outcomeOf }: TraceOptions<T> = {},
): Promise<T> {
  const unlink = whenAborted(signal, (reason) => span.end(outcomeOfError(reason, signal)));
  try {
    const result = await span.run(body);
    span.end(outcomeOf === undefined ? OK : outcomeOf(result));
    return result;
  } catch (error) {
    span.end(outcomeOfError(error, signal));
    throw error;
  } finally {
    unlink();
  }
}

/** Begins a span; undefined if nothing is recorded. The caller ends it. */
export function startSpan(describe: () => TracedOperation): SafeSpan | undefined {
  const instrumentation = active();
  if (instrumentation === undefined) return undefined;
  try {
    const span = instrumentation.begin(describe());
    return span === undefined ? undefined : new SafeSpan(span);
  } catch (error) {
    reportTracer(error);
    return undefined;
  }
}

/** Whether spans are recorded here. */
export function isTracing(): boolean {
  return active() !== undefined;
}

function active(): Instrumentation | undefined {
  if (installed === undefined || untraced.getStore() === true) return undefined;
  try {
    return installed.isRecording ? installed : undefined;
  } catch (error) {
    reportTracer(error);
    return undefined;
  }
}

/** Runs code without spans, through all awaits. */
export function withoutTracing<T>(body: () => T): T {
  return installed === undefined ? body() : untraced.run(true, body);
}

/** Headers that continue the current trace in another program; empty if nothing is recorded. */
export function traceHeaders(): TraceHeaders {
  const instrumentation = active();
  if (instrumentation === undefined) return NO_HEADERS;
  try {
    return instrumentation.headers();
  } catch (error) {
    reportTracer(error);
    return NO_HEADERS;
  }
}

/** Runs code as part of the trace that a request from another program belongs to. */
export function continueTrace<T>(headers: (name: string) => string | undefined, body: () => T): T {
  const instrumentation = active();
  if (instrumentation === undefined) return body();
  return runOnce((once) => instrumentation.continueTrace(headers, once), body);
}

/** A span whose failures are logged instead of thrown, and which ends once. */
export class SafeSpan {
  readonly #span: StartedSpan;
  #isEnded = false;

  constructor(span: StartedSpan) {
    this.#span = span;
  }

  get capturesContent(): boolean {
    return this.#span.capturesContent;
  }

  run<T>(body: () => T): T {
    return runOnce((once) => this.#span.run(once), body);
  }

  end(outcome: SpanOutcome): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    try {
      this.#span.end(outcome);
    } catch (error) {
      reportTracer(error);
    }
  }
}

/** The outcome of an operation that threw. An interrupt, an abort and a suspension are told apart from failures. */
export function outcomeOfError(error: unknown, signal?: AbortSignal): SpanOutcome {
  const code = TroupeError.isInstance(error) ? error.code : undefined;
  if (code === 'tool_suspended') return { status: 'suspended' };
  if (code === 'interrupted' || signal?.reason instanceof InterruptedError) return { status: 'interrupted' };
  const isAborted = signal?.aborted === true || (error instanceof Error && error.name === 'AbortError');
  return isAborted ? { status: 'aborted' } : { status: 'error', error };
}

/** Calls `body` exactly once, inside of `around` if that works: a tracer that throws neither stops nor repeats the work. */
function runOnce<T>(around: (body: () => T) => unknown, body: () => T): T {
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
  const once = (): T => {
    if (outcome === undefined) {
      try {
        outcome = { value: body() };
      } catch (error) {
        outcome = { error };
      }
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  };
  try {
    around(once);
  } catch (error) {
    const isOfBody = outcome !== undefined && 'error' in outcome && outcome.error === error;
    if (!isOfBody) reportTracer(error);
  }
  return once();
}

export function reportTracer(error: unknown): void {
  getLogger().log('warn', `A tracer failed: ${redactedMessage(error)}`);
}
