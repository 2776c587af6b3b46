import type { ChartSeries, Charts, ChartTotals } from '../protocol.ts';
import type { StoredCall } from '../store/studio-store.ts';

const MAX_BUCKETS = 120;
const MAX_SERIES = 20;
const BUCKETS_MS = [1, 5, 15, 60, 300, 900, 3600, 10_800, 43_200, 86_400, 604_800].map((s) => s * 1000);

/** Sums of calls over time, for each model, agent or tool. Rare keys are one series, `others`. */
export function chartsOf(
  calls: readonly StoredCall[],
  from: number,
  to: number,
  by: 'model' | 'agent' | 'tool',
): Charts {
  const bucketMs = BUCKETS_MS.find((ms) => (to - from) / ms <= MAX_BUCKETS) ?? (to - from) / MAX_BUCKETS;
  const start = Math.floor(from / bucketMs) * bucketMs;
  const count = Math.max(1, Math.ceil((to - start) / bucketMs));
  const groups = new Map<string, StoredCall[]>();
  for (const call of calls) {
    const key = by === 'agent' ? call.agent : call.name;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [call]);
    else group.push(call);
  }
  const sorted = [...groups].toSorted(([, a], [, b]) => b.length - a.length);
  const rest = sorted.slice(MAX_SERIES).flatMap(([, group]) => group);
  const shown = [...sorted.slice(0, MAX_SERIES), ...(rest.length > 0 ? [['others', rest] as const] : [])];
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    bucketMs,
    times: Array.from({ length: count }, (_, i) => start + i * bucketMs),
    series: shown.map(([key, group]) => seriesOf(key, group, start, bucketMs, count)),
    totals: totalsOf(calls),
  };
}

function seriesOf(
  key: string,
  calls: readonly StoredCall[],
  start: number,
  bucketMs: number,
  count: number,
): ChartSeries {
  const buckets: StoredCall[][] = Array.from({ length: count }, () => []);
  for (const call of calls) buckets[Math.floor((call.at - start) / bucketMs)]?.push(call);
  const totals = buckets.map(totalsOf);
  return {
    key,
    calls: totals.map((one) => one.calls),
    errors: totals.map((one) => one.errors),
    inputTokens: totals.map((one) => one.inputTokens),
    outputTokens: totals.map((one) => one.outputTokens),
    cachedTokens: totals.map((one) => one.cachedTokens),
    cost: totals.map((one) => one.cost),
    meanMs: totals.map((one) => one.meanMs),
    p95Ms: totals.map((one) => one.p95Ms),
    totals: totalsOf(calls),
  };
}

function totalsOf(calls: readonly StoredCall[]): ChartTotals {
  const sum = (value: (call: StoredCall) => number): number =>
    calls.reduce((all, call) => all + value(call), 0);
  const durations = calls.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
  return {
    calls: calls.length,
    errors: sum(({ isError }) => (isError ? 1 : 0)),
    modelCalls: sum(({ kind }) => (kind === 'model' ? 1 : 0)),
    inputTokens: sum(({ input }) => input),
    outputTokens: sum(({ output }) => output),
    cachedTokens: sum(({ cached }) => cached),
    cost: sum(({ cost }) => cost),
    meanMs: calls.length === 0 ? null : sum(({ durationMs }) => durationMs) / calls.length,
    p95Ms: durations[Math.ceil(durations.length * 0.95) - 1] ?? null,
  };
}
