import { jsonrepair } from 'jsonrepair';

import { describe, isJsonObject, NotJsonError, parseJson, type JsonObject } from './json.ts';

/** Repair looks at every character, so it is only for what a model could have meant to write by hand. */
const MAX_REPAIRED = 1_000_000;

/**
 * The arguments that a model wrote for a tool: strict JSON if it is that, else what a
 * person would read into it (a comma too many, single quotes, comments). What was cut
 * off is never completed: half a path is another path. Nothing is validated here.
 * @throws NotJsonError if that is no object.
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
    throw new NotJsonError('the arguments', 'are not JSON'); // also when nesting is deeper than the stack
  }
}

/** The text without the code fence that some models put around it. */
function withoutFence(text: string): string {
  return /^\s*```\w*\n(.*)```\s*$/s.exec(text)?.[1] ?? text;
}

/** Whether it begins with a brace, and everything that it opens is closed at its very end, no sooner. */
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
