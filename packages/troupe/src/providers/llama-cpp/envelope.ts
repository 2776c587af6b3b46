import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

/**
 * How a model that has tools writes its answer: `{"say": "text"}`, or
 * `{"tool": "name", "arguments": {…}}` on a line of its own for each call. The grammar, the reader and the history go by the
 * same layout, one space behind each comma and colon, so that the model finds its own
 * answers in the prompt just as it wrote them, and what it computed for them can be used again.
 */
export const SAY = '{"say": ';
export const TOOL = '{"tool": ';
export const ARGUMENTS = ', "arguments": ';
export const NEXT_CALL = '\n';

export function sayText(text: string): string {
  return `${SAY}${JSON.stringify(text)}}`;
}

export function callText(name: string, input: JsonObject): string {
  return `${TOOL}${JSON.stringify(name)}${ARGUMENTS}${spacedJson(input)}}`;
}

/** The JSON of a value in that layout. */
export function spacedJson(value: JsonValue): string {
  if (Array.isArray(value)) {
    return `[${(value as readonly JsonValue[]).map(spacedJson).join(', ')}]`;
  }
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${spacedJson(one)}`);
  return `{${members.join(', ')}}`;
}
