import { Bm25Index } from '../vector/bm25.ts';
import { queryTerms, searchTerms } from '../vector/search-terms.ts';
import type { RetrievedDocument } from './knowledge-base.ts';
import type { Reranker } from './reranker.ts';

/** Weight of the words; the rest is the score that a part had before. */
const WORDS = 0.3;
const WINDOW = 12;

/**
 * Reranker without a model: parts that have more of the query's words, near each other, come first. Words that
 * nearly all parts have count little.
 */
export class TermReranker implements Reranker {
  async rerank(
    query: string,
    documents: readonly RetrievedDocument[],
  ): Promise<readonly RetrievedDocument[]> {
    const terms = queryTerms(query);
    const index = new Bm25Index<number>();
    const texts = documents.map(({ content }) => (content.type === 'text' ? searchTerms(content.text) : []));
    texts.forEach((words, at) => index.set(at, words));
    const scores = index.search(terms);
    const weights = weightsOf(terms, texts);
    const best = Math.max(...scores.values(), 1e-9);
    const top = Math.max(...documents.map(({ score }) => score), 1e-9);
    return documents
      .map((document, at) => {
        const words = ((scores.get(at) ?? 0) / best + nearness(texts[at] ?? [], weights)) / 2;
        const score = (1 - WORDS) * Math.max(0, document.score / top) + WORDS * words;
        return { ...document, score };
      })
      .toSorted((a, b) => b.score - a.score);
  }
}

/** Largest part of the query's words within a few words of the text; rare words count more. */
function nearness(words: readonly string[], weights: ReadonlyMap<string, number>): number {
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return 0;
  const places = words.flatMap((word, at) => (weights.has(word) ? [{ word, at }] : []));
  let most = 0;
  for (let start = 0; start < places.length; start++) {
    const first = places[start]?.at ?? 0;
    const near = new Set<string>();
    for (let next = start; next < places.length && (places[next]?.at ?? 0) < first + WINDOW; next++)
      near.add(places[next]?.word ?? '');
    most = Math.max(
      most,
      [...near].reduce((sum, word) => sum + (weights.get(word) ?? 0), 0),
    );
  }
  return most / total;
}

/** Weight of each word; small if most texts have it. */
function weightsOf(
  terms: readonly string[],
  texts: readonly (readonly string[])[],
): ReadonlyMap<string, number> {
  const sets = texts.map((words) => new Set(words));
  const weightOf = (term: string): number => {
    const count = sets.filter((set) => set.has(term)).length;
    return Math.log(1 + (sets.length - count + 0.5) / (count + 0.5));
  };
  return new Map(terms.map((term) => [term, weightOf(term)]));
}
