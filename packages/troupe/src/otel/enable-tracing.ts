import type * as Otel from '@opentelemetry/api';

import { TroupeError } from '../errors.ts';
import { installInstrumentation } from '../tracing/instrumentation.ts';
import { OtelInstrumentation } from './otel-instrumentation.ts';
import type { SafeTextOptions } from './safe-text.ts';

/** A tracer provider of OpenTelemetry. */
export interface SpanProvider {
  getTracer(name: string, version?: string): object;
}

/** A meter provider of OpenTelemetry. */
export interface MetricProvider {
  getMeter(name: string, version?: string): object;
}

export interface TracingOptions extends SafeTextOptions {
  /**
   * Whether spans have what was said: prompts, answers, arguments and results of tools. Redacted and cut to `maxChars`; never bytes of media.
   * @default false
   */
  readonly captureContent?: boolean | undefined;
  /** @default the one that is registered globally, now or later */
  readonly tracerProvider?: SpanProvider | undefined;
  /** @default the one that is registered globally, now or later */
  readonly meterProvider?: MetricProvider | undefined;
}

/**
 * Makes spans and metrics of everything that agents do, with the OpenTelemetry providers of the program. Installs no provider: without
 * one, nothing is recorded. Another call replaces the options. The returned function turns tracing off.
 * @throws TroupeError if `@opentelemetry/api` is not installed
 *
 * @example
 * ```ts
 * import { enableTracing } from 'troupe/tracing';
 *
 * const disableTracing = await enableTracing({ captureContent: true, maxChars: 4000 });
 * disableTracing();
 * ```
 */
export async function enableTracing(options: TracingOptions = {}): Promise<() => void> {
  const { tracerProvider, meterProvider, captureContent = false, ...text } = options;
  const api = await loadApi();
  return installInstrumentation(
    new OtelInstrumentation(api, {
      ...text,
      captureContent,
      tracerProvider: tracerProvider as Otel.TracerProvider | undefined,
      meterProvider: meterProvider as Otel.MeterProvider | undefined,
    }),
  );
}

async function loadApi(): Promise<typeof Otel> {
  try {
    return await import('@opentelemetry/api');
  } catch (cause) {
    const problem =
      'Tracing needs the package @opentelemetry/api, which could not be loaded. Run: npm install @opentelemetry/api';
    throw new TroupeError('invalid_config', problem, { cause });
  }
}
