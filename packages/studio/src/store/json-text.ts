/** Maximum nesting of JSON that the Studio takes. */
const MAX_DEPTH = 150;

/** JSON that is no JSON, or nested too deep. */
export class BadJsonError extends Error {
  override readonly name = 'BadJsonError';
}

/**
 * Parses JSON from outside. Refuses deep nesting before parsing, because every later walk over the value would fail.
 * @throws BadJsonError
 */
export function parseBoundedJson(text: string): unknown {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isInString) {
      if (code === 92) i++; // a backslash: the next character is part of the string
      else if (code === 34) isInString = false;
    } else if (code === 34) isInString = true;
    else if (code === 123 || code === 91) {
      if (++depth > MAX_DEPTH) throw new BadJsonError(`The JSON is nested deeper than ${MAX_DEPTH} levels.`);
    } else if (code === 125 || code === 93) depth--;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new BadJsonError('The text is not JSON.');
  }
}

/** A value that the Studio itself has written. */
export function readStored<T>(text: unknown): T {
  return JSON.parse(String(text)) as T;
}

/** Whether a value is an object with keys. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
