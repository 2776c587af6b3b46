import { splitSentences } from '../document/sentences.ts';
import { rarity } from '../vector/bm25.ts';
import { queryTerms, searchTerms } from '../vector/search-terms.ts';
import type { RetrievedDocument } from './knowledge-base.ts';

/** Maximum sentences of one chunk that are compared. */
const MAX_SENTENCES = 40;

/** Sentences of a chunk; none of an image. */
export function sentencesOf({ content }: RetrievedDocument): readonly string[] {
  if (content.type !== 'text') return [];
  return splitSentences(content.text)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
    .slice(0, MAX_SENTENCES);
}

/** Compares sentences with the words of a query. Words that few of the found chunks have count most. */
export class WordCoverage {
  readonly #weights: ReadonlyMap<string, number>;
  readonly #total: number;

  constructor(query: string, documents: readonly RetrievedDocument[]) {
    const texts = documents.map(
      ({ content }) => new Set(content.type === 'text' ? searchTerms(content.text) : []),
    );
    this.#weights = new Map(
      queryTerms(query).map((term) => {
        const having = texts.filter((words) => words.has(term)).length;
        return [term, rarity(having, texts.length)];
      }),
    );
    this.#total = [...this.#weights.values()].reduce((sum, weight) => sum + weight, 0);
  }

  /** Share of the query's words that a sentence has, from 0 to 1. */
  of(sentence: string): number {
    const words = new Set(searchTerms(sentence));
    let sum = 0;
    for (const [term, weight] of this.#weights) if (words.has(term)) sum += weight;
    return this.#total === 0 ? 0 : sum / this.#total;
  }
}
