/** Spans and metrics of OpenTelemetry for everything that agents do. */
export {
  enableTracing,
  type MetricProvider,
  type SpanProvider,
  type TracingOptions,
} from './enable-tracing.ts';
export type { SafeTextOptions } from './safe-text.ts';
export { trace } from './trace.ts';
export {
  ATTRIBUTES,
  INSTRUMENTATION_NAME,
  INSTRUMENTATION_VERSION,
  METRICS,
  OPERATIONS,
} from './attribute-names.ts';
export type { SpanStatus } from '../tracing/traced-operation.ts';
