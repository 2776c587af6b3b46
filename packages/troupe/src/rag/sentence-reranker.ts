import { cosineSimilarity, type EmbeddingModelBase } from '../embedding/embedding-model-base.ts';
import type { RetrievedDocument } from './knowledge-base.ts';
import type { Reranker } from './reranker.ts';
import { sentencesOf, WordCoverage } from './word-coverage.ts';

/** Weight of the best sentence; the rest is the score that a chunk had before. */
const SENTENCE = 0.3;

/**
 * Reranker with an embedding model: a chunk is as good as its best sentence, by its vector and by the words of the query in it. The vector
 * of a whole chunk mixes what all its sentences say. Give it a `CachedEmbeddingModel`, so that a sentence is embedded once.
 */
export class SentenceReranker implements Reranker {
  readonly #model: EmbeddingModelBase;

  constructor(model: EmbeddingModelBase) {
    this.#model = model;
  }

  async rerank(
    query: string,
    documents: readonly RetrievedDocument[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<readonly RetrievedDocument[]> {
    const sentences = documents.map(sentencesOf);
    if (sentences.flat().length === 0) return documents;
    const asked = await this.#model.embed([query], { purpose: 'query', signal });
    const { embeddings } = await this.#model.embed(sentences.flat(), { signal });
    const [target = new Float32Array()] = asked.embeddings;
    const coverage = new WordCoverage(query, documents);
    let next = 0;
    return documents
      .map((document, at) => {
        const scores = (sentences[at] ?? []).map((sentence) => {
          const vector = embeddings[next++] ?? new Float32Array();
          return (Math.max(0, cosineSimilarity(target, vector)) + coverage.of(sentence)) / 2;
        });
        const best = Math.max(0, ...scores);
        return { ...document, score: (1 - SENTENCE) * Math.max(0, document.score) + SENTENCE * best };
      })
      .toSorted((a, b) => b.score - a.score);
  }
}
