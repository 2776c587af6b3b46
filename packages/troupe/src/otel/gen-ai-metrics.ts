import type * as Otel from '@opentelemetry/api';

import type { SpanOutcome, TracedOperation } from '../tracing/traced-operation.ts';
import { ATTRIBUTES, INSTRUMENTATION_NAME, METRICS } from './attribute-names.ts';

/** Boundaries of buckets that the conventions ask for. */
const TOKEN_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];
const SECOND_BUCKETS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

type Instruments = Readonly<Record<keyof typeof METRICS, Otel.Histogram>>;

/** Records the metrics of the conventions with the meter provider that is registered at the time. */
export class GenAiMetrics {
  readonly #api: typeof Otel;
  readonly #provider: Otel.MeterProvider | undefined;
  #current:
    | { readonly provider: Otel.MeterProvider; readonly instruments: Instruments | undefined }
    | undefined;

  /** @param provider @default the one that is registered globally */
  constructor(api: typeof Otel, provider: Otel.MeterProvider | undefined) {
    this.#api = api;
    this.#provider = provider;
  }

  /** Whether there is a meter provider. */
  get isRecording(): boolean {
    return this.#instruments() !== undefined;
  }

  record(
    operation: TracedOperation,
    attributes: Otel.Attributes,
    seconds: number,
    outcome: SpanOutcome,
  ): void {
    const instruments = this.#instruments();
    if (instruments === undefined) return;
    const { usage, firstDeltaMs } = outcome;
    if (operation.type === 'agent') instruments.agentDuration.record(seconds, attributes);
    else if (operation.type === 'tool') instruments.toolDuration.record(seconds, attributes);
    if (operation.type !== 'model' && operation.type !== 'embedding') return;
    instruments.operationDuration.record(seconds, attributes);
    if (firstDeltaMs !== undefined) instruments.timeToFirstChunk.record(firstDeltaMs / 1000, attributes);
    if (usage === undefined) return;
    const tokens = { input: usage.inputTokens, output: usage.outputTokens };
    for (const [type, count] of Object.entries(tokens))
      instruments.tokenUsage.record(count, { ...attributes, [ATTRIBUTES.tokenType]: type });
  }

  /** The instruments of the current provider; undefined if it records nothing. */
  #instruments(): Instruments | undefined {
    const provider = this.#provider ?? this.#api.metrics.getMeterProvider();
    if (this.#current?.provider !== provider) this.#current = { provider, instruments: this.#make(provider) };
    return this.#current.instruments;
  }

  #make(provider: Otel.MeterProvider): Instruments | undefined {
    const meter = provider.getMeter(INSTRUMENTATION_NAME);
    if (meter === this.#api.createNoopMeter()) return undefined;
    const histogram = (name: string, unit: string, description: string): Otel.Histogram => {
      const explicitBucketBoundaries = unit === 's' ? SECOND_BUCKETS : TOKEN_BUCKETS;
      return meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries } });
    };
    return {
      tokenUsage: histogram(METRICS.tokenUsage, '{token}', 'Tokens used by a model call'),
      operationDuration: histogram(METRICS.operationDuration, 's', 'Duration of a model call'),
      timeToFirstChunk: histogram(METRICS.timeToFirstChunk, 's', 'Time to the first delta of a model call'),
      agentDuration: histogram(METRICS.agentDuration, 's', 'Duration of an agent call'),
      toolDuration: histogram(METRICS.toolDuration, 's', 'Duration of a tool call'),
    };
  }
}
