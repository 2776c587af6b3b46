import { objectOf, objectsOf } from '../../model/http/wire-values.ts';
import type { JsonObject } from '../../util/json.ts';
import type { AiSdkReader } from './language-model.ts';

/** The stream parts of an answer that came whole, from `doGenerate`. */
export function wholeParts(answer: JsonObject): readonly JsonObject[] {
  const { warnings = [], response, content, finishReason = 'other', usage = {} } = answer;
  return [
    { type: 'stream-start', warnings },
    { type: 'response-metadata', id: objectOf(response)['id'] ?? '' },
    ...objectsOf(content).flatMap(toParts),
    { type: 'finish', finishReason, usage },
  ];
}

/** Text and thinking come in three parts in a stream, everything else in one. */
function toParts(item: JsonObject, index: number): readonly JsonObject[] {
  const { type, text = '', providerMetadata } = item;
  if (type !== 'text' && type !== 'reasoning') return [item];
  const id = `${index}`;
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id, ...(providerMetadata !== undefined && { providerMetadata }) },
  ];
}

/** Reads parts of a complete answer. */
export function readerOf(parts: readonly JsonObject[]): AiSdkReader {
  let next = 0;
  return {
    read: async () => (next < parts.length ? { done: false, value: parts[next++] } : { done: true }),
    cancel: async () => {},
  };
}
