import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

/**
 * Output format of a model with tools: `{"say": "text"}`, or `{"tool": "name", "arguments": {…}}` with each
 * tool call on its own line. Grammar, reader and history share the layout (one space behind each comma and
 * colon), so that earlier answers appear in the prompt exactly as generated, and their computed state is
 * reused.
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

/** Writes JSON in the envelope's layout. */
export function spacedJson(value: JsonValue): string {
  if (Array.isArray(value)) {
    return `[${(value as readonly JsonValue[]).map(spacedJson).join(', ')}]`;
  }
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${spacedJson(one)}`);
  return `{${members.join(', ')}}`;
}
