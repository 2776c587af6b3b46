import { InvalidMsgError } from '../errors.ts';
import { describe, type JsonObject } from '../util/json.ts';
import { toJsonObject } from './blocks.ts';

/** What an answer cost. */
export type Usage = {
  /** All tokens of the prompt, those from or for a cache included. */
  readonly inputTokens: number;
  /** All tokens of the answer, those of its thinking included. */
  readonly outputTokens: number;
  /** Of the input: read from the provider's cache. */
  readonly cachedTokens?: number;
  /** Of the input: written to the provider's cache. */
  readonly cacheWriteTokens?: number;
  /** Of the output: spent on thinking. */
  readonly reasoningTokens?: number;
  readonly seconds?: number;
  /** In the currency of the model's `pricing`. */
  readonly cost?: number;
};

/** What a million tokens cost. */
export interface Pricing {
  readonly input: number;
  readonly output: number;
  /** @default as `input` */
  readonly cachedInput?: number | undefined;
  /** @default as `input` */
  readonly cacheWrite?: number | undefined;
}

const REQUIRED = ['inputTokens', 'outputTokens'] as const;
const OPTIONAL = ['cachedTokens', 'cacheWriteTokens', 'reasoningTokens', 'seconds', 'cost'] as const;
/** Numbers of a usage. */
export const USAGE_FIELDS: readonly (keyof Usage)[] = [...REQUIRED, ...OPTIONAL];

/** A frozen copy of a usage. @throws InvalidMsgError */
export function toUsage(usage: unknown): Usage {
  const fields = toJsonObject(usage, 'usage');
  for (const key of USAGE_FIELDS) {
    const value = fields[key];
    if (typeof value === 'number') continue;
    if (value === undefined && !REQUIRED.some((required) => required === key)) continue;
    throw new InvalidMsgError(`usage.${key} must be a number, not ${describe(value)}.`);
  }
  return fields as JsonObject & Usage;
}

/** The sum of two usages. What neither of them knows stays unknown. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const sum: { -readonly [key in keyof Usage]: Usage[key] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
  for (const key of OPTIONAL) {
    if (a[key] !== undefined || b[key] !== undefined) sum[key] = (a[key] ?? 0) + (b[key] ?? 0);
  }
  return Object.freeze(sum);
}

/** The usage with its cost. */
export function withCost(usage: Usage, pricing: Pricing | undefined): Usage {
  if (pricing === undefined) return usage;
  const { cachedTokens = 0, cacheWriteTokens = 0 } = usage;
  const plain = usage.inputTokens - cachedTokens - cacheWriteTokens;
  const sum =
    plain * pricing.input +
    cachedTokens * (pricing.cachedInput ?? pricing.input) +
    cacheWriteTokens * (pricing.cacheWrite ?? pricing.input) +
    usage.outputTokens * pricing.output;
  return { ...usage, cost: sum / 1_000_000 };
}
