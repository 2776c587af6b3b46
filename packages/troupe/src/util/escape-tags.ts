/**
 * Tags by which the library tells a model what comes from the program: text from elsewhere must neither end nor begin one of them.
 */
const OWN_TAGS: readonly string[] = [
  'system',
  'system-hint',
  'system-info',
  'system-reminder',
  'history',
  'long_term_memory',
  'plan_aware_hint',
  'retrieved_knowledge',
];
/** Characters that a model does not see, or takes for a space. */
const GAP = String.raw`[\s\u00ad\u200b-\u200f\u2060\ufeff]*`;

/**
 * Pattern for the `<` of the library's tags, and of tags with these names, in any case, with spaces and with attributes.
 * @param names tags that separate the parts of a text, such as `stdout`
 */
export function tagPattern(...names: readonly string[]): RegExp {
  const all = [...names, ...OWN_TAGS].join('|');
  return new RegExp(String.raw`<(?=${GAP}/?${GAP}(?:${all})(?![\w-])[^<>]*>)`, 'gi');
}

/** Replacement for the `<` of a matched tag: `</stdout>` becomes `<\/stdout>`. */
export const ESCAPED = '<\\';

const OWN_PATTERN = tagPattern();

/** Text from elsewhere for a place between tags. @param pattern result of `tagPattern` for further tags */
export function escapeTags(text: string, pattern = OWN_PATTERN): string {
  return text.replace(pattern, ESCAPED);
}
