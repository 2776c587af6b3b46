/** Charts of usage, latency and errors. */

import type { UsageSum } from './studio-run.ts';

/**
 * `GET api/charts?from=&to=&by=model|agent|tool&project=` → `Charts`. Times are ISO texts.
 * @default the last 24 hours, by model
 */
export interface Charts {
  readonly from: string;
  readonly to: string;
  /** Length of one bucket. */
  readonly bucketMs: number;
  /** Start of each bucket, in milliseconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly totals: ChartTotals;
}

/** Values of one model, agent or tool, one for each bucket. */
export interface ChartSeries {
  readonly key: string;
  readonly calls: readonly number[];
  readonly errors: readonly number[];
  readonly inputTokens: readonly number[];
  readonly outputTokens: readonly number[];
  readonly cachedTokens: readonly number[];
  readonly cost: readonly number[];
  /** Mean and 95th percentile of the duration; null: no calls. */
  readonly meanMs: readonly (number | null)[];
  readonly p95Ms: readonly (number | null)[];
  readonly totals: ChartTotals;
}

export interface ChartTotals extends UsageSum {
  readonly calls: number;
  readonly errors: number;
  readonly meanMs: number | null;
  readonly p95Ms: number | null;
}
