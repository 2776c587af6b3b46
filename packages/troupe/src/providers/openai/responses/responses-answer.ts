import type { FinishReason } from '../../../message/model-delta.ts';
import type { Usage } from '../../../message/usage.ts';
import { numberOf, objectOf, objectsOf } from '../../../model/http/wire-values.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../util/json.ts';

/** Fields of a response that say something about the answer as a whole. */
const ANSWER_FIELDS = ['model', 'service_tier', 'content_filters', 'moderation', 'tool_usage'];
/** Fields of every event. A vendor's own are kept, such as the costs at GitHub Copilot. */
const EVENT_FIELDS = ['type', 'response', 'sequence_number', 'obfuscation'];
const COUNTED = [
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'input_tokens_details',
  'output_tokens_details',
];

/** Data of a response besides its items: model, service tier, results of filters, costs, logprobs. @param event the last one */
export function saidAbout(event: JsonObject): JsonObject {
  const response = objectOf(event['response']);
  const said: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(event))
    if (!EVENT_FIELDS.includes(key) && value !== null) said[key] = value;
  for (const key of ANSWER_FIELDS) {
    const value = response[key];
    if (value !== undefined && value !== null) said[key] = value;
  }
  const counts = Object.entries(objectOf(response['usage'])).filter(([key]) => !COUNTED.includes(key));
  if (counts.length > 0) said['usage'] = Object.fromEntries(counts); // cost and number of searches, at xAI
  const logprobs = objectsOf(response['output']).flatMap(({ content }) =>
    objectsOf(content).flatMap((part) => objectsOf(part['logprobs'])),
  );
  return logprobs.length === 0 ? said : { ...said, logprobs };
}

/** End of a whole response; empty while the response is in progress. Some servers leave the status out. */
export function endOf(response: JsonObject): '' | 'completed' | 'incomplete' | 'failed' {
  const { status, error, incomplete_details: details } = response;
  if (status === 'completed' || status === 'incomplete' || status === 'failed') return status;
  if (status !== undefined && status !== null) return '';
  if (isJsonObject(error)) return 'failed';
  if (isJsonObject(details)) return 'incomplete';
  return Array.isArray(response['output']) ? 'completed' : '';
}

export function incompleteReason(response: JsonObject): FinishReason {
  const { reason } = objectOf(response['incomplete_details']);
  if (reason === 'max_output_tokens') return 'length';
  return reason === 'content_filter' ? 'content_filter' : 'other';
}

export function responseUsage(usage: JsonObject): Usage {
  const details = objectOf(usage['input_tokens_details']);
  const written = numberOf(details['cache_write_tokens']);
  return {
    inputTokens: numberOf(usage['input_tokens']) ?? 0,
    outputTokens: numberOf(usage['output_tokens']) ?? 0,
    cachedTokens: numberOf(details['cached_tokens']) ?? 0,
    ...(written !== undefined && { cacheWriteTokens: written }),
    reasoningTokens: numberOf(objectOf(usage['output_tokens_details'])['reasoning_tokens']) ?? 0,
  };
}
