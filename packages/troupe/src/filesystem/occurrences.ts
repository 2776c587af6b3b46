/**
 * Maximum length for the engine's own search, which is fast but takes the product of both lengths in the
 * worst case.
 */
const MAX_PLAIN_CHARS = 100;

export function includesText(wanted: string, text: string): boolean {
  return !occurrencesOf(wanted, text).next().done;
}

/** Counts non-overlapping occurrences. `isUnique` is false also for overlapping occurrences. */
export function countOccurrences(
  wanted: string,
  text: string,
): { readonly count: number; readonly isUnique: boolean } {
  let [count, found, end] = [0, 0, 0];
  for (const at of occurrencesOf(wanted, text)) {
    found++;
    if (at < end) continue;
    count++;
    end = at + wanted.length;
  }
  return { count, isUnique: found === 1 };
}

/** Replaces a text literally, at all occurrences. */
export function replaceAll(text: string, wanted: string, replacement: string): string {
  if (wanted.length <= MAX_PLAIN_CHARS) return text.replaceAll(wanted, replacement.replaceAll('$', '$$$$'));
  const pieces: string[] = [];
  let end = 0;
  for (const at of occurrencesOf(wanted, text)) {
    if (at < end) continue;
    pieces.push(text.slice(end, at), replacement);
    end = at + wanted.length;
  }
  pieces.push(text.slice(end));
  return pieces.join('');
}

/** Start indexes of all occurrences, overlapping ones included. */
function* occurrencesOf(wanted: string, text: string): Generator<number, void, undefined> {
  if (wanted.length > MAX_PLAIN_CHARS) return yield* occurrencesOfLong(wanted, text);
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) yield at;
}

/** Linear-time search after Knuth, Morris and Pratt. */
function* occurrencesOfLong(wanted: string, text: string): Generator<number, void, undefined> {
  /** For each prefix of `wanted`: the length of its longest proper prefix that is also its suffix. */
  const fallbacks = new Int32Array(wanted.length + 1);
  let matched = 0;
  for (let at = 1; at < wanted.length; at++) {
    while (matched > 0 && wanted[at] !== wanted[matched]) matched = fallbacks[matched] ?? 0;
    if (wanted[at] === wanted[matched]) matched++;
    fallbacks[at + 1] = matched;
  }
  matched = 0;
  for (let at = 0; at < text.length; at++) {
    while (matched > 0 && text[at] !== wanted[matched]) matched = fallbacks[matched] ?? 0;
    if (text[at] === wanted[matched]) matched++;
    if (matched < wanted.length) continue;
    yield at + 1 - wanted.length;
    matched = fallbacks[matched] ?? 0;
  }
}
