/** Export of spans by OTLP over HTTP. */
export { setupTracing, type SetupTracingOptions, type TracingSetup } from './setup-tracing.ts';
