const WORD = /[\p{L}\p{N}]+/gu;
const CJK = /^[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]$/u;

/**
 * Terms of a text for full-text search, the same for every store: words in lower case without accents and
 * common English endings; pairs of neighbours in Chinese and Japanese, which have no spaces.
 */
export function searchTerms(text: string): readonly string[] {
  const terms: string[] = [];
  for (const [word] of text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .matchAll(WORD)) {
    if (!/[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/.test(word)) {
      terms.push(stem(word.slice(0, 64)));
      continue;
    }
    const chars = [...word];
    if (chars.length === 1) terms.push(word);
    for (let at = 0; at + 1 < chars.length; at++) {
      const [a = '', b = ''] = [chars[at], chars[at + 1]];
      terms.push(CJK.test(a) && CJK.test(b) ? a + b : a);
    }
  }
  return terms;
}

/** The word without common English endings: `walked`, `walks` and `walking` are one term. */
function stem(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word;
  let base = word;
  if (base.endsWith('ies') && base.length > 4) base = `${base.slice(0, -3)}y`;
  else if (/(?:ss|sh|ch|x|z)es$/.test(base)) base = base.slice(0, -2);
  else if (base.endsWith('s') && !/(?:ss|us|is)$/.test(base)) base = base.slice(0, -1);
  if (base.endsWith('ied') && base.length > 4) return `${base.slice(0, -3)}y`;
  const ended = /^(.*[aeiouy].*?)(?:ed|ing|ly)$/.exec(base)?.[1];
  if (ended !== undefined && ended.length >= 3) base = ended.replace(/([bdfgmnprt])\1$/, '$1');
  return base.length > 4 ? base.replace(/e$/, '') : base;
}

/** Most terms of one query. */
const MAX_TERMS = 64;

/** Different terms of a query. */
export function queryTerms(text: string): readonly string[] {
  return [...new Set(searchTerms(text))].slice(0, MAX_TERMS);
}

/** A BM25 score, which has no upper end, as a number from 0 to 1. */
export function toTextScore(bm25: number): number {
  return bm25 <= 0 ? 0 : bm25 / (bm25 + 10);
}
