import { jsonrepair } from 'jsonrepair';

import { describe, isJsonObject, NotJsonError, parseJson, type JsonObject } from './json.ts';

/** Maximum length of text to repair; repair reads every character. */
const MAX_REPAIRED = 1_000_000;

/**
 * Parses tool call arguments written by a model: strict JSON, otherwise repaired JSON (trailing commas,
 * single quotes, comments). Truncated text is never completed, because half a path is another path. Does not
 * validate.
 * @throws NotJsonError if the result is not an object
 */
export function parseToolInput(text: string): JsonObject {
  const value = readJson(text);
  if (isJsonObject(value)) return value;
  throw new NotJsonError('the arguments', `are ${describe(value)}, not an object`);
}

function readJson(text: string): unknown {
  try {
    return parseJson(text, 'the arguments');
  } catch (error) {
    const written = withoutFence(text);
    if (written.length > MAX_REPAIRED || !isClosedObject(written)) throw error;
    return parseJson(repaired(written), 'the arguments');
  }
}

function repaired(text: string): string {
  try {
    return jsonrepair(text);
  } catch {
    throw new NotJsonError('the arguments', 'are not JSON'); // also for nesting beyond the stack
  }
}

/** Removes a surrounding code fence. */
function withoutFence(text: string): string {
  return /^\s*```\w*\n(.*)```\s*$/s.exec(text)?.[1] ?? text;
}

/** Tells whether the text is one object whose first brace closes at the very end. */
function isClosedObject(text: string): boolean {
  const written = text.trim();
  let depth = 0;
  let quote = '';
  for (let i = 0; i < written.length; i++) {
    const char = written[i] ?? '';
    if (quote !== '') {
      if (char === '\\') i++;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    if (depth === 0) return i > 0 && i === written.length - 1;
  }
  return false;
}
