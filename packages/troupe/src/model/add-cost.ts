import type { ModelDelta } from '../message/model-delta.ts';
import { withCost, type Pricing } from '../message/usage.ts';
import { now } from '../util/clock.ts';

/** A usage with how long it took and what it costs; any other delta as it is. */
export function addCost(delta: ModelDelta, startedAt: number, pricing: Pricing | undefined): ModelDelta {
  if (delta.type !== 'usage') return delta;
  const usage = { ...delta.usage, seconds: Math.max(0, now() - startedAt) / 1000 };
  return { type: 'usage', usage: withCost(usage, pricing) };
}
