/**
 * Pattern for tags of these names in program output. Results use tags to separate their parts; escaping these
 * tags in the output prevents a program from faking a part.
 */
export function tagPattern(...names: readonly string[]): RegExp {
  return new RegExp(`<(?=/?(?:${names.join('|')})\\s*>)`, 'g');
}

/** Replacement for the `<` of a matched tag: `</stdout>` becomes `<\/stdout>`. */
export const ESCAPED = '<\\';
