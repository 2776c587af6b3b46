/**
 * Finds the tags of these names in what a program has written. An answer tells its parts by such tags: with a backslash in theirs,
 * programs can't write what looks like another part.
 */
export function tagsNamed(...names: readonly string[]): RegExp {
  return new RegExp(`<(?=/?(?:${names.join('|')})\\s*>)`, 'g');
}

/** What takes the place of a `<` that such a pattern finds: `</stdout>` becomes `<\/stdout>`. */
export const BROKEN = '<\\';
