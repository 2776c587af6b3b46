/**
 * Up to so many characters the engine's own search is used. It is fast, but at worst takes the product of both lengths: for long texts, minutes.
 */
const MAX_PLAIN_CHARS = 100;

export function isIn(wanted: string, text: string): boolean {
  return !occurrencesOf(wanted, text).next().done;
}

/** In how many places a text can be replaced, and whether there is but one, not even overlapping with another. */
export function placesOf(wanted: string, text: string): { readonly count: number; readonly isOnce: boolean } {
  let [count, found, end] = [0, 0, 0];
  for (const at of occurrencesOf(wanted, text)) {
    found++;
    if (at < end) continue;
    count++;
    end = at + wanted.length;
  }
  return { count, isOnce: found === 1 };
}

/** Replaces a text literally, wherever it is. */
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

/** Where a text begins in another, overlapping places too. */
function* occurrencesOf(wanted: string, text: string): Generator<number, void, undefined> {
  if (wanted.length > MAX_PLAIN_CHARS) return yield* occurrencesOfLong(wanted, text);
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) yield at;
}

/** The same in a time that grows with both and no faster, after Knuth, Morris and Pratt. */
function* occurrencesOfLong(wanted: string, text: string): Generator<number, void, undefined> {
  /** Of each beginning of what is wanted, how much of it is also its end. */
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
