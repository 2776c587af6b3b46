import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import { Redactor } from '../../model/wrappers/redactor.ts';
import { DeadlineError, withDeadline } from '../../util/async/deadline.ts';
import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { redactedMessage } from '../../util/redaction/redacted-text.ts';
import { enableTracing, type TracingOptions } from '../enable-tracing.ts';
import { loadOtlpPackages } from './otlp-packages.ts';

export interface SetupTracingOptions extends Omit<TracingOptions, 'tracerProvider'> {
  /** Address of the receiver for OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly endpoint: string;
  /** Sent with each export, e.g. `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Name of the program in its traces. @default 'troupe' */
  readonly serviceName?: string | undefined;
  /** Time limit of one export, of `flush` and of `shutdown`. @default 10 000 */
  readonly timeoutMs?: number | undefined;
  /** Time between exports. @default 1000 */
  readonly intervalMs?: number | undefined;
  /** Maximum number of spans that wait for an export; further spans are dropped. @default 2048 */
  readonly maxQueueSize?: number | undefined;
}

/** Running export of spans. */
export interface TracingSetup extends AsyncDisposable {
  /** Exports all spans that have ended. Never rejects: a failure is logged. */
  flush(): Promise<void>;
  /** Exports all spans that have ended, and turns tracing off. Never rejects: a failure is logged. */
  shutdown(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const INTERVAL_MS = 1000;
const MAX_QUEUE_SIZE = 2048;

/**
 * Exports the spans of the program by OTLP over HTTP with protobuf: in batches, behind the work, redacted, with a bounded queue. A
 * receiver that fails or hangs costs spans and nothing else. If the program has no tracer provider yet, the one made here also
 * gets the program's own spans; otherwise it gets the spans of this library only, and the other provider stays as it is.
 * Folder `otel/otlp`: start here.
 * @throws TroupeError if a package is missing or an option is wrong
 *
 * @example
 * ```ts
 * import { setupTracing } from 'troupe/tracing/otlp';
 *
 * const tracing = await setupTracing({ endpoint: 'http://127.0.0.1:4318/v1/traces' });
 * await tracing.shutdown();
 * ```
 */
export async function setupTracing(options: SetupTracingOptions): Promise<TracingSetup> {
  const { endpoint, headers = {}, serviceName = 'troupe', timeoutMs = TIMEOUT_MS, ...rest } = options;
  const { intervalMs = INTERVAL_MS, maxQueueSize = MAX_QUEUE_SIZE, ...tracing } = rest;
  checkEndpoint(endpoint);
  checkNumber('timeoutMs', timeoutMs, { least: 1, most: MAX_TIMER_MS });
  checkNumber('intervalMs', intervalMs, { least: 1, most: MAX_TIMER_MS });
  checkNumber('maxQueueSize', maxQueueSize, { least: 1, whole: true });
  const { api, sdk, resources, context, exporter } = await loadOtlpPackages();
  const { RedactingExporter } = await import('./redacting-exporter.ts');
  const processor = new sdk.BatchSpanProcessor({
    exporter: new RedactingExporter(
      new exporter.OTLPTraceExporter({ url: endpoint, headers: { ...headers }, timeoutMillis: timeoutMs }),
      new Redactor(tracing),
    ),
    scheduledDelayMillis: intervalMs,
    exportTimeoutMillis: timeoutMs,
    maxQueueSize,
    maxExportBatchSize: Math.min(512, maxQueueSize),
  });
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': serviceName }),
    spanProcessors: [processor],
  });
  const contextManager = new context.AsyncLocalStorageContextManager().enable();
  const ownsContext = api.context.setGlobalContextManager(contextManager);
  const isGlobal = api.trace.setGlobalTracerProvider(provider);
  const disable = await enableTracing({ ...tracing, tracerProvider: provider });

  const attempt = (what: string, work: () => Promise<void>): Promise<void> =>
    withDeadline({ timeoutMs, signal: undefined }, work).catch((error: unknown) => {
      const reason = error instanceof DeadlineError ? `no answer in ${timeoutMs} ms` : redactedMessage(error);
      getLogger().log('warn', `Spans could not be ${what}: ${reason}`);
    });
  const shutdown = async (): Promise<void> => {
    disable();
    await attempt('exported', () => provider.shutdown());
    if (isGlobal) api.trace.disable();
    if (ownsContext) api.context.disable();
  };
  let isOver: Promise<void> | undefined;
  const shutdownOnce = (): Promise<void> => (isOver ??= shutdown());
  return {
    flush: () => attempt('exported', () => provider.forceFlush()),
    shutdown: shutdownOnce,
    [Symbol.asyncDispose]: shutdownOnce,
  };
}

/** @throws TroupeError for an address that is no HTTP address, or that holds a password */
function checkEndpoint(endpoint: string): void {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null;
  const example = `such as 'http://127.0.0.1:4318/v1/traces'`;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TroupeError('invalid_config', `endpoint must be an http or https address, ${example}.`);
  if (url.username !== '' || url.password !== '')
    throw new TroupeError(
      'invalid_config',
      'endpoint must hold no user name or password. Give them as headers.',
    );
}
