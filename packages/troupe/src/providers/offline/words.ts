/**
 * Words in lower case, in their order. Names such as `read_file` and `readFile` fall apart into their words.
 */
export function wordsOf(text: string): readonly string[] {
  const spaced = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Removes the ending of a word, so that `calculate`, `calculates` and `calculating` are equal. */
export function stem(word: string): string {
  const ending = ENDINGS.find((ending) => word.endsWith(ending) && word.length - ending.length >= 3);
  return ending === undefined ? word : word.slice(0, -ending.length);
}

/** Stems of the meaningful words. */
export function keywordsOf(text: string): ReadonlySet<string> {
  const words = wordsOf(text).filter(
    (word) => word.length > 1 && !STOP_WORDS.has(word) && !PREPOSITIONS.has(word),
  );
  return new Set(words.map(stem));
}

/** Removes punctuation around a text. */
export function withoutPunctuation(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && ' "\'`([“‘,;:'.includes(text.charAt(start))) start++;
  while (end > start && ' "\'`)],;:!?.”’'.includes(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

export const ARTICLES: ReadonlySet<string> = new Set([
  'a',
  'an',
  'the',
  'this',
  'that',
  'these',
  'those',
  'my',
  'your',
  'our',
]);

export const PREPOSITIONS: ReadonlySet<string> = new Set(
  'about at by for from in inside into of on over to under with'.split(' '),
);

/** Words without meaning for a request. */
export const STOP_WORDS: ReadonlySet<string> = new Set([
  ...ARTICLES,
  ...'am and any are as be but can could did do does get give had has have he her here him his how i if is it its'.split(
    ' ',
  ),
  ...'just let like make may me more much many need no not now or out please run s she should so some t tell'.split(
    ' ',
  ),
  ...'than thanks them then there they use using want was we were what when where which who why will would you'.split(
    ' ',
  ),
]);

const ENDINGS = ['ing', 'ed', 'es', 's', 'e'];
