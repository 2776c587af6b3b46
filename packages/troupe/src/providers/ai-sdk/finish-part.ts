import type { FinishReason } from '../../message/model-delta.ts';
import type { Usage } from '../../message/usage.ts';
import { ModelError, nameOrigin, type ModelOrigin } from '../../model/model-error.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { oneLine } from '../../util/text.ts';
import { lostAnswer } from './ai-sdk-error.ts';
import type { SpecVersion } from './language-model.ts';
import { numberOf, stringOf } from '../../model/http/wire-values.ts';

/** Claude's word for a turn to be continued. */
const PAUSED = 'pause_turn';

/**
 * Why the answer has ended: one word in v2, since then also the provider's own one (`raw`).
 * @throws ModelError if it has broken off.
 */
export function reasonOf(
  { finishReason }: JsonObject,
  { origin, version }: { readonly origin: ModelOrigin; readonly version: SpecVersion },
): FinishReason {
  const raw = isJsonObject(finishReason) ? stringOf(finishReason['raw']) : '';
  const unified = stringOf(isJsonObject(finishReason) ? finishReason['unified'] : finishReason);
  switch (unified) {
    case 'stop':
      return raw === PAUSED ? 'other' : 'stop';
    case 'length':
      return 'length';
    case 'tool-calls':
      return 'tool_calls';
    case 'content-filter':
      return version !== 'v2' && isRefusal(raw) ? 'refusal' : 'content_filter';
    case 'error': {
      const why = raw === '' ? '' : `: ${oneLine(raw).slice(0, 100)}`;
      const problem = `${nameOrigin(origin)} failed during its answer${why}.`;
      throw new ModelError(problem, { ...origin, kind: 'overloaded' });
    }
    case 'other':
      if (version === 'v3' && raw === '') break; // the v3 form of the v4 reason 'interrupted'
      return 'other';
  }
  throw lostAnswer(origin, true);
}

/** Whether a raw finish reason is a refusal. Packages report refusals as content filter. */
function isRefusal(raw: string): boolean {
  return raw === 'refusal' || raw === 'stop' || raw === '';
}

/** Usage of the answer, if known: flat in v2, grouped in later versions. */
export function usageOf({ usage }: JsonObject): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = isJsonObject(usage['inputTokens']) ? usage['inputTokens'] : {};
  const output = isJsonObject(usage['outputTokens']) ? usage['outputTokens'] : {};
  const inputTokens = numberOf(input['total'] ?? usage['inputTokens']);
  const outputTokens = numberOf(output['total'] ?? usage['outputTokens']);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const cachedTokens = numberOf(input['cacheRead'] ?? usage['cachedInputTokens']);
  const cacheWriteTokens = numberOf(input['cacheWrite']);
  const reasoningTokens = numberOf(output['reasoning'] ?? usage['reasoningTokens']);
  return {
    inputTokens: whole(inputTokens, cachedTokens),
    outputTokens: whole(outputTokens, reasoningTokens),
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}

/** Adds a part to its total if the part was counted separately, which shows when the part is larger. */
function whole(total = 0, part = 0): number {
  return part > total ? total + part : total;
}
