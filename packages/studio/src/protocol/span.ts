/** Spans and traces. */

import type { JsonValue, Usage } from 'troupe';

import type { UsageSum } from './studio-run.ts';

/** `GET api/runs/:id/spans?source=&limit=` → `SpanPage`. `GET api/traces/:traceId` → `SpanPage` of one trace. */
export interface SpanPage {
  readonly spans: readonly Span[];
  /** Sources that have spans. `events`: made from the events of the run; `otlp`: sent by a tracer. @default the first */
  readonly sources: readonly SpanSource[];
  readonly source: SpanSource;
  readonly total: number;
}

export type SpanSource = 'events' | 'otlp';

/** One span. Times are milliseconds since 1970, with fractions. */
export interface Span {
  readonly id: string;
  readonly traceId: string;
  readonly parentId?: string;
  readonly name: string;
  readonly kind: 'agent' | 'model' | 'tool' | 'wait' | 'other';
  readonly startMs: number;
  /** Missing while it runs. */
  readonly endMs?: number;
  readonly status: 'running' | 'ok' | 'error' | 'interrupted' | 'suspended';
  readonly agentPath: readonly string[];
  readonly modelName?: string;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly usage?: Usage;
  readonly error?: string;
  /** Entry of the run at the start of the span, and its message: to select both together. */
  readonly seq?: number;
  readonly msgId?: string;
  /** Attributes of a tracer. Keys are untrusted text. */
  readonly attributes: Readonly<Record<string, JsonValue>>;
  readonly events: readonly SpanEvent[];
}

export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, JsonValue>>;
}

/** `GET api/traces?q=&cursor=&limit=` → `TracePage`: traces of all programs, the most recent first. */
export interface TracePage {
  readonly traces: readonly TraceInfo[];
  readonly next?: string;
}

export interface TraceInfo {
  readonly traceId: string;
  readonly name: string;
  readonly service: string;
  readonly runId?: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly spans: number;
  readonly errors: number;
  readonly usage: UsageSum;
}
