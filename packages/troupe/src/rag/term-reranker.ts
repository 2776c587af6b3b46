import type { RetrievedDocument } from './knowledge-base.ts';
import type { Reranker } from './reranker.ts';
import { sentencesOf, WordCoverage } from './word-coverage.ts';

/** Weight of the words; the rest is the score that a chunk had before. */
const WORDS = 0.1;

/** Reranker without a model: a chunk is better if one sentence of it has many words of the query. Rare words count most. */
export class TermReranker implements Reranker {
  async rerank(
    query: string,
    documents: readonly RetrievedDocument[],
  ): Promise<readonly RetrievedDocument[]> {
    const coverage = new WordCoverage(query, documents);
    return documents
      .map((document) => {
        const words = Math.max(0, ...sentencesOf(document).map((sentence) => coverage.of(sentence)));
        return { ...document, score: (1 - WORDS) * Math.max(0, document.score) + WORDS * words };
      })
      .toSorted((a, b) => b.score - a.score);
  }
}
