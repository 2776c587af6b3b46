import { numberOf, objectOf, objectsOf } from '../../model/http/wire-values.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import type { JsonObject } from '../../util/json.ts';

/**
 * Counts of an answer so far. They come at the start and again at the end, where some are missing or 0: the highest of
 * each holds. An answer of several model runs (compaction, a second model) lists each run; their sum holds then.
 */
export function usageSoFar(counts: JsonObject, before: Usage | undefined): Usage {
  const runs = objectsOf(counts['iterations']).map(toUsage);
  const sum = runs.reduce<Usage | undefined>((total, run) => addUsage(total, run), undefined);
  if (sum === undefined || runs.length < 2) return highest(toUsage(counts), before);
  const { reasoningTokens } = highest(toUsage(counts), before);
  return { ...sum, ...(reasoningTokens !== undefined && { reasoningTokens }) };
}

function toUsage(counts: JsonObject): Usage {
  const cachedTokens = numberOf(counts['cache_read_input_tokens']);
  const cacheWriteTokens = numberOf(counts['cache_creation_input_tokens']);
  const reasoningTokens = numberOf(objectOf(counts['output_tokens_details'])['thinking_tokens']);
  return {
    inputTokens: (numberOf(counts['input_tokens']) ?? 0) + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0),
    outputTokens: numberOf(counts['output_tokens']) ?? 0,
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}

function highest(usage: Usage, before: Usage | undefined): Usage {
  const all: Record<string, number> = { ...before };
  for (const [key, count] of Object.entries(usage)) all[key] = Math.max(count, all[key] ?? 0);
  return { ...usage, ...all };
}
