import { toTextScore } from './search-terms.ts';

const K1 = 1.2;
const B = 0.75;

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
      const idf = Math.log(1 + (count - posting.size + 0.5) / (posting.size + 0.5));
      for (const [key, frequency] of posting) {
        const length = (this.#lengths.get(key) ?? 0) / (mean || 1);
        const score = (idf * frequency * (K1 + 1)) / (frequency + K1 * (1 - B + B * length));
        sums.set(key, (sums.get(key) ?? 0) + score);
      }
    }
    return new Map([...sums].map(([key, sum]) => [key, toTextScore(sum)]));
  }
}
