import type * as Otel from '@opentelemetry/api';

import { getRunConfig } from '../config/run-config.ts';
import type { Instrumentation, StartedSpan, TraceHeaders } from '../tracing/instrumentation.ts';
import type { SpanOutcome, TracedOperation } from '../tracing/traced-operation.ts';
import { elapsedSince, monotonic } from '../util/clock.ts';
import { ATTRIBUTES, INSTRUMENTATION_NAME, INSTRUMENTATION_VERSION as version } from './attribute-names.ts';
import { GenAiMetrics } from './gen-ai-metrics.ts';
import { SafeText, type SafeTextOptions } from './safe-text.ts';
import { endAttributes, endContent, spanProblemOf, type SpanProblem } from './span-end.ts';
import { spanStart, type AttributeTable, type SpanStart } from './span-start.ts';
import { headersOf, remoteSpan } from './trace-context.ts';

export interface OtelInstrumentationOptions extends SafeTextOptions {
  readonly tracerProvider: Otel.TracerProvider | undefined;
  readonly meterProvider: Otel.MeterProvider | undefined;
  readonly captureContent: boolean;
}

/**
 * Makes spans and metrics of OpenTelemetry, with the providers that are registered at the time of each operation. Installs none itself.
 * Folder `otel`: start here.
 */
export class OtelInstrumentation implements Instrumentation {
  readonly #api: typeof Otel;
  readonly #options: OtelInstrumentationOptions;
  readonly #text: SafeText;
  readonly #metrics: GenAiMetrics;

  /** @throws TroupeError if an option is out of range. */
  constructor(api: typeof Otel, options: OtelInstrumentationOptions) {
    this.#api = api;
    this.#options = options;
    this.#text = new SafeText(options);
    this.#metrics = new GenAiMetrics(api, options.meterProvider);
  }

  get isRecording(): boolean {
    return this.#tracer() !== undefined || this.#metrics.isRecording;
  }

  begin(operation: TracedOperation): StartedSpan {
    const { trace, context } = this.#api;
    const start = spanStart(operation);
    const startedAt = monotonic();
    const parent = context.active();
    const span = this.#startSpan(start, parent);
    const capturesContent = this.#options.captureContent && span?.isRecording() === true;
    if (capturesContent && start.content !== undefined)
      span.setAttributes(withoutUndefined(start.content(this.#text)));
    const own = span === undefined ? parent : trace.setSpan(parent, span);
    return {
      capturesContent,
      run: (body) => context.with(own, body),
      end: (outcome) => {
        const problem = spanProblemOf(operation, outcome, capturesContent);
        if (span !== undefined) this.#end(span, operation, outcome, problem, capturesContent);
        const dimensions = this.#labels({ ...start.dimensions, [ATTRIBUTES.errorType]: problem?.type });
        this.#metrics.record(operation, dimensions, elapsedSince(startedAt) / 1000, outcome);
      },
    };
  }

  headers(): TraceHeaders {
    const { trace, context } = this.#api;
    return headersOf(trace.getSpanContext(context.active()), this.#api);
  }

  continueTrace<T>(headers: (name: string) => string | undefined, body: () => T): T {
    const { trace, context } = this.#api;
    const remote = remoteSpan(headers, this.#api);
    return remote === undefined ? body() : context.with(trace.setSpanContext(context.active(), remote), body);
  }

  #startSpan({ name, kind, attributes }: SpanStart, parent: Otel.Context): Otel.Span | undefined {
    const labels = this.#labels({ [ATTRIBUTES.conversationId]: getRunConfig().runId, ...attributes });
    const options = { kind: this.#api.SpanKind[kind], attributes: labels };
    return this.#tracer()?.startSpan(this.#text.label(name), options, parent);
  }

  #end(
    span: Otel.Span,
    operation: TracedOperation,
    outcome: SpanOutcome,
    problem: SpanProblem | undefined,
    capturesContent: boolean,
  ): void {
    try {
      span.setAttributes(this.#labels(endAttributes(operation, outcome)));
      if (capturesContent) span.setAttributes(withoutUndefined(endContent(operation, outcome, this.#text)));
      if (problem !== undefined) this.#fail(span, problem);
    } finally {
      span.end();
    }
  }

  #fail(span: Otel.Span, problem: SpanProblem): void {
    const type = this.#text.label(problem.type);
    const message = this.#text.label(problem.message ?? problem.type);
    span.setAttribute(ATTRIBUTES.errorType, type);
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message });
    span.recordException({ name: type, message });
  }

  /** The tracer of the current provider; undefined as long as no provider is registered. */
  #tracer(): Otel.Tracer | undefined {
    const { tracerProvider = this.#api.trace.getTracerProvider() } = this.#options;
    return isProxy(tracerProvider)
      ? tracerProvider.getDelegateTracer(INSTRUMENTATION_NAME, version)
      : tracerProvider.getTracer(INSTRUMENTATION_NAME, version);
  }

  /** Attributes with redacted texts, without undefined ones. */
  #labels(table: AttributeTable): Otel.Attributes {
    const attributes = withoutUndefined(table);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === 'string') attributes[name] = this.#text.label(value);
      else if (Array.isArray(value)) attributes[name] = value.map((item) => this.#text.label(String(item)));
    }
    return attributes;
  }
}

/** The global provider of the API, which stands for the one that the program registers. */
interface ProxyProvider {
  getDelegateTracer(name: string, version: string): Otel.Tracer | undefined;
}

function isProxy(provider: Otel.TracerProvider): provider is Otel.TracerProvider & ProxyProvider {
  return 'getDelegateTracer' in provider && typeof provider.getDelegateTracer === 'function';
}

function withoutUndefined(table: AttributeTable): Otel.Attributes {
  const attributes: Otel.Attributes = {};
  for (const [name, value] of Object.entries(table))
    if (value !== undefined) attributes[name] = typeof value === 'object' ? [...value] : value;
  return attributes;
}
