import { expect, test } from 'vitest';

import type { StoredCall } from '../store/studio-store.ts';
import { chartsOf } from './charts.ts';

const MINUTE = 60_000;
const call = (at: number, name: string, durationMs: number, isError = false): StoredCall => ({
  at,
  project: 'p',
  kind: 'model',
  name,
  agent: 'Ann',
  isError,
  durationMs,
  input: 10,
  output: 2,
  cached: 5,
  cost: 0.5,
});

test('charts sum calls in buckets, for each model, with means and percentiles', () => {
  const calls = [
    call(0, 'a', 100),
    call(10, 'a', 300),
    call(3 * MINUTE, 'a', 50, true),
    call(MINUTE, 'b', 10),
  ];
  const charts = chartsOf(calls, 0, 5 * MINUTE, 'model');
  expect([charts.bucketMs, charts.times.length]).toEqual([5000, 60]);
  const [a, b] = charts.series;
  expect([a?.key, b?.key]).toEqual(['a', 'b']);
  expect([a?.calls[0], a?.calls[36], a?.meanMs[0], a?.p95Ms[0], a?.meanMs[1]]).toEqual([
    2,
    1,
    200,
    300,
    null,
  ]);
  expect([a?.errors[36], a?.cost[0], a?.cachedTokens[0]]).toEqual([1, 1, 10]);
  expect(charts.totals).toEqual({
    calls: 4,
    errors: 1,
    modelCalls: 4,
    inputTokens: 40,
    outputTokens: 8,
    cachedTokens: 20,
    cost: 2,
    meanMs: 115,
    p95Ms: 300,
  });
});

test('charts by agent have one series for each agent, and rare ones together', () => {
  const calls = Array.from({ length: 30 }, (_, n) => ({ ...call(n, 'm', 1), agent: `agent ${n}` }));
  const { series } = chartsOf(calls, 0, 1000, 'agent');
  expect([series.length, series.at(-1)?.key, series.at(-1)?.totals.calls]).toEqual([21, 'others', 10]);
});
