/** Differences between Gemini models. */
export interface GeminiDialect {
  /** Whether calls and their results have ids. */
  readonly hasIds: boolean;
  /** Whether the first call of a step needs a signature. */
  readonly needsSignature: boolean;
  /** Whether the model accepts a system instruction; otherwise system messages are sent as the user's. */
  readonly takesSystem: boolean;
  readonly takesPenalties: boolean;
  /** Thinking control and its minimum; undefined if the model can't think. */
  readonly thinking:
    | { readonly by: 'level'; readonly least: 'minimal' | 'low' }
    | { readonly by: 'budget'; readonly least: number }
    | undefined;
}

/**
 * Matches models after the second generation. A name without a number, such as `gemini-flash-latest`, means
 * the newest.
 */
const NEW = /gemini-(?![12][.-]|pro(?:-vision)?$|robotics-er-1)/;
const THINKS_NOT = /gemini-(?:1[.-]|2\.0|pro(?:-vision)?$)|gemma/;
const THINKS_MINIMALLY = /gemini-3(?:\.[0-6])?-flash|flash-lite/;

/**
 * @param baseUrl address of the API: Vertex AI has no tool call ids, but accepts penalties that Gemini's own
 * API rejects
 */
export function geminiDialectOf(modelName: string, baseUrl: string): GeminiDialect {
  const isNew = NEW.test(modelName);
  const isVertex = /\baiplatform\.googleapis\.com\b/.test(baseUrl);
  return {
    hasIds: isNew && !isVertex,
    needsSignature: isNew,
    takesSystem: !/gemma/.test(modelName),
    takesPenalties: isVertex || !/gemini-2\.5/.test(modelName),
    thinking: thinkingOf(modelName, isNew),
  };
}

function thinkingOf(modelName: string, isNew: boolean): GeminiDialect['thinking'] {
  if (THINKS_NOT.test(modelName)) return undefined;
  if (isNew) return { by: 'level', least: THINKS_MINIMALLY.test(modelName) ? 'minimal' : 'low' };
  return { by: 'budget', least: /2\.5-pro/.test(modelName) ? 128 : 0 };
}
