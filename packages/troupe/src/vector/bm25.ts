import { toTextScore } from './search-terms.ts';

const K1 = 1.2;
const B = 0.75;
/** Assumed words of a chunk, for stores that do not know its length. */
export const USUAL_LENGTH = 150;

/** Rarity of a word that `having` of `count` texts have. */
export function rarity(having: number, count: number): number {
  return Math.log(1 + (Math.max(0, count - having) + 0.5) / (having + 0.5));
}

/** Part of a word in the score of a text that has it `times`. @param length of the text, 1 is usual */
export function wordScore(times: number, length: number): number {
  return (times * (K1 + 1)) / (times + K1 * (1 - B + B * length));
}

/** Frequencies of terms in texts, for BM25 scores. */
export class Bm25Index<Key> {
  readonly #lengths = new Map<Key, number>();
  readonly #termsOf = new Map<Key, ReadonlySet<string>>();
  readonly #postings = new Map<string, Map<Key, number>>();
  #total = 0;

  set(key: Key, terms: readonly string[]): void {
    this.delete(key);
    this.#lengths.set(key, terms.length);
    this.#termsOf.set(key, new Set(terms));
    this.#total += terms.length;
    for (const term of terms) {
      const posting = this.#postings.get(term) ?? new Map<Key, number>();
      this.#postings.set(term, posting.set(key, (posting.get(key) ?? 0) + 1));
    }
  }

  delete(key: Key): void {
    const length = this.#lengths.get(key);
    if (length === undefined) return;
    this.#lengths.delete(key);
    this.#total -= length;
    for (const term of this.#termsOf.get(key) ?? []) {
      const posting = this.#postings.get(term);
      posting?.delete(key);
      if (posting?.size === 0) this.#postings.delete(term);
    }
    this.#termsOf.delete(key);
  }

  /** Scores from 0 to 1 of all texts that have one of the terms. */
  search(terms: readonly string[]): ReadonlyMap<Key, number> {
    const sums = new Map<Key, number>();
    const count = this.#lengths.size;
    const mean = this.#total / Math.max(1, count);
    for (const term of terms) {
      const posting = this.#postings.get(term);
      if (posting === undefined) continue;
      const weight = rarity(posting.size, count);
      for (const [key, frequency] of posting) {
        const length = (this.#lengths.get(key) ?? 0) / (mean || 1);
        sums.set(key, (sums.get(key) ?? 0) + weight * wordScore(frequency, length));
      }
    }
    return new Map([...sums].map(([key, sum]) => [key, toTextScore(sum)]));
  }
}
