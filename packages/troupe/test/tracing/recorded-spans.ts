// For the tests: records the spans and metrics of a test with the official SDK of OpenTelemetry.
import { context, SpanKind, SpanStatusCode, type Attributes, type Context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { TracerProvider, type ReadableSpan, type Span, type SpanProcessor } from '@opentelemetry/sdk-trace';

import { enableTracing, type TracingOptions } from '../../src/otel/index.ts';

/** A span with its children, in the order in which they began. */
export interface SpanTree {
  readonly name: string;
  readonly children?: readonly SpanTree[];
}

/** Records the spans of the library while it is in scope. */
export class RecordedSpans implements SpanProcessor, Disposable {
  readonly begun: ReadableSpan[] = [];
  readonly ended: ReadableSpan[] = [];
  readonly provider = new TracerProvider({ spanProcessors: [this] });
  #disable: () => void = () => {};

  static async start(options: TracingOptions = {}): Promise<RecordedSpans> {
    const spans = new RecordedSpans();
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    spans.#disable = await enableTracing({ tracerProvider: spans.provider, ...options });
    return spans;
  }

  onStart(span: Span, _parent: Context): void {
    this.begun.push(span);
  }

  onEnd(span: ReadableSpan): void {
    this.ended.push(span);
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}

  /** Names of spans that have not ended. */
  get open(): string[] {
    return this.begun.filter((span) => !span.ended).map(({ name }) => name);
  }

  clear(): void {
    this.begun.length = 0;
    this.ended.length = 0;
  }

  /** The spans without a parent, or with the given one, and everything below. */
  tree(parentId?: string): SpanTree[] {
    const ids = new Set(this.begun.map((span) => span.spanContext().spanId));
    return this.begun
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return parentId === undefined ? id === undefined || !ids.has(id) : id === parentId;
      })
      .map((span) => {
        const children = this.tree(span.spanContext().spanId);
        return { name: span.name, ...(children.length > 0 && { children }) };
      });
  }

  /** The only span with this name. */
  one(name: string): ReadableSpan {
    const found = this.begun.filter((span) => span.name === name);
    const [span] = found;
    if (span === undefined || found.length > 1)
      throw new Error(`${found.length} spans '${name}' of: ${this.begun.map((one) => one.name).join(', ')}`);
    return span;
  }

  attributesOf(name: string): Attributes {
    return this.one(name).attributes;
  }

  /** Everything that the spans say, as text. */
  get text(): string {
    return JSON.stringify(
      this.begun.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
    );
  }

  [Symbol.dispose](): void {
    this.#disable();
    context.disable();
  }
}

/** Kind, status and attributes of a span. */
export function summaryOf({ kind, status, attributes, events }: ReadableSpan): object {
  return {
    kind: SpanKind[kind],
    status: SpanStatusCode[status.code],
    ...(status.message !== undefined && { message: status.message }),
    attributes,
    ...(events.length > 0 && { events: events.map(({ name }) => name) }),
  };
}
