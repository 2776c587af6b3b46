import { InvalidMsgError } from '../errors.ts';
import { describe, type JsonObject } from '../util/json.ts';
import { toJsonObject } from './blocks.ts';

/** Tokens, time and cost of model calls. */
export type Usage = {
  /** All tokens of the prompt, including tokens read from a cache or written to a cache. */
  readonly inputTokens: number;
  /** All tokens of the answer, including thinking. */
  readonly outputTokens: number;
  /** Input tokens read from the provider's cache. */
  readonly cachedTokens?: number;
  /** Input tokens written to the provider's cache. */
  readonly cacheWriteTokens?: number;
  /** Output tokens of thinking. */
  readonly reasoningTokens?: number;
  readonly seconds?: number;
  /** Cost in the currency of the model's `pricing`. */
  readonly cost?: number;
};

/** Prices per million tokens. */
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

/** The sum of two usages. A field missing in both stays missing. */
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

/** The usage with its cost; unchanged without prices. */
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
