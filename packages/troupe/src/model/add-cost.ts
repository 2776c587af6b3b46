import type { ModelDelta } from '../message/model-delta.ts';
import { withCost, type Pricing } from '../message/usage.ts';
import { monotonic } from '../util/clock.ts';

/** Adds elapsed time and cost to a usage delta. Returns other deltas unchanged. */
export function addCost(delta: ModelDelta, startedAt: number, pricing: Pricing | undefined): ModelDelta {
  if (delta.type !== 'usage') return delta;
  const usage = { ...delta.usage, seconds: Math.max(0, monotonic() - startedAt) / 1000 };
  return { type: 'usage', usage: withCost(usage, pricing) };
}
